-- Copying rows between databases, and removing texts. Names in {braces} cannot be parameters.

-- name: attach
ATTACH '{path}' AS moved (READ_ONLY)

-- name: detach
DETACH moved

-- name: source
SELECT current_database()

-- name: attach_new
ATTACH '{path}' AS upgraded

-- name: detach_new
DETACH upgraded

-- name: tables_of_lake
SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake'

-- name: set_aside
ALTER TABLE {table} RENAME TO before_{table}

-- name: drop
DROP TABLE before_{table}

-- name: tables
-- The tables of the source that the target has too, perhaps by a newer name, with their shared columns.
WITH columns AS (
    FROM duckdb_columns() SEMI JOIN duckdb_tables() USING (database_name, schema_name, table_name)
)
SELECT old.table_name, new.table_name, string_agg('"' || new.column_name || '"', ', ' ORDER BY new.column_name)
FROM columns AS new
JOIN (
    SELECT
        table_name,
        -- The table verdicts of versions up to 32; today a view has that name.
        regexp_replace(table_name[length($prefix) + 1:], '^verdicts$', 'verdict_history') AS new_name,
        column_name
    FROM columns
    WHERE database_name = $source AND starts_with(table_name, $prefix)
) AS old ON old.new_name = new.table_name AND old.column_name = new.column_name
WHERE new.database_name = $target AND new.table_name <> 'schema_version'
    AND ($prefix = '' OR NOT starts_with(new.table_name, $prefix))
GROUP BY old.table_name, new.table_name
ORDER BY new.table_name

-- name: any_row
SELECT 1 FROM {table} LIMIT 1

-- name: digest
SELECT count(*), coalesce(sum(hash({columns})), 0)::HUGEINT FROM {table}

-- name: clear
DELETE FROM {table}

-- name: copy
INSERT INTO {new} ({columns}) SELECT {columns} FROM {old}

-- name: find_due
CREATE OR REPLACE TEMP TABLE due AS
SELECT states.content_hash, length(page_texts.text) AS characters, states.last_used_at
FROM text_states AS states
JOIN page_texts USING (content_hash)
WHERE states.state = 'stored' AND NOT states.is_current AND states.last_used_at < $before
UNION ALL
-- Texts that no row refers to, because the run that wrote them has replaced its set.
SELECT content_hash, length(text), checked_at
FROM page_texts
ANTI JOIN text_states USING (content_hash)
WHERE checked_at < $before

-- name: measure
SELECT count(*), coalesce(sum(characters), 0)::BIGINT FROM due

-- name: forget
DELETE FROM trimmed_texts WHERE content_hash IN (SELECT content_hash FROM page_texts)

-- name: remember
INSERT INTO trimmed_texts (content_hash, characters, last_used_at, trimmed_at)
SELECT content_hash, characters, last_used_at, $now FROM due

-- name: remove
DELETE FROM page_texts WHERE content_hash IN (SELECT content_hash FROM due)

-- name: checkpoint
CHECKPOINT

-- name: close_as_it_is
PRAGMA disable_checkpoint_on_shutdown
