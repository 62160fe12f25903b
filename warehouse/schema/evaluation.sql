-- Scores against annotated ground truth, and the judgements of a language model.

CREATE TABLE metrics (
    corpus VARCHAR NOT NULL CHECK (corpus <> ''),
    video_id VARCHAR CHECK (video_id <> ''),
    position BIGINT NOT NULL CHECK (position >= 1),
    family VARCHAR NOT NULL CHECK (family IN ('claims', 'stances', 'evidence', 'operations')),
    metric VARCHAR NOT NULL CHECK (metric <> ''),
    averaging VARCHAR NOT NULL CHECK (averaging IN ('macro', 'micro', 'video')),
    value DOUBLE CHECK (isfinite(value)),
    n BIGINT NOT NULL CHECK (n >= 0),
    unit VARCHAR NOT NULL,
    better VARCHAR CHECK (better IN ('higher', 'lower')),
    interval_low DOUBLE CHECK (isfinite(interval_low)),
    interval_high DOUBLE CHECK (isfinite(interval_high)),
    interval_level DOUBLE CHECK (interval_level > 0 AND interval_level < 1),
    baseline DOUBLE CHECK (isfinite(baseline)),
    matcher VARCHAR NOT NULL,
    threshold DOUBLE CHECK (isfinite(threshold)),
    videos BIGINT NOT NULL CHECK (videos >= 1),
    annotated BIGINT NOT NULL CHECK (annotated BETWEEN 0 AND videos),
    run_id VARCHAR NOT NULL,
    evaluated_at TIMESTAMPTZ NOT NULL,
    CHECK ((video_id IS NOT NULL) = (averaging = 'video')),
    CHECK ((interval_low IS NULL) = (interval_high IS NULL)),
    CHECK ((interval_low IS NULL) = (interval_level IS NULL)),
    CHECK (interval_low <= interval_high)
);
COMMENT ON TABLE metrics IS 'Every metric of every evaluation. History stays: each run adds its rows. A metric that is undefined has the value NULL, never 0.';
COMMENT ON COLUMN metrics.corpus IS 'The corpus that was evaluated.';
COMMENT ON COLUMN metrics.video_id IS 'The video whose own figure this is; NULL for figures over all videos of the corpus.';
COMMENT ON COLUMN metrics.position IS 'Order of the metrics in reports, from 1.';
COMMENT ON COLUMN metrics.family IS 'The subject of the metric: claims, stances, evidence or operations.';
COMMENT ON COLUMN metrics.metric IS 'Name of the metric.';
COMMENT ON COLUMN metrics.averaging IS 'macro: the mean over videos. micro: over the items of all videos. video: of one video.';
COMMENT ON COLUMN metrics.value IS 'The figure; NULL where it is undefined.';
COMMENT ON COLUMN metrics.n IS 'How many items the value rests on.';
COMMENT ON COLUMN metrics.unit IS 'The items that n counts.';
COMMENT ON COLUMN metrics.better IS 'Which way is better: higher or lower; NULL where neither is.';
COMMENT ON COLUMN metrics.interval_low IS 'Lower end of the bootstrap interval over videos; NULL with fewer than two videos.';
COMMENT ON COLUMN metrics.interval_high IS 'Upper end of the interval.';
COMMENT ON COLUMN metrics.interval_level IS 'Coverage of the interval, such as 0.95.';
COMMENT ON COLUMN metrics.baseline IS 'Score of the trivial answer on the same items; NULL if there is none.';
COMMENT ON COLUMN metrics.matcher IS 'By which rule claims were matched to annotated ones.';
COMMENT ON COLUMN metrics.threshold IS 'Similarity above which two claims were held to say the same.';
COMMENT ON COLUMN metrics.videos IS 'Videos of the corpus that were evaluated.';
COMMENT ON COLUMN metrics.annotated IS 'How many of them are annotated.';
COMMENT ON COLUMN metrics.run_id IS 'The run that measured.';
COMMENT ON COLUMN metrics.evaluated_at IS 'When it measured (UTC).';

CREATE TABLE judgements (
    judgement_id VARCHAR NOT NULL,
    judging_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    subject_kind VARCHAR NOT NULL CHECK (subject_kind IN ('claim', 'query', 'evidence', 'verdict')),
    subject_id VARCHAR NOT NULL,
    criterion VARCHAR NOT NULL CHECK (criterion IN (
        'claim_quality', 'query_relevance', 'evidence_relevance', 'explanation_quality',
        'reasoning_hallucination', 'evidence_hallucination', 'label_justification'
    )),
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),
    score BIGINT CHECK (score BETWEEN 0 AND 2),
    normalised DOUBLE CHECK (normalised BETWEEN 0 AND 1),
    reason VARCHAR NOT NULL CHECK (length(reason) >= 1),
    quote VARCHAR,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    prompt_version VARCHAR NOT NULL,
    question_hash VARCHAR NOT NULL,
    calls BIGINT NOT NULL CHECK (calls >= 0),
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    price_known BOOLEAN NOT NULL,
    judged_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (judgement_id, judging_id),
    CHECK ((outcome = 'ok') = (score IS NOT NULL)),
    CHECK ((score IS NULL) = (normalised IS NULL)),
    CHECK ((score IS NULL) = (quote IS NULL))
);
COMMENT ON TABLE judgements IS 'Judgements of a language model as judge on one subject by one criterion. An outage is a row without a score.';
COMMENT ON COLUMN judgements.judgement_id IS 'Identifier of the question: subject, criterion, judge, version of the prompt, and everything that the judge saw. An answered question is not asked again.';
COMMENT ON COLUMN judgements.judging_id IS 'The run of `factible judge` that asked.';
COMMENT ON COLUMN judgements.video_id IS 'The video.';
COMMENT ON COLUMN judgements.claim_id IS 'The claim that the subject belongs to.';
COMMENT ON COLUMN judgements.subject_kind IS 'The subject: a claim, a query, a piece of evidence or a verdict.';
COMMENT ON COLUMN judgements.subject_id IS 'claim_id, query_id or evidence_id; for a verdict the claim_id.';
COMMENT ON COLUMN judgements.criterion IS 'The criterion; factible_assets/evaluation/judging/criteria.py explains each one and its source.';
COMMENT ON COLUMN judgements.outcome IS 'ok; invalid: not of the form asked for, or resting on words that stand nowhere in the material; truncated; refused; infra_error: the service failed.';
COMMENT ON COLUMN judgements.score IS 'The score as given, from 0 to 2; null unless the outcome is ok. For hallucinations and label_justification 0 is best.';
COMMENT ON COLUMN judgements.normalised IS 'The score from 0 (worst) to 1 (best), independent of the direction of the scale.';
COMMENT ON COLUMN judgements.reason IS 'Why this score, in the judge''s words; or why there is none.';
COMMENT ON COLUMN judgements.quote IS 'The words of the material that the score rests on; they stand in it.';
COMMENT ON COLUMN judgements.provider IS 'The provider of the judge.';
COMMENT ON COLUMN judgements.model IS 'The judge.';
COMMENT ON COLUMN judgements.prompt_version IS 'Version of the prompt.';
COMMENT ON COLUMN judgements.question_hash IS 'Digest of all that the judge was shown.';
COMMENT ON COLUMN judgements.calls IS 'Requests that the judgement took.';
COMMENT ON COLUMN judgements.cost_usd IS 'Their cost in US dollars.';
COMMENT ON COLUMN judgements.price_known IS 'Whether the model has a listed price; where it has none, cost_usd is 0 for that.';
COMMENT ON COLUMN judgements.judged_at IS 'When the judgement was reached (UTC).';

CREATE TABLE judge_calls (
    judgement_id VARCHAR NOT NULL,
    judging_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL CHECK (attempt >= 1),
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),
    output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    price_known BOOLEAN NOT NULL,
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    cache_hit BOOLEAN NOT NULL,
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),
    reason VARCHAR,
    PRIMARY KEY (judgement_id, judging_id, attempt)
);
COMMENT ON TABLE judge_calls IS 'The calls that judgements took, with the usage that the API reported.';
COMMENT ON COLUMN judge_calls.judgement_id IS 'The judgement.';
COMMENT ON COLUMN judge_calls.judging_id IS 'The run of `factible judge`.';
COMMENT ON COLUMN judge_calls.attempt IS '1 for the first attempt, more for repetitions.';
COMMENT ON COLUMN judge_calls.provider IS 'The provider of the model.';
COMMENT ON COLUMN judge_calls.model IS 'The model.';
COMMENT ON COLUMN judge_calls.input_tokens IS 'Tokens read, as the API reported them.';
COMMENT ON COLUMN judge_calls.output_tokens IS 'Tokens written, as the API reported them.';
COMMENT ON COLUMN judge_calls.cost_usd IS 'Cost of the call in US dollars.';
COMMENT ON COLUMN judge_calls.price_known IS 'Whether the model has a listed price; where it has none, cost_usd is 0 for that.';
COMMENT ON COLUMN judge_calls.latency_seconds IS 'How long the answer took, in seconds.';
COMMENT ON COLUMN judge_calls.cache_hit IS 'Whether the answer came from the cache.';
COMMENT ON COLUMN judge_calls.outcome IS 'ok; invalid: not of the form asked for; truncated; refused; infra_error: the service failed.';
COMMENT ON COLUMN judge_calls.reason IS 'Why the outcome is not ok.';
