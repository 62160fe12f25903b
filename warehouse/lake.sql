-- Opening, locking, creating and tidying a lake. Names in {braces} cannot be parameters.

-- name: load
LOAD '{file}'

-- name: secret
CREATE SECRET catalogue (TYPE postgres{password})

-- name: forget_keys
RESET GLOBAL s3_access_key_id;
RESET GLOBAL s3_secret_access_key;
RESET GLOBAL s3_session_token;

-- name: secret_of_store
CREATE SECRET store (TYPE {kind}, SCOPE '{data}'{options})

-- name: attach
-- The catalogue keeps sets of up to this many rows until `tidy` moves them into files.
ATTACH 'ducklake:postgres:{catalogue}' AS lake (
    DATA_PATH '{data}', META_SECRET 'catalogue', DATA_INLINING_ROW_LIMIT 100{mode}
)

-- name: attach_locks
ATTACH '{catalogue}' AS locks (TYPE postgres, SECRET catalogue, READ_ONLY)

-- name: shut
-- No SQL reads or writes another file, attaches a database or loads an extension.
SET GLOBAL allowed_directories = ['{data}'];
SET GLOBAL enable_external_access = false

-- name: enter
SET enable_progress_bar = false;
SET TimeZone = 'UTC';
USE lake

-- name: lock
-- Locks are taken in sorted order, so two writers cannot deadlock.
FROM postgres_query('locks', $ask$
    SELECT set_config('lock_timeout', '{milliseconds}ms', true) AS waited,
        (SELECT count(*) FROM (SELECT pg_advisory_xact_lock_shared(key) FROM unnest(ARRAY{shared}::BIGINT[]) AS key) AS common) AS shared,
        (SELECT count(*) FROM (SELECT pg_advisory_xact_lock(key) FROM unnest(ARRAY{keys}::BIGINT[]) AS key) AS held) AS keys
$ask$)

-- name: newest_change
SELECT id FROM ducklake_current_snapshot('lake')

-- name: tables
SELECT table_name, string_agg(
    '"' || column_name || '" ' || data_type || CASE WHEN is_nullable THEN '' ELSE ' NOT NULL' END,
    ', ' ORDER BY column_index
)
FROM duckdb_columns()
JOIN duckdb_tables() USING (database_name, schema_name, table_name)
GROUP BY table_name
ORDER BY table_name

-- name: comments
SELECT 'COMMENT ON TABLE ' || table_name || ' IS ''' || replace(comment, '''', '''''') || ''''
FROM duckdb_tables() WHERE comment IS NOT NULL
UNION ALL
SELECT 'COMMENT ON COLUMN ' || table_name || '."' || column_name || '" IS ''' || replace(columns.comment, '''', '''''') || ''''
FROM duckdb_columns() AS columns
JOIN duckdb_tables() USING (database_name, schema_name, table_name)
WHERE columns.comment IS NOT NULL

-- name: create
CREATE TABLE {table} ({columns})

-- name: rows
FROM {table}

-- name: insert
INSERT INTO {table} BY NAME FROM incoming

-- name: bytes_of_files
SELECT coalesce(sum(file_size_bytes), 0) FROM ducklake_table_info('lake')

-- name: flush
CALL ducklake_flush_inlined_data('lake')

-- name: expire
CALL ducklake_expire_snapshots('lake', older_than => now() - INTERVAL '1 day')

-- name: merge
CALL ducklake_merge_adjacent_files('lake')

-- name: rewrite
CALL ducklake_rewrite_data_files('lake')

-- name: clean
CALL ducklake_cleanup_old_files('lake', older_than => now() - INTERVAL '1 day')

-- name: clean_orphans
CALL ducklake_delete_orphaned_files('lake', older_than => now() - INTERVAL '1 day')
