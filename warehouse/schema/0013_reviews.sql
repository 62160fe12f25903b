-- What people say about a check: their corrections, their opinions, and which run applied them.

-- DuckDB changes no CHECK in place, so the table is made anew: a query may be worded by a reviewer.
CREATE TEMP TABLE kept_queries AS SELECT * FROM queries;
DROP TABLE queries;
CREATE TABLE queries (
    query_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    rank BIGINT NOT NULL CHECK (rank >= 1),
    text VARCHAR NOT NULL,
    query_type VARCHAR NOT NULL CHECK (query_type IN ('direct', 'alternative', 'source', 'context')),
    priority BIGINT NOT NULL CHECK (priority BETWEEN 1 AND 5),
    seeks_opposite BOOLEAN NOT NULL,
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm', 'reviewer')),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, query_id)
);
INSERT INTO queries BY NAME SELECT * FROM kept_queries;
DROP TABLE kept_queries;
COMMENT ON TABLE queries IS 'The web searches that look for evidence on a claim.';
COMMENT ON COLUMN queries.query_id IS 'Identifier derived from the claim and the query''s wording; the same in every run.';
COMMENT ON COLUMN queries.claim_id IS 'The claim.';
COMMENT ON COLUMN queries.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN queries.rank IS 'Order in which the claim''s queries are tried, from 1.';
COMMENT ON COLUMN queries.text IS 'What is asked; empty where no query could be written.';
COMMENT ON COLUMN queries.query_type IS 'The search strategy: direct, alternative, source or context.';
COMMENT ON COLUMN queries.priority IS '1 is always asked, 5 only for completeness.';
COMMENT ON COLUMN queries.seeks_opposite IS 'Whether the query looks for the contrary of the claim.';
COMMENT ON COLUMN queries.basis IS 'Who worded it: embedded (the embedded engine), llm (a language model) or reviewer (a person; review_history says who).';
COMMENT ON COLUMN queries.status IS 'ok, or infra_error where a service failed and no query could be written.';
COMMENT ON COLUMN queries.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN queries.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN queries.checked_at IS 'When that run checked the video (UTC).';

-- Rows are added and never changed: what is in force follows from them (view standing_reviews).
CREATE TABLE review_actions (
    action_id VARCHAR PRIMARY KEY,
    video_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL CHECK (length(reviewer) BETWEEN 1 AND 80),
    acted_at TIMESTAMP NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 1),
    action VARCHAR NOT NULL CHECK (action IN (
        'add_query', 'edit_query', 'remove_query', 'block_source', 'unblock_source', 'add_source',
        'note', 'assess'
    )),
    target VARCHAR,
    value VARCHAR,
    query_id VARCHAR,
    query_type VARCHAR CHECK (query_type IN ('direct', 'alternative', 'source', 'context')),
    seeks_opposite BOOLEAN NOT NULL,
    reason VARCHAR,
    CHECK (action NOT IN ('edit_query', 'remove_query', 'block_source', 'unblock_source', 'add_source') OR target IS NOT NULL),
    CHECK (action NOT IN ('add_query', 'edit_query', 'add_source', 'note') OR value IS NOT NULL),
    CHECK ((action IN ('add_query', 'edit_query')) = (query_id IS NOT NULL)),
    CHECK (action <> 'assess' OR value IS NULL OR value IN ('supports', 'refutes', 'mixed', 'unclear'))
);
COMMENT ON TABLE review_actions IS 'What reviewers did, one row per act, never changed: corrections of a claim''s queries and sources, notes, and their own assessments, which stand beside the verdict and never in its place.';
COMMENT ON COLUMN review_actions.action_id IS 'Identifier of the act.';
COMMENT ON COLUMN review_actions.video_id IS 'The video.';
COMMENT ON COLUMN review_actions.claim_id IS 'The claim.';
COMMENT ON COLUMN review_actions.reviewer IS 'Who did it, as they call themselves. Text from outside.';
COMMENT ON COLUMN review_actions.acted_at IS 'When (UTC).';
COMMENT ON COLUMN review_actions.position IS 'Order among what was entered at once, from 1.';
COMMENT ON COLUMN review_actions.action IS 'add_query, edit_query, remove_query, block_source, unblock_source (takes back what was said of a source), add_source, note or assess.';
COMMENT ON COLUMN review_actions.target IS 'What it concerns: a query_id, the canonical URL of a source, or a domain.';
COMMENT ON COLUMN review_actions.value IS 'Its content: the words of a query or a note, the URL of a source as it was given, the assessed stance (null: withdrawn). Text from outside.';
COMMENT ON COLUMN review_actions.query_id IS 'The query that an added or edited wording makes.';
COMMENT ON COLUMN review_actions.query_type IS 'Search strategy of that query.';
COMMENT ON COLUMN review_actions.seeks_opposite IS 'Whether that query looks for the contrary of the claim.';
COMMENT ON COLUMN review_actions.reason IS 'Why, in the reviewer''s words. Text from outside.';

CREATE TABLE review_applications (
    action_id VARCHAR PRIMARY KEY,
    run_id VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE review_applications IS 'Which run was the first to keep to an act of a reviewer. An act without a row is not applied yet; notes and assessments never are.';
COMMENT ON COLUMN review_applications.action_id IS 'The act.';
COMMENT ON COLUMN review_applications.run_id IS 'The run.';
COMMENT ON COLUMN review_applications.applied_at IS 'When that run checked the video (UTC).';

CREATE TABLE carried_claims (
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    source_run_id VARCHAR NOT NULL,
    last_checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, claim_id)
);
COMMENT ON TABLE carried_claims IS 'The claims that a run did not check: it was for other claims of the video alone, and took their rows over from the check before, so that its sets are complete.';
COMMENT ON COLUMN carried_claims.video_id IS 'The video.';
COMMENT ON COLUMN carried_claims.run_id IS 'The run that took them over.';
COMMENT ON COLUMN carried_claims.claim_id IS 'The claim.';
COMMENT ON COLUMN carried_claims.source_run_id IS 'The run that last checked the claim itself.';
COMMENT ON COLUMN carried_claims.last_checked_at IS 'When that was (UTC).';
