-- The variants of experiments beside their baselines.

CREATE OR REPLACE VIEW experiment_comparison AS
WITH paired AS (
    SELECT
        own.experiment,
        own.variant,
        own.metric,
        avg(own.value - base.value) AS mean_difference,
        count(*) AS paired_videos,
        count(*) FILTER (own.value > base.value) AS videos_above,
        count(*) FILTER (own.value < base.value) AS videos_below
    FROM experiment_video_results AS own
    JOIN experiments USING (experiment)
    JOIN experiment_video_results AS base
        ON base.experiment = own.experiment
        AND base.video_id = own.video_id
        AND base.metric = own.metric
        AND base.variant = experiments.baseline
    WHERE own.value IS NOT NULL AND base.value IS NOT NULL
    GROUP BY own.experiment, own.variant, own.metric
)
SELECT
    results.experiment,
    results.variant,
    variants.position,
    results.metric,
    results.averaging,
    results.value,
    results.interval_low,
    results.interval_high,
    results.n,
    results.unit,
    results.trivial,
    experiments.baseline,
    base.value AS baseline_value,
    results.value - base.value AS difference,
    paired.mean_difference,
    coalesce(paired.paired_videos, 0) AS paired_videos,
    coalesce(paired.videos_above, 0) AS videos_above,
    coalesce(paired.videos_below, 0) AS videos_below,
    results.matcher
FROM experiment_results AS results
JOIN experiments USING (experiment)
JOIN experiment_variants AS variants
    ON variants.experiment = results.experiment AND variants.variant = results.variant
LEFT JOIN experiment_results AS base
    ON base.experiment = results.experiment
    AND base.variant = experiments.baseline
    AND base.metric = results.metric
    AND base.averaging = results.averaging
LEFT JOIN paired
    ON paired.experiment = results.experiment
    AND paired.variant = results.variant
    AND paired.metric = results.metric
ORDER BY results.experiment, results.metric, results.averaging, variants.position;
COMMENT ON VIEW experiment_comparison IS 'Every metric of every variant of an experiment, beside its baseline and video by video against it.';
COMMENT ON COLUMN experiment_comparison.experiment IS 'The experiment.';
COMMENT ON COLUMN experiment_comparison.variant IS 'The variant.';
COMMENT ON COLUMN experiment_comparison.position IS 'Order in which the experiment lists its variants.';
COMMENT ON COLUMN experiment_comparison.metric IS 'Name of the metric.';
COMMENT ON COLUMN experiment_comparison.averaging IS 'macro: mean over videos; micro: over the items of all videos.';
COMMENT ON COLUMN experiment_comparison.value IS 'The variant''s value; null where undefined.';
COMMENT ON COLUMN experiment_comparison.interval_low IS 'Lower end of its bootstrap interval.';
COMMENT ON COLUMN experiment_comparison.interval_high IS 'Upper end of its bootstrap interval.';
COMMENT ON COLUMN experiment_comparison.n IS 'How many items of the unit the value rests on.';
COMMENT ON COLUMN experiment_comparison.unit IS 'The items that n counts.';
COMMENT ON COLUMN experiment_comparison.trivial IS 'Score of the trivial answer on the same items.';
COMMENT ON COLUMN experiment_comparison.baseline IS 'The variant that is compared with.';
COMMENT ON COLUMN experiment_comparison.baseline_value IS 'Its value.';
COMMENT ON COLUMN experiment_comparison.difference IS 'The variant''s value minus the baseline''s.';
COMMENT ON COLUMN experiment_comparison.mean_difference IS 'The mean difference over the videos where both are defined.';
COMMENT ON COLUMN experiment_comparison.paired_videos IS 'How many videos those are.';
COMMENT ON COLUMN experiment_comparison.videos_above IS 'In how many of them the variant lies above the baseline.';
COMMENT ON COLUMN experiment_comparison.videos_below IS 'In how many of them the variant lies below it.';
COMMENT ON COLUMN experiment_comparison.matcher IS 'By which rule claims were matched.';
