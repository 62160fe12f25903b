-- Dagster's own tables, in SQLite and PostgreSQL; {names in braces} are tables and columns.

-- name: remove_checks
DELETE FROM asset_check_executions WHERE partition = :video

-- name: remove_events
DELETE FROM event_logs WHERE partition = :video

-- name: mentioning
SELECT {key}, {column} FROM {table} WHERE {column} LIKE :like ESCAPE '\'

-- name: remove_rows
DELETE FROM {table} WHERE id = :id

-- name: newest_events
SELECT asset_key FROM asset_keys WHERE last_run_id IN :runs

-- name: no_newest_event
UPDATE asset_keys SET last_materialization = NULL, last_run_id = NULL WHERE asset_key = :key

-- name: no_status_of_partitions
UPDATE asset_keys SET cached_status_data = NULL WHERE cached_status_data LIKE :video
