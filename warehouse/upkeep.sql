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

-- name: forget_settings
DELETE FROM lake.{table}

-- name: copy
INSERT INTO lake.{table} BY NAME FROM moved.{table}

-- name: find_due
CREATE OR REPLACE TEMP TABLE due AS
SELECT states.content_hash, length(page_texts.text) AS characters, states.last_used_at
FROM text_states AS states
JOIN page_texts USING (content_hash)
WHERE states.state = 'stored' AND NOT states.is_current AND states.last_used_at < $before
UNION ALL
-- Texts that no row refers to: those of a set that its own run has replaced.
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
