-- Creating the schema and asking for its version.

-- name: version
SELECT version, views_checksum FROM schema_version

-- name: last_migration
-- Versions up to 31 kept a table of migrations.
SELECT max(version), NULL FROM schema_migrations

-- name: tables
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary

-- name: views
-- Every view of the project has a comment. Views without one belong to a person and stay.
SELECT view_name
FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal AND comment IS NOT NULL

-- name: drop_view
DROP VIEW "{view}"

-- name: created
INSERT INTO schema_version (version, created_at) VALUES (?, ?)

-- name: views_in_force
UPDATE schema_version SET views_checksum = ?

-- name: comment
COMMENT ON {what} IS '{words}';

-- name: comments_of_views
-- Statements that copy the comments of tables to the columns of the views that show them.
SELECT 'COMMENT ON COLUMN ' || shown.table_name || '.' || shown.column_name
    || ' IS ''' || replace(commented.comment, '''', '''''') || ''''
FROM (SELECT unnest($views) AS view_name, unnest($tables) AS table_name) AS pairs
JOIN duckdb_columns() AS shown ON shown.table_name = pairs.view_name
JOIN duckdb_columns() AS commented
    ON commented.table_name = pairs.table_name AND commented.column_name = shown.column_name
WHERE shown.comment IS NULL AND commented.comment IS NOT NULL

-- name: into_the_file
SET checkpoint_threshold = '1KB'

-- name: into_the_log
RESET checkpoint_threshold

-- name: is_lake
SELECT 1 FROM duckdb_databases() WHERE database_name = current_database() AND type = 'ducklake'
