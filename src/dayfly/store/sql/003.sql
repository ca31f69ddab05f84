-- Version 3: what a crawl had to spend, so that the next one has no more.

-- When that was, cost units per second, how many were left, and the worth of one as learnt; NULL
-- until somebody says.
ALTER TABLE owner ADD COLUMN funds_time REAL;
ALTER TABLE owner ADD COLUMN funds_budget REAL;
ALTER TABLE owner ADD COLUMN funds_left REAL;
ALTER TABLE owner ADD COLUMN funds_price REAL;
