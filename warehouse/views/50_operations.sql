-- Latency and models, for operators of the pipeline.

CREATE OR REPLACE VIEW latency_by_stage AS  -- Compute time of each stage: one row per stage, over all runs. The claim-level stages overlap, so their times do not add up to that of a run.
WITH answers AS (
    -- A run of some claims copies the searches and pages of the others.
    SELECT 'search_hits' AS stage, latency_seconds
    FROM searches ANTI JOIN carried_claims USING (video_id, run_id, claim_id)
    UNION ALL
    SELECT DISTINCT ON (video_id, page_id, retrieved_at) 'evidence', latency_seconds FROM pages
    UNION ALL
    -- The latency of a cached answer is that of the original call.
    SELECT stage, latency_seconds FROM llm_calls WHERE NOT cache_hit
),
services AS (
    SELECT
        stage,
        count(*) AS answers,
        sum(latency_seconds) AS waited_seconds,
        median(latency_seconds) AS median_answer_seconds,
        quantile_cont(latency_seconds, 0.95) AS p95_answer_seconds
    FROM answers
    GROUP BY stage
),
sets AS (
    SELECT
        asset AS stage,
        count(DISTINCT video_id) AS videos,
        count(*) AS runs,
        median(duration_seconds) AS median_seconds,
        quantile_cont(duration_seconds, 0.95) AS p95_seconds,
        max(duration_seconds) AS longest_seconds,
        sum(duration_seconds) AS total_seconds,
        arg_max(duration_seconds, checked_at) AS latest_seconds,
        max(checked_at) AS checked_at
    FROM materializations
    GROUP BY asset
)
SELECT
    stage,  -- The stage, named as its asset.
    sets.videos,  -- Number of videos.
    sets.runs,  -- Number of computations: one per run and video.
    sets.median_seconds,  -- Median of the seconds from its first start to its last end in a run; the next columns count the same seconds.
    sets.p95_seconds,  -- 95th percentile of the seconds.
    sets.longest_seconds,  -- Maximum of the seconds.
    sets.latest_seconds,  -- The seconds of the newest run.
    sets.total_seconds,  -- Sum of the seconds.
    coalesce(services.answers, 0) AS answers,  -- Answers of search providers, sites and models that it waited for, without cached answers of models.
    services.median_answer_seconds,  -- Median latency in seconds; null if the stage asks no service.
    services.p95_answer_seconds,  -- 95th percentile of the latency in seconds.
    coalesce(services.waited_seconds, 0) AS waited_seconds,  -- Sum of the latencies in seconds, although many requests were concurrent.
    sets.checked_at  -- Time of the newest check (UTC).
FROM sets
LEFT JOIN services USING (stage);

CREATE OR REPLACE VIEW model_usage AS  -- Use and failures of each language model: one row per model, stage and version of the prompt, over all runs.
SELECT
    provider,  -- The provider of the model.
    model,  -- The model.
    stage,  -- The stage that asked it: claims, queries, evidence or verdicts.
    prompt_version,  -- Version of the prompt.
    count(DISTINCT video_id) AS videos,  -- Number of videos.
    count(DISTINCT run_id) AS runs,  -- Number of runs.
    count(*) AS calls,  -- Number of calls, with repeated and cached ones.
    count(*) FILTER (cache_hit) AS cache_hits,  -- Calls that the cache answered.
    count(*) FILTER (attempt > 1 AND NOT cache_hit) AS repetitions,  -- Calls that repeated a question whose answer could not be used.
    count(*) FILTER (outcome = 'invalid') AS invalid,  -- Answers in a wrong form.
    count(*) FILTER (outcome = 'truncated') AS truncated,  -- Answers that broke off at the limit of tokens.
    count(*) FILTER (outcome = 'refused') AS refused,  -- Answers in which the model declined.
    count(*) FILTER (outcome = 'infra_error') AS failed,  -- Calls that its service did not answer.
    sum(input_tokens) FILTER (NOT cache_hit OR cost_usd > 0)::BIGINT AS input_tokens,  -- Input tokens of the calls whose cost is in cost_usd; null if the cache answered all calls at no cost.
    sum(output_tokens) FILTER (NOT cache_hit OR cost_usd > 0)::BIGINT AS output_tokens,  -- Their output tokens.
    sum(cost_usd) AS cost_usd,  -- Cost in US dollars; 0 for a model without a listed price.
    sum(cost_usd) / count(DISTINCT video_id) AS cost_per_video_usd,  -- Cost in US dollars per video, over all its runs.
    bool_and(price_known) AS price_known,  -- Whether the model had a listed price in all these calls.
    median(latency_seconds) FILTER (NOT cache_hit) AS median_seconds,  -- Median latency in seconds, without cached answers.
    quantile_cont(latency_seconds, 0.95) FILTER (NOT cache_hit) AS p95_seconds,  -- 95th percentile of that latency.
    min(checked_at) AS first_used_at,  -- Time of the first check (UTC).
    max(checked_at) AS last_used_at  -- Time of the newest check (UTC).
FROM llm_calls
GROUP BY provider, model, stage, prompt_version;
