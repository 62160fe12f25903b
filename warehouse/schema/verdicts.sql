-- The verdict on each claim, and the steps that a strategy took.

CREATE TABLE verdict_history (  -- Every verdict of every run: the stance of the evidence on each claim, and its confidence. The view verdicts has the current ones.
    claim_id VARCHAR NOT NULL,  -- The claim.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    rank BIGINT NOT NULL CHECK (rank >= 1),  -- Order in the report, from 1: best evidence quality first.
    status VARCHAR NOT NULL CHECK (status IN ('complete', 'incomplete')),  -- complete, or incomplete if services failed and the missing sources could change the stance.
    evidence_status VARCHAR NOT NULL CHECK (evidence_status IN ('ok', 'no_evidence', 'infra_error')),  -- Outcome of the search for evidence: ok, no_evidence or infra_error.
    reason VARCHAR,  -- Reason of an incomplete verdict, or a remark on a complete one.
    stance VARCHAR CHECK (stance IN ({stances})),  -- The stance of the evidence on the claim: {any stance}. Exactly the complete verdicts have one.
    confidence VARCHAR CHECK (confidence IN ('low', 'medium', 'high')),  -- Confidence of the stance: low, medium or high.
    confidence_score DOUBLE CHECK (confidence_score BETWEEN 0 AND 1),  -- Confidence of the stance, from 0 to 1.
    summary VARCHAR NOT NULL,  -- The verdict in words.
    vote_stance VARCHAR CHECK (vote_stance IN ({stances})),  -- The reliability-weighted vote over the stances of the evidence.
    vote_margin DOUBLE CHECK (vote_margin BETWEEN -1 AND 1),  -- Margin of the vote, from -1 to 1.
    reasoner_stance VARCHAR CHECK (reasoner_stance IN ({stances})),  -- The reasoner's own verdict, kept beside the vote.
    disagreement BOOLEAN NOT NULL,  -- Whether the vote and the reasoner differ.
    evidence_quality DOUBLE NOT NULL CHECK (evidence_quality BETWEEN 0 AND 1),  -- Quality of the evidence, from 0 to 1.
    supporting BIGINT NOT NULL CHECK (supporting >= 0),  -- Sources that support the claim.
    refuting BIGINT NOT NULL CHECK (refuting >= 0),  -- Sources that refute the claim.
    mixed BIGINT NOT NULL CHECK (mixed >= 0),  -- Sources that do both.
    unclear BIGINT NOT NULL CHECK (unclear >= 0),  -- Sources that speak of the claim without deciding.
    independent_origins BIGINT NOT NULL CHECK (independent_origins >= 0),  -- Independent sources; copies of one story count once.
    missing BIGINT NOT NULL CHECK (missing >= 0),  -- Sources that could not be read because services failed.
    recheck_due BOOLEAN NOT NULL DEFAULT false,  -- Whether failed services left the stance, the confidence or the words open. The next re-check completes them. Rows older than this column have only their status.
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'labels', 'llm')),  -- The reader of the pages: embedded (rules or an entailment model), labels (label probabilities of a small language model), both automatic leanings, or llm (a large language model).
    veracity VARCHAR CHECK (veracity IN ('pants-fire', 'false', 'barely-true', 'half-true', 'mostly-true', 'true')),  -- The verdict on six levels, if the strategy uses them: pants-fire, false, barely-true, half-true, mostly-true or true.
    strategy VARCHAR NOT NULL DEFAULT 'standard',  -- Name of the strategy that checked the claim.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of that run's check (UTC).
    CHECK ((stance IS NULL) = (confidence IS NULL)),
    CHECK ((status = 'complete') = (stance IS NOT NULL)),
    CHECK (status = 'complete' OR reason IS NOT NULL)
);

CREATE TABLE steps (  -- The steps of a strategy for a claim, in order. The standard strategy records none.
    claim_id VARCHAR NOT NULL,  -- The claim.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    strategy VARCHAR NOT NULL,  -- The strategy, as in verdict_history.strategy.
    round BIGINT NOT NULL CHECK (round >= 1),  -- The round, from 1; a new plan begins a new one.
    position BIGINT NOT NULL CHECK (position >= 1),  -- Order among the steps of the claim, from 1.
    step VARCHAR NOT NULL CHECK (step IN (  -- The kind of step: decompose, plan, query, retrieve, select, summarise, read, reason, judge or calibrate.
        'decompose', 'plan', 'query', 'retrieve', 'select', 'summarise', 'read', 'reason', 'judge', 'calibrate'
    )),
    technique VARCHAR NOT NULL,  -- The technique, in the strategy's own words.
    asked VARCHAR NOT NULL,  -- The question or the object of the search.
    got VARCHAR NOT NULL,  -- The result in words.
    used VARCHAR[] NOT NULL,  -- Ids of its input rows: evidence_id, query_id.
    made VARCHAR[] NOT NULL,  -- Ids of its output rows: query_id, evidence_id.
    calls BIGINT NOT NULL CHECK (calls >= 0),  -- Number of model calls.
    tokens BIGINT NOT NULL CHECK (tokens >= 0),  -- Tokens of these calls, in and out.
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),  -- Their cost in US dollars.
    seconds DOUBLE NOT NULL CHECK (seconds >= 0 AND isfinite(seconds)),  -- Duration of the step.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok; no_evidence: the step found nothing; infra_error: a service failed; skipped: a rule ended the step without a result.
    reason VARCHAR,  -- Reason, if the status is not ok.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);
