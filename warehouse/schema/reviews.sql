-- The actions of reviewers, and the runs that applied them.

CREATE TABLE review_actions (  -- The actions of reviewers, one row each, never changed: corrections of claims, queries and sources, notes, assignments, assessments and signed rulings. Assessments and rulings never replace the verdict.
    action_id VARCHAR PRIMARY KEY,  -- Identifier of the action.
    video_id VARCHAR NOT NULL,  -- The video.
    claim_id VARCHAR NOT NULL,  -- The claim, with the id of its wording at that time.
    reviewer VARCHAR NOT NULL CHECK (length(reviewer) BETWEEN 1 AND 80),  -- The reviewer, by the name they gave. Text from outside.
    acted_at TIMESTAMPTZ NOT NULL,  -- Time of the action (UTC).
    position BIGINT NOT NULL CHECK (position >= 1),  -- Order among actions that were entered together, from 1.
    action VARCHAR NOT NULL CHECK (action IN (  -- add_query, edit_query, remove_query; block_source, add_source, unblock_source (takes either back), overrule_source; reword_claim, split_claim, drop_claim, restore_claim (takes either of these back), add_claim; assign, note, assess or sign.
        'add_query', 'edit_query', 'remove_query', 'block_source', 'unblock_source', 'add_source',
        'overrule_source', 'reword_claim', 'split_claim', 'drop_claim', 'restore_claim', 'add_claim',
        'assign', 'note', 'assess', 'sign'
    )),
    target VARCHAR,  -- The object of the action: a query_id, the canonical URL of a source, or a domain; for an added claim, the words in the transcript; for a ruling, its scale.
    value VARCHAR,  -- The content: the words of a query, a note or a claim (one line for each part of a split claim), the URL of a source as given, a stance, a rating, a person, or the label of a ruling (null: the earlier one is withdrawn). Text from outside.
    query_id VARCHAR,  -- Id of the added or edited query.
    query_type VARCHAR CHECK (query_type IN ('direct', 'alternative', 'source', 'context')),  -- Search strategy of that query.
    seeks_opposite BOOLEAN NOT NULL,  -- Whether that query looks for the contrary of the claim.
    reason VARCHAR,  -- The reviewer's reason; for a ruling its prose. Text from outside.
    stance VARCHAR CHECK (stance IN ({stances})),  -- The stance of a ruling's label: {any stance}.
    organisation VARCHAR,  -- The organisation behind a ruling. Text from outside.
    CHECK (action NOT IN ('edit_query', 'remove_query', 'block_source', 'unblock_source', 'add_source', 'overrule_source') OR target IS NOT NULL),
    CHECK (action NOT IN ('add_query', 'edit_query', 'add_source', 'note', 'reword_claim', 'split_claim', 'restore_claim', 'add_claim') OR value IS NOT NULL),
    CHECK (action <> 'drop_claim' OR reason IS NOT NULL),
    CHECK (action NOT IN ('overrule_source', 'sign') OR value IS NULL OR reason IS NOT NULL),
    CHECK ((action IN ('add_query', 'edit_query')) = (query_id IS NOT NULL)),
    CHECK (action <> 'assess' OR value IS NULL OR value IN ({stances})),
    CHECK ((action = 'sign' AND value IS NOT NULL) = (stance IS NOT NULL))
);

CREATE TABLE review_applications (  -- The first run that applied an action of a reviewer. An action without a row is not applied yet; notes and assessments never are.
    action_id VARCHAR PRIMARY KEY,  -- The action.
    run_id VARCHAR NOT NULL,  -- The run.
    applied_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);
