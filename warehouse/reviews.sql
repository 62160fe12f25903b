-- What is asked of the acts of reviewers; {columns} are those of ReviewAction.

-- name: actions
SELECT {columns}
FROM review_actions
WHERE video_id = $video_id
ORDER BY acted_at, position, action_id

-- name: carried
SELECT claim_id, source_run_id, last_checked_at
FROM carried_claims
WHERE video_id = $video_id AND run_id = $run_id

-- name: forget_carried
DELETE FROM carried_claims WHERE video_id = $video_id AND run_id = $run_id
