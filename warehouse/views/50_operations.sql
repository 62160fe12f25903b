-- Latency and models, for operators of the pipeline.

CREATE OR REPLACE VIEW latency_by_stage AS  -- Compute time of each stage: one row per stage, over all runs. The claim-level stages overlap, so their times do not add up to that of a run.
WITH answers AS (
    SELECT 'search_hits' AS stage, latency_seconds FROM searches
    UNION ALL
    SELECT 'evidence', latency_seconds FROM pages
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
    sets.videos,  -- Videos for which it was done.
    sets.runs,  -- How often it was done: one for each run and video.
    sets.median_seconds,  -- Median of the seconds from its first start to its last end in a run.
    sets.p95_seconds,  -- 95 % of its runs were done in that many seconds.
    sets.longest_seconds,  -- The seconds of the slowest run.
    sets.latest_seconds,  -- The seconds of the newest run.
    sets.total_seconds,  -- The seconds of all its runs together.
    coalesce(services.answers, 0) AS answers,  -- Answers of services that it waited for: of search providers, of sites, of models (those from the cache of models left out).
    services.median_answer_seconds,  -- Median of the seconds until an answer; null if it asks no service.
    services.p95_answer_seconds,  -- 95 % of the answers came in that many seconds.
    coalesce(services.waited_seconds, 0) AS waited_seconds,  -- Seconds until all these answers, added up although many were waited for at once.
    sets.checked_at  -- When its newest run checked a video (UTC).
FROM sets
LEFT JOIN services USING (stage);

CREATE OR REPLACE VIEW model_usage AS  -- Use and failures of each language model: one row per model, stage and version of the prompt, over all runs.
SELECT
    provider,  -- The provider of the model.
    model,  -- The model.
    stage,  -- The stage that asked it: claims, queries, evidence or verdicts.
    prompt_version,  -- Version of the prompt.
    count(DISTINCT video_id) AS videos,  -- Videos that it was asked for.
    count(DISTINCT run_id) AS runs,  -- Runs in which it was asked.
    count(*) AS calls,  -- Calls, repeated ones and those answered from the cache included.
    count(*) FILTER (cache_hit) AS cache_hits,  -- Calls answered from the cache.
    count(*) FILTER (attempt > 1 AND NOT cache_hit) AS repetitions,  -- Calls that repeated a question whose answer could not be used.
    count(*) FILTER (outcome = 'invalid') AS invalid,  -- Answers that were not of the form asked for.
    count(*) FILTER (outcome = 'truncated') AS truncated,  -- Answers that broke off at the limit of tokens.
    count(*) FILTER (outcome = 'refused') AS refused,  -- Answers in which the model declined.
    count(*) FILTER (outcome = 'infra_error') AS failed,  -- Calls that its service did not answer.
    sum(input_tokens) FILTER (NOT cache_hit)::BIGINT AS input_tokens,  -- Tokens read and paid: without those of answers from the cache; null if all came from there.
    sum(output_tokens) FILTER (NOT cache_hit)::BIGINT AS output_tokens,  -- Tokens written and paid; null if all answers came from the cache.
    sum(cost_usd) AS cost_usd,  -- Cost in US dollars; 0 for a model without a listed price.
    sum(cost_usd) / count(DISTINCT video_id) AS cost_per_video_usd,  -- Cost in US dollars per video, over all its runs.
    bool_and(price_known) AS price_known,  -- Whether the model had a listed price in all these calls.
    median(latency_seconds) FILTER (NOT cache_hit) AS median_seconds,  -- Median of the seconds until an answer, those from the cache left out.
    quantile_cont(latency_seconds, 0.95) FILTER (NOT cache_hit) AS p95_seconds,  -- 95 % of those answers came in that many seconds.
    min(checked_at) AS first_used_at,  -- When the first of these runs checked a video (UTC).
    max(checked_at) AS last_used_at  -- When the newest of these runs checked a video (UTC).
FROM llm_calls
GROUP BY provider, model, stage, prompt_version;
