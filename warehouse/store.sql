-- What the store asks; {names in braces} are those of record classes, tables and views.

-- name: current
SELECT {columns} FROM {view} WHERE video_id = $video_id ORDER BY {order}

-- name: of_run
-- The moment of a set passes over all rows but those written around it, by minimum and maximum.
SELECT {columns}
FROM {table}
WHERE video_id = $video_id AND run_id = $run_id AND checked_at = $checked_at
ORDER BY {order}

-- name: calls_of_run
-- Calls may be entered before or after the set of their stage.
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
