-- What migrating asks; {names in braces} are a view, its column and words, which take no parameters.

-- name: newest
SELECT version, views_checksum FROM schema_migrations ORDER BY version DESC LIMIT 1

-- name: tables
SELECT table_name FROM duckdb_tables()

-- name: applied
INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)

-- name: views_in_force
UPDATE schema_migrations SET views_checksum = CASE version WHEN ? THEN ? END

-- name: uncommented
SELECT table_name, column_name
FROM duckdb_columns()
WHERE comment IS NULL AND list_contains(?, table_name)

-- name: comments
SELECT table_name, column_name, comment
FROM duckdb_columns()
WHERE comment IS NOT NULL AND NOT internal

-- name: comment
COMMENT ON COLUMN "{view}"."{column}" IS '{words}'

-- name: into_the_file
SET checkpoint_threshold = '1KB'

-- name: into_the_log
RESET checkpoint_threshold
