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
