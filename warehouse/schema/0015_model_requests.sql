-- What a model call was made of, and which request it goes back to: a row may tell of a request that
-- an earlier run paid for and was killed before it could say so.

ALTER TABLE llm_calls ADD COLUMN request_id VARCHAR;
ALTER TABLE llm_calls ADD COLUMN cached_tokens BIGINT;
ALTER TABLE llm_calls ADD COLUMN thought_tokens BIGINT;
ALTER TABLE llm_calls ADD COLUMN usage_reported BOOLEAN DEFAULT true;
COMMENT ON COLUMN llm_calls.request_id IS 'The request itself: all rows that go back to it name it, and one of them has its cost. Null before this was recorded. Also the name of the file that keeps its prompt, if prompts are kept.';
COMMENT ON COLUMN llm_calls.cached_tokens IS 'Tokens of the input that the provider read from its own cache; null if it does not say.';
COMMENT ON COLUMN llm_calls.thought_tokens IS 'Tokens of the output that were thoughts; null if the provider does not tell them apart.';
COMMENT ON COLUMN llm_calls.usage_reported IS 'Whether the API reported the tokens; where it did not, they and the cost are an estimate.';
COMMENT ON COLUMN llm_calls.cost_usd IS 'What the call cost, in US dollars. Of an answer from the cache: what it once cost if no earlier row has that, else 0, so that the sum over all rows is what was paid.';
COMMENT ON COLUMN llm_calls.cache_hit IS 'Whether the answer came from the cache: nothing was sent in this run.';
