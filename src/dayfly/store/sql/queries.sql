-- Each query is named and described; `SqliteStore` is the only caller.

-- own: become the owner; the answer is the new fence
UPDATE owner SET fence = fence + 1 RETURNING fence;

-- standing: who may write now, how many items there ever were, and which schema this is
SELECT fence, items, (SELECT user_version FROM pragma_user_version) FROM owner;

-- count_items: so many items were ever stored
UPDATE owner SET items = ?;

-- taken: those of the ids that are taken
SELECT id FROM source WHERE id IN (SELECT value FROM json_each(?));

-- count_sources: rows count up from 0 without gaps, so this is the next one
SELECT coalesce(max(row) + 1, 0) FROM source;

-- add_source: one more source
INSERT INTO source (row, id, url, host, weight, arrival, decay, worth, cost, "window", kind, title,
                    tags, min_interval, max_interval, obey_robots, verify_tls, headers, "select")
VALUES (:row, :id, :url, :host, :weight, :arrival, :decay, :worth, :cost, :window, :kind, :title,
        :tags, :min_interval, :max_interval, :obey_robots, :verify_tls, :headers, :select);

-- change_source: all of it but the id, as the operator wants it
UPDATE source SET
    url = :url, host = :host, weight = :weight, arrival = :arrival, decay = :decay,
    worth = :worth, cost = :cost, "window" = :window, kind = :kind, title = :title, tags = :tags,
    min_interval = :min_interval, max_interval = :max_interval, obey_robots = :obey_robots,
    verify_tls = :verify_tls, headers = :headers, "select" = :select,
    state = :state, etag = :etag, last_modified = :last_modified, digest = :digest,
    not_before = :not_before, why_not = :why_not, last_crawl = :last_crawl, last_new = :last_new,
    last_status = :last_status, last_reason = :last_reason, failures = :failures,
    moved_to = :moved_to, moved_since = :moved_since, gone_since = :gone_since, lost = :lost,
    document_title = :document_title, malformed = :malformed,
    estimate_time = :estimate_time, estimate_arrival = :estimate_arrival,
    estimate_decay = :estimate_decay, estimate_worth = :estimate_worth,
    estimate_memory = :estimate_memory
WHERE row = :row AND id = :id;

-- crawled_source: what a crawl leaves behind; of the state it can only say that the source is gone
UPDATE source SET
    url = ?, host = ?, state = CASE WHEN state = 'active' AND ? = 'gone' THEN 'gone' ELSE state END,
    etag = ?, last_modified = ?, digest = ?, not_before = ?, why_not = ?, last_crawl = ?,
    last_new = ?, last_status = ?, last_reason = ?, failures = ?, moved_to = ?, moved_since = ?,
    gone_since = ?, lost = ?, document_title = ?, malformed = ?, estimate_time = ?,
    estimate_arrival = ?, estimate_decay = ?, estimate_worth = ?, estimate_memory = ?
WHERE row = ?;

-- sources: all of them, in the order of their rows
SELECT row, id, url, host, weight, arrival, decay, worth, cost, "window", kind, title, tags,
       min_interval, max_interval, obey_robots, verify_tls, headers, "select",
       state, etag, last_modified, digest, not_before, why_not, last_crawl, last_new, last_status,
       last_reason, failures, moved_to, moved_since, gone_since, lost, document_title, malformed,
       estimate_time, estimate_arrival, estimate_decay, estimate_worth, estimate_memory
FROM source ORDER BY row;

-- claim: a visit begins
INSERT OR REPLACE INTO claim (row, fence, time) VALUES (?, ?, ?);

-- keep_funds: so much is left to spend
UPDATE owner SET funds_time = ?, funds_left = ?, funds_markup = ?;

-- funds: what was left; a number that is none is stored as NULL
SELECT funds_time, funds_left, funds_markup FROM owner
WHERE funds_time IS NOT NULL AND funds_left IS NOT NULL AND funds_markup IS NOT NULL;

-- release: a visit has ended, or did not take place
DELETE FROM claim WHERE row = ?;

-- lost: visits that earlier owners began and never ended
SELECT row FROM claim WHERE fence < ? ORDER BY row;

-- unseen: those of the hashes that are not known, by their place in the list
SELECT key FROM json_each(?2)
WHERE NOT EXISTS (SELECT 1 FROM known WHERE row = ?1 AND hash = json_each.value);

-- know: a key is seen for the first time; no row is changed if it was known
INSERT OR IGNORE INTO known (row, hash) VALUES (?, ?);

-- add_item: an item that was not known; no link means that the key is one
INSERT INTO item (number, row, key, published, seen, worth, title, link)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- first_item: the lowest number of an item seen at or after a time; by the index, because in the
-- order of numbers all that is older would be looked at
SELECT min(number) FROM item INDEXED BY item_seen WHERE seen >= ?;

-- next_item: when the item after a number was seen
SELECT seen FROM item WHERE number > ? ORDER BY number LIMIT 1;

-- last_item: the highest number of an item
SELECT coalesce(max(number), 0) FROM item;

-- items: a page of them; the plus keeps the order of numbers from being sorted out of `item_seen`
SELECT number, row, key, published, seen, worth, title, coalesce(link, key) FROM item
WHERE number > ? AND number <= ? AND +seen >= ? ORDER BY number LIMIT ?;

-- add_visit: every visit, answered or not
INSERT INTO visit (row, time, status, reason, new_items, visible, oldest_s, value, cost, truncated,
                   malformed, wire_bytes, took_s)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- last_visit: the highest number of a visit
SELECT coalesce(max(number), 0) FROM visit;

-- visits: a page of them, oldest first
SELECT number, row, time, status, reason, visible, oldest_s, value, cost, truncated, malformed,
       wire_bytes, took_s
FROM visit WHERE (time, number) > (?, ?) AND number <= ? ORDER BY time, number LIMIT ?;

-- visits_of: the same of one source
SELECT number, row, time, status, reason, visible, oldest_s, value, cost, truncated, malformed,
       wire_bytes, took_s
FROM visit WHERE row = ? AND (time, number) > (?, ?) AND number <= ? ORDER BY time, number LIMIT ?;

-- block_host: leave a host alone until then; who asks for less does not shorten it
INSERT INTO host (host, not_before) VALUES (?, ?)
ON CONFLICT (host) DO UPDATE SET
    not_before = max(coalesce(not_before, excluded.not_before), excluded.not_before);

-- space_host: seconds between visits that robots.txt asks for
INSERT INTO host (host, crawl_delay) VALUES (?, ?)
ON CONFLICT (host) DO UPDATE SET crawl_delay = excluded.crawl_delay;

-- unspace_hosts: robots.txt asks for nothing any more
UPDATE host SET crawl_delay = NULL
WHERE host IN (SELECT value FROM json_each(?)) AND crawl_delay IS NOT NULL;

-- hosts: all of which something is remembered
SELECT host, not_before, crawl_delay FROM host ORDER BY host;

-- keep_robots: the last copy counts
INSERT OR REPLACE INTO robots (origin, outcome, body, fetched, expires, unreachable_since, reason)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- robots: all copies
SELECT origin, outcome, body, fetched, expires, unreachable_since, reason
FROM robots ORDER BY origin;

-- add_event: kept once
INSERT OR IGNORE INTO event (row, key, time, amount) VALUES (?, ?, ?, ?);

-- events: a page of them, oldest first
SELECT row, key, time, amount FROM event
WHERE (time, row, key) > (?, ?, ?) ORDER BY time, row, key LIMIT ?;

-- forget_items: a portion of the oldest; their keys stay known
DELETE FROM item WHERE number IN (SELECT number FROM item WHERE seen < ? ORDER BY seen LIMIT ?);

-- forget_visits: a portion of the oldest
DELETE FROM visit WHERE number IN (SELECT number FROM visit WHERE time < ? ORDER BY time LIMIT ?);

-- forget_events: a portion of the oldest
DELETE FROM event WHERE (row, key, time) IN
    (SELECT row, key, time FROM event WHERE time < ? ORDER BY time LIMIT ?);

-- was_open: whether the file was open when it was last written
SELECT opened FROM owner;

-- mark_open: the file is open, or has been closed
UPDATE owner SET opened = ?;
