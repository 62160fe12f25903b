-- The verdict on each claim, and the steps that a strategy took.

CREATE TABLE verdict_history (
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
    recheck_due BOOLEAN NOT NULL DEFAULT false,
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'labels', 'llm')),
    veracity VARCHAR CHECK (veracity IN ('pants-fire', 'false', 'barely-true', 'half-true', 'mostly-true', 'true')),
    strategy VARCHAR NOT NULL DEFAULT 'standard',
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    CHECK ((stance IS NULL) = (confidence IS NULL)),
    CHECK ((status = 'complete') = (stance IS NOT NULL)),
    CHECK (status = 'complete' OR reason IS NOT NULL)
);
COMMENT ON TABLE verdict_history IS 'Every verdict of every run: the stance of the evidence on each claim, and its confidence. The view verdicts has those that stand.';
COMMENT ON COLUMN verdict_history.claim_id IS 'The claim.';
COMMENT ON COLUMN verdict_history.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN verdict_history.rank IS 'Order in the report, from 1: best evidence quality first.';
COMMENT ON COLUMN verdict_history.status IS 'complete, or incomplete if services failed and the missing sources could change the stance.';
COMMENT ON COLUMN verdict_history.evidence_status IS 'Outcome of the search for evidence: ok, no_evidence or infra_error.';
COMMENT ON COLUMN verdict_history.reason IS 'Why the verdict is incomplete, or a remark on how it was reached.';
COMMENT ON COLUMN verdict_history.stance IS 'How the evidence stands to the claim: supports, refutes, mixed or unclear. Exactly the complete verdicts have one.';
COMMENT ON COLUMN verdict_history.confidence IS 'How sure the stance is: low, medium or high.';
COMMENT ON COLUMN verdict_history.confidence_score IS 'How sure the stance is, from 0 to 1.';
COMMENT ON COLUMN verdict_history.summary IS 'The verdict in words.';
COMMENT ON COLUMN verdict_history.vote_stance IS 'The reliability-weighted vote over the stances of the evidence.';
COMMENT ON COLUMN verdict_history.vote_margin IS 'Margin of the vote, from -1 to 1.';
COMMENT ON COLUMN verdict_history.reasoner_stance IS 'The reasoner''s own verdict, kept beside the vote.';
COMMENT ON COLUMN verdict_history.disagreement IS 'Whether the vote and the reasoner differ.';
COMMENT ON COLUMN verdict_history.evidence_quality IS 'Quality of the evidence, from 0 to 1.';
COMMENT ON COLUMN verdict_history.supporting IS 'Sources that support the claim.';
COMMENT ON COLUMN verdict_history.refuting IS 'Sources that refute the claim.';
COMMENT ON COLUMN verdict_history.mixed IS 'Sources that do both.';
COMMENT ON COLUMN verdict_history.unclear IS 'Sources that speak of the claim without deciding.';
COMMENT ON COLUMN verdict_history.independent_origins IS 'Sources that tell stories of their own; copies of one story count once.';
COMMENT ON COLUMN verdict_history.missing IS 'Sources that could not be read because services failed.';
COMMENT ON COLUMN verdict_history.recheck_due IS 'Whether failed services left the stance, the confidence or the words open. The next re-check completes them. Rows older than this column have only their status.';
COMMENT ON COLUMN verdict_history.basis IS 'The reader of the pages: embedded (rules or an entailment model), labels (label probabilities of a small language model), both automatic leanings, or llm (a large language model).';
COMMENT ON COLUMN verdict_history.veracity IS 'The verdict on six levels, where it was reached on them: pants-fire, false, barely-true, half-true, mostly-true or true.';
COMMENT ON COLUMN verdict_history.strategy IS 'How the claim was checked: the name of the strategy.';
COMMENT ON COLUMN verdict_history.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN verdict_history.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE steps (
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    strategy VARCHAR NOT NULL,
    round BIGINT NOT NULL CHECK (round >= 1),
    position BIGINT NOT NULL CHECK (position >= 1),
    step VARCHAR NOT NULL CHECK (step IN (
        'decompose', 'plan', 'query', 'retrieve', 'select', 'summarise', 'read', 'reason', 'judge', 'calibrate'
    )),
    technique VARCHAR NOT NULL,
    asked VARCHAR NOT NULL,
    got VARCHAR NOT NULL,
    used VARCHAR[] NOT NULL,
    made VARCHAR[] NOT NULL,
    calls BIGINT NOT NULL CHECK (calls >= 0),
    tokens BIGINT NOT NULL CHECK (tokens >= 0),
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    seconds DOUBLE NOT NULL CHECK (seconds >= 0 AND isfinite(seconds)),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE steps IS 'The steps that a strategy took for a claim, in order. The standard strategy notes none: its rows tell them.';
COMMENT ON COLUMN steps.claim_id IS 'The claim.';
COMMENT ON COLUMN steps.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN steps.strategy IS 'The strategy, as in verdict_history.strategy.';
COMMENT ON COLUMN steps.round IS 'The round, from 1; a new plan begins a new one.';
COMMENT ON COLUMN steps.position IS 'Order among the steps of the claim, from 1.';
COMMENT ON COLUMN steps.step IS 'The kind of step: decompose, plan, query, retrieve, select, summarise, read, reason, judge or calibrate.';
COMMENT ON COLUMN steps.technique IS 'How it was done, in the strategy''s own words.';
COMMENT ON COLUMN steps.asked IS 'The question or the object of the search.';
COMMENT ON COLUMN steps.got IS 'The result in words.';
COMMENT ON COLUMN steps.used IS 'Ids of the rows that went into it: evidence_id, query_id.';
COMMENT ON COLUMN steps.made IS 'Ids of the rows that came of it, or that it kept: query_id, evidence_id.';
COMMENT ON COLUMN steps.calls IS 'Model calls that were made in it.';
COMMENT ON COLUMN steps.tokens IS 'Tokens of these calls, in and out.';
COMMENT ON COLUMN steps.cost_usd IS 'Their cost in US dollars.';
COMMENT ON COLUMN steps.seconds IS 'How long the step took.';
COMMENT ON COLUMN steps.status IS 'ok; no_evidence: nothing was found; infra_error: a service failed; skipped: it ended without a result by a rule.';
COMMENT ON COLUMN steps.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN steps.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN steps.checked_at IS 'When that run checked the video (UTC).';
