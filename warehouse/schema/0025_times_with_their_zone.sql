-- Moments carry their zone: a client shows them in its own, and none is taken for local time.
-- DuckDB alters a table once in a transaction: second columns follow in the next migration.

ALTER TABLE carried_claims ALTER last_checked_at TYPE TIMESTAMPTZ USING last_checked_at AT TIME ZONE 'UTC';
ALTER TABLE claims ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE evidence ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE experiments ALTER finished_at TYPE TIMESTAMPTZ USING finished_at AT TIME ZONE 'UTC';
ALTER TABLE judgements ALTER judged_at TYPE TIMESTAMPTZ USING judged_at AT TIME ZONE 'UTC';
ALTER TABLE llm_calls ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE materializations ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE media ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE metrics ALTER evaluated_at TYPE TIMESTAMPTZ USING evaluated_at AT TIME ZONE 'UTC';
ALTER TABLE page_texts ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE pages ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE prior_fact_checks ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE queries ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE recheck_settings ALTER next_tick_at TYPE TIMESTAMPTZ USING next_tick_at AT TIME ZONE 'UTC';
ALTER TABLE reliability_ratings ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE review_actions ALTER acted_at TYPE TIMESTAMPTZ USING acted_at AT TIME ZONE 'UTC';
ALTER TABLE review_applications ALTER applied_at TYPE TIMESTAMPTZ USING applied_at AT TIME ZONE 'UTC';
ALTER TABLE search_hits ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE searches ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE service_uses ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE steps ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE transcript_segments ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE transcripts ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE trimmed_texts ALTER last_used_at TYPE TIMESTAMPTZ USING last_used_at AT TIME ZONE 'UTC';
ALTER TABLE verdicts ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';
ALTER TABLE videos ALTER checked_at TYPE TIMESTAMPTZ USING checked_at AT TIME ZONE 'UTC';

-- A column of a key is not altered.
CREATE TABLE launches_with_zone (
    video_id VARCHAR NOT NULL,
    planned_at TIMESTAMPTZ NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 1),
    reason VARCHAR NOT NULL,
    with_queries BOOLEAN NOT NULL,
    estimated_cost_usd DOUBLE NOT NULL CHECK (estimated_cost_usd >= 0 AND isfinite(estimated_cost_usd)),
    PRIMARY KEY (video_id, planned_at)
);
INSERT INTO launches_with_zone BY NAME
SELECT * REPLACE (planned_at AT TIME ZONE 'UTC' AS planned_at) FROM recheck_launches;
DROP TABLE recheck_launches;
ALTER TABLE launches_with_zone RENAME TO recheck_launches;
COMMENT ON TABLE recheck_launches IS 'The re-checks that were asked for: one row per video and night. A night that is planned again launches the same ones.';
COMMENT ON COLUMN recheck_launches.video_id IS 'The video.';
COMMENT ON COLUMN recheck_launches.planned_at IS 'The tick of the schedule, or the moment of the command, that asked for it.';
COMMENT ON COLUMN recheck_launches.position IS 'Place in that night''s list, from 1.';
COMMENT ON COLUMN recheck_launches.reason IS 'Why the video was on the list.';
COMMENT ON COLUMN recheck_launches.with_queries IS 'Whether queries that could not be written were to be written anew.';
COMMENT ON COLUMN recheck_launches.estimated_cost_usd IS 'What it was expected to cost, in US dollars.';
