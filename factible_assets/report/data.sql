-- The questions of reports and the index beside the rows of a video.

-- name: failed_rechecks
-- Complete verdicts whose newest re-check failed.
SELECT claim_id, checked_at AS reached_at, latest_checked_at AS failed_at, latest_reason AS reason
FROM current_verdicts
WHERE video_id = $video_id AND status = 'complete' AND latest_status = 'incomplete'

-- name: changes
SELECT claim_id, claim, change, previous_stance, stance, previous_confidence, confidence,
       previous_basis, basis, previous_checked_at, checked_at, previous_run_id, run_id
FROM verdict_changes
WHERE video_id = $video_id
ORDER BY checked_at, claim_id

-- name: reviewed_queries
-- The words of queries that a reviewer changed. The newest check may not use them any more.
SELECT queries.query_id, max(queries.text) AS words
FROM queries
JOIN review_actions AS acts
    ON acts.target = queries.query_id AND acts.video_id = queries.video_id
WHERE queries.video_id = $video_id
GROUP BY queries.query_id

-- name: checks
SELECT count(*) AS checks FROM materializations WHERE video_id = $video_id AND asset = 'verdicts'

-- name: indexed_videos
SELECT videos.video_id, videos.title, videos.channel, videos.duration_seconds, videos.published_on,
       videos.category, videos.corpus, judged.checked_at,
       coalesce(flipped.changes, 0) AS changes, coalesce(paid.cost_usd, 0) AS cost_usd
FROM current_videos AS videos
LEFT JOIN current_materializations AS judged
    ON judged.video_id = videos.video_id AND judged.asset = 'verdicts'
LEFT JOIN (SELECT video_id, count(*) AS changes FROM verdict_changes WHERE change = 'flip' GROUP BY video_id)
    AS flipped ON flipped.video_id = videos.video_id
LEFT JOIN (SELECT video_id, sum(cost_usd) AS cost_usd FROM llm_calls GROUP BY video_id)
    AS paid ON paid.video_id = videos.video_id
ORDER BY judged.checked_at DESC NULLS LAST, videos.title, videos.video_id

-- name: indexed_claims
SELECT
    claims.video_id, claims.claim_id, claims.text, trunc(claims.start_seconds)::BIGINT AS start_seconds,
    coalesce(verdicts.stance, CASE WHEN verdicts.claim_id IS NULL THEN 'unjudged' ELSE 'incomplete' END) AS outcome,
    CASE WHEN verdicts.stance <> 'unclear' THEN verdicts.confidence END AS confidence,
    verdicts.basis,
    coalesce(verdicts.supporting, 0) AS supporting,
    coalesce(verdicts.refuting, 0) AS refuting
FROM current_claims AS claims
LEFT JOIN (
    -- As in current_verdicts, but without the columns that cost that view a sort and a join.
    SELECT video_id, claim_id, unnest(arg_max(
        {'stance': stance, 'confidence': confidence, 'basis': basis, 'supporting': supporting, 'refuting': refuting},
        (status = 'complete', checked_at <= now() + INTERVAL 1 HOUR, checked_at, run_id)
    ))
    FROM verdict_history
    GROUP BY video_id, claim_id
) AS verdicts
    ON verdicts.video_id = claims.video_id AND verdicts.claim_id = claims.claim_id
ORDER BY claims.video_id, claims.start_seconds, claims.char_start, claims.rank, claims.claim_id
