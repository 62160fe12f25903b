-- Publishing. Names in {braces} are paths and names, which cannot be parameters.

-- name: source
SELECT current_database()

-- name: attach
ATTACH '{path}' AS published_before (READ_ONLY)

-- name: beyond
-- Sets and actions are only ever added, so a copy of the same warehouse never has more.
SELECT count(*) FROM (
    (
        SELECT asset, video_id, run_id FROM published_before.materializations
        EXCEPT
        SELECT asset, video_id, run_id FROM "{source}".materializations
    )
    UNION ALL
    (
        SELECT 'review', video_id, action_id FROM published_before.review_actions
        EXCEPT
        SELECT 'review', video_id, action_id FROM "{source}".review_actions
    )
)

-- name: detach
DETACH published_before

-- name: attach_copy
ATTACH '{path}' AS publication

-- name: copy
COPY FROM DATABASE "{source}" TO publication

-- name: detach_copy
DETACH DATABASE IF EXISTS publication

-- The following statements update an older copy. Rows carry the time of their set, so DuckDB skips
-- all but the last blocks of a table by their minimum and maximum.

-- name: other_schema
FROM "{source}".schema_version EXCEPT FROM publication.schema_version

-- name: tables
SELECT table_name FROM duckdb_tables() WHERE database_name = $name AND NOT temporary

-- name: changed_sets
CREATE OR REPLACE TEMP TABLE changed_sets AS
WITH fresh AS (FROM "{source}".materializations EXCEPT FROM publication.materializations)
SELECT DISTINCT
    fresh.video_id, fresh.run_id, fresh.checked_at, published.run_id IS NOT NULL AS again
FROM fresh
LEFT JOIN publication.materializations AS published USING (video_id, run_id)

-- name: changed_moments
SELECT min(checked_at), max(checked_at), coalesce(bool_or(again), false) FROM changed_sets

-- name: remove_sets
DELETE FROM publication.{table} WHERE (video_id, run_id) IN (SELECT video_id, run_id FROM changed_sets)

-- name: add_sets
INSERT INTO publication.{table} BY NAME
SELECT * FROM "{source}".{table}
WHERE checked_at BETWEEN $first AND $last AND (video_id, run_id) IN (SELECT video_id, run_id FROM changed_sets)

-- name: add_texts
INSERT INTO publication.{table} BY NAME
SELECT * FROM "{source}".{table}
WHERE checked_at BETWEEN $first AND $last
    AND run_id IN (SELECT run_id FROM changed_sets)
    AND content_hash NOT IN (SELECT content_hash FROM publication.{table} WHERE checked_at BETWEEN $first AND $last)

-- name: remove_others
DELETE FROM publication.{table} WHERE rowid IN (
    SELECT held.rowid
    FROM publication.{table} AS held
    ANTI JOIN "{source}".{table} AS now ON held IS NOT DISTINCT FROM now
)

-- name: add_others
INSERT INTO publication.{table} BY NAME FROM "{source}".{table} EXCEPT FROM publication.{table}

-- name: uneven
SELECT 1
WHERE (SELECT count(*) FROM "{source}".{table}) <> (SELECT count(*) FROM publication.{table})

-- name: remove_uneven
DELETE FROM publication.{table} WHERE (video_id, run_id) IN (
    SELECT (video_id, run_id) FROM (
        SELECT video_id, run_id, count(*) FROM publication.{table} GROUP BY ALL
        EXCEPT
        SELECT video_id, run_id, count(*) FROM "{source}".{table} GROUP BY ALL
    )
)

-- name: add_missing
INSERT INTO publication.{table} BY NAME
SELECT * FROM "{source}".{table} WHERE (video_id, run_id) NOT IN (SELECT (video_id, run_id) FROM publication.{table})

-- name: checkpoint_copy
CHECKPOINT publication
