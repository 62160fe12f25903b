-- Quality of the answers, and its change over time. Names and columns are stable.

CREATE OR REPLACE VIEW corpus_quality AS  -- The newest evaluation of each corpus: one row per metric and averaging. value is NULL where the metric is undefined.
SELECT metrics.*
FROM metrics
WHERE metrics.video_id IS NULL
QUALIFY run_id = first_value(run_id) OVER (
    PARTITION BY corpus ORDER BY evaluated_at DESC, run_id DESC
);

CREATE OR REPLACE VIEW video_quality AS  -- The newest evaluation of each corpus, video by video: one row per video and metric.
SELECT metrics.*
FROM metrics
WHERE metrics.video_id IS NOT NULL
QUALIFY run_id = first_value(run_id) OVER (
    PARTITION BY corpus ORDER BY evaluated_at DESC, run_id DESC
);

CREATE OR REPLACE VIEW metric_trend AS  -- The history of every metric of each corpus, with the change against the evaluation before.
SELECT
    metrics.*,
    lag(value) OVER history AS previous_value,  -- The figure of the evaluation before; NULL if it was undefined, or if there was none.
    lag(evaluated_at) OVER history AS previous_evaluated_at,  -- Time of the previous evaluation (UTC).
    lag(run_id) OVER history AS previous_run_id,  -- The run of the evaluation before.
    value - lag(value) OVER history AS change,  -- value minus previous_value; NULL if either is undefined.
    -- Figures of another matcher, or of other videos, do not compare.
    CASE
        WHEN lag(run_id) OVER history IS NOT NULL
            THEN matcher = lag(matcher) OVER history
                AND threshold IS NOT DISTINCT FROM lag(threshold) OVER history
                AND videos = lag(videos) OVER history
                AND annotated = lag(annotated) OVER history
    END AS is_comparable,  -- Whether both were measured with the same matcher and over as many videos and annotated videos; NULL if there was none before.
    CASE
        WHEN better IS NULL OR value IS NULL OR lag(value) OVER history IS NULL THEN NULL
        WHEN value = lag(value) OVER history THEN 'same'
        WHEN (value > lag(value) OVER history) = (better = 'higher') THEN 'better'
        ELSE 'worse'
    END AS direction  -- better, worse or same; NULL where neither way is better or a value is undefined.
FROM metrics
WHERE metrics.video_id IS NULL
WINDOW history AS (PARTITION BY corpus, metric, averaging ORDER BY evaluated_at, run_id);

CREATE OR REPLACE VIEW retrieval_stability AS  -- The share of a claim's sources that are found again: each check of a claim against its previous check, by the Jaccard index of the two sets of addresses (Chen et al. 2023, arXiv:2305.11859, appendix B). Over a corpus: avg(jaccard) by corpus. A check counts only for the claims that it checked itself, and only if all of their searches were answered.
WITH retrieved AS (
    SELECT
        video_id,
        claim_id,
        run_id,
        any_value(searches.checked_at) AS checked_at,
        coalesce(list(DISTINCT canonical_url) FILTER (canonical_url IS NOT NULL), []) AS urls
    FROM searches
    LEFT JOIN search_hits USING (video_id, claim_id, run_id, query_id)
    ANTI JOIN carried_claims USING (video_id, claim_id, run_id)
    GROUP BY video_id, claim_id, run_id
    HAVING bool_and(status <> 'infra_error')
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
    videos.corpus,  -- The corpus that lists the video.
    compared.video_id,  -- The video.
    compared.claim_id,  -- The claim.
    compared.run_id,  -- The run that searched again.
    compared.checked_at,  -- Time of that check (UTC).
    compared.previous_run_id,  -- The run that searched for the claim before it.
    compared.previous_checked_at,  -- Time of the previous check (UTC).
    date_diff('second', compared.previous_checked_at, compared.checked_at) / 86400 AS days_apart,  -- Days between the two checks.
    len(compared.urls) AS urls,  -- Addresses that were found.
    len(compared.previous_urls) AS previous_urls,  -- Addresses that were found before.
    len(list_intersect(compared.urls, compared.previous_urls)) AS shared_urls,  -- Addresses that were found both times.
    shared_urls / nullif(len(list_distinct(list_concat(compared.urls, compared.previous_urls))), 0) AS jaccard  -- Shared addresses / addresses of either time, from 0 to 1; null if both found none.
FROM compared
LEFT JOIN current_videos AS videos USING (video_id)
WHERE compared.previous_run_id IS NOT NULL;
