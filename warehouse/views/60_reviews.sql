-- The actions of reviewers, and those in force.
--
-- Of all actions on one query or source of a claim, the latest counts. factible_assets/stages/reviews.py has
-- the same rule, and a test compares the two. Only that module follows a reworded claim.

CREATE OR REPLACE VIEW review_history AS  -- The actions of reviewers in order, with the run that applied each.
SELECT
    acts.video_id,  -- The video.
    acts.claim_id,  -- The claim, in the words that it had then.
    worded.text AS claim,  -- Wording of the claim.
    acts.reviewer,  -- The reviewer, by the name they gave. Text from outside.
    acts.acted_at,  -- Time of the action (UTC).
    acts.position,  -- Order among actions that were entered together, from 1.
    acts.action,  -- The action; see review_actions.action.
    acts.target,  -- The object of the action: a query_id, the canonical URL of a source, or a domain; for an added claim, the words in the transcript; for a ruling, its scale.
    coalesce(asked.text, acts.target) AS target_words,  -- The words of the query, or the source.
    acts.value,  -- Words of a query, a note or a claim, the URL of a source, a stance, a rating, a person, or the label of a ruling (null: withdrawn). Text from outside.
    acts.reason,  -- The reviewer's reason; for a ruling its prose. Text from outside.
    acts.query_id,  -- Id of the added or edited query.
    acts.query_type,  -- Search strategy of that query.
    acts.seeks_opposite,  -- Whether that query looks for the contrary of the claim.
    acts.stance,  -- The stance of a ruling's label: {any stance}.
    acts.organisation,  -- The organisation behind a ruling. Text from outside.
    acts.action_id,  -- Identifier of the action.
    applied.run_id,  -- The first run that applied it; null: none yet, or an opinion.
    applied.applied_at,  -- Time of that run's check (UTC).
    previous.stance AS stance_before,  -- The claim's stance before that run; null: none, or incomplete.
    reached.stance AS stance_after  -- The claim's stance after that run; null: none, or incomplete.
FROM review_actions AS acts
LEFT JOIN review_applications AS applied USING (action_id)
LEFT JOIN (SELECT claim_id, max(text) AS text FROM claims GROUP BY claim_id) AS worded USING (claim_id)
LEFT JOIN (SELECT query_id, max(text) AS text FROM queries GROUP BY query_id) AS asked
    ON asked.query_id = acts.target
LEFT JOIN verdict_history AS reached
    ON reached.video_id = acts.video_id
    AND reached.claim_id = acts.claim_id
    AND reached.run_id = applied.run_id
LEFT JOIN (
    SELECT
        video_id, claim_id, run_id,
        lag(stance) OVER (PARTITION BY video_id, claim_id ORDER BY checked_at, run_id) AS stance
    FROM verdict_history
) AS previous
    ON previous.video_id = acts.video_id
    AND previous.claim_id = acts.claim_id
    AND previous.run_id = applied.run_id
ORDER BY acts.video_id, acts.claim_id, acts.acted_at, acts.position;

CREATE OR REPLACE VIEW standing_reviews AS  -- The corrections and opinions of reviewers that are in force: one row per claim and query, source (and its overruled stance or rating), assessment, ruling or assignment. The latest action on each counts. Actions on an earlier wording of a claim have the id of that wording; actions on a later one do not replace them.
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
    SELECT *, 'stance', target, value, 1
    FROM review_actions
    WHERE action = 'overrule_source'
        AND (value IS NULL OR value IN ({stances}))
    UNION ALL
    SELECT *, 'rating', target, value, 1
    FROM review_actions
    WHERE action = 'overrule_source'
        AND (value IS NULL OR value NOT IN ({stances}))
    UNION ALL
    SELECT *, CASE action WHEN 'assess' THEN 'assessment' WHEN 'sign' THEN 'ruling' ELSE 'assignment' END, claim_id, value, 1
    FROM review_actions WHERE action IN ('assess', 'sign', 'assign')
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
    latest.video_id,  -- The video.
    latest.claim_id,  -- The claim, in the words that it had then.
    latest.kind,  -- query; source; stance or rating (overruled, of a source); assessment, ruling or assignment.
    latest.subject,  -- The query_id, the canonical URL or domain of the source, or the claim.
    latest.effect,  -- asked or not asked for queries; blocked or added for sources; else the stance, the rating, the label or the person.
    CASE latest.kind
        WHEN 'query' THEN coalesce(CASE WHEN latest.effect = 'asked' THEN latest.value END, asked.text)
        WHEN 'source' THEN coalesce(latest.value, latest.subject)
        WHEN 'stance' THEN latest.subject
        WHEN 'rating' THEN latest.subject
    END AS words,  -- The words of the query, or the source as it was given. Text from outside.
    latest.reason,  -- The reviewer's reason. Text from outside.
    latest.reviewer,  -- The reviewer. Text from outside.
    latest.acted_at,  -- Time of the action (UTC).
    applied.run_id,  -- The first run that applied it; null: none yet, or an opinion.
    latest.action_id  -- The action.
FROM latest
LEFT JOIN review_applications AS applied USING (action_id)
LEFT JOIN (SELECT query_id, max(text) AS text FROM queries GROUP BY query_id) AS asked
    ON asked.query_id = latest.subject
WHERE latest.effect IS NOT NULL;

CREATE OR REPLACE VIEW signed_rulings AS  -- Every ruling that a person signed on a claim, with the machine's verdict. The latest ruling on a claim is in force, unless it was withdrawn.
SELECT
    acts.video_id,  -- The video.
    acts.claim_id,  -- The claim, in the words on which it was signed.
    worded.text AS claim,  -- The wording on which it was signed.
    acts.value AS ruling,  -- The label of the ruling. Text from outside.
    acts.stance,  -- The stance of that label: {any stance}.
    acts.target AS scale,  -- The scale of the label.
    acts.reason AS prose,  -- The ruling in prose. Text from outside.
    acts.reviewer AS signed_by,  -- The signer. Text from outside.
    acts.organisation,  -- The organisation behind it. Text from outside.
    acts.acted_at AS signed_at,  -- Time of the signature (UTC).
    row_number() OVER newest_first = 1 AS stands,  -- Whether it is the latest on the claim, and was not withdrawn.
    CASE WHEN verdicts.claim_id IS NOT NULL THEN verdict_of(verdicts.stance) END AS machine_verdict,  -- The machine's verdict now: {verdicts} or incomplete; null: none.
    verdicts.confidence AS machine_confidence,  -- Confidence of that verdict.
    acts.action_id  -- The action.
FROM review_actions AS acts
LEFT JOIN (SELECT claim_id, max(text) AS text FROM claims GROUP BY claim_id) AS worded USING (claim_id)
LEFT JOIN current_verdicts AS verdicts USING (video_id, claim_id)
WHERE acts.action = 'sign'
WINDOW newest_first AS (
    PARTITION BY acts.video_id, acts.claim_id
    ORDER BY acts.acted_at DESC, acts.position DESC, acts.action_id DESC
)
QUALIFY acts.value IS NOT NULL;
