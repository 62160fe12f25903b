-- Latency and models, for operators of the pipeline.

CREATE OR REPLACE VIEW latency_by_stage AS
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
    stage,
    sets.videos,
    sets.runs,
    sets.median_seconds,
    sets.p95_seconds,
    sets.longest_seconds,
    sets.latest_seconds,
    sets.total_seconds,
    coalesce(services.answers, 0) AS answers,
    services.median_answer_seconds,
    services.p95_answer_seconds,
    coalesce(services.waited_seconds, 0) AS waited_seconds,
    sets.checked_at
FROM sets
LEFT JOIN services USING (stage);
COMMENT ON VIEW latency_by_stage IS 'How long each stage takes: one row per stage, over all runs. The claim-level stages overlap, so their times do not add up to that of a run.';
COMMENT ON COLUMN latency_by_stage.stage IS 'The stage, named as its asset.';
COMMENT ON COLUMN latency_by_stage.videos IS 'Videos for which it was done.';
COMMENT ON COLUMN latency_by_stage.runs IS 'How often it was done: one for each run and video.';
COMMENT ON COLUMN latency_by_stage.median_seconds IS 'Median of the seconds from its first start to its last end in a run.';
COMMENT ON COLUMN latency_by_stage.p95_seconds IS '95 % of its runs were done in that many seconds.';
COMMENT ON COLUMN latency_by_stage.longest_seconds IS 'The seconds of the slowest run.';
COMMENT ON COLUMN latency_by_stage.latest_seconds IS 'The seconds of the newest run.';
COMMENT ON COLUMN latency_by_stage.total_seconds IS 'The seconds of all its runs together.';
COMMENT ON COLUMN latency_by_stage.answers IS 'Answers of services that it waited for: of search providers, of sites, of models (those from the cache of models left out).';
COMMENT ON COLUMN latency_by_stage.median_answer_seconds IS 'Median of the seconds until an answer; null if it asks no service.';
COMMENT ON COLUMN latency_by_stage.p95_answer_seconds IS '95 % of the answers came in that many seconds.';
COMMENT ON COLUMN latency_by_stage.waited_seconds IS 'Seconds until all these answers, added up although many were waited for at once.';
COMMENT ON COLUMN latency_by_stage.checked_at IS 'When its newest run checked a video (UTC).';

CREATE OR REPLACE VIEW model_usage AS
SELECT
    provider,
    model,
    stage,
    prompt_version,
    count(DISTINCT video_id) AS videos,
    count(DISTINCT run_id) AS runs,
    count(*) AS calls,
    count(*) FILTER (cache_hit) AS cache_hits,
    count(*) FILTER (attempt > 1 AND NOT cache_hit) AS repetitions,
    count(*) FILTER (outcome = 'invalid') AS invalid,
    count(*) FILTER (outcome = 'truncated') AS truncated,
    count(*) FILTER (outcome = 'refused') AS refused,
    count(*) FILTER (outcome = 'infra_error') AS failed,
    sum(input_tokens) FILTER (NOT cache_hit)::BIGINT AS input_tokens,
    sum(output_tokens) FILTER (NOT cache_hit)::BIGINT AS output_tokens,
    sum(cost_usd) AS cost_usd,
    sum(cost_usd) / count(DISTINCT video_id) AS cost_per_video_usd,
    bool_and(price_known) AS price_known,
    median(latency_seconds) FILTER (NOT cache_hit) AS median_seconds,
    quantile_cont(latency_seconds, 0.95) FILTER (NOT cache_hit) AS p95_seconds,
    min(checked_at) AS first_used_at,
    max(checked_at) AS last_used_at
FROM llm_calls
GROUP BY provider, model, stage, prompt_version;
COMMENT ON VIEW model_usage IS 'How each language model was used and how it did: one row per model, stage and version of the prompt, over all runs.';
COMMENT ON COLUMN model_usage.provider IS 'The provider of the model.';
COMMENT ON COLUMN model_usage.model IS 'The model.';
COMMENT ON COLUMN model_usage.stage IS 'The stage that asked it: claims, queries, evidence or verdicts.';
COMMENT ON COLUMN model_usage.prompt_version IS 'Version of the prompt.';
COMMENT ON COLUMN model_usage.videos IS 'Videos that it was asked for.';
COMMENT ON COLUMN model_usage.runs IS 'Runs in which it was asked.';
COMMENT ON COLUMN model_usage.calls IS 'Calls, repeated ones and those answered from the cache included.';
COMMENT ON COLUMN model_usage.cache_hits IS 'Calls answered from the cache.';
COMMENT ON COLUMN model_usage.repetitions IS 'Calls that repeated a question whose answer could not be used.';
COMMENT ON COLUMN model_usage.invalid IS 'Answers that were not of the form asked for.';
COMMENT ON COLUMN model_usage.truncated IS 'Answers that broke off at the limit of tokens.';
COMMENT ON COLUMN model_usage.refused IS 'Answers in which the model declined.';
COMMENT ON COLUMN model_usage.failed IS 'Calls that its service did not answer.';
COMMENT ON COLUMN model_usage.input_tokens IS 'Tokens read and paid: without those of answers from the cache; null if all came from there.';
COMMENT ON COLUMN model_usage.output_tokens IS 'Tokens written and paid; null if all answers came from the cache.';
COMMENT ON COLUMN model_usage.cost_usd IS 'Cost in US dollars; 0 for a model without a listed price.';
COMMENT ON COLUMN model_usage.cost_per_video_usd IS 'Cost in US dollars per video, over all its runs.';
COMMENT ON COLUMN model_usage.price_known IS 'Whether the model had a listed price in all these calls.';
COMMENT ON COLUMN model_usage.median_seconds IS 'Median of the seconds until an answer, those from the cache left out.';
COMMENT ON COLUMN model_usage.p95_seconds IS '95 % of those answers came in that many seconds.';
COMMENT ON COLUMN model_usage.first_used_at IS 'When the first of these runs checked a video (UTC).';
COMMENT ON COLUMN model_usage.last_used_at IS 'When the newest of these runs checked a video (UTC).';
