-- What is asked of the acts of reviewers; {columns} are those of the record.

-- name: actions
SELECT {columns}
FROM review_actions
WHERE video_id = $video_id
ORDER BY acted_at, position, action_id

-- name: known
SELECT {columns}
FROM claims
WHERE video_id = $video_id
QUALIFY row_number() OVER (PARTITION BY claim_id ORDER BY checked_at DESC, run_id DESC) = 1

-- name: carried
SELECT claim_id, source_run_id, last_checked_at
FROM carried_claims
WHERE video_id = $video_id AND run_id = $run_id

-- name: forget_carried
DELETE FROM carried_claims WHERE video_id = $video_id AND run_id = $run_id
