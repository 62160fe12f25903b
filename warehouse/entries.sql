-- How rows are entered; {names in braces} are a table, its columns and their places.

-- name: refuse
INSERT INTO {table} ({columns}) VALUES ({places})

-- name: keep
INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})

-- name: replace
INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})
