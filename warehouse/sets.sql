-- How sets are written; {table} is that of a record class, {places} has one place for each value.

-- name: texts
SELECT content_hash, text FROM page_texts WHERE content_hash IN ({places})

-- name: is_written
SELECT 1 FROM materializations WHERE video_id = ? AND run_id = ? AND asset = ?

-- name: delete
DELETE FROM {table} WHERE video_id = ? AND run_id = ?

-- name: delete_calls
DELETE FROM {table} WHERE video_id = ? AND run_id = ? AND stage = ?

-- name: insert
INSERT INTO {table} BY NAME SELECT * FROM incoming

-- name: insert_texts
INSERT INTO {table} BY NAME SELECT * FROM incoming ON CONFLICT DO NOTHING

-- name: insert_calls
-- What a kept answer once cost is entered as nothing where a row has that already.
INSERT INTO {table} BY NAME
SELECT
    * REPLACE (CASE WHEN cache_hit AND request_id IS NOT NULL AND (
        request_id IN (SELECT request_id FROM llm_calls WHERE request_id IS NOT NULL)
        OR row_number() OVER (PARTITION BY request_id ORDER BY cache_hit, attempt, call_id) > 1
    ) THEN 0 ELSE cost_usd END AS cost_usd)
FROM incoming
