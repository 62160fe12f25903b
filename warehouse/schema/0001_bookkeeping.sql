-- What the warehouse knows of itself: its own version, and which sets of rows it holds.

CREATE TABLE schema_migrations (
    version INTEGER PRIMARY KEY CHECK (version >= 1),
    name VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL,
    views_checksum VARCHAR
);
COMMENT ON TABLE schema_migrations IS 'The numbered migrations that this file has been through.';
COMMENT ON COLUMN schema_migrations.version IS 'Number of the migration, from 1.';
COMMENT ON COLUMN schema_migrations.name IS 'File name of the migration, without its ending.';
COMMENT ON COLUMN schema_migrations.applied_at IS 'When it was applied (UTC).';
COMMENT ON COLUMN schema_migrations.views_checksum IS 'SHA-256 of the view definitions in force, on the newest migration only.';

CREATE TABLE materializations (
    asset VARCHAR NOT NULL CHECK (asset IN (
        'transcripts', 'claims', 'queries', 'search_hits', 'reliability_ratings', 'evidence', 'verdicts'
    )),
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    code_version VARCHAR NOT NULL,
    data_version VARCHAR NOT NULL,
    row_count BIGINT NOT NULL CHECK (row_count >= 0),
    duration_seconds DOUBLE NOT NULL CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),
    PRIMARY KEY (asset, video_id, run_id)
);
COMMENT ON TABLE materializations IS 'The complete sets of rows: one row per asset, video and run, also for a set without rows. The newest one per asset and video is the current one.';
COMMENT ON COLUMN materializations.asset IS 'Name of the asset.';
COMMENT ON COLUMN materializations.video_id IS 'The video, which is also the partition key.';
COMMENT ON COLUMN materializations.run_id IS 'The run that wrote the set.';
COMMENT ON COLUMN materializations.checked_at IS 'When the run checked the video (UTC); the newest set is the current one.';
COMMENT ON COLUMN materializations.code_version IS 'Version of the code that made the set.';
COMMENT ON COLUMN materializations.data_version IS 'Hash of the content of the set, without what may differ between equal outcomes.';
COMMENT ON COLUMN materializations.row_count IS 'Rows of the set over all of its tables; page_texts, which sets share, are not counted.';
COMMENT ON COLUMN materializations.duration_seconds IS 'How long it took to make the set, in seconds.';
