-- The second moments of tables that have two.

ALTER TABLE experiments ALTER started_at TYPE TIMESTAMPTZ USING started_at AT TIME ZONE 'UTC';
ALTER TABLE pages ALTER retrieved_at TYPE TIMESTAMPTZ USING retrieved_at AT TIME ZONE 'UTC';
ALTER TABLE trimmed_texts ALTER trimmed_at TYPE TIMESTAMPTZ USING trimmed_at AT TIME ZONE 'UTC';
