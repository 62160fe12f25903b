-- The actions of reviewers, and the runs that applied them.

CREATE TABLE review_actions (
    action_id VARCHAR PRIMARY KEY,
    video_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL CHECK (length(reviewer) BETWEEN 1 AND 80),
    acted_at TIMESTAMPTZ NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 1),
    action VARCHAR NOT NULL CHECK (action IN (
        'add_query', 'edit_query', 'remove_query', 'block_source', 'unblock_source', 'add_source',
        'overrule_source', 'reword_claim', 'split_claim', 'drop_claim', 'restore_claim', 'add_claim',
        'assign', 'note', 'assess', 'sign'
    )),
    target VARCHAR,
    value VARCHAR,
    query_id VARCHAR,
    query_type VARCHAR CHECK (query_type IN ('direct', 'alternative', 'source', 'context')),
    seeks_opposite BOOLEAN NOT NULL,
    reason VARCHAR,
    stance VARCHAR CHECK (stance IN ('supports', 'refutes', 'mixed', 'unclear')),
    organisation VARCHAR,
    CHECK (action NOT IN ('edit_query', 'remove_query', 'block_source', 'unblock_source', 'add_source', 'overrule_source') OR target IS NOT NULL),
    CHECK (action NOT IN ('add_query', 'edit_query', 'add_source', 'note', 'reword_claim', 'split_claim', 'restore_claim', 'add_claim') OR value IS NOT NULL),
    CHECK (action <> 'drop_claim' OR reason IS NOT NULL),
    CHECK (action NOT IN ('overrule_source', 'sign') OR value IS NULL OR reason IS NOT NULL),
    CHECK ((action IN ('add_query', 'edit_query')) = (query_id IS NOT NULL)),
    CHECK (action <> 'assess' OR value IS NULL OR value IN ('supports', 'refutes', 'mixed', 'unclear')),
    CHECK ((action = 'sign' AND value IS NOT NULL) = (stance IS NOT NULL))
);
COMMENT ON TABLE review_actions IS 'The actions of reviewers, one row each, never changed: corrections of claims, queries and sources, notes, assignments, assessments and signed rulings. Assessments and rulings never replace the verdict.';
COMMENT ON COLUMN review_actions.action_id IS 'Identifier of the act.';
COMMENT ON COLUMN review_actions.video_id IS 'The video.';
COMMENT ON COLUMN review_actions.claim_id IS 'The claim, with the id of its wording at that time.';
COMMENT ON COLUMN review_actions.reviewer IS 'The reviewer, by the name they gave. Text from outside.';
COMMENT ON COLUMN review_actions.acted_at IS 'When (UTC).';
COMMENT ON COLUMN review_actions.position IS 'Order among actions that were entered together, from 1.';
COMMENT ON COLUMN review_actions.action IS 'add_query, edit_query, remove_query; block_source, add_source, unblock_source (takes either back), overrule_source; reword_claim, split_claim, drop_claim, restore_claim (takes either of these back), add_claim; assign, note, assess or sign.';
COMMENT ON COLUMN review_actions.target IS 'The object of the action: a query_id, the canonical URL of a source, or a domain; for an added claim, the words in the transcript; for a ruling, its scale.';
COMMENT ON COLUMN review_actions.value IS 'The content: the words of a query, a note or a claim (one line for each part of a split claim), the URL of a source as given, a stance, a rating, a person, or the label of a ruling (null: the earlier one is withdrawn). Text from outside.';
COMMENT ON COLUMN review_actions.query_id IS 'The query that an added or edited wording makes.';
COMMENT ON COLUMN review_actions.query_type IS 'Search strategy of that query.';
COMMENT ON COLUMN review_actions.seeks_opposite IS 'Whether that query looks for the contrary of the claim.';
COMMENT ON COLUMN review_actions.reason IS 'Why, in the reviewer''s words; of a ruling, the ruling in prose. Text from outside.';
COMMENT ON COLUMN review_actions.stance IS 'The stance of a ruling''s label: supports, refutes, mixed or unclear.';
COMMENT ON COLUMN review_actions.organisation IS 'For whom a ruling was signed. Text from outside.';

CREATE TABLE review_applications (
    action_id VARCHAR PRIMARY KEY,
    run_id VARCHAR NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE review_applications IS 'The first run that applied an action of a reviewer. An action without a row is not applied yet; notes and assessments never are.';
COMMENT ON COLUMN review_applications.action_id IS 'The action.';
COMMENT ON COLUMN review_applications.run_id IS 'The run.';
COMMENT ON COLUMN review_applications.applied_at IS 'When that run checked the video (UTC).';
