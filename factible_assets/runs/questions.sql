-- Questions to the warehouse about checks that have ended.

-- name: cost_of_all_checks
SELECT coalesce(sum(cost_usd), 0) AS usd FROM llm_calls WHERE video_id = $video

-- name: review_history
SELECT * FROM review_history WHERE video_id = $video ORDER BY acted_at, position
