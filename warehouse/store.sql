-- Queries of the store. Names in {braces} come from record classes.

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

-- name: set_of_run
SELECT {columns} FROM materializations
WHERE asset = $asset AND video_id = $video_id AND run_id = $run_id

-- name: videos
SELECT DISTINCT video_id FROM materializations ORDER BY video_id

-- name: forget
DELETE FROM {table} WHERE {column} = ?

-- name: known_texts
SELECT content_hash FROM page_texts WHERE list_contains($hashes, content_hash)
