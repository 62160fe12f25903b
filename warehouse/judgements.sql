-- What is asked of judgements; {columns} are those of JudgementRow, {places} one for each value.

-- name: best_known
SELECT {columns}
FROM judgements
WHERE judgement_id IN ({places})
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
