-- How good the answers are, and whether they are getting better. Names and columns are stable.

CREATE OR REPLACE VIEW corpus_quality AS
SELECT metrics.*
FROM metrics
WHERE metrics.video_id IS NULL
QUALIFY row_number() OVER (
    PARTITION BY corpus, metric, averaging ORDER BY evaluated_at DESC, run_id DESC
) = 1
    AND run_id = first_value(run_id) OVER (
        PARTITION BY corpus ORDER BY evaluated_at DESC, run_id DESC
    );
COMMENT ON VIEW corpus_quality IS 'The newest evaluation of each corpus: one row per metric and averaging. value is NULL where the metric is undefined.';

CREATE OR REPLACE VIEW video_quality AS
SELECT metrics.*
FROM metrics
WHERE metrics.video_id IS NOT NULL
QUALIFY run_id = first_value(run_id) OVER (
    PARTITION BY corpus ORDER BY evaluated_at DESC, run_id DESC
);
COMMENT ON VIEW video_quality IS 'The newest evaluation of each corpus, video by video: one row per video and metric.';

CREATE OR REPLACE VIEW metric_trend AS
SELECT
    metrics.*,
    lag(value) OVER history AS previous_value,
    lag(evaluated_at) OVER history AS previous_evaluated_at,
    lag(run_id) OVER history AS previous_run_id,
    value - lag(value) OVER history AS change,
    -- Figures of another matcher, or of other videos, do not compare.
    CASE
        WHEN lag(run_id) OVER history IS NOT NULL
            THEN matcher = lag(matcher) OVER history
                AND threshold IS NOT DISTINCT FROM lag(threshold) OVER history
                AND videos = lag(videos) OVER history
                AND annotated = lag(annotated) OVER history
    END AS is_comparable,
    CASE
        WHEN better IS NULL OR value IS NULL OR lag(value) OVER history IS NULL THEN NULL
        WHEN value = lag(value) OVER history THEN 'same'
        WHEN (value > lag(value) OVER history) = (better = 'higher') THEN 'better'
        ELSE 'worse'
    END AS direction
FROM metrics
WHERE metrics.video_id IS NULL
WINDOW history AS (PARTITION BY corpus, metric, averaging ORDER BY evaluated_at, run_id);
COMMENT ON VIEW metric_trend IS 'The history of every metric of each corpus, with the change against the evaluation before.';
COMMENT ON COLUMN metric_trend.previous_value IS 'The figure of the evaluation before; NULL if it was undefined, or if there was none.';
COMMENT ON COLUMN metric_trend.previous_evaluated_at IS 'When the evaluation before was made (UTC).';
COMMENT ON COLUMN metric_trend.previous_run_id IS 'The run of the evaluation before.';
COMMENT ON COLUMN metric_trend.change IS 'value minus previous_value; NULL if either is undefined.';
COMMENT ON COLUMN metric_trend.is_comparable IS 'Whether both were measured with the same matcher and over as many videos and annotated videos; NULL if there was none before.';
COMMENT ON COLUMN metric_trend.direction IS 'better, worse or same; NULL where neither way is better or a value is undefined.';
