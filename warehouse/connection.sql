-- Queries about a file as a whole, to find damage.

-- name: blocks
-- The bytes of a block, the number of blocks, and the number of those that hold data.
SELECT block_size, total_blocks, used_blocks FROM pragma_database_size()

-- name: tables
SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name

-- name: read_all
-- Reads every value, which fails on a damaged block.
SELECT bit_xor(hash(COLUMNS(*))) FROM "{table}"
