-- The lists of tables and columns, the names that the prompt of `factible sql` completes, and the parser.

-- name: tables
SELECT table_name AS name, table_type AS kind, coalesce(comment, '') AS comment
FROM (
    SELECT view_name AS table_name, 'view' AS table_type, comment
    FROM duckdb_views() WHERE NOT internal AND database_name = current_database()
    UNION ALL
    SELECT table_name, 'table', comment FROM duckdb_tables() WHERE NOT internal AND database_name = current_database()
)
ORDER BY kind DESC, name

-- name: schema
SELECT column_name AS "column", data_type AS type, coalesce(comment, '') AS meaning
FROM duckdb_columns() WHERE NOT internal AND database_name = current_database() AND table_name = $name ORDER BY column_index

-- name: names
SELECT table_name AS name FROM duckdb_columns() WHERE NOT internal AND database_name = current_database()
UNION SELECT column_name FROM duckdb_columns() WHERE NOT internal AND database_name = current_database()
ORDER BY name

-- name: parsed
-- The syntax tree of a query as JSON, with `error` for one that is no SELECT.
SELECT json_serialize_sql($query::VARCHAR)
