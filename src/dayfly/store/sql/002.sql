-- Version 2: what a live crawler remembers. `hash_of` is a function of store/keys.py.

-- Whoever wrote version 1 can write no more: its fence is stale from here on.
UPDATE owner SET fence = fence + 1;
-- How many items were ever stored, so that a number is never given twice; whether the file is open,
-- so that a write-ahead log that went missing after a crash is noticed.
ALTER TABLE owner ADD COLUMN items INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owner ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
UPDATE owner SET items = (SELECT coalesce(max(number), 0) FROM item);

-- A source as the operator lists it. Lists and pairs are JSON; empty text is an empty list.
ALTER TABLE source ADD COLUMN kind TEXT NOT NULL DEFAULT 'auto';
ALTER TABLE source ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN min_interval REAL;
ALTER TABLE source ADD COLUMN max_interval REAL;
ALTER TABLE source ADD COLUMN obey_robots INTEGER NOT NULL DEFAULT 1;
ALTER TABLE source ADD COLUMN verify_tls INTEGER NOT NULL DEFAULT 1;
ALTER TABLE source ADD COLUMN headers TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN "select" TEXT NOT NULL DEFAULT '';
-- What the last crawl left behind.
ALTER TABLE source ADD COLUMN state TEXT NOT NULL DEFAULT 'active';
ALTER TABLE source ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN why_not TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN last_new REAL;
ALTER TABLE source ADD COLUMN last_status TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN last_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN moved_to TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN moved_since REAL;
ALTER TABLE source ADD COLUMN gone_since REAL;
ALTER TABLE source ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN document_title TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN malformed INTEGER NOT NULL DEFAULT 0;

-- Every key ever seen, eight bytes of it. It outlives its item, and it decides what is new.
CREATE TABLE known (
    row     INTEGER NOT NULL,
    hash    INTEGER NOT NULL,
    PRIMARY KEY (row, hash)
) STRICT, WITHOUT ROWID;
-- One item may have been stored under http and under https; both are one key from here on.
INSERT OR IGNORE INTO known (row, hash) SELECT row, hash_of(key) FROM item ORDER BY row;

-- Items without an index of their whole keys: `known` has taken its place. Most keys are the link;
-- then the link is not written twice.
CREATE TABLE item_2 (
    number      INTEGER PRIMARY KEY,
    row         INTEGER NOT NULL,
    key         TEXT NOT NULL,
    published   REAL,
    seen        REAL NOT NULL,
    worth       REAL NOT NULL,
    title       TEXT NOT NULL,
    link        TEXT
) STRICT;
INSERT INTO item_2 SELECT number, row, key, published, seen, worth, title, nullif(link, key)
FROM item ORDER BY number;
DROP TABLE item;
ALTER TABLE item_2 RENAME TO item;
CREATE INDEX item_seen ON item (seen);

-- More about a visit, and all visits by their time.
ALTER TABLE visit ADD COLUMN truncated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE visit ADD COLUMN malformed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE visit ADD COLUMN wire_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE visit ADD COLUMN took_s REAL NOT NULL DEFAULT 0;
CREATE INDEX visit_time ON visit (time);

-- Visits under way, and under which fence they began.
CREATE TABLE claim (
    row     INTEGER PRIMARY KEY,
    fence   INTEGER NOT NULL,
    time    REAL NOT NULL
) STRICT;

-- What hosts asked for.
CREATE TABLE host (
    host        TEXT PRIMARY KEY,
    not_before  REAL,
    crawl_delay REAL
) STRICT, WITHOUT ROWID;

-- robots.txt as fetched.
CREATE TABLE robots (
    origin              TEXT PRIMARY KEY,
    outcome             TEXT NOT NULL,
    body                BLOB NOT NULL,
    fetched             REAL NOT NULL,
    expires             REAL NOT NULL,
    unreachable_since   REAL,
    reason              TEXT NOT NULL
) STRICT;

-- Who was interested in what, and when; the same event is kept once.
CREATE TABLE event (
    row     INTEGER NOT NULL,
    key     TEXT NOT NULL,
    time    REAL NOT NULL,
    amount  REAL NOT NULL,
    PRIMARY KEY (row, key, time)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_time ON event (time, row, key);
