-- Judgements of a language model on the current rows. Names and columns are stable.

CREATE OR REPLACE VIEW current_judgements AS  -- The newest judgement with a score of each current subject by each criterion and judge; without any score, the newest judgement.
WITH subjects AS (
    SELECT 'claim' AS subject_kind, claim_id AS subject_id, video_id FROM current_claims
    UNION ALL
    SELECT 'query', query_id, video_id FROM current_queries
    UNION ALL
    SELECT 'evidence', evidence_id, video_id FROM current_evidence
    UNION ALL
    SELECT 'verdict', claim_id, video_id FROM current_verdicts
)
SELECT judgements.*
FROM judgements
SEMI JOIN subjects USING (subject_kind, subject_id, video_id)
-- An outage of the judge does not replace its earlier judgement.
QUALIFY row_number() OVER (
    PARTITION BY judgements.video_id, subject_kind, subject_id, criterion, provider, model
    ORDER BY outcome = 'ok' DESC, judged_at DESC, judging_id DESC, judgement_id
) = 1;

CREATE OR REPLACE VIEW judge_scores AS  -- Mean scores of a language model as judge, by criterion, judge and version of the prompt: one row per video, and one per corpus in which video_id is NULL.
SELECT
    videos.corpus AS corpus,  -- The corpus file that lists the video; NULL if none does.
    judgements.video_id AS video_id,  -- The video; NULL in the row of the whole corpus.
    criterion,  -- The criterion.
    provider,  -- The provider of the judge.
    model,  -- The judge.
    prompt_version,  -- Version of the prompt; scores of different versions do not compare.
    count(score) AS n,  -- Subjects that have a score.
    avg(score) AS mean_score,  -- Mean of the scores as given, from 0 to 2; NULL if there is none. For hallucinations and label_justification 0 is best.
    avg(normalised) AS mean_normalised,  -- Mean of the normalised scores, from 0 (worst) to 1 (best); NULL if there is none.
    count(*) FILTER (score = 0) AS scored_0,  -- Subjects with the score 0.
    count(*) FILTER (score = 1) AS scored_1,  -- Subjects with the score 1.
    count(*) FILTER (score = 2) AS scored_2,  -- Subjects with the score 2.
    count(*) FILTER (score IS NULL) AS without_score  -- Subjects without a score: the service failed, or the judge declined or gave no usable answer. No mean counts them.
FROM current_judgements AS judgements
LEFT JOIN current_videos AS videos USING (video_id)
GROUP BY GROUPING SETS (
    (videos.corpus, judgements.video_id, criterion, provider, model, prompt_version),
    (videos.corpus, criterion, provider, model, prompt_version)
);
