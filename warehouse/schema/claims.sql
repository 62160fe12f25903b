-- The claims of a video, and the queries that look for evidence on them.

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
    claims_found BIGINT CHECK (claims_found >= 1),
    char_start BIGINT CHECK (char_start >= 0),
    char_end BIGINT CHECK (char_end >= 0),
    match_score DOUBLE CHECK (match_score BETWEEN 0 AND 1),
    start_seconds DOUBLE CHECK (start_seconds >= 0 AND isfinite(start_seconds)),
    end_seconds DOUBLE CHECK (end_seconds >= 0 AND isfinite(end_seconds)),
    speaker VARCHAR,
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm', 'given', 'reviewer')),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    CHECK ((char_start IS NULL) = (char_end IS NULL)),
    CHECK ((char_start IS NULL) = (match_score IS NULL)),
    CHECK (char_end > char_start),
    CHECK (char_start IS NOT NULL OR start_seconds IS NULL)
);
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
COMMENT ON COLUMN claims.claims_found IS 'How many claims the extraction found in the video, of which it kept max_claims; null if a person or a corpus wrote the claim.';
COMMENT ON COLUMN claims.char_start IS 'Offset of the claim in the transcript''s text, in code points from 0; null if it was not located.';
COMMENT ON COLUMN claims.char_end IS 'Offset behind the claim in the transcript''s text.';
COMMENT ON COLUMN claims.match_score IS 'Similarity of the claim to the transcript between the two offsets, from 0 to 1.';
COMMENT ON COLUMN claims.start_seconds IS 'When the claim begins, in seconds from the start of the video; null if the transcript has no times.';
COMMENT ON COLUMN claims.end_seconds IS 'When the claim ends, in seconds from the start of the video.';
COMMENT ON COLUMN claims.speaker IS 'The speaker, as the transcript or the corpus names or labels them; null if neither does.';
COMMENT ON COLUMN claims.basis IS 'The author of the wording: embedded (the embedded engine), llm (a language model), given (the corpus) or reviewer (a person; review_history names them).';
COMMENT ON COLUMN claims.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN claims.checked_at IS 'When that run checked the video (UTC).';

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
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE queries IS 'The web searches that look for evidence on a claim.';
COMMENT ON COLUMN queries.query_id IS 'Identifier derived from the claim and the query''s wording; the same in every run.';
COMMENT ON COLUMN queries.claim_id IS 'The claim.';
COMMENT ON COLUMN queries.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN queries.rank IS 'Order in which the claim''s queries are tried, from 1.';
COMMENT ON COLUMN queries.text IS 'The query; empty if no query could be written.';
COMMENT ON COLUMN queries.query_type IS 'The search strategy: direct, alternative, source or context.';
COMMENT ON COLUMN queries.priority IS '1 is always asked, 5 only for completeness.';
COMMENT ON COLUMN queries.seeks_opposite IS 'Whether the query looks for the contrary of the claim.';
COMMENT ON COLUMN queries.basis IS 'The author of the wording: embedded (the embedded engine), llm (a language model) or reviewer (a person; review_history names them).';
COMMENT ON COLUMN queries.status IS 'ok, or infra_error where a service failed and no query could be written.';
COMMENT ON COLUMN queries.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN queries.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN queries.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE claim_matches (
    video_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    other_claim_id VARCHAR NOT NULL,
    similarity DOUBLE NOT NULL CHECK (similarity BETWEEN 0 AND 1),
    relation VARCHAR NOT NULL CHECK (relation IN ('same', 'contrary', 'other figure', 'similar')),
    matched_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (video_id, claim_id, other_claim_id)
);
COMMENT ON TABLE claim_matches IS 'Claims that speak of the same as a claim of another video, found when the claims of the first were last stored. The view said_before shows them both ways, with their verdicts.';
COMMENT ON COLUMN claim_matches.video_id IS 'The video.';
COMMENT ON COLUMN claim_matches.claim_id IS 'Its claim.';
COMMENT ON COLUMN claim_matches.other_claim_id IS 'The claim of another video.';
COMMENT ON COLUMN claim_matches.similarity IS 'Cosine of their sentence embeddings, from 0 to 1.';
COMMENT ON COLUMN claim_matches.relation IS 'same: they say the same. contrary: one denies the other. other figure: their figures differ. similar: close in meaning, and the rules cannot tell whether they agree.';
COMMENT ON COLUMN claim_matches.matched_at IS 'When they were compared (UTC).';
