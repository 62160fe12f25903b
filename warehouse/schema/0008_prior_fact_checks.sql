-- What fact-checkers have already published on something like a claim: kept apart from evidence.

CREATE TABLE prior_fact_checks (
    prior_fact_check_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    rank BIGINT NOT NULL CHECK (rank >= 1),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    publisher VARCHAR,
    domain VARCHAR,
    url VARCHAR,
    canonical_url VARCHAR,
    title VARCHAR,
    claim_reviewed VARCHAR,
    claimant VARCHAR,
    textual_rating VARCHAR,
    reviewed_on DATE,
    claimed_on DATE,
    language VARCHAR,
    similarity DOUBLE CHECK (similarity BETWEEN 0 AND 1),
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, prior_fact_check_id),
    CHECK ((url IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK ((canonical_url IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK ((similarity IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK (reason IS NOT NULL OR status IN ('ok', 'no_evidence'))
);
COMMENT ON TABLE prior_fact_checks IS 'What fact-checkers have already published on something like each claim. Pointers for a reader: no verdict reads them. A claim that was looked up has at least one row; without a row it was not asked about.';
COMMENT ON COLUMN prior_fact_checks.prior_fact_check_id IS 'Identifies the row by its claim and the review''s canonical URL.';
COMMENT ON COLUMN prior_fact_checks.claim_id IS 'The claim that was looked up.';
COMMENT ON COLUMN prior_fact_checks.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN prior_fact_checks.provider IS 'Who was asked.';
COMMENT ON COLUMN prior_fact_checks.rank IS 'The most similar review of the claim is 1; those that were left out come last.';
COMMENT ON COLUMN prior_fact_checks.status IS 'ok: a review that belongs to the claim; skipped: one that was left out by a rule; no_evidence: nothing was found; infra_error: the service failed.';
COMMENT ON COLUMN prior_fact_checks.reason IS 'Why it was left out, or how the service failed.';
COMMENT ON COLUMN prior_fact_checks.publisher IS 'Who reviewed, as it calls itself.';
COMMENT ON COLUMN prior_fact_checks.domain IS 'The registrable domain of the review.';
COMMENT ON COLUMN prior_fact_checks.url IS 'The review, as the provider gave it.';
COMMENT ON COLUMN prior_fact_checks.canonical_url IS 'The identity of the review''s page.';
COMMENT ON COLUMN prior_fact_checks.title IS 'The title of the review.';
COMMENT ON COLUMN prior_fact_checks.claim_reviewed IS 'The claim that was reviewed, in the words of the review.';
COMMENT ON COLUMN prior_fact_checks.claimant IS 'Who is said to have made that claim.';
COMMENT ON COLUMN prior_fact_checks.textual_rating IS 'The publisher''s rating in its own words; scales differ.';
COMMENT ON COLUMN prior_fact_checks.reviewed_on IS 'The day of the review.';
COMMENT ON COLUMN prior_fact_checks.claimed_on IS 'The day on which the reviewed claim was made.';
COMMENT ON COLUMN prior_fact_checks.language IS 'The language of the review (BCP 47).';
COMMENT ON COLUMN prior_fact_checks.similarity IS 'How many content words the video''s claim shares with the reviewed one or its title, from 0 to 1.';
COMMENT ON COLUMN prior_fact_checks.latency_seconds IS 'How long the look-up took.';
COMMENT ON COLUMN prior_fact_checks.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN prior_fact_checks.checked_at IS 'When that run checked the video (UTC).';
