-- What nightly re-checks and retention keep about their own work.

CREATE TABLE recheck_settings (
    videos_per_night BIGINT NOT NULL CHECK (videos_per_night >= 0),
    cost_per_night_usd DOUBLE CHECK (cost_per_night_usd >= 0 AND isfinite(cost_per_night_usd)),
    minimum_age_days DOUBLE NOT NULL CHECK (minimum_age_days >= 0 AND isfinite(minimum_age_days)),
    next_tick_at TIMESTAMP
);
COMMENT ON TABLE recheck_settings IS 'The limits that the plan of re-checks keeps to: one row, renewed from the settings whenever a plan is made.';
COMMENT ON COLUMN recheck_settings.videos_per_night IS 'The most videos that one night checks again.';
COMMENT ON COLUMN recheck_settings.cost_per_night_usd IS 'The most that one night''s re-checks may be expected to cost, in US dollars; null for no limit.';
COMMENT ON COLUMN recheck_settings.minimum_age_days IS 'A complete check younger than this is not repeated, in days.';
COMMENT ON COLUMN recheck_settings.next_tick_at IS 'When the schedule ticks next (UTC), as far as it was last heard of.';
INSERT INTO recheck_settings VALUES (20, 1.0, 7, NULL);

CREATE TABLE recheck_launches (
    video_id VARCHAR NOT NULL,
    planned_at TIMESTAMP NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 1),
    reason VARCHAR NOT NULL,
    with_queries BOOLEAN NOT NULL,
    estimated_cost_usd DOUBLE NOT NULL CHECK (estimated_cost_usd >= 0 AND isfinite(estimated_cost_usd)),
    PRIMARY KEY (video_id, planned_at)
);
COMMENT ON TABLE recheck_launches IS 'The re-checks that were asked for: one row per video and night. A night that is planned again launches the same ones.';
COMMENT ON COLUMN recheck_launches.video_id IS 'The video.';
COMMENT ON COLUMN recheck_launches.planned_at IS 'The tick of the schedule, or the moment of the command, that asked for it (UTC).';
COMMENT ON COLUMN recheck_launches.position IS 'Place in that night''s list, from 1.';
COMMENT ON COLUMN recheck_launches.reason IS 'Why the video was on the list.';
COMMENT ON COLUMN recheck_launches.with_queries IS 'Whether queries that could not be written were to be written anew.';
COMMENT ON COLUMN recheck_launches.estimated_cost_usd IS 'What it was expected to cost, in US dollars.';

CREATE TABLE trimmed_texts (
    content_hash VARCHAR PRIMARY KEY,
    characters BIGINT NOT NULL CHECK (characters >= 1),
    last_used_at TIMESTAMP,
    trimmed_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE trimmed_texts IS 'The page texts that retention removed because of their age. The evidence that was read in them stays, with its quotes, offsets and hashes.';
COMMENT ON COLUMN trimmed_texts.content_hash IS 'SHA-256 of the text, hexadecimal.';
COMMENT ON COLUMN trimmed_texts.characters IS 'How long the text was, in code points.';
COMMENT ON COLUMN trimmed_texts.last_used_at IS 'When a check last read the text (UTC).';
COMMENT ON COLUMN trimmed_texts.trimmed_at IS 'When the text was removed (UTC).';
