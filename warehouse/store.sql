-- Queries of the store. Names in {braces} come from record classes.

-- name: videos
SELECT DISTINCT video_id FROM materializations ORDER BY video_id

-- name: forget
DELETE FROM {table} WHERE {column} = ?

-- name: known_texts
SELECT content_hash FROM page_texts WHERE list_contains($hashes, content_hash)
