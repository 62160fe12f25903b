-- How each claim was checked, and the steps that a strategy took for it.

ALTER TABLE verdicts ADD COLUMN strategy VARCHAR DEFAULT 'standard';
COMMENT ON COLUMN verdicts.strategy IS 'How the claim was checked: the name of the strategy.';

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
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, claim_id, position)
);
COMMENT ON TABLE steps IS 'The steps that a strategy took for a claim, in order. The standard strategy notes none: its rows tell them.';
COMMENT ON COLUMN steps.claim_id IS 'The claim.';
COMMENT ON COLUMN steps.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN steps.strategy IS 'The strategy, as in verdicts.strategy.';
COMMENT ON COLUMN steps.round IS 'The round, from 1; a new plan begins a new one.';
COMMENT ON COLUMN steps.position IS 'Order among the steps of the claim, from 1.';
COMMENT ON COLUMN steps.step IS 'What it does: decompose, plan, query, retrieve, select, summarise, read, reason, judge or calibrate.';
COMMENT ON COLUMN steps.technique IS 'How it was done, in the strategy''s own words.';
COMMENT ON COLUMN steps.asked IS 'What was asked or looked for.';
COMMENT ON COLUMN steps.got IS 'What came of it, in words.';
COMMENT ON COLUMN steps.used IS 'Ids of the rows that went into it: evidence_id, query_id.';
COMMENT ON COLUMN steps.made IS 'Ids of the rows that came of it, or that it kept: query_id, evidence_id.';
COMMENT ON COLUMN steps.calls IS 'Model calls that were made in it.';
COMMENT ON COLUMN steps.tokens IS 'Tokens of these calls, in and out.';
COMMENT ON COLUMN steps.cost_usd IS 'What they cost, in US dollars.';
COMMENT ON COLUMN steps.seconds IS 'How long the step took.';
COMMENT ON COLUMN steps.status IS 'ok; no_evidence: nothing was found; infra_error: a service failed; skipped: it ended without a result by a rule.';
COMMENT ON COLUMN steps.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN steps.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN steps.checked_at IS 'When that run checked the video (UTC).';
