-- What the evidence says of each claim.

CREATE TABLE verdicts (
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    rank BIGINT NOT NULL CHECK (rank >= 1),
    status VARCHAR NOT NULL CHECK (status IN ('complete', 'incomplete')),
    evidence_status VARCHAR NOT NULL CHECK (evidence_status IN ('ok', 'no_evidence', 'infra_error')),
    reason VARCHAR,
    stance VARCHAR CHECK (stance IN ('supports', 'refutes', 'mixed', 'unclear')),
    confidence VARCHAR CHECK (confidence IN ('low', 'medium', 'high')),
    confidence_score DOUBLE CHECK (confidence_score BETWEEN 0 AND 1),
    summary VARCHAR NOT NULL,
    vote_stance VARCHAR CHECK (vote_stance IN ('supports', 'refutes', 'mixed', 'unclear')),
    vote_margin DOUBLE CHECK (vote_margin BETWEEN -1 AND 1),
    reasoner_stance VARCHAR CHECK (reasoner_stance IN ('supports', 'refutes', 'mixed', 'unclear')),
    disagreement BOOLEAN NOT NULL,
    evidence_quality DOUBLE NOT NULL CHECK (evidence_quality BETWEEN 0 AND 1),
    supporting BIGINT NOT NULL CHECK (supporting >= 0),
    refuting BIGINT NOT NULL CHECK (refuting >= 0),
    mixed BIGINT NOT NULL CHECK (mixed >= 0),
    unclear BIGINT NOT NULL CHECK (unclear >= 0),
    independent_origins BIGINT NOT NULL CHECK (independent_origins >= 0),
    missing BIGINT NOT NULL CHECK (missing >= 0),
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm')),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, claim_id),
    CHECK ((stance IS NULL) = (confidence IS NULL)),
    CHECK ((status = 'complete') = (stance IS NOT NULL)),
    CHECK (status = 'complete' OR reason IS NOT NULL)
);
COMMENT ON TABLE verdicts IS 'What the evidence says of a claim, and how sure that is. History stays: one row per claim and run.';
COMMENT ON COLUMN verdicts.claim_id IS 'The claim.';
COMMENT ON COLUMN verdicts.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN verdicts.rank IS 'Order in the report, from 1: best evidence quality first.';
COMMENT ON COLUMN verdicts.status IS 'complete, or incomplete where services failed and what is missing could change the answer.';
COMMENT ON COLUMN verdicts.evidence_status IS 'What became of the search for evidence: ok, no_evidence or infra_error.';
COMMENT ON COLUMN verdicts.reason IS 'Why the verdict is incomplete, or what else there is to say about how it came about.';
COMMENT ON COLUMN verdicts.stance IS 'How the evidence stands to the claim: supports, refutes, mixed or unclear. Exactly the complete verdicts have one.';
COMMENT ON COLUMN verdicts.confidence IS 'How sure the stance is: low, medium or high.';
COMMENT ON COLUMN verdicts.confidence_score IS 'How sure the stance is, from 0 to 1.';
COMMENT ON COLUMN verdicts.summary IS 'The verdict in words.';
COMMENT ON COLUMN verdicts.vote_stance IS 'The reliability-weighted vote over the stances of the evidence.';
COMMENT ON COLUMN verdicts.vote_margin IS 'Margin of the vote, from -1 to 1.';
COMMENT ON COLUMN verdicts.reasoner_stance IS 'The reasoner''s own verdict, kept beside the vote.';
COMMENT ON COLUMN verdicts.disagreement IS 'Whether the vote and the reasoner differ.';
COMMENT ON COLUMN verdicts.evidence_quality IS 'Quality of the evidence, from 0 to 1.';
COMMENT ON COLUMN verdicts.supporting IS 'Sources that support the claim.';
COMMENT ON COLUMN verdicts.refuting IS 'Sources that refute the claim.';
COMMENT ON COLUMN verdicts.mixed IS 'Sources that do both.';
COMMENT ON COLUMN verdicts.unclear IS 'Sources that speak of the claim without deciding.';
COMMENT ON COLUMN verdicts.independent_origins IS 'Sources that tell stories of their own; copies of one story count once.';
COMMENT ON COLUMN verdicts.missing IS 'Sources that could not be read because services failed.';
COMMENT ON COLUMN verdicts.basis IS 'Who judged: embedded (the embedded engine, an automatic leaning) or llm (a language model).';
COMMENT ON COLUMN verdicts.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN verdicts.checked_at IS 'When that run checked the video (UTC).';
