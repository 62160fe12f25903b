-- What evaluations measured, with history: one row per corpus, video, metric and averaging of a run.

ALTER TABLE materializations ADD COLUMN first_result_seconds DOUBLE;
COMMENT ON COLUMN materializations.first_result_seconds IS 'How long it took until the first piece of the set was there, in seconds from the beginning of the step''s work; for verdicts, the first verdict. NULL where nobody measured it.';

CREATE TABLE metrics (
    corpus VARCHAR NOT NULL CHECK (corpus <> ''),
    video_id VARCHAR CHECK (video_id <> ''),
    position BIGINT NOT NULL CHECK (position >= 1),
    family VARCHAR NOT NULL CHECK (family IN ('claims', 'stances', 'evidence', 'operations')),
    metric VARCHAR NOT NULL CHECK (metric <> ''),
    averaging VARCHAR NOT NULL CHECK (averaging IN ('macro', 'micro', 'video')),
    value DOUBLE CHECK (isfinite(value)),
    n BIGINT NOT NULL CHECK (n >= 0),
    unit VARCHAR NOT NULL,
    better VARCHAR CHECK (better IN ('higher', 'lower')),
    interval_low DOUBLE CHECK (isfinite(interval_low)),
    interval_high DOUBLE CHECK (isfinite(interval_high)),
    interval_level DOUBLE CHECK (interval_level > 0 AND interval_level < 1),
    baseline DOUBLE CHECK (isfinite(baseline)),
    matcher VARCHAR NOT NULL,
    threshold DOUBLE CHECK (isfinite(threshold)),
    videos BIGINT NOT NULL CHECK (videos >= 1),
    annotated BIGINT NOT NULL CHECK (annotated BETWEEN 0 AND videos),
    run_id VARCHAR NOT NULL,
    evaluated_at TIMESTAMP NOT NULL,
    CHECK ((video_id IS NOT NULL) = (averaging = 'video')),
    CHECK ((interval_low IS NULL) = (interval_high IS NULL)),
    CHECK ((interval_low IS NULL) = (interval_level IS NULL)),
    CHECK (interval_low <= interval_high)
);
COMMENT ON TABLE metrics IS 'Every metric of every evaluation. History stays: each run adds its rows. A metric that is undefined has the value NULL, never 0.';
COMMENT ON COLUMN metrics.corpus IS 'The corpus that was evaluated.';
COMMENT ON COLUMN metrics.video_id IS 'The video whose own figure this is; NULL for figures over all videos of the corpus.';
COMMENT ON COLUMN metrics.position IS 'Order of the metrics in reports, from 1.';
COMMENT ON COLUMN metrics.family IS 'What the metric is about: claims, stances, evidence or operations.';
COMMENT ON COLUMN metrics.metric IS 'Name of the metric.';
COMMENT ON COLUMN metrics.averaging IS 'macro: the mean over videos. micro: over the items of all videos. video: of one video.';
COMMENT ON COLUMN metrics.value IS 'The figure; NULL where it is undefined.';
COMMENT ON COLUMN metrics.n IS 'How many items the value rests on.';
COMMENT ON COLUMN metrics.unit IS 'What n counts.';
COMMENT ON COLUMN metrics.better IS 'Which way is better: higher or lower; NULL where neither is.';
COMMENT ON COLUMN metrics.interval_low IS 'Lower end of the bootstrap interval over videos; NULL with fewer than two videos.';
COMMENT ON COLUMN metrics.interval_high IS 'Upper end of the interval.';
COMMENT ON COLUMN metrics.interval_level IS 'Coverage of the interval, such as 0.95.';
COMMENT ON COLUMN metrics.baseline IS 'What the trivial answer scores on the same items; NULL where there is none.';
COMMENT ON COLUMN metrics.matcher IS 'By which rule claims were matched to annotated ones.';
COMMENT ON COLUMN metrics.threshold IS 'Similarity above which two claims were held to say the same.';
COMMENT ON COLUMN metrics.videos IS 'Videos of the corpus that were evaluated.';
COMMENT ON COLUMN metrics.annotated IS 'How many of them are annotated.';
COMMENT ON COLUMN metrics.run_id IS 'The run that measured.';
COMMENT ON COLUMN metrics.evaluated_at IS 'When it measured (UTC).';
