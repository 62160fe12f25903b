-- Questions about experiments.

-- name: stored_keys
-- In the file of an experiment, run_id is the variant and code_version the key of the stage.
SELECT run_id, video_id, asset, code_version FROM materializations

-- name: broken_sets
SELECT run_id, video_id, 'queries' AS stage FROM queries WHERE status = 'infra_error'
UNION
SELECT run_id, video_id, 'search_hits' FROM searches WHERE status = 'infra_error'
UNION
SELECT run_id, video_id, 'evidence' FROM evidence WHERE status = 'infra_error'
UNION
SELECT run_id, video_id, 'verdicts' FROM verdict_history WHERE status = 'incomplete'

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
