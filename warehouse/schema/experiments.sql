-- Experiments: their variants, the sets that these computed, and the results.

CREATE TABLE experiments (  -- The completed experiments: one row each, of its last run.
    experiment VARCHAR NOT NULL PRIMARY KEY,  -- Name of the experiment.
    description VARCHAR,  -- The question of the experiment.
    file VARCHAR NOT NULL,  -- The file that describes the experiment.
    warehouse VARCHAR NOT NULL,  -- The file beside the warehouse with the rows of the variants. It has the same tables; run_id is the variant.
    baseline VARCHAR NOT NULL,  -- The variant that the others are compared with.
    matcher VARCHAR NOT NULL,  -- Rule that matched claims with annotated ones: assignment, similarity, threshold.
    code_version VARCHAR NOT NULL,  -- Digest of the code that computed the answers.
    videos BIGINT NOT NULL CHECK (videos >= 0),  -- Number of videos.
    started_at TIMESTAMPTZ NOT NULL,  -- Start of the experiment's last run (UTC).
    finished_at TIMESTAMPTZ NOT NULL  -- End of that run (UTC).
);

CREATE TABLE experiment_variants (  -- The variants of each experiment, with their settings.
    experiment VARCHAR NOT NULL,  -- The experiment.
    variant VARCHAR NOT NULL,  -- Name of the variant; the run_id of its rows in the experiment's own file.
    position BIGINT NOT NULL CHECK (position >= 1),  -- Order in which the experiment lists them, from 1.
    is_baseline BOOLEAN NOT NULL,  -- Whether the others are compared with it.
    settings VARCHAR NOT NULL,  -- The settings that differ from the defaults, as a JSON object.
    reasoner VARCHAR NOT NULL,  -- The reasoner: embedded or llm.
    models VARCHAR NOT NULL,  -- The model of each stage, as a JSON object; empty for the embedded engine.
    videos BIGINT NOT NULL CHECK (videos >= 0),  -- Videos that were checked.
    failed_videos BIGINT NOT NULL CHECK (failed_videos >= 0),  -- Videos that could not be checked; no figure counts them.
    PRIMARY KEY (experiment, variant)
);

CREATE TABLE experiment_sets (  -- The sets of rows of each variant, video and stage. Sets with equal stage_key come from one computation.
    experiment VARCHAR NOT NULL,  -- The experiment.
    variant VARCHAR NOT NULL,  -- The variant.
    video_id VARCHAR NOT NULL,  -- The video.
    asset VARCHAR NOT NULL,  -- The stage, named as the asset that it fills.
    stage_key VARCHAR NOT NULL,  -- Digest of everything that changes the answer.
    source VARCHAR NOT NULL,  -- The variant that computed the set; a variant shares the sets that another one computed.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'incomplete', 'failed')),  -- ok; incomplete: services failed for a part of it; failed: there are no rows.
    reason VARCHAR,  -- Reason, if the status is not ok.
    duration_seconds DOUBLE CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),  -- Time of the computation in seconds.
    first_verdict_seconds DOUBLE CHECK (first_verdict_seconds >= 0 AND isfinite(first_verdict_seconds)),  -- For verdicts: seconds from the beginning of the work to the first verdict; null where a part was shared.
    PRIMARY KEY (experiment, variant, video_id, asset),
    CHECK (status = 'ok' OR reason IS NOT NULL)
);

CREATE TABLE experiment_results (  -- Every metric of every variant over all videos.
    experiment VARCHAR NOT NULL,  -- The experiment.
    variant VARCHAR NOT NULL,  -- The variant.
    metric VARCHAR NOT NULL,  -- Name of the metric.
    averaging VARCHAR NOT NULL CHECK (averaging IN ('macro', 'micro')),  -- macro: mean over videos; micro: over the items of all videos.
    value DOUBLE CHECK (isfinite(value)),  -- The value; null where the metric is undefined, which is not 0.
    n BIGINT NOT NULL CHECK (n >= 0),  -- Number of items behind the value.
    unit VARCHAR NOT NULL,  -- The items that n counts.
    interval_low DOUBLE CHECK (isfinite(interval_low)),  -- Lower end of the bootstrap interval over videos; null with fewer than two.
    interval_high DOUBLE CHECK (isfinite(interval_high)),  -- Upper end of the interval.
    interval_level DOUBLE CHECK (interval_level BETWEEN 0 AND 1),  -- Coverage of the interval, such as 0.95.
    trivial DOUBLE CHECK (isfinite(trivial)),  -- Score of the trivial answer on the same items, such as the majority class.
    matcher VARCHAR NOT NULL,  -- Rule that matched claims: assignment, similarity, threshold.
    PRIMARY KEY (experiment, variant, metric, averaging)
);

CREATE TABLE experiment_video_results (  -- Every metric of every variant and video, for paired tests.
    experiment VARCHAR NOT NULL,  -- The experiment.
    variant VARCHAR NOT NULL,  -- The variant.
    video_id VARCHAR NOT NULL,  -- The video.
    metric VARCHAR NOT NULL,  -- Name of the metric.
    value DOUBLE CHECK (isfinite(value)),  -- The value; null where the metric is undefined for the video, which is not 0.
    n BIGINT NOT NULL CHECK (n >= 0),  -- Number of items behind the value.
    unit VARCHAR NOT NULL,  -- The items that n counts.
    PRIMARY KEY (experiment, variant, video_id, metric)
);
