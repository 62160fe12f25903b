-- What migrating asks; {names in braces} are tables, columns and words, which take no parameters.

-- name: newest
SELECT version, views_checksum FROM schema_migrations ORDER BY version DESC LIMIT 1

-- name: tables
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary

-- name: applied
INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)

-- name: views_in_force
UPDATE schema_migrations SET views_checksum = CASE version WHEN ? THEN ? END

-- name: comments_of_views
-- Statements that give the columns of views the comments of the tables beside them in the lists.
SELECT 'COMMENT ON COLUMN ' || shown.table_name || '.' || shown.column_name
    || ' IS ''' || replace(told.comment, '''', '''''') || ''''
FROM (SELECT unnest($views) AS view_name, unnest($tables) AS table_name) AS pairs
JOIN duckdb_columns() AS shown ON shown.table_name = pairs.view_name
JOIN duckdb_columns() AS told
    ON told.table_name = pairs.table_name AND told.column_name = shown.column_name
WHERE shown.comment IS NULL AND told.comment IS NOT NULL

-- name: outdated
SELECT table_name, sql, constraint_text, constraint_column_names
FROM duckdb_tables()
LEFT JOIN (FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY')
    USING (database_name, schema_name, table_name)
WHERE list_contains(?, table_name) AND (
    constraint_text IS NOT NULL OR list_any_value(list_filter(?, lambda listed: contains(sql, listed))) IS NOT NULL
)

-- name: comments
-- Statements that give the table that is made anew the comments of the old one.
SELECT 'COMMENT ON TABLE ' || table_name || '_anew IS ''' || replace(comment, '''', '''''') || ''''
FROM duckdb_tables() WHERE table_name = $table AND comment IS NOT NULL
UNION ALL
SELECT 'COMMENT ON COLUMN ' || table_name || '_anew."' || column_name
    || '" IS ''' || replace(comment, '''', '''''') || ''''
FROM duckdb_columns() WHERE table_name = $table AND comment IS NOT NULL

-- name: take_over
INSERT INTO {table}_anew BY NAME SELECT * FROM {table};
DROP TABLE {table};
ALTER TABLE {table}_anew RENAME TO {table}

-- name: into_the_file
SET checkpoint_threshold = '1KB'

-- name: into_the_log
RESET checkpoint_threshold

-- name: is_lake
SELECT 1 FROM duckdb_databases() WHERE database_name = current_database() AND type = 'ducklake'
