-- The version of the schema, and the sets of rows in the warehouse.

CREATE TABLE schema_version (  -- The version of the tables and views. It has one row.
    version INTEGER NOT NULL,  -- Number of the schema. It rises with every change of a table.
    created_at TIMESTAMPTZ NOT NULL,  -- Time of the creation of the tables (UTC).
    views_checksum VARCHAR  -- SHA-256 of the definitions of the views.
);

CREATE TABLE materializations (  -- The complete sets of rows: one row per asset, video and run, also for a set without rows. The newest one per asset and video is the current one.
    asset VARCHAR NOT NULL CHECK (asset <> ''),  -- Name of the asset.
    video_id VARCHAR NOT NULL,  -- The video, which is also the partition key.
    run_id VARCHAR NOT NULL,  -- The run that wrote the set.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of the run's check (UTC); the newest set is the current one.
    code_version VARCHAR NOT NULL,  -- Version of the code that made the set.
    data_version VARCHAR NOT NULL,  -- Hash of the content of the set. Order and volatile fields do not count.
    row_count BIGINT NOT NULL CHECK (row_count >= 0),  -- Rows of the set over all of its tables; page_texts, which sets share, are not counted.
    duration_seconds DOUBLE NOT NULL CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),  -- Compute time of the set, in seconds.
    first_result_seconds DOUBLE  -- Seconds from the start of the step to the first piece of the set, such as the first verdict. NULL if unknown.
);
