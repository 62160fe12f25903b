-- The rows of each run, and the failures of services by day. Names and columns are stable.

CREATE OR REPLACE VIEW runs AS  -- The rows that each run stored: one row per run and video. Runs that stored nothing are absent; their calls are in costs.
WITH done AS (
    SELECT
        run_id,
        video_id,
        max(checked_at) AS checked_at,
        list(asset ORDER BY checked_at, asset) AS assets,
        -- The claim-level assets run at once.
        coalesce(sum(duration_seconds) FILTER (asset IN ('transcripts', 'claims')), 0)
        + coalesce(max(duration_seconds) FILTER (asset NOT IN ('transcripts', 'claims')), 0) AS seconds
    FROM materializations
    GROUP BY run_id, video_id
),
reached AS (
    SELECT
        run_id,
        video_id,
        count(*) AS verdicts,
        count(*) FILTER (status = 'incomplete') AS incomplete,
        count(*) FILTER (stance = 'supports') AS supported,
        count(*) FILTER (stance = 'refutes') AS refuted
    FROM verdict_history
    -- A run of some claims copies the verdicts on the others.
    ANTI JOIN carried_claims USING (video_id, run_id, claim_id)
    GROUP BY run_id, video_id
),
paid AS (
    SELECT run_id, video_id, sum(cost_usd) AS cost_usd, bool_and(cost_known) AS cost_known
    FROM costs
    GROUP BY run_id, video_id
)
SELECT
    done.run_id,  -- The run.
    done.video_id,  -- The video.
    current_videos.title AS video_title,  -- Title of the video.
    done.checked_at,  -- Time of the run's check (UTC).
    done.assets,  -- The assets that it wrote.
    coalesce(reached.verdicts, 0) AS verdicts,  -- Verdicts that it reached, the incomplete ones included.
    coalesce(reached.incomplete, 0) AS incomplete,  -- Verdicts that stayed incomplete because services failed.
    coalesce(reached.supported, 0) AS supported,  -- Verdicts that support their claim.
    coalesce(reached.refuted, 0) AS refuted,  -- Verdicts that refute their claim.
    done.seconds,  -- Seconds of its work: transcript and claims one after the other, then the longest of the rest, which run at once.
    coalesce(paid.cost_usd, 0) AS cost_usd,  -- Its cost in US dollars; see costs.
    coalesce(paid.cost_known, true) AS cost_known  -- Whether all of it has a listed price.
FROM done
LEFT JOIN reached USING (run_id, video_id)
LEFT JOIN paid USING (run_id, video_id)
LEFT JOIN current_videos USING (video_id);

CREATE OR REPLACE VIEW outages AS  -- Failures of services over time: one row per day, kind and service that failed, over all runs.
-- A run of some claims copies the requests of the others.
WITH asked AS (
    SELECT 'search' AS kind, provider AS service, status = 'infra_error' AS failed, reason, video_id, checked_at
    FROM searches ANTI JOIN carried_claims USING (video_id, run_id, claim_id)
    UNION ALL
    SELECT DISTINCT ON (video_id, page_id, retrieved_at)
        'page', domain, status = 'infra_error', reason, video_id, retrieved_at
    FROM pages
    UNION ALL
    SELECT 'model', provider || '/' || model, outcome = 'infra_error', reason, video_id, checked_at
    FROM llm_calls WHERE NOT cache_hit
    UNION ALL
    SELECT 'fact checks', provider, status = 'infra_error', reason, video_id, checked_at
    FROM prior_fact_checks ANTI JOIN carried_claims USING (video_id, run_id, claim_id)
    WHERE rank = 1
    UNION ALL
    SELECT 'picture', provider, status = 'infra_error', reason, video_id, checked_at
    FROM media WHERE kind IN ('match', 'deepfake') AND rank = 1 AND status <> 'skipped'
    UNION ALL
    SELECT 'ratings', 'domain registries', status = 'infra_error', array_to_string(reasons, '; '), video_id, checked_at
    FROM reliability_ratings WHERE status = 'infra_error' OR domain_age_years IS NOT NULL
)
SELECT
    CAST(checked_at AT TIME ZONE 'UTC' AS DATE) AS day,  -- The day (UTC).
    kind,  -- search, page, model, fact checks, picture or ratings.
    service,  -- The search provider, the site, or the model as PROVIDER/MODEL.
    count(*) FILTER (failed) AS failures,  -- Requests that failed because of the service: searches, pages, calls, look-ups.
    count(*) AS attempts,  -- All requests to it that day, with failures. Domain registries: the domains whose age they told, and failures.
    count(*) FILTER (failed) / count(*) AS share,  -- failures divided by attempts.
    count(DISTINCT video_id) FILTER (failed) AS videos,  -- Videos whose checks it concerns.
    arg_max(reason, checked_at) FILTER (failed) AS reason,  -- Reason of the last failure.
    max(checked_at) FILTER (failed) AS last_failed_at  -- Time of the last failure (UTC).
FROM asked
GROUP BY ALL
HAVING failures > 0;
