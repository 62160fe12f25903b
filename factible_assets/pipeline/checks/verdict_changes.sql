-- The changes of one run to a video.

-- name: changes
SELECT claim_id, claim, change, previous_stance, stance, previous_confidence, confidence,
    previous_basis, basis, previous_checked_at, checked_at,
    previous_run_id, run_id
FROM verdict_changes
WHERE run_id = ? AND video_id = ?
ORDER BY change DESC, abs(confidence_move) DESC, claim_id

-- name: overlap
SELECT avg(jaccard) FROM evidence_overlap
WHERE run_id = ? AND video_id = ? AND searches_complete

-- name: sources
SELECT change, count(*) AS sources FROM source_changes
WHERE run_id = ? AND video_id = ?
GROUP BY change ORDER BY change
