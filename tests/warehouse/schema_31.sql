-- A warehouse of schema version 31, the last one that numbered migrations made: some of its tables, with rows.

CREATE TABLE schema_migrations (
    version INTEGER PRIMARY KEY CHECK (version >= 1),
    name VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL,
    views_checksum VARCHAR
);
INSERT INTO schema_migrations VALUES (30, '0030_speakers', now(), NULL), (31, '0031_readers', now(), 'x');

CREATE TABLE materializations (
    asset VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    code_version VARCHAR NOT NULL,
    data_version VARCHAR NOT NULL,
    row_count BIGINT NOT NULL,
    duration_seconds DOUBLE NOT NULL,
    first_result_seconds DOUBLE
);
INSERT INTO materializations
VALUES ('claims', 'v', 'run', '2026-01-01 00:00:00+00', '1', 'x', 1, 0.1, NULL);

CREATE TABLE claims (
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    rank BIGINT NOT NULL,
    text VARCHAR NOT NULL,
    importance DOUBLE NOT NULL,
    extraction_confidence DOUBLE NOT NULL,
    category VARCHAR,
    context VARCHAR,
    thesis VARCHAR,
    char_start BIGINT,
    char_end BIGINT,
    match_score DOUBLE,
    start_seconds DOUBLE,
    end_seconds DOUBLE,
    basis VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    speaker VARCHAR
);
INSERT INTO claims BY NAME
SELECT 'c' AS claim_id, 'v' AS video_id, 1 AS rank, 'Bees sleep.' AS text, 0.5 AS importance,
    0.5 AS extraction_confidence, 'llm' AS basis, 'Ann' AS speaker, 'run' AS run_id,
    TIMESTAMPTZ '2026-01-01 00:00:00+00' AS checked_at;

CREATE TABLE page_texts (
    content_hash VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
INSERT INTO page_texts
VALUES (repeat('a', 64), 'Bees rest at night.', 'run', '2026-01-01 00:00:00+00');

-- Without the columns `stance` and `organisation`, which an earlier version lacked.
CREATE TABLE review_actions (
    action_id VARCHAR PRIMARY KEY,
    video_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    acted_at TIMESTAMPTZ NOT NULL,
    position BIGINT NOT NULL,
    action VARCHAR NOT NULL,
    target VARCHAR,
    value VARCHAR,
    query_id VARCHAR,
    query_type VARCHAR,
    seeks_opposite BOOLEAN NOT NULL,
    reason VARCHAR
);
INSERT INTO review_actions BY NAME
SELECT 'a' AS action_id, 'v' AS video_id, 'c' AS claim_id, 'desk' AS reviewer,
    TIMESTAMPTZ '2026-01-01 00:00:00+00' AS acted_at, 1 AS position, 'note' AS action,
    'Ask.' AS value, false AS seeks_opposite;

CREATE TABLE recheck_settings (
    videos_per_night BIGINT NOT NULL,
    cost_per_night_usd DOUBLE,
    minimum_age_days DOUBLE NOT NULL,
    next_tick_at TIMESTAMPTZ
);
INSERT INTO recheck_settings VALUES (3, 0.5, 2, NULL);
