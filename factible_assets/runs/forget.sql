-- Whether an exported table holds a video.

-- name: rows_in_parquet
SELECT count(*) FROM read_parquet($file) WHERE video_id = $video_id
