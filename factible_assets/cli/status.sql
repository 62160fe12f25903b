-- What `factible status` asks of the warehouse.

-- name: verdicts
-- Of all videos and of all claims at once: what stands of verdicts is worked out a single time.
WITH verdicts AS MATERIALIZED (
    SELECT video_id, claim_id, status, latest_status, checked_at FROM current_verdicts
),
by_video AS (
    SELECT
        videos.video_id,
        count(verdicts.claim_id) AS verdicts,
        count(*) FILTER (verdicts.latest_status = 'incomplete') AS incomplete
    FROM current_videos AS videos LEFT JOIN verdicts USING (video_id)
    GROUP BY videos.video_id
)
SELECT
    (SELECT count(*) FROM by_video WHERE verdicts > 0 AND incomplete = 0) AS checked_videos,
    (SELECT count(*) FROM by_video WHERE incomplete > 0) AS incomplete_videos,
    (SELECT count(*) FROM by_video WHERE verdicts = 0) AS without_verdicts,
    (SELECT count(*) FROM current_claims) AS claims,
    count(*) FILTER (status = 'complete') AS verdicts,
    count(*) FILTER (latest_status = 'incomplete') AS incomplete_claims,
    max(checked_at) AS last_checked_at
FROM verdicts

-- name: cost
SELECT coalesce(sum(cost_usd), 0) AS usd, count(*) AS calls FROM llm_calls

-- name: due
SELECT count(*) AS due FROM recheck_plan WHERE decision = 'planned'

-- name: costs_of_runs
SELECT run_id, sum(cost_usd) AS usd FROM llm_calls
WHERE run_id IN (SELECT unnest($runs)) GROUP BY run_id
