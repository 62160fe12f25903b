-- How much of the pages did not fit into a model's window.

ALTER TABLE llm_calls ADD COLUMN trimmed_characters BIGINT DEFAULT 0;
COMMENT ON COLUMN llm_calls.trimmed_characters IS 'Characters of pages that were left out of the request, because the window of the model is too small for all of them.';
