-- Reading sets. Names in {braces} come from record classes; {places} is a placeholder for each hash.

-- name: current
SELECT {columns} FROM {view} WHERE video_id = $video_id ORDER BY {order}

-- name: of_run
-- By the time of the set, DuckDB skips all blocks of rows that were not written around it.
SELECT {columns}
FROM {table}
WHERE video_id = $video_id AND run_id = $run_id AND checked_at = $checked_at
ORDER BY {order}

-- name: calls_of_run
-- Calls may be written before or after the set of their stage.
SELECT {columns} FROM {table} WHERE video_id = $video_id AND run_id = $run_id ORDER BY {order}

-- name: newest
SELECT {columns}
FROM {table}
WHERE video_id = $video_id AND list_contains($ids, {key})
QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY checked_at DESC) = 1
ORDER BY {order}

-- name: current_sets
SELECT {columns} FROM current_materializations WHERE video_id = $video_id

-- name: runs
SELECT count(DISTINCT run_id) FROM materializations WHERE video_id = $video_id

-- name: set_of_run
SELECT {columns} FROM materializations
WHERE asset = $asset AND video_id = $video_id AND run_id = $run_id

-- name: texts
-- By row id: a filter on the hashes alone would read all texts around them too.
SELECT content_hash, text
FROM page_texts
WHERE rowid IN (SELECT rowid FROM page_texts WHERE content_hash IN ({places}))
