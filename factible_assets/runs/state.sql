-- The numbers of `factible status` and the costs of `factible runs`.

-- name: stored
-- All counts in one statement, which computes the current verdicts once.
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
    (
        SELECT {
            'checked': count(*) FILTER (verdicts > 0 AND incomplete = 0),
            'incomplete': count(*) FILTER (incomplete > 0),
            'without_verdicts': count(*) FILTER (verdicts = 0)
        }
        FROM by_video
    ) AS videos,
    {
        'claims': (SELECT count(*) FROM current_claims),
        'verdicts': count(*) FILTER (status = 'complete'),
        'incomplete': count(*) FILTER (latest_status = 'incomplete'),
        'last_checked_at': max(checked_at)
    } AS claims,
    (
        SELECT {
            'usd': coalesce(sum(cost_usd), 0),
            'calls': count(*),
            'unpriced': count(*) FILTER (NOT price_known)
        }
        FROM llm_calls
    ) AS cost,
    (SELECT count(*) FROM recheck_plan WHERE decision = 'planned') AS due
FROM verdicts

-- name: costs_of_runs
SELECT run_id, sum(cost_usd) AS usd FROM llm_calls
WHERE run_id IN (SELECT unnest($runs)) GROUP BY run_id
