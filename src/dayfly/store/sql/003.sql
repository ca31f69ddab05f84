-- Version 3: what a crawl had to spend, so that the next one has no more.

-- When that was, how many cost units were left, and how much dearer one had turned out to be than
-- reckoned; NULL until somebody says.
ALTER TABLE owner ADD COLUMN funds_time REAL;
ALTER TABLE owner ADD COLUMN funds_left REAL;
ALTER TABLE owner ADD COLUMN funds_markup REAL;
