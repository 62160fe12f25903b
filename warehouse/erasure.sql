-- Deleting all rows of one video. Names in {braces} are tables and columns.

-- name: tables_of_videos
SELECT table_name
FROM duckdb_columns()
JOIN duckdb_tables() USING (database_name, schema_name, table_name)
WHERE NOT duckdb_tables.internal AND database_name = current_database() AND column_name = 'video_id'
ORDER BY table_name

-- name: addresses
-- The addresses that only this video's rows name; other videos may need the rest.
WITH named AS (
    SELECT video_id, url FROM search_hits
    UNION SELECT video_id, canonical_url FROM search_hits
    UNION SELECT video_id, canonical_url FROM pages
    UNION SELECT video_id, final_url FROM pages
    UNION SELECT video_id, canonical_url FROM evidence
    UNION SELECT video_id, url FROM prior_fact_checks
    UNION SELECT video_id, canonical_url FROM prior_fact_checks
    UNION SELECT video_id, url FROM media
)
SELECT url FROM named WHERE url IS NOT NULL GROUP BY url HAVING bool_and(video_id = $video_id)

-- name: sentences
-- Sentences that identify cached answers about the video.
SELECT text FROM claims WHERE video_id = $video_id
UNION SELECT reason FROM judgements WHERE video_id = $video_id AND reason <> ''

-- name: unname_verdicts
-- Verdicts on claims that took over sources of the video no longer name it.
UPDATE verdict_history
SET reason = replace(verdict_history.reason, taken.reused_from, $words)
FROM (
    SELECT DISTINCT claim_id, run_id, reused_from
    FROM evidence
    WHERE reused_claim_id IN (SELECT claim_id FROM claims WHERE video_id = $video_id)
) AS taken
WHERE taken.claim_id = verdict_history.claim_id AND taken.run_id = verdict_history.run_id

-- name: unname_evidence
UPDATE evidence
SET reused_from = $words
WHERE reused_claim_id IN (SELECT claim_id FROM claims WHERE video_id = $video_id)

-- name: requests
SELECT DISTINCT request_id FROM llm_calls WHERE video_id = $video_id AND request_id IS NOT NULL

-- name: mark_texts
CREATE OR REPLACE TEMP TABLE own_texts AS
SELECT content_hash FROM pages WHERE video_id = $video_id AND content_hash IS NOT NULL
UNION SELECT content_hash FROM evidence WHERE video_id = $video_id AND content_hash IS NOT NULL
-- A repeated step may have replaced the row that referred to a text.
UNION SELECT content_hash FROM page_texts
WHERE run_id IN (SELECT run_id FROM materializations WHERE video_id = $video_id)
EXCEPT (
    SELECT content_hash FROM pages WHERE video_id <> $video_id AND content_hash IS NOT NULL
    UNION SELECT content_hash FROM evidence WHERE video_id <> $video_id AND content_hash IS NOT NULL
)

-- name: count_texts
SELECT count(*) FROM {table} WHERE content_hash IN (SELECT content_hash FROM own_texts)

-- name: erase_texts
DELETE FROM {table} WHERE content_hash IN (SELECT content_hash FROM own_texts)

-- name: count_linked
SELECT count(*) FROM {table}
WHERE {column} IN (SELECT {key} FROM {parent} WHERE video_id = $video_id)
AND {column} NOT IN (SELECT {key} FROM {parent} WHERE video_id <> $video_id)

-- name: erase_linked
DELETE FROM {table}
WHERE {column} IN (SELECT {key} FROM {parent} WHERE video_id = $video_id)
AND {column} NOT IN (SELECT {key} FROM {parent} WHERE video_id <> $video_id)

-- name: count_rows
SELECT count(*) FROM {table} WHERE video_id = $video_id

-- name: erase_rows
DELETE FROM {table} WHERE video_id = $video_id
