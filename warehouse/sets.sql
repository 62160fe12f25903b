-- Writing sets. {table} is the table of a record class.

-- name: written
SELECT asset FROM materializations WHERE video_id = ? AND run_id = ?

-- name: forget
DELETE FROM materializations WHERE video_id = ? AND run_id = ? AND asset = ?

-- name: delete
DELETE FROM {table} WHERE video_id = ? AND run_id = ?

-- name: delete_calls
DELETE FROM {table} WHERE video_id = ? AND run_id = ? AND stage = ?

-- name: insert
INSERT INTO {table} BY NAME SELECT * FROM incoming

-- name: insert_texts
INSERT INTO {table} BY NAME
SELECT DISTINCT ON (content_hash) * FROM incoming
WHERE content_hash NOT IN (SELECT content_hash FROM {table} SEMI JOIN incoming USING (content_hash))

-- name: insert_calls
-- The cost of a cached answer counts once: it is 0 if another row has it already.
INSERT INTO {table} BY NAME
SELECT
    * REPLACE (CASE WHEN cache_hit AND request_id IS NOT NULL AND (
        request_id IN (SELECT request_id FROM llm_calls SEMI JOIN incoming USING (request_id))
        OR row_number() OVER (PARTITION BY request_id ORDER BY cache_hit, attempt, call_id) > 1
    ) THEN 0 ELSE cost_usd END AS cost_usd)
FROM incoming

-- name: known
SELECT 1 FROM incoming SEMI JOIN {table} USING ({key}) LIMIT 1

-- name: delete_known
DELETE FROM {table} WHERE ({key}) IN (SELECT ({key}) FROM incoming)

-- name: insert_unknown
INSERT INTO {table} BY NAME FROM incoming ANTI JOIN {table} USING ({key})
