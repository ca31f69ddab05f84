-- Version 1. Times are POSIX seconds, durations and rates are in seconds.

-- Who may write: every new owner adds one.
CREATE TABLE owner (
    only    INTEGER PRIMARY KEY CHECK (only = 1),
    fence   INTEGER NOT NULL
) STRICT;
INSERT INTO owner (only, fence) VALUES (1, 0);

-- A source as the operator lists it, and what the last crawl left behind.
CREATE TABLE source (
    row                 INTEGER PRIMARY KEY,
    id                  TEXT NOT NULL UNIQUE,
    url                 TEXT NOT NULL,
    host                TEXT NOT NULL,
    weight              REAL NOT NULL,
    arrival             REAL NOT NULL,
    decay               REAL NOT NULL,
    worth               REAL NOT NULL,
    cost                REAL NOT NULL,
    "window"            REAL NOT NULL,
    etag                TEXT NOT NULL DEFAULT '',
    last_modified       TEXT NOT NULL DEFAULT '',
    not_before          REAL,
    last_crawl          REAL,
    -- The belief after the last crawl; memory is the estimator's own, doubles in little-endian order.
    estimate_time       REAL,
    estimate_arrival    REAL,
    estimate_decay      REAL,
    estimate_worth      REAL,
    estimate_memory     BLOB
) STRICT;

-- Every item, once, as first seen.
CREATE TABLE item (
    number      INTEGER PRIMARY KEY,
    row         INTEGER NOT NULL REFERENCES source (row),
    key         TEXT NOT NULL,
    published   REAL,
    seen        REAL NOT NULL,
    worth       REAL NOT NULL,
    title       TEXT NOT NULL,
    link        TEXT NOT NULL,
    UNIQUE (row, key)
) STRICT;
CREATE INDEX item_seen ON item (seen);

-- Every visit, answered or not.
CREATE TABLE visit (
    number      INTEGER PRIMARY KEY,
    row         INTEGER NOT NULL REFERENCES source (row),
    time        REAL NOT NULL,
    status      TEXT NOT NULL,
    reason      TEXT NOT NULL,
    new_items   INTEGER NOT NULL,
    visible     INTEGER NOT NULL,
    oldest_s    REAL,
    value       REAL NOT NULL,
    cost        REAL NOT NULL
) STRICT;
CREATE INDEX visit_row ON visit (row, time);
