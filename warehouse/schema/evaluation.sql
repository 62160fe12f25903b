-- Scores against annotated ground truth, and the judgements of a language model.

CREATE TABLE metrics (  -- Every metric of every evaluation. History stays: each run adds its rows. A metric that is undefined has the value NULL, never 0.
    corpus VARCHAR NOT NULL CHECK (corpus <> ''),  -- The corpus that was evaluated.
    video_id VARCHAR CHECK (video_id <> ''),  -- The video; NULL for figures over all videos of the corpus.
    position BIGINT NOT NULL CHECK (position >= 1),  -- Order of the metrics in reports, from 1.
    family VARCHAR NOT NULL CHECK (family IN ('claims', 'stances', 'evidence', 'operations')),  -- The subject of the metric: claims, stances, evidence or operations.
    metric VARCHAR NOT NULL CHECK (metric <> ''),  -- Name of the metric.
    averaging VARCHAR NOT NULL CHECK (averaging IN ('macro', 'micro', 'video')),  -- macro: the mean over videos. micro: over the items of all videos. video: of one video.
    value DOUBLE CHECK (isfinite(value)),  -- The figure; NULL where it is undefined.
    n BIGINT NOT NULL CHECK (n >= 0),  -- Number of items behind the value.
    unit VARCHAR NOT NULL,  -- The items that n counts.
    better VARCHAR CHECK (better IN ('higher', 'lower')),  -- Whether a higher or a lower value is better; NULL if neither is.
    interval_low DOUBLE CHECK (isfinite(interval_low)),  -- Lower end of the bootstrap interval over videos; NULL with fewer than two videos.
    interval_high DOUBLE CHECK (isfinite(interval_high)),  -- Upper end of the interval.
    interval_level DOUBLE CHECK (interval_level > 0 AND interval_level < 1),  -- Coverage of the interval, such as 0.95.
    baseline DOUBLE CHECK (isfinite(baseline)),  -- Score of the trivial answer on the same items; NULL if there is none.
    matcher VARCHAR NOT NULL,  -- Rule that matched claims to annotated ones.
    threshold DOUBLE CHECK (isfinite(threshold)),  -- Similarity above which two claims were held to say the same.
    videos BIGINT NOT NULL CHECK (videos >= 1),  -- Videos of the corpus that were evaluated.
    annotated BIGINT NOT NULL CHECK (annotated BETWEEN 0 AND videos),  -- Number of annotated videos among them.
    run_id VARCHAR NOT NULL,  -- The run that measured.
    evaluated_at TIMESTAMPTZ NOT NULL,  -- Time of the measurement (UTC).
    CHECK ((video_id IS NOT NULL) = (averaging = 'video')),
    CHECK ((interval_low IS NULL) = (interval_high IS NULL)),
    CHECK ((interval_low IS NULL) = (interval_level IS NULL)),
    CHECK (interval_low <= interval_high)
);

CREATE TABLE judgements (  -- Judgements of a language model as judge on one subject by one criterion. An outage is a row without a score.
    judgement_id VARCHAR NOT NULL,  -- Identifier of the question: subject, criterion, judge, version of the prompt, and everything that the judge saw. An answered question is not asked again.
    judging_id VARCHAR NOT NULL,  -- The run of `factible judge` that asked.
    video_id VARCHAR NOT NULL,  -- The video.
    claim_id VARCHAR NOT NULL,  -- The claim that the subject belongs to.
    subject_kind VARCHAR NOT NULL CHECK (subject_kind IN ('claim', 'query', 'evidence', 'verdict')),  -- The subject: a claim, a query, a piece of evidence or a verdict.
    subject_id VARCHAR NOT NULL,  -- claim_id, query_id or evidence_id; for a verdict the claim_id.
    criterion VARCHAR NOT NULL CHECK (criterion IN (  -- The criterion; factible_assets/evaluation/judging/criteria.py explains each one and its source.
        'claim_quality', 'query_relevance', 'evidence_relevance', 'explanation_quality',
        'reasoning_hallucination', 'evidence_hallucination', 'label_justification'
    )),
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),  -- ok; invalid: not of the form asked for, or resting on words that stand nowhere in the material; truncated; refused; infra_error: the service failed.
    score BIGINT CHECK (score BETWEEN 0 AND 2),  -- The score as given, from 0 to 2; null unless the outcome is ok. For hallucinations and label_justification 0 is best.
    normalised DOUBLE CHECK (normalised BETWEEN 0 AND 1),  -- The score from 0 (worst) to 1 (best), independent of the direction of the scale.
    reason VARCHAR NOT NULL CHECK (length(reason) >= 1),  -- Why this score, in the judge's words; or why there is none.
    quote VARCHAR,  -- The words of the material that the score rests on; they stand in it.
    provider VARCHAR NOT NULL,  -- The provider of the judge.
    model VARCHAR NOT NULL,  -- The judge.
    prompt_version VARCHAR NOT NULL,  -- Version of the prompt.
    question_hash VARCHAR NOT NULL,  -- Digest of all that the judge was shown.
    calls BIGINT NOT NULL CHECK (calls >= 0),  -- Requests that the judgement took.
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),  -- Their cost in US dollars.
    price_known BOOLEAN NOT NULL,  -- Whether the model has a listed price; without one, cost_usd is 0.
    judged_at TIMESTAMPTZ NOT NULL,  -- When the judgement was reached (UTC).
    PRIMARY KEY (judgement_id, judging_id),
    CHECK ((outcome = 'ok') = (score IS NOT NULL)),
    CHECK ((score IS NULL) = (normalised IS NULL)),
    CHECK ((score IS NULL) = (quote IS NULL))
);

CREATE TABLE judge_calls (  -- The calls that judgements took, with the usage that the API reported.
    judgement_id VARCHAR NOT NULL,  -- The judgement.
    judging_id VARCHAR NOT NULL,  -- The run of `factible judge`.
    attempt BIGINT NOT NULL CHECK (attempt >= 1),  -- 1 for the first attempt, more for repetitions.
    provider VARCHAR NOT NULL,  -- The provider of the model.
    model VARCHAR NOT NULL,  -- The model.
    input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),  -- Tokens read, as the API reported them.
    output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),  -- Tokens written, as the API reported them.
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),  -- Cost of the call in US dollars.
    price_known BOOLEAN NOT NULL,  -- Whether the model has a listed price; without one, cost_usd is 0.
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),  -- Duration of the request, in seconds.
    cache_hit BOOLEAN NOT NULL,  -- Whether the answer came from the cache.
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),  -- ok; invalid: not of the form asked for; truncated; refused; infra_error: the service failed.
    reason VARCHAR,  -- Reason, if the outcome is not ok.
    PRIMARY KEY (judgement_id, judging_id, attempt)
);
