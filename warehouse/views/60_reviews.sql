-- What reviewers did, and what of it is in force.
--
-- The same rule is kept in factible_assets/stages/reviews.py, which a test holds against this view:
-- of all that was said about one query or one source of a claim, the latest counts.

CREATE OR REPLACE VIEW review_history AS
SELECT
    acts.video_id,
    acts.claim_id,
    worded.text AS claim,
    acts.reviewer,
    acts.acted_at,
    acts.position,
    acts.action,
    acts.target,
    coalesce(asked.text, acts.target) AS target_words,
    acts.value,
    acts.reason,
    acts.query_id,
    acts.query_type,
    acts.seeks_opposite,
    acts.action_id,
    applied.run_id,
    applied.applied_at,
    previous.stance AS stance_before,
    reached.stance AS stance_after
FROM review_actions AS acts
LEFT JOIN review_applications AS applied USING (action_id)
LEFT JOIN (SELECT claim_id, max(text) AS text FROM claims GROUP BY claim_id) AS worded
    ON worded.claim_id = acts.claim_id
LEFT JOIN (SELECT query_id, max(text) AS text FROM queries GROUP BY query_id) AS asked
    ON asked.query_id = acts.target
LEFT JOIN verdicts AS reached
    ON reached.video_id = acts.video_id
    AND reached.claim_id = acts.claim_id
    AND reached.run_id = applied.run_id
LEFT JOIN (
    SELECT
        video_id, claim_id, run_id,
        lag(stance) OVER (PARTITION BY video_id, claim_id ORDER BY checked_at, run_id) AS stance
    FROM verdicts
) AS previous
    ON previous.video_id = acts.video_id
    AND previous.claim_id = acts.claim_id
    AND previous.run_id = applied.run_id
ORDER BY acts.video_id, acts.claim_id, acts.acted_at, acts.position;
COMMENT ON VIEW review_history IS 'Who changed what, and which run applied it: one row per act of a reviewer, in order.';
COMMENT ON COLUMN review_history.video_id IS 'The video.';
COMMENT ON COLUMN review_history.claim_id IS 'The claim.';
COMMENT ON COLUMN review_history.claim IS 'Wording of the claim.';
COMMENT ON COLUMN review_history.reviewer IS 'Who did it, as they call themselves. Text from outside.';
COMMENT ON COLUMN review_history.acted_at IS 'When (UTC).';
COMMENT ON COLUMN review_history.position IS 'Order among what was entered at once, from 1.';
COMMENT ON COLUMN review_history.action IS 'add_query, edit_query, remove_query, block_source, unblock_source, add_source, note or assess.';
COMMENT ON COLUMN review_history.target IS 'What it concerns: a query_id, the canonical URL of a source, or a domain.';
COMMENT ON COLUMN review_history.target_words IS 'The words of the query, or the source.';
COMMENT ON COLUMN review_history.value IS 'The words of a query or a note, the URL of a source, the assessed stance (null: withdrawn). Text from outside.';
COMMENT ON COLUMN review_history.reason IS 'Why, in the reviewer''s words. Text from outside.';
COMMENT ON COLUMN review_history.query_id IS 'The query that an added or edited wording makes.';
COMMENT ON COLUMN review_history.query_type IS 'Search strategy of that query.';
COMMENT ON COLUMN review_history.seeks_opposite IS 'Whether that query looks for the contrary of the claim.';
COMMENT ON COLUMN review_history.action_id IS 'Identifier of the act.';
COMMENT ON COLUMN review_history.run_id IS 'The first run that kept to it; null: none yet, or a note or an assessment.';
COMMENT ON COLUMN review_history.applied_at IS 'When that run checked the video (UTC).';
COMMENT ON COLUMN review_history.stance_before IS 'The claim''s verdict before that run; null: none, or incomplete.';
COMMENT ON COLUMN review_history.stance_after IS 'The claim''s verdict of that run; null: incomplete.';

CREATE OR REPLACE VIEW standing_reviews AS
WITH effects AS (
    SELECT *, 'query' AS kind, target AS subject, 'not asked' AS effect, 1 AS part
    FROM review_actions WHERE action IN ('edit_query', 'remove_query')
    UNION ALL
    SELECT *, 'query', query_id, 'asked', 2
    FROM review_actions WHERE action IN ('add_query', 'edit_query')
    UNION ALL
    SELECT *, 'source', target,
        CASE action WHEN 'block_source' THEN 'blocked' WHEN 'add_source' THEN 'added' END, 1
    FROM review_actions WHERE action IN ('block_source', 'unblock_source', 'add_source')
    UNION ALL
    SELECT *, 'assessment', claim_id, value, 1
    FROM review_actions WHERE action = 'assess'
),
latest AS (
    SELECT *
    FROM effects
    QUALIFY row_number() OVER (
        PARTITION BY video_id, claim_id, kind, subject
        ORDER BY acted_at DESC, position DESC, action_id DESC, part DESC
    ) = 1
)
SELECT
    latest.video_id,
    latest.claim_id,
    latest.kind,
    latest.subject,
    latest.effect,
    CASE latest.kind
        WHEN 'query' THEN coalesce(CASE WHEN latest.effect = 'asked' THEN latest.value END, asked.text)
        WHEN 'source' THEN coalesce(latest.value, latest.subject)
    END AS words,
    latest.reason,
    latest.reviewer,
    latest.acted_at,
    applied.run_id,
    latest.action_id
FROM latest
LEFT JOIN review_applications AS applied USING (action_id)
LEFT JOIN (SELECT query_id, max(text) AS text FROM queries GROUP BY query_id) AS asked
    ON asked.query_id = latest.subject
WHERE latest.effect IS NOT NULL;
COMMENT ON VIEW standing_reviews IS 'What of the reviewers'' corrections and assessments is in force: one row per claim and query, source or assessment. The latest act on each counts.';
COMMENT ON COLUMN standing_reviews.video_id IS 'The video.';
COMMENT ON COLUMN standing_reviews.claim_id IS 'The claim.';
COMMENT ON COLUMN standing_reviews.kind IS 'query, source or assessment.';
COMMENT ON COLUMN standing_reviews.subject IS 'The query_id, the canonical URL or domain of the source, or the claim.';
COMMENT ON COLUMN standing_reviews.effect IS 'asked or not asked for queries; blocked or added for sources; for assessments the stance.';
COMMENT ON COLUMN standing_reviews.words IS 'The words of the query, or the source as it was given. Text from outside.';
COMMENT ON COLUMN standing_reviews.reason IS 'Why, in the reviewer''s words. Text from outside.';
COMMENT ON COLUMN standing_reviews.reviewer IS 'Whose act it is. Text from outside.';
COMMENT ON COLUMN standing_reviews.acted_at IS 'When (UTC).';
COMMENT ON COLUMN standing_reviews.run_id IS 'The first run that kept to it; null: none yet, or an assessment.';
COMMENT ON COLUMN standing_reviews.action_id IS 'The act.';
