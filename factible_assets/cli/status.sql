-- What `factible status` asks of the warehouse.

-- name: videos
SELECT
    count(*) FILTER (verdicts > 0 AND incomplete = 0) AS checked,
    count(*) FILTER (incomplete > 0) AS incomplete,
    count(*) FILTER (verdicts = 0) AS without_verdicts
FROM (
    SELECT
        videos.video_id,
        count(verdicts.claim_id) AS verdicts,
        count(*) FILTER (verdicts.latest_status = 'incomplete') AS incomplete
    FROM current_videos AS videos LEFT JOIN current_verdicts AS verdicts USING (video_id)
    GROUP BY videos.video_id
)

-- name: claims
SELECT
    (SELECT count(*) FROM current_claims) AS claims,
    count(*) FILTER (status = 'complete') AS verdicts,
    count(*) FILTER (latest_status = 'incomplete') AS incomplete,
    max(checked_at) AS last_checked_at
FROM current_verdicts

-- name: cost
SELECT coalesce(sum(cost_usd), 0) AS usd, coalesce(sum(calls), 0) AS calls FROM costs_by_stage

-- name: due
SELECT count(*) AS due FROM recheck_plan WHERE decision = 'planned'

-- name: costs_of_runs
SELECT run_id, sum(cost_usd) AS usd FROM costs_by_stage
WHERE run_id IN (SELECT unnest($runs)) GROUP BY run_id
