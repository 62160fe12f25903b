-- The claims of a video, and the queries that look for evidence on them.

CREATE TABLE claims (  -- The check-worthy factual statements of a video.
    claim_id VARCHAR NOT NULL,  -- Identifier derived from the video and the claim's wording; the same in every run.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    rank BIGINT NOT NULL CHECK (rank >= 1),  -- Order by importance; 1 is the most important claim of the video.
    text VARCHAR NOT NULL CHECK (length(text) >= 1),  -- The claim.
    importance DOUBLE NOT NULL CHECK (importance BETWEEN 0 AND 1),  -- Weight of the claim for the video's thesis, from 0 to 1.
    extraction_confidence DOUBLE NOT NULL CHECK (extraction_confidence BETWEEN 0 AND 1),  -- Confidence that the video makes this claim, from 0 to 1.
    category VARCHAR,  -- Field that the claim belongs to.
    context VARCHAR,  -- Background for understanding the claim.
    thesis VARCHAR,  -- The video's thesis, in at most 25 words.
    claims_found BIGINT CHECK (claims_found >= 1),  -- Number of claims that the extraction found, of which it kept max_claims; null if a person or a corpus wrote the claim.
    char_start BIGINT CHECK (char_start >= 0),  -- Offset of the claim in the transcript's text, in code points from 0; null if it was not located.
    char_end BIGINT CHECK (char_end >= 0),  -- Offset behind the claim in the transcript's text.
    match_score DOUBLE CHECK (match_score BETWEEN 0 AND 1),  -- Similarity of the claim to the transcript between the two offsets, from 0 to 1.
    start_seconds DOUBLE CHECK (start_seconds >= 0 AND isfinite(start_seconds)),  -- Start of the claim, in seconds from the start of the video; null if the transcript has no times.
    end_seconds DOUBLE CHECK (end_seconds >= 0 AND isfinite(end_seconds)),  -- End of the claim, in seconds from the start of the video.
    speaker VARCHAR,  -- The speaker, as the transcript or the corpus names or labels them; null if neither does.
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm', 'given', 'reviewer')),  -- The author of the wording: embedded (the embedded engine), llm (a language model), given (the corpus) or reviewer (a person; review_history names them).
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of that run's check (UTC).
    CHECK ((char_start IS NULL) = (char_end IS NULL)),
    CHECK ((char_start IS NULL) = (match_score IS NULL)),
    CHECK (char_end > char_start),
    CHECK (char_start IS NOT NULL OR start_seconds IS NULL)
);

CREATE TABLE queries (  -- The web searches that look for evidence on a claim.
    query_id VARCHAR NOT NULL,  -- Identifier derived from the claim and the query's wording; the same in every run.
    claim_id VARCHAR NOT NULL,  -- The claim.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    rank BIGINT NOT NULL CHECK (rank >= 1),  -- Order in which the claim's queries are tried, from 1.
    text VARCHAR NOT NULL,  -- The query; empty if no query could be written.
    query_type VARCHAR NOT NULL CHECK (query_type IN ('direct', 'alternative', 'source', 'context')),  -- The search strategy: direct, alternative, source or context.
    priority BIGINT NOT NULL CHECK (priority BETWEEN 1 AND 5),  -- 1 is always asked, 5 only for completeness.
    seeks_opposite BOOLEAN NOT NULL,  -- Whether the query looks for the contrary of the claim.
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm', 'reviewer')),  -- The author of the wording: embedded (the embedded engine), llm (a language model) or reviewer (a person; review_history names them).
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok, or infra_error where a service failed and no query could be written.
    reason VARCHAR,  -- Reason, if the status is not ok.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE claim_matches (  -- Claims that match a claim of another video; each run that stores claims compares them. The view said_before shows each pair both ways, with the verdicts.
    video_id VARCHAR NOT NULL,  -- The video.
    claim_id VARCHAR NOT NULL,  -- Its claim.
    other_claim_id VARCHAR NOT NULL,  -- The claim of another video.
    similarity DOUBLE NOT NULL CHECK (similarity BETWEEN 0 AND 1),  -- Cosine of their sentence embeddings, from 0 to 1.
    relation VARCHAR NOT NULL CHECK (relation IN ('same', 'contrary', 'other figure', 'similar')),  -- same: they say the same. contrary: one denies the other. other figure: their figures differ. similar: close in meaning, and the rules cannot tell whether they agree.
    matched_at TIMESTAMPTZ NOT NULL,  -- Time of the comparison (UTC).
    PRIMARY KEY (video_id, claim_id, other_claim_id)
);
