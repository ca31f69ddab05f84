-- Each query is named and described; `SqliteStore` is the only caller.

-- take_over: become the owner; the answer is the new fence
UPDATE owner SET fence = fence + 1 RETURNING fence;

-- fence: who may write now
SELECT fence FROM owner;

-- ids: ids that are taken
SELECT id FROM source;

-- count_sources: rows count up from 0, so this is the next one
SELECT count(*) FROM source;

-- add_source: one more source
INSERT INTO source (row, id, url, host, weight, arrival, decay, worth, cost, "window")
VALUES (:row, :id, :url, :host, :weight, :arrival, :decay, :worth, :cost, :window);

-- sources: all of them, in the order of their rows
SELECT row, id, url, host, weight, arrival, decay, worth, cost, "window",
       etag, last_modified, not_before, last_crawl,
       estimate_time, estimate_arrival, estimate_decay, estimate_worth, estimate_memory
FROM source ORDER BY row;

-- known_item: whether an item of this source is stored under this key
SELECT 1 FROM item WHERE row = :row AND key = :key;

-- add_item: an item is stored once, as first seen
INSERT INTO item (row, key, published, seen, worth, title, link)
VALUES (:row, :key, :published, :seen, :worth, :title, :link)
ON CONFLICT (row, key) DO NOTHING;

-- update_source: what a crawl leaves behind; validators change only if the source answered
UPDATE source SET
    etag = CASE WHEN :answered THEN :etag ELSE etag END,
    last_modified = CASE WHEN :answered THEN :last_modified ELSE last_modified END,
    not_before = coalesce(:not_before, not_before),
    last_crawl = :time,
    estimate_time = :estimate_time,
    estimate_arrival = :estimate_arrival,
    estimate_decay = :estimate_decay,
    estimate_worth = :estimate_worth,
    estimate_memory = :estimate_memory
WHERE row = :row;

-- add_visit: every visit, answered or not
INSERT INTO visit (row, time, status, reason, new_items, visible, oldest_s, value, cost)
VALUES (:row, :time, :status, :reason, :new_items, :visible, :oldest_s, :value, :cost);

-- items: first seen at or after a time, oldest first
SELECT row, key, published, seen, worth, title, link
FROM item WHERE seen >= :since ORDER BY seen, number;
