-- Questions about experiments.

-- name: usable_sets
-- If a check is incomplete or has no verdicts, its sets from the first incomplete stage on are not usable.
SELECT variant, video_id, asset, stage_key
FROM experiment_sets
QUALIFY bool_or(asset = 'verdicts' AND status = 'ok') OVER (PARTITION BY variant, video_id)
    OR bool_and(status = 'ok') OVER (
        PARTITION BY variant, video_id
        ORDER BY list_position(['transcripts', 'claims', 'queries', 'search_hits', 'reliability_ratings', 'evidence', 'verdicts'], asset)
    )

-- name: sets
SELECT * FROM experiment_sets WHERE asset <> 'transcripts'

-- name: failed_videos
SELECT DISTINCT variant, video_id FROM experiment_sets WHERE experiment = ? AND status = 'failed'

-- name: finished
SELECT experiment, finished_at FROM experiments

-- name: head
SELECT * FROM experiments WHERE experiment = ?

-- name: variants
SELECT
    variants.variant AS name,
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
ORDER BY any_value(variants.position)

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
