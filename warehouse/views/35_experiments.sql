-- The variants of experiments beside their baselines.

CREATE OR REPLACE VIEW experiment_comparison AS  -- Every metric of every variant of an experiment, compared with the baseline as a whole and video by video.
WITH paired AS (
    SELECT
        results.experiment,
        results.variant,
        results.metric,
        avg(results.value - base.value) AS mean_difference,
        count(*) AS paired_videos,
        count(*) FILTER (results.value > base.value) AS videos_above,
        count(*) FILTER (results.value < base.value) AS videos_below
    FROM experiment_video_results AS results
    JOIN experiments USING (experiment)
    JOIN experiment_video_results AS base
        ON base.experiment = results.experiment
        AND base.video_id = results.video_id
        AND base.metric = results.metric
        AND base.variant = experiments.baseline
    WHERE results.value IS NOT NULL AND base.value IS NOT NULL
    GROUP BY results.experiment, results.variant, results.metric
)
SELECT
    results.experiment,  -- The experiment.
    results.variant,  -- The variant.
    variants.position,  -- Order in which the experiment lists its variants.
    results.metric,  -- Name of the metric.
    results.averaging,  -- macro: mean over videos; micro: over the items of all videos.
    results.value,  -- The variant's value; null where undefined.
    results.interval_low,  -- Lower end of its bootstrap interval.
    results.interval_high,  -- Upper end of its bootstrap interval.
    results.n,  -- Number of items behind the value.
    results.unit,  -- The items that n counts.
    results.trivial,  -- Score of the trivial answer on the same items.
    experiments.baseline,  -- The variant to compare with.
    base.value AS baseline_value,  -- Its value.
    results.value - base.value AS difference,  -- The variant's value minus the baseline's.
    paired.mean_difference,  -- The mean difference over the videos where both are defined.
    coalesce(paired.paired_videos, 0) AS paired_videos,  -- Number of those videos.
    coalesce(paired.videos_above, 0) AS videos_above,  -- Number of those videos with a value above the baseline's.
    coalesce(paired.videos_below, 0) AS videos_below,  -- Number of those videos with a value below the baseline's.
    results.matcher  -- Rule that matched claims.
FROM experiment_results AS results
JOIN experiments USING (experiment)
JOIN experiment_variants AS variants USING (experiment, variant)
LEFT JOIN paired USING (experiment, variant, metric)
LEFT JOIN experiment_results AS base
    ON base.experiment = results.experiment
    AND base.variant = experiments.baseline
    AND base.metric = results.metric
    AND base.averaging = results.averaging
ORDER BY results.experiment, results.metric, results.averaging, variants.position;
