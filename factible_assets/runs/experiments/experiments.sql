-- What is asked of experiments; {names in braces} are tables and columns.

-- name: known_sets
-- A set of rows carries its key as its code version: only what was written whole is known.
SELECT {columns}
FROM experiment_sets AS sets
JOIN materializations AS written
    ON written.asset = sets.asset
    AND written.video_id = sets.video_id
    AND written.run_id = sets.variant
    AND written.code_version = sets.stage_key
WHERE sets.experiment = ?
ORDER BY sets.variant, sets.video_id, sets.asset

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
-- Where a metric has both averages the mean over videos counts: it is what tests compare.
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
