-- The videos that `factible export` can write.

-- name: checked
SELECT video_id FROM current_videos WHERE $corpus IS NULL OR corpus = $corpus ORDER BY video_id

-- name: corpora
SELECT DISTINCT corpus FROM current_videos WHERE corpus IS NOT NULL ORDER BY corpus
