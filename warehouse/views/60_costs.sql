-- The cost of a check: models, judges, search, readers. Names and columns are stable.

CREATE OR REPLACE VIEW costs AS  -- The cost of each check: one row per video, run, stage and service (models, search, readers). A check without such a service has one row of kind none and 0 dollars. The sum over all rows is the amount paid, as far as known.
WITH asked AS (
SELECT
    video_id,  -- The video.
    run_id,  -- The run; for judges the judging.
    max(checked_at) AS checked_at,  -- Time of the check (UTC).
    stage,  -- The stage that asked; judge for `factible judge`.
    'model' AS kind,  -- model, judge, search, reader, or none.
    provider || '/' || model AS service,  -- The model as PROVIDER/MODEL, or the search provider or reader.
    count(*) AS requests,  -- Number of requests, with repeated ones; for search and readers only answered ones.
    count(*) FILTER (cache_hit) AS from_cache,  -- Number of them that the cache answered.
    sum(input_tokens) FILTER (NOT cache_hit OR cost_usd > 0)::BIGINT AS input_tokens,  -- Input tokens of models, if this row paid for them.
    sum(output_tokens) FILTER (NOT cache_hit OR cost_usd > 0)::BIGINT AS output_tokens,  -- Output tokens of models with their thoughts, if this row paid for them.
    sum(cost_usd) AS cost_usd,  -- Cost in US dollars; 0 if cost_known is false.
    bool_and(price_known) AS cost_known,  -- Whether all of it has a listed price.
    bool_or(NOT coalesce(usage_reported, true)) AS estimated,  -- Whether part of the cost is an estimate: tokens that no server counted, or a list price per request.
    count(*) FILTER (batched) AS batched  -- Number of requests in a batch, at half the usual price.
FROM llm_calls
GROUP BY video_id, run_id, stage, provider, model
UNION ALL
SELECT
    judgements.video_id,
    judging_id,
    max(judged_at),
    'judge',
    'judge',
    judge_calls.provider || '/' || judge_calls.model,
    count(*),
    count(*) FILTER (judge_calls.cache_hit),
    sum(input_tokens) FILTER (NOT judge_calls.cache_hit OR judge_calls.cost_usd > 0)::BIGINT,
    sum(output_tokens) FILTER (NOT judge_calls.cache_hit OR judge_calls.cost_usd > 0)::BIGINT,
    sum(judge_calls.cost_usd),
    bool_and(judge_calls.price_known),
    false,
    0
FROM judge_calls
JOIN judgements USING (judgement_id, judging_id)
GROUP BY judgements.video_id, judging_id, judge_calls.provider, judge_calls.model
UNION ALL
SELECT
    video_id,
    run_id,
    checked_at,
    stage,
    CASE stage WHEN 'search_hits' THEN 'search' ELSE 'reader' END,
    service,
    requests,
    0,
    NULL,
    NULL,
    coalesce(cost_usd, 0),
    cost_usd IS NOT NULL,
    coalesce(cost_usd, 0) > 0,
    0
FROM service_uses
),
-- A check that asked nobody has a row of 0 dollars: the sum over its costs is 0 and not NULL.
paid AS (
SELECT * FROM asked
UNION ALL
SELECT video_id, run_id, max(checked_at), 'none', 'none', 'none', 0, 0, NULL, NULL, 0, true, false, 0
FROM materializations
ANTI JOIN asked USING (video_id, run_id)
GROUP BY video_id, run_id
)
SELECT
    paid.*,
    current_videos.title AS video_title  -- Title of the video.
FROM paid
LEFT JOIN current_videos USING (video_id);
