-- Questions about experiments.

-- name: usable_sets
-- In the file of an experiment, run_id is the variant and code_version the key of the stage. If a
-- check is incomplete or has no verdicts, its sets from the first failed stage on are not usable.
WITH failures AS (
    SELECT run_id, video_id, 'queries' AS asset FROM queries WHERE status = 'infra_error'
    UNION
    SELECT run_id, video_id, 'search_hits' FROM searches WHERE status = 'infra_error'
    UNION
    SELECT run_id, video_id, 'evidence' FROM evidence WHERE status = 'infra_error'
    UNION
    SELECT run_id, video_id, 'verdicts' FROM verdict_history WHERE status = 'incomplete'
),
stages AS (
    SELECT unnest(assets) AS asset, generate_subscripts(assets, 1) AS place
    FROM (SELECT ['transcripts', 'claims', 'queries', 'search_hits', 'reliability_ratings', 'evidence', 'verdicts'] AS assets)
),
broken AS (
    SELECT run_id, video_id, min(place) AS place
    FROM failures JOIN stages USING (asset)
    GROUP BY ALL
    HAVING bool_or(asset = 'verdicts') OR (run_id, video_id) NOT IN (
        SELECT (run_id, video_id) FROM materializations WHERE asset = 'verdicts'
    )
)
SELECT sets.run_id, sets.video_id, sets.asset, sets.code_version
FROM materializations AS sets
JOIN stages USING (asset)
LEFT JOIN broken ON broken.run_id = sets.run_id AND broken.video_id = sets.video_id
WHERE broken.place IS NULL OR stages.place < broken.place

-- name: failed_videos
SELECT DISTINCT variant, video_id FROM experiment_sets WHERE experiment = ? AND status = 'failed'

-- name: finished
SELECT experiment, finished_at FROM experiments

-- name: head
SELECT * FROM experiments WHERE experiment = ?

-- name: variants
SELECT
    variants.position,
    variants.variant,
    variants.is_baseline,
    variants.settings,
    variants.reasoner,
    variants.models,
    variants.videos,
    variants.failed_videos,
    count(sets.asset) FILTER (sets.source = sets.variant AND sets.status <> 'failed') AS computed,
    count(sets.asset) FILTER (sets.source <> sets.variant) AS shared
FROM experiment_variants AS variants
LEFT JOIN experiment_sets AS sets USING (experiment, variant)
WHERE variants.experiment = ?
GROUP BY ALL
ORDER BY variants.position

-- name: figures
-- If a metric has both averages, the mean over videos counts, because the tests compare it.
SELECT *
FROM experiment_results
WHERE experiment = ?
QUALIFY row_number() OVER (PARTITION BY variant, metric ORDER BY averaging) = 1

-- name: video_values
SELECT variant, metric, video_id, value
FROM experiment_video_results
WHERE experiment = ? AND value IS NOT NULL

-- name: tokens_per_call
SELECT
    stage,
    CASE WHEN grouping(model) = 0 THEN provider || '/' || model ELSE '' END,
    avg(input_tokens),
    avg(output_tokens)
FROM llm_calls
WHERE input_tokens > 0 AND outcome = 'ok'
GROUP BY GROUPING SETS ((stage, provider, model), (stage))
