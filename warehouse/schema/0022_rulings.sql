-- What reviewers may do grows: to the claims themselves, to what a source is taken to say, and a
-- ruling under a name.

-- DuckDB changes no CHECK in place, so tables whose vocabulary grows are made again around their rows.
ALTER TABLE claims RENAME TO claims_before_0022;
CREATE TABLE claims (
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    rank BIGINT NOT NULL CHECK (rank >= 1),
    text VARCHAR NOT NULL CHECK (length(text) >= 1),
    importance DOUBLE NOT NULL CHECK (importance BETWEEN 0 AND 1),
    extraction_confidence DOUBLE NOT NULL CHECK (extraction_confidence BETWEEN 0 AND 1),
    category VARCHAR,
    context VARCHAR,
    thesis VARCHAR,
    char_start BIGINT CHECK (char_start >= 0),
    char_end BIGINT CHECK (char_end >= 0),
    match_score DOUBLE CHECK (match_score BETWEEN 0 AND 1),
    start_seconds DOUBLE CHECK (start_seconds >= 0 AND isfinite(start_seconds)),
    end_seconds DOUBLE CHECK (end_seconds >= 0 AND isfinite(end_seconds)),
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm', 'given', 'reviewer')),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    CHECK ((char_start IS NULL) = (char_end IS NULL)),
    CHECK ((char_start IS NULL) = (match_score IS NULL)),
    CHECK (char_end > char_start),
    CHECK (char_start IS NOT NULL OR start_seconds IS NULL)
);
INSERT INTO claims BY NAME SELECT * FROM claims_before_0022;
DROP TABLE claims_before_0022;
COMMENT ON TABLE claims IS 'The check-worthy factual statements of a video.';
COMMENT ON COLUMN claims.claim_id IS 'Identifier derived from the video and the claim''s wording; the same in every run.';
COMMENT ON COLUMN claims.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN claims.rank IS 'Order by importance; 1 is the most important claim of the video.';
COMMENT ON COLUMN claims.text IS 'The claim.';
COMMENT ON COLUMN claims.importance IS 'How much the video''s thesis rests on the claim, from 0 to 1.';
COMMENT ON COLUMN claims.extraction_confidence IS 'How sure it is that the video makes this claim, from 0 to 1.';
COMMENT ON COLUMN claims.category IS 'Field that the claim belongs to.';
COMMENT ON COLUMN claims.context IS 'Background needed to read the claim.';
COMMENT ON COLUMN claims.thesis IS 'The video''s thesis, in at most 25 words.';
COMMENT ON COLUMN claims.char_start IS 'Offset of the claim in the transcript''s text, in code points from 0; null if it was not located.';
COMMENT ON COLUMN claims.char_end IS 'Offset behind the claim in the transcript''s text.';
COMMENT ON COLUMN claims.match_score IS 'Similarity of the claim to the transcript between the two offsets, from 0 to 1.';
COMMENT ON COLUMN claims.start_seconds IS 'When the claim begins, in seconds from the start of the video; null if the transcript has no times.';
COMMENT ON COLUMN claims.end_seconds IS 'When the claim ends, in seconds from the start of the video.';
COMMENT ON COLUMN claims.basis IS 'Who worded it: embedded (the embedded engine), llm (a language model), given (nobody: the corpus states it) or reviewer (a person; review_history says who).';
COMMENT ON COLUMN claims.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN claims.checked_at IS 'When that run checked the video (UTC).';

ALTER TABLE review_actions RENAME TO review_actions_before_0022;
CREATE TABLE review_actions (
    action_id VARCHAR PRIMARY KEY,
    video_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL CHECK (length(reviewer) BETWEEN 1 AND 80),
    acted_at TIMESTAMP NOT NULL,
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
INSERT INTO review_actions BY NAME SELECT * FROM review_actions_before_0022;
DROP TABLE review_actions_before_0022;
COMMENT ON TABLE review_actions IS 'What reviewers did, one row per act, never changed: corrections of the claims of a video, of their queries and sources, notes, who a claim is assigned to, and assessments and signed rulings, which stand beside the verdict and never in its place.';
COMMENT ON COLUMN review_actions.action_id IS 'Identifier of the act.';
COMMENT ON COLUMN review_actions.video_id IS 'The video.';
COMMENT ON COLUMN review_actions.claim_id IS 'The claim, in the words that it had then.';
COMMENT ON COLUMN review_actions.reviewer IS 'Who did it, as they call themselves. Text from outside.';
COMMENT ON COLUMN review_actions.acted_at IS 'When (UTC).';
COMMENT ON COLUMN review_actions.position IS 'Order among what was entered at once, from 1.';
COMMENT ON COLUMN review_actions.action IS 'add_query, edit_query, remove_query; block_source, add_source, unblock_source (takes either back), overrule_source; reword_claim, split_claim, drop_claim, restore_claim (takes either of these back), add_claim; assign, note, assess or sign.';
COMMENT ON COLUMN review_actions.target IS 'What it concerns: a query_id, the canonical URL of a source, or a domain; of an added claim what was said in the transcript; of a ruling its scale.';
COMMENT ON COLUMN review_actions.value IS 'Its content: the words of a query, a note or a claim (the parts of a split one, one a line), the URL of a source as it was given, a stance, a rating, a person, or the label of a ruling (null: what was said before is taken back). Text from outside.';
COMMENT ON COLUMN review_actions.query_id IS 'The query that an added or edited wording makes.';
COMMENT ON COLUMN review_actions.query_type IS 'Search strategy of that query.';
COMMENT ON COLUMN review_actions.seeks_opposite IS 'Whether that query looks for the contrary of the claim.';
COMMENT ON COLUMN review_actions.reason IS 'Why, in the reviewer''s words; of a ruling, the ruling in prose. Text from outside.';
COMMENT ON COLUMN review_actions.stance IS 'What the label of a ruling says: supports, refutes, mixed or unclear.';
COMMENT ON COLUMN review_actions.organisation IS 'For whom a ruling was signed. Text from outside.';

ALTER TABLE evidence ADD COLUMN machine_stance VARCHAR;
ALTER TABLE evidence ADD COLUMN machine_rating VARCHAR;
COMMENT ON COLUMN evidence.machine_stance IS 'The stance as it was read, where a reviewer overruled it: then stance is theirs, and reason says whose and why.';
COMMENT ON COLUMN evidence.machine_rating IS 'The rating as it was, where a reviewer overruled it: then rating is theirs, and reason says whose and why.';
