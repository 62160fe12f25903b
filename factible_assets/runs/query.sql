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

-- name: compared
-- The columns `stance`, `verdict`, `…_stance` and `…_verdict` that a query compares with texts or parameters. It leaves out
-- columns that the query itself defines. Of a query that DuckDB cannot parse there are none.
WITH nodes AS MATERIALIZED (
    SELECT value AS node FROM json_tree(json_serialize_sql($query::VARCHAR)) WHERE type = 'OBJECT'
),
defined AS (
    SELECT lower(node ->> 'alias') AS name FROM nodes
    WHERE NOT coalesce(list_contains(node ->> '$.column_names[*]', node ->> 'alias'), false)
    UNION ALL
    SELECT lower(unnest(node ->> '$.column_name_alias[*]')) FROM nodes
),
comparisons AS (
    SELECT unnest([node -> 'left', node -> 'right'] || (node -> '$.children[*]')) AS side, row_number() OVER () AS place
    FROM nodes
    WHERE (node ->> 'type') IN ('COMPARE_EQUAL', 'COMPARE_NOTEQUAL', 'COMPARE_IN', 'COMPARE_NOT_IN')
)
SELECT lower(subject.side ->> '$.column_names[#-1]') AS name, said.side ->> '$.value.value' AS word, said.side ->> 'identifier' AS parameter
FROM comparisons AS subject JOIN comparisons AS said USING (place)
WHERE regexp_matches(name, '(^|_)(stance|verdict)$')
    AND name NOT IN (SELECT defined.name FROM defined WHERE defined.name IS NOT NULL)
    AND (said.side ->> '$.value.type.id' = 'VARCHAR' OR parameter IS NOT NULL)
