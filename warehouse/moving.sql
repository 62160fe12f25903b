-- What moving a file into a lake asks; {names in braces} are paths, tables and columns.

-- name: attach
ATTACH '{path}' AS moved (READ_ONLY)

-- name: detach
DETACH moved

-- name: tables
SELECT table_name, string_agg('"' || column_name || '"', ', ' ORDER BY column_name)
FROM duckdb_columns()
JOIN duckdb_tables() USING (database_name, schema_name, table_name)
WHERE database_name = 'moved' AND table_name <> 'schema_migrations'
GROUP BY table_name
ORDER BY table_name

-- name: digest
SELECT count(*), coalesce(sum(hash({columns})), 0)::HUGEINT FROM {of}.{table}

-- name: forget
DELETE FROM lake.{table}

-- name: copy
INSERT INTO lake.{table} BY NAME FROM moved.{table}
