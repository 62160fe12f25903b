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

CREATE OR REPLACE VIEW retrieval_stability AS
WITH retrieved AS (
    SELECT
        video_id,
        claim_id,
        run_id,
        any_value(checked_at) AS checked_at,
        list_sort(list_distinct(list(canonical_url))) AS urls
    FROM search_hits
    GROUP BY video_id, claim_id, run_id
),
compared AS (
    SELECT
        *,
        lag(run_id) OVER history AS previous_run_id,
        lag(checked_at) OVER history AS previous_checked_at,
        lag(urls) OVER history AS previous_urls
    FROM retrieved
    WINDOW history AS (PARTITION BY video_id, claim_id ORDER BY checked_at, run_id)
)
SELECT
    videos.corpus,
    compared.video_id,
    compared.claim_id,
    compared.run_id,
    compared.checked_at,
    compared.previous_run_id,
    compared.previous_checked_at,
    date_diff('second', compared.previous_checked_at, compared.checked_at) / 86400 AS days_apart,
    len(compared.urls) AS urls,
    len(compared.previous_urls) AS previous_urls,
    len(list_intersect(compared.urls, compared.previous_urls)) AS shared_urls,
    len(list_intersect(compared.urls, compared.previous_urls))
        / len(list_distinct(list_concat(compared.urls, compared.previous_urls))) AS jaccard
FROM compared
LEFT JOIN current_videos AS videos ON videos.video_id = compared.video_id
WHERE compared.previous_run_id IS NOT NULL;
COMMENT ON VIEW retrieval_stability IS 'The share of a claim''s sources that are found again: each check of a claim against its previous check, by the Jaccard index of the two sets of addresses (Chen et al. 2023, arXiv:2305.11859, appendix B). Over a corpus: avg(jaccard) by corpus. If a check covers only some claims, the others are taken over with an index of 1.';
COMMENT ON COLUMN retrieval_stability.corpus IS 'The corpus that lists the video.';
COMMENT ON COLUMN retrieval_stability.video_id IS 'The video.';
COMMENT ON COLUMN retrieval_stability.claim_id IS 'The claim.';
COMMENT ON COLUMN retrieval_stability.run_id IS 'The run that searched again.';
COMMENT ON COLUMN retrieval_stability.checked_at IS 'When it did (UTC).';
COMMENT ON COLUMN retrieval_stability.previous_run_id IS 'The run that searched for the claim before it.';
COMMENT ON COLUMN retrieval_stability.previous_checked_at IS 'When that one did (UTC).';
COMMENT ON COLUMN retrieval_stability.days_apart IS 'Days between the two.';
COMMENT ON COLUMN retrieval_stability.urls IS 'Addresses that were found.';
COMMENT ON COLUMN retrieval_stability.previous_urls IS 'Addresses that were found before.';
COMMENT ON COLUMN retrieval_stability.shared_urls IS 'Addresses that were found both times.';
COMMENT ON COLUMN retrieval_stability.jaccard IS 'Shared addresses / addresses of either time, from 0 to 1.';
