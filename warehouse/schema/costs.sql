-- Model calls, and requests to services that charge per request.

CREATE TABLE llm_calls (
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    attempt BIGINT NOT NULL CHECK (attempt >= 1),
    input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),
    output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),
    reason VARCHAR,
    cached_tokens BIGINT CHECK (cached_tokens >= 0),
    thought_tokens BIGINT CHECK (thought_tokens >= 0),
    usage_reported BOOLEAN NOT NULL DEFAULT true,
    price_known BOOLEAN NOT NULL,
    cache_hit BOOLEAN NOT NULL,
    trimmed_characters BIGINT NOT NULL DEFAULT 0 CHECK (trimmed_characters >= 0),
    batched BOOLEAN NOT NULL DEFAULT false,
    request_id VARCHAR,
    call_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    stage VARCHAR NOT NULL CHECK (stage IN ('claims', 'queries', 'evidence', 'verdicts')),
    claim_id VARCHAR,
    query_id VARCHAR,
    canonical_url VARCHAR,
    prompt_version VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE llm_calls IS 'The calls of language models, with the usage that their API reported. Each asset owns the rows of its stage.';
COMMENT ON COLUMN llm_calls.provider IS 'The provider of the model.';
COMMENT ON COLUMN llm_calls.model IS 'The model.';
COMMENT ON COLUMN llm_calls.attempt IS '1 for the first attempt, more for repetitions.';
COMMENT ON COLUMN llm_calls.input_tokens IS 'Tokens read, as the API reported them.';
COMMENT ON COLUMN llm_calls.output_tokens IS 'Tokens written, as the API reported them.';
COMMENT ON COLUMN llm_calls.cost_usd IS 'Cost of the call in US dollars. A cached answer has its original cost if no earlier row has it, else 0. So the sum over all rows is the amount paid.';
COMMENT ON COLUMN llm_calls.latency_seconds IS 'How long the answer took, in seconds.';
COMMENT ON COLUMN llm_calls.outcome IS 'ok; invalid: not of the form asked for; truncated; refused; infra_error: the service failed.';
COMMENT ON COLUMN llm_calls.reason IS 'Why the outcome is not ok.';
COMMENT ON COLUMN llm_calls.cached_tokens IS 'Tokens of the input that the provider read from its own cache; null if it does not say.';
COMMENT ON COLUMN llm_calls.thought_tokens IS 'Tokens of the output that were thoughts; null if the provider does not tell them apart.';
COMMENT ON COLUMN llm_calls.usage_reported IS 'Whether the API reported the tokens; where it did not, they and the cost are an estimate.';
COMMENT ON COLUMN llm_calls.price_known IS 'Whether the model has a listed price; where it has none, cost_usd is 0 for that.';
COMMENT ON COLUMN llm_calls.cache_hit IS 'Whether the answer came from the cache: nothing was sent in this run.';
COMMENT ON COLUMN llm_calls.trimmed_characters IS 'Characters of pages that were left out of the request, because the window of the model is too small for all of them.';
COMMENT ON COLUMN llm_calls.batched IS 'Whether the request went into a batch of its provider: cost_usd is then half of the usual price.';
COMMENT ON COLUMN llm_calls.request_id IS 'The request itself: all rows that go back to it name it, and one of them has its cost. Null before this was recorded. Also the name of the file that keeps its prompt, if prompts are kept.';
COMMENT ON COLUMN llm_calls.call_id IS 'Identifier of the call.';
COMMENT ON COLUMN llm_calls.video_id IS 'The video that the call was made for.';
COMMENT ON COLUMN llm_calls.stage IS 'The stage, and asset, that the call was made for: claims, queries, evidence or verdicts.';
COMMENT ON COLUMN llm_calls.claim_id IS 'The claim that the call was made for, if one.';
COMMENT ON COLUMN llm_calls.query_id IS 'The query that the call was made for, if one.';
COMMENT ON COLUMN llm_calls.canonical_url IS 'The page that the call was made for, if one.';
COMMENT ON COLUMN llm_calls.prompt_version IS 'Version of the prompt.';
COMMENT ON COLUMN llm_calls.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN llm_calls.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE service_uses (
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    stage VARCHAR NOT NULL CHECK (stage IN ('search_hits', 'evidence')),
    service VARCHAR NOT NULL,
    requests BIGINT NOT NULL CHECK (requests >= 0),
    cost_usd DOUBLE CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    checked_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (video_id, run_id, stage, service)
);
COMMENT ON TABLE service_uses IS 'Requests of each run to services that charge per request, at the price listed then. Cached answers do not count.';
COMMENT ON COLUMN service_uses.video_id IS 'The video.';
COMMENT ON COLUMN service_uses.run_id IS 'The run.';
COMMENT ON COLUMN service_uses.stage IS 'search_hits for searches, evidence for pages that a reader read.';
COMMENT ON COLUMN service_uses.service IS 'The search provider or reader.';
COMMENT ON COLUMN service_uses.requests IS 'Requests that were answered.';
COMMENT ON COLUMN service_uses.cost_usd IS 'Cost at the listed price, in US dollars; null without a listed price.';
COMMENT ON COLUMN service_uses.checked_at IS 'When the run checked the video (UTC).';
