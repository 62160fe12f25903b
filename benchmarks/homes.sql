-- How a large home is made of one checked video; {table}, {columns} and {values} are filled in.

-- name: seed
SELECT run_id FROM materializations WHERE asset = 'verdicts'

-- name: columns
SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index

-- name: calls
-- What a model would have been asked: a question for each source, and one for each claim.
INSERT INTO llm_calls BY NAME
SELECT
    md5(stage || asked_id) AS call_id, video_id, stage, claim_id, 'openai' AS provider,
    'gpt-4o-mini' AS model, '1' AS prompt_version, 1 AS attempt, 2000 AS input_tokens,
    150 AS output_tokens, 0.0004 AS cost_usd, true AS price_known, 1.5 AS latency_seconds,
    false AS cache_hit, 'ok' AS outcome, run_id, checked_at, true AS usage_reported
FROM (
    SELECT evidence_id AS asked_id, 'evidence' AS stage, video_id, claim_id, run_id, checked_at
    FROM evidence
    UNION ALL
    SELECT claim_id, 'verdicts', video_id, claim_id, run_id, checked_at FROM verdict_history
)

-- name: text
text || substr(
    (SELECT string_agg(md5(line::VARCHAR), ' ') FROM range(1200) AS lines(line)),
    1 + (hash(content_hash, n) % 34000)::BIGINT,
    4900
)

-- name: copy
INSERT INTO {table} ({columns})
SELECT {values}
FROM (SELECT * FROM {table} WHERE run_id = $seed) AS seed
CROSS JOIN range($first, $last) AS copies(n)
ORDER BY n
