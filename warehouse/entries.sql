-- How rows are entered; {names in braces} are a table, its columns, their places and its key.

-- name: lay_out
CREATE OR REPLACE TEMP TABLE entering AS SELECT {columns} FROM {table} LIMIT 0

-- name: lay_out_row
INSERT INTO entering ({columns}) VALUES ({places})

-- name: known
SELECT 1 FROM entering SEMI JOIN {table} USING ({key}) LIMIT 1

-- name: forget
DELETE FROM {table} WHERE ({key}) IN (SELECT ({key}) FROM entering)

-- name: keep
INSERT INTO {table} BY NAME FROM entering ANTI JOIN {table} USING ({key})

-- name: enter
INSERT INTO {table} BY NAME FROM entering
