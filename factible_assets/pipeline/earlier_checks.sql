-- The checks whose sources the check of a claim of another video may reuse.

-- name: fresh_checks
-- Complete checks of some claims that did not reuse sources themselves, newest first. `decision` is a
-- reviewer's.
WITH decisions AS (
    SELECT
        claim_id,
        string_agg(
            CASE kind
                WHEN 'ruling' THEN 'A reviewer signed a ruling on it: ' || effect
                ELSE 'A reviewer assessed it as ' || verdict_of(effect)
            END || '.',
            ' ' ORDER BY kind
        ) AS decision
    FROM standing_reviews
    WHERE kind IN ('assessment', 'ruling') AND list_contains($ids, claim_id)
    GROUP BY claim_id
)
SELECT
    judged.claim_id,
    judged.video_id,
    judged.claim,
    judged.stance,
    judged.last_checked_at AS checked_on,
    decisions.decision
FROM current_verdicts AS judged
LEFT JOIN current_videos AS videos ON videos.video_id = judged.video_id
LEFT JOIN decisions ON decisions.claim_id = judged.claim_id
WHERE list_contains($ids, judged.claim_id)
    AND judged.latest_status = 'complete'
    AND NOT judged.recheck_due
    AND judged.strategy = 'standard'
    AND judged.basis = $basis
    AND judged.last_checked_at >= now() - to_days($days)
    AND coalesce(abs(date_diff('day', videos.published_on, $published_on::DATE)) <= $days, true)
    AND EXISTS (
        FROM current_evidence AS read
        WHERE read.claim_id = judged.claim_id AND read.status = 'ok' AND read.reused_claim_id IS NULL
    )
    AND NOT EXISTS (
        FROM current_evidence AS read
        WHERE read.claim_id = judged.claim_id AND read.reused_claim_id IS NOT NULL
    )
    AND NOT EXISTS (
        FROM current_searches AS searches
        WHERE searches.claim_id = judged.claim_id
            AND list_contains(['miniature', 'given', 'archive'], searches.provider)
            AND searches.provider IS DISTINCT FROM $provider
    )
ORDER BY checked_on DESC, judged.claim_id
