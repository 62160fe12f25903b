-- The videos of an exported table.

-- name: videos_in_parquet
SELECT DISTINCT video_id FROM read_parquet($file) WHERE list_contains($video_ids, video_id)
