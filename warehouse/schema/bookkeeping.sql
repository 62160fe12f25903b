-- The version of the schema, and the sets of rows in the warehouse.

CREATE TABLE schema_version (
    version INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    views_checksum VARCHAR
);
COMMENT ON TABLE schema_version IS 'The version of the tables and views. It has one row.';
COMMENT ON COLUMN schema_version.version IS 'Number of the schema. It rises with every change of a table.';
COMMENT ON COLUMN schema_version.created_at IS 'When the tables were created (UTC).';
COMMENT ON COLUMN schema_version.views_checksum IS 'SHA-256 of the definitions of the views.';

CREATE TABLE materializations (
    asset VARCHAR NOT NULL CHECK (asset <> ''),
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    code_version VARCHAR NOT NULL,
    data_version VARCHAR NOT NULL,
    row_count BIGINT NOT NULL CHECK (row_count >= 0),
    duration_seconds DOUBLE NOT NULL CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),
    first_result_seconds DOUBLE
);
COMMENT ON TABLE materializations IS 'The complete sets of rows: one row per asset, video and run, also for a set without rows. The newest one per asset and video is the current one.';
COMMENT ON COLUMN materializations.asset IS 'Name of the asset.';
COMMENT ON COLUMN materializations.video_id IS 'The video, which is also the partition key.';
COMMENT ON COLUMN materializations.run_id IS 'The run that wrote the set.';
COMMENT ON COLUMN materializations.checked_at IS 'When the run checked the video (UTC); the newest set is the current one.';
COMMENT ON COLUMN materializations.code_version IS 'Version of the code that made the set.';
COMMENT ON COLUMN materializations.data_version IS 'Hash of the content of the set. Order and volatile fields do not count.';
COMMENT ON COLUMN materializations.row_count IS 'Rows of the set over all of its tables; page_texts, which sets share, are not counted.';
COMMENT ON COLUMN materializations.duration_seconds IS 'How long it took to make the set, in seconds.';
COMMENT ON COLUMN materializations.first_result_seconds IS 'How long it took until the first piece of the set was there, in seconds from the beginning of the step''s work; for verdicts, the first verdict. NULL where nobody measured it.';
