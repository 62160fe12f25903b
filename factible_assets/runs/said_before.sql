-- The claims that were said before, with their verdicts.

-- name: verdicts_of
SELECT
    verdicts.*,
    coalesce(judged.stance, CASE WHEN judged.claim_id IS NULL THEN 'unjudged' ELSE 'incomplete' END) AS outcome
FROM verdicts
LEFT JOIN current_verdicts AS judged USING (claim_id, video_id)
WHERE list_contains($ids, claim_id)
