-- The runs that Dagster has recorded as under way, read from the database of its records (SQLite).

-- name: under_way
SELECT
    runs.run_id,
    coalesce(max(CASE WHEN tags.key = 'video' THEN tags.value END), max(CASE WHEN tags.key = 'dagster/partition' THEN tags.value END)) AS video,
    runs.pipeline_name AS job,
    lower(runs.status) AS status,
    max(CASE WHEN tags.key = 'launched_by' THEN tags.value END) AS launched_by,
    max(CASE WHEN tags.key = 'experiment' THEN tags.value END) AS experiment_name,
    runs.create_timestamp AS created_at,
    runs.start_time AS started_at
FROM runs LEFT JOIN run_tags AS tags ON tags.run_id = runs.run_id
WHERE runs.status IN ('QUEUED', 'STARTING', 'STARTED', 'CANCELING')
GROUP BY runs.run_id
ORDER BY runs.id DESC
