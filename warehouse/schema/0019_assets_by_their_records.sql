-- Which assets there are is said by the classes of records alone: a new one needs no other table.

CREATE TABLE sets_of_any_asset (
    asset VARCHAR NOT NULL CHECK (asset <> ''),
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    code_version VARCHAR NOT NULL,
    data_version VARCHAR NOT NULL,
    row_count BIGINT NOT NULL CHECK (row_count >= 0),
    duration_seconds DOUBLE NOT NULL CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),
    first_result_seconds DOUBLE,
    PRIMARY KEY (asset, video_id, run_id)
);
INSERT INTO sets_of_any_asset BY NAME SELECT * FROM materializations;
DROP TABLE materializations;
ALTER TABLE sets_of_any_asset RENAME TO materializations;
COMMENT ON TABLE materializations IS 'The complete sets of rows: one row per asset, video and run, also for a set without rows. The newest one per asset and video is the current one.';
COMMENT ON COLUMN materializations.asset IS 'Name of the asset.';
COMMENT ON COLUMN materializations.video_id IS 'The video, which is also the partition key.';
COMMENT ON COLUMN materializations.run_id IS 'The run that wrote the set.';
COMMENT ON COLUMN materializations.checked_at IS 'When the run checked the video (UTC); the newest set is the current one.';
COMMENT ON COLUMN materializations.code_version IS 'Version of the code that made the set.';
COMMENT ON COLUMN materializations.data_version IS 'Hash of the content of the set, without what may differ between equal outcomes.';
COMMENT ON COLUMN materializations.row_count IS 'Rows of the set over all of its tables; page_texts, which sets share, are not counted.';
COMMENT ON COLUMN materializations.duration_seconds IS 'How long it took to make the set, in seconds.';
COMMENT ON COLUMN materializations.first_result_seconds IS 'How long it took until the first piece of the set was there, in seconds from the beginning of the step''s work; for verdicts, the first verdict. NULL where nobody measured it.';
