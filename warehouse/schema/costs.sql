-- Model calls, and requests to services that charge per request.

CREATE TABLE llm_calls (  -- The calls of language models, with the usage that their API reported. Each asset owns the rows of its stage.
    provider VARCHAR NOT NULL,  -- The provider of the model.
    model VARCHAR NOT NULL,  -- The model.
    attempt BIGINT NOT NULL CHECK (attempt >= 1),  -- 1 for the first attempt, more for repetitions.
    input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),  -- Tokens read, as the API reported them.
    output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),  -- Tokens written, as the API reported them.
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),  -- Cost of the call in US dollars. A cached answer has its original cost if no earlier row has it, else 0. So the sum over all rows is the amount paid.
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),  -- Duration of the request, in seconds.
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),  -- ok; invalid: not of the form asked for; truncated; refused; infra_error: the service failed.
    reason VARCHAR,  -- Reason, if the outcome is not ok.
    cached_tokens BIGINT CHECK (cached_tokens >= 0),  -- Tokens of the input that the provider read from its own cache; null if it does not say.
    thought_tokens BIGINT CHECK (thought_tokens >= 0),  -- Tokens of the output that were thoughts; null if the provider does not tell them apart.
    usage_reported BOOLEAN NOT NULL DEFAULT true,  -- Whether the API reported the tokens; if not, tokens and cost are estimates.
    price_known BOOLEAN NOT NULL,  -- Whether the model has a listed price; without one, cost_usd is 0.
    cache_hit BOOLEAN NOT NULL,  -- Whether the answer came from the cache: nothing was sent in this run.
    trimmed_characters BIGINT NOT NULL DEFAULT 0 CHECK (trimmed_characters >= 0),  -- Characters of pages that were left out of the request, because the window of the model is too small for all of them.
    batched BOOLEAN NOT NULL DEFAULT false,  -- Whether the request went into a batch of its provider: cost_usd is then half of the usual price.
    request_id VARCHAR,  -- Identifier of the request to the model. Cached answers have the id of the original request, and exactly one of these rows has the cost. Null in rows older than this column. A file with the prompt has it as its name.
    call_id VARCHAR NOT NULL,  -- Identifier of the call.
    video_id VARCHAR NOT NULL,  -- The video that the call was made for.
    stage VARCHAR NOT NULL CHECK (stage IN ('claims', 'queries', 'evidence', 'verdicts')),  -- The stage, and asset, that the call was made for: claims, queries, evidence or verdicts.
    claim_id VARCHAR,  -- The claim that the call was made for, if one.
    query_id VARCHAR,  -- The query that the call was made for, if one.
    canonical_url VARCHAR,  -- The page that the call was made for, if one.
    prompt_version VARCHAR NOT NULL,  -- Version of the prompt.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE service_uses (  -- Requests of each run to services that charge per request, at the price listed then. Cached answers do not count.
    video_id VARCHAR NOT NULL,  -- The video.
    run_id VARCHAR NOT NULL,  -- The run.
    stage VARCHAR NOT NULL CHECK (stage IN ('search_hits', 'evidence')),  -- search_hits for searches, evidence for pages that a reader read.
    service VARCHAR NOT NULL,  -- The search provider or reader.
    requests BIGINT NOT NULL CHECK (requests >= 0),  -- Requests that were answered.
    cost_usd DOUBLE CHECK (cost_usd >= 0 AND isfinite(cost_usd)),  -- Cost at the listed price, in US dollars; null without a listed price.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of the run's check (UTC).
    PRIMARY KEY (video_id, run_id, stage, service)
);
