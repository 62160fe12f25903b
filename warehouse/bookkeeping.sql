-- Queries for rows without a set; {columns} are the columns of a record.

-- name: actions
SELECT {columns}
FROM review_actions
WHERE video_id = $video_id
ORDER BY acted_at, position, action_id

-- name: known
SELECT {columns}
FROM claims
WHERE video_id = $video_id
QUALIFY row_number() OVER (PARTITION BY claim_id ORDER BY checked_at DESC, run_id DESC) = 1

-- name: carried
SELECT claim_id, source_run_id, last_checked_at
FROM carried_claims
WHERE video_id = $video_id AND run_id = $run_id

-- name: forget_carried
DELETE FROM carried_claims WHERE video_id = $video_id AND run_id = $run_id

-- name: best_known
SELECT {columns}
FROM judgements
WHERE judgement_id IN (SELECT unnest($ids))
QUALIFY row_number() OVER (
    PARTITION BY judgement_id ORDER BY outcome = 'ok' DESC, judged_at DESC, judging_id DESC
) = 1

-- name: usage
WITH used AS (
    SELECT judgement_id, judging_id, sum(input_tokens) AS read, sum(output_tokens) AS wrote
    FROM judge_calls
    GROUP BY ALL
    HAVING sum(input_tokens) > 0
)
SELECT criterion, avg(read), avg(wrote)
FROM judgements
JOIN used USING (judgement_id, judging_id)
WHERE outcome = 'ok' AND provider = $provider AND model = $model
GROUP BY criterion

-- name: verdict_models
SELECT DISTINCT provider || '/' || model
FROM current_llm_calls
WHERE stage = 'verdicts' AND list_contains($videos, video_id)

-- name: sharing_words
-- The claims of other videos that share words with some texts: per text those with the most in common.
-- The weight of a word is its inverse document frequency. A word is cut after six letters, a figure is whole.
WITH texts AS (
    SELECT video_id, claim_id, text FROM current_claims WHERE video_id IS DISTINCT FROM $video_id
    UNION ALL
    SELECT NULL, NULL, text FROM unnest($texts) AS sought(text)
),
words AS (
    SELECT DISTINCT
        video_id,
        claim_id,
        text,
        CASE WHEN regexp_matches(word, '\d') THEN word ELSE left(word, 6) END AS word
    FROM texts,
        unnest(string_split(trim(regexp_replace(
            strip_accents(lower(text)), '[^\pL\pN.,%]+|[.,]+(\s|$)', ' ', 'g'
        )), ' ')) AS said(word)
),
weighted AS (
    SELECT *, ln(1 + (SELECT count(*) FROM texts) * 1.0 / count(*) OVER (PARTITION BY word)) AS weight FROM words
)
SELECT sought.text AS claim, other.claim_id AS other_claim_id, other.text AS other
FROM weighted AS sought
JOIN weighted AS other USING (word)
WHERE sought.claim_id IS NULL AND other.claim_id IS NOT NULL
GROUP BY sought.text, other.claim_id, other.text
QUALIFY row_number() OVER (PARTITION BY sought.text ORDER BY sum(other.weight) DESC, other.claim_id) <= $limit
ORDER BY ALL
