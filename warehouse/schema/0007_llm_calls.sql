-- What was asked of language models, and what it cost.

CREATE TABLE llm_calls (
    call_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    stage VARCHAR NOT NULL CHECK (stage IN ('claims', 'queries', 'evidence', 'verdicts')),
    claim_id VARCHAR,
    query_id VARCHAR,
    canonical_url VARCHAR,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    prompt_version VARCHAR NOT NULL,
    attempt BIGINT NOT NULL CHECK (attempt >= 1),
    input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),
    output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    price_known BOOLEAN NOT NULL,
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    cache_hit BOOLEAN NOT NULL,
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),
    reason VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, call_id)
);
COMMENT ON TABLE llm_calls IS 'The calls of language models, with the usage that their API reported. Each asset owns the rows of its stage.';
COMMENT ON COLUMN llm_calls.call_id IS 'Identifier of the call.';
COMMENT ON COLUMN llm_calls.video_id IS 'The video that the call was made for.';
COMMENT ON COLUMN llm_calls.stage IS 'The stage, and asset, that the call was made for: claims, queries, evidence or verdicts.';
COMMENT ON COLUMN llm_calls.claim_id IS 'The claim that the call was made for, if one.';
COMMENT ON COLUMN llm_calls.query_id IS 'The query that the call was made for, if one.';
COMMENT ON COLUMN llm_calls.canonical_url IS 'The page that the call was made for, if one.';
COMMENT ON COLUMN llm_calls.provider IS 'Who serves the model.';
COMMENT ON COLUMN llm_calls.model IS 'The model.';
COMMENT ON COLUMN llm_calls.prompt_version IS 'Version of the prompt.';
COMMENT ON COLUMN llm_calls.attempt IS '1 for the first attempt, more for repetitions.';
COMMENT ON COLUMN llm_calls.input_tokens IS 'Tokens read, as the API reported them.';
COMMENT ON COLUMN llm_calls.output_tokens IS 'Tokens written, as the API reported them.';
COMMENT ON COLUMN llm_calls.cost_usd IS 'What the call cost, in US dollars.';
COMMENT ON COLUMN llm_calls.price_known IS 'Whether the model has a listed price; where it has none, cost_usd is 0 for that.';
COMMENT ON COLUMN llm_calls.latency_seconds IS 'How long the answer took, in seconds.';
COMMENT ON COLUMN llm_calls.cache_hit IS 'Whether the answer came from the cache.';
COMMENT ON COLUMN llm_calls.outcome IS 'ok; invalid: not of the form asked for; truncated; refused; infra_error: the service failed.';
COMMENT ON COLUMN llm_calls.reason IS 'Why the outcome is not ok.';
COMMENT ON COLUMN llm_calls.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN llm_calls.checked_at IS 'When that run checked the video (UTC).';
