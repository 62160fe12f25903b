-- Experiments: their variants, how each video fared, and the results.

CREATE TABLE experiments (
    experiment VARCHAR NOT NULL PRIMARY KEY,
    description VARCHAR,
    file VARCHAR NOT NULL,
    warehouse VARCHAR NOT NULL,
    baseline VARCHAR NOT NULL,
    matcher VARCHAR NOT NULL,
    code_version VARCHAR NOT NULL,
    videos BIGINT NOT NULL CHECK (videos >= 0),
    started_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE experiments IS 'The experiments that were run to their end: one row each, of the last time.';
COMMENT ON COLUMN experiments.experiment IS 'Its name.';
COMMENT ON COLUMN experiments.description IS 'The question of the experiment.';
COMMENT ON COLUMN experiments.file IS 'The file that describes it.';
COMMENT ON COLUMN experiments.warehouse IS 'The file that holds the rows of its variants, beside the warehouse: tables as here, run_id is the variant.';
COMMENT ON COLUMN experiments.baseline IS 'The variant that others are compared with.';
COMMENT ON COLUMN experiments.matcher IS 'By which rule claims were matched with annotated ones: assignment, similarity, threshold.';
COMMENT ON COLUMN experiments.code_version IS 'Digest of the code that answered.';
COMMENT ON COLUMN experiments.videos IS 'Videos that it covers.';
COMMENT ON COLUMN experiments.started_at IS 'When the last run of it began (UTC).';
COMMENT ON COLUMN experiments.finished_at IS 'When it ended (UTC).';

CREATE TABLE experiment_variants (
    experiment VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 1),
    is_baseline BOOLEAN NOT NULL,
    settings VARCHAR NOT NULL,
    reasoner VARCHAR NOT NULL,
    models VARCHAR NOT NULL,
    videos BIGINT NOT NULL CHECK (videos >= 0),
    failed_videos BIGINT NOT NULL CHECK (failed_videos >= 0),
    PRIMARY KEY (experiment, variant)
);
COMMENT ON TABLE experiment_variants IS 'The variants of each experiment, with the knobs that make them.';
COMMENT ON COLUMN experiment_variants.experiment IS 'The experiment.';
COMMENT ON COLUMN experiment_variants.variant IS 'Name of the variant; the run_id of its rows in the experiment''s own file.';
COMMENT ON COLUMN experiment_variants.position IS 'Order in which the experiment lists them, from 1.';
COMMENT ON COLUMN experiment_variants.is_baseline IS 'Whether the others are compared with it.';
COMMENT ON COLUMN experiment_variants.settings IS 'The knobs that the experiment sets, as a JSON object; the rest has its defaults.';
COMMENT ON COLUMN experiment_variants.reasoner IS 'The reasoner: embedded or llm.';
COMMENT ON COLUMN experiment_variants.models IS 'The model of each stage, as a JSON object; empty for the embedded engine.';
COMMENT ON COLUMN experiment_variants.videos IS 'Videos that were checked.';
COMMENT ON COLUMN experiment_variants.failed_videos IS 'Videos that could not be checked; they are in no figure.';

CREATE TABLE experiment_sets (
    experiment VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    asset VARCHAR NOT NULL,
    stage_key VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'incomplete', 'failed')),
    reason VARCHAR,
    duration_seconds DOUBLE CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),
    first_verdict_seconds DOUBLE CHECK (first_verdict_seconds >= 0 AND isfinite(first_verdict_seconds)),
    PRIMARY KEY (experiment, variant, video_id, asset),
    CHECK (status = 'ok' OR reason IS NOT NULL)
);
COMMENT ON TABLE experiment_sets IS 'The computation of each variant, video and stage. Sets with equal keys are one computation.';
COMMENT ON COLUMN experiment_sets.experiment IS 'The experiment.';
COMMENT ON COLUMN experiment_sets.variant IS 'The variant.';
COMMENT ON COLUMN experiment_sets.video_id IS 'The video.';
COMMENT ON COLUMN experiment_sets.asset IS 'The stage, named as the asset that it fills.';
COMMENT ON COLUMN experiment_sets.stage_key IS 'Digest of everything that changes the answer.';
COMMENT ON COLUMN experiment_sets.source IS 'The variant that computed it; another one''s name means that it is shared.';
COMMENT ON COLUMN experiment_sets.status IS 'ok; incomplete: services failed for a part of it; failed: there are no rows.';
COMMENT ON COLUMN experiment_sets.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN experiment_sets.duration_seconds IS 'Time of the computation in seconds.';
COMMENT ON COLUMN experiment_sets.first_verdict_seconds IS 'For verdicts: seconds from the beginning of the work to the first verdict; null where a part was shared.';

CREATE TABLE experiment_results (
    experiment VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    averaging VARCHAR NOT NULL CHECK (averaging IN ('macro', 'micro')),
    value DOUBLE CHECK (isfinite(value)),
    n BIGINT NOT NULL CHECK (n >= 0),
    unit VARCHAR NOT NULL,
    interval_low DOUBLE CHECK (isfinite(interval_low)),
    interval_high DOUBLE CHECK (isfinite(interval_high)),
    interval_level DOUBLE CHECK (interval_level BETWEEN 0 AND 1),
    trivial DOUBLE CHECK (isfinite(trivial)),
    matcher VARCHAR NOT NULL,
    PRIMARY KEY (experiment, variant, metric, averaging)
);
COMMENT ON TABLE experiment_results IS 'Every metric of every variant over all videos.';
COMMENT ON COLUMN experiment_results.experiment IS 'The experiment.';
COMMENT ON COLUMN experiment_results.variant IS 'The variant.';
COMMENT ON COLUMN experiment_results.metric IS 'Name of the metric.';
COMMENT ON COLUMN experiment_results.averaging IS 'macro: mean over videos; micro: over the items of all videos.';
COMMENT ON COLUMN experiment_results.value IS 'The value; null where the metric is undefined, which is not 0.';
COMMENT ON COLUMN experiment_results.n IS 'How many items of the unit the value rests on.';
COMMENT ON COLUMN experiment_results.unit IS 'The items that n counts.';
COMMENT ON COLUMN experiment_results.interval_low IS 'Lower end of the bootstrap interval over videos; null with fewer than two.';
COMMENT ON COLUMN experiment_results.interval_high IS 'Upper end of the interval.';
COMMENT ON COLUMN experiment_results.interval_level IS 'Coverage of the interval, such as 0.95.';
COMMENT ON COLUMN experiment_results.trivial IS 'Score of the trivial answer on the same items, such as the majority class.';
COMMENT ON COLUMN experiment_results.matcher IS 'By which rule claims were matched: assignment, similarity, threshold.';

CREATE TABLE experiment_video_results (
    experiment VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE CHECK (isfinite(value)),
    n BIGINT NOT NULL CHECK (n >= 0),
    unit VARCHAR NOT NULL,
    PRIMARY KEY (experiment, variant, video_id, metric)
);
COMMENT ON TABLE experiment_video_results IS 'Every metric of every variant and video, for paired tests.';
COMMENT ON COLUMN experiment_video_results.experiment IS 'The experiment.';
COMMENT ON COLUMN experiment_video_results.variant IS 'The variant.';
COMMENT ON COLUMN experiment_video_results.video_id IS 'The video.';
COMMENT ON COLUMN experiment_video_results.metric IS 'Name of the metric.';
COMMENT ON COLUMN experiment_video_results.value IS 'The value; null where the metric is undefined for the video, which is not 0.';
COMMENT ON COLUMN experiment_video_results.n IS 'How many items of the unit the value rests on.';
COMMENT ON COLUMN experiment_video_results.unit IS 'The items that n counts.';
