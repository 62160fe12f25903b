-- The questions of the API to the published copy. Times are in UTC without a zone.

-- name: total
SELECT count(*) AS videos FROM current_videos

-- name: summaries
SELECT
    videos.video_id,
    videos.title,
    videos.channel,
    count(claims.claim_id) AS claims,
    count(*) FILTER (verdicts.stance = '{name}') AS {name},
    count(*) FILTER (verdicts.status = 'incomplete') AS incomplete,
    any_value(verdicts.basis) AS basis,
    max(verdicts.checked_at) AS checked_at
FROM current_videos AS videos
LEFT JOIN current_claims AS claims USING (video_id)
LEFT JOIN current_verdicts AS verdicts USING (video_id, claim_id)
GROUP BY ALL
ORDER BY checked_at DESC NULLS LAST, videos.video_id
LIMIT $limit OFFSET $offset

-- name: checks
SELECT
    run_id,
    max(checked_at) AS checked_at,
    count(*) AS verdicts,
    count(*) FILTER (status = 'incomplete') AS incomplete
FROM verdict_history
WHERE video_id = $video_id
GROUP BY run_id
ORDER BY checked_at DESC, run_id DESC
LIMIT $limit OFFSET $offset

-- name: changes
SELECT
    claim_id, claim, change, previous_stance, stance, previous_confidence, confidence,
    previous_basis, basis, previous_checked_at, checked_at, previous_run_id, run_id
FROM verdict_changes
WHERE video_id = $video_id
ORDER BY checked_at DESC, claim_id
LIMIT $limit OFFSET $offset

-- name: totals
SELECT
    (SELECT count(*) FROM current_videos WHERE video_id = $video_id) AS videos,
    (SELECT count(DISTINCT run_id) FROM verdict_history WHERE video_id = $video_id) AS total_checks,
    (SELECT count(*) FROM verdict_changes WHERE video_id = $video_id) AS total_changes
