-- Questions that could wait were asked in a batch, which costs half.

ALTER TABLE llm_calls ADD COLUMN batched BOOLEAN DEFAULT false;
COMMENT ON COLUMN llm_calls.batched IS 'Whether the request went into a batch of its provider: cost_usd is then half of the usual price.';
