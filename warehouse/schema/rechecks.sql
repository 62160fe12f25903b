-- The plan of re-checks, and the claims that a run took over from an earlier one.

CREATE TABLE recheck_settings (
    videos_per_night BIGINT NOT NULL CHECK (videos_per_night >= 0),
    cost_per_night_usd DOUBLE CHECK (cost_per_night_usd >= 0 AND isfinite(cost_per_night_usd)),
    minimum_age_days DOUBLE NOT NULL CHECK (minimum_age_days >= 0 AND isfinite(minimum_age_days)),
    next_tick_at TIMESTAMPTZ
);
COMMENT ON TABLE recheck_settings IS 'The limits that the plan of re-checks keeps to: one row, renewed from the settings whenever a plan is made.';
COMMENT ON COLUMN recheck_settings.videos_per_night IS 'The most videos that one night checks again.';
COMMENT ON COLUMN recheck_settings.cost_per_night_usd IS 'The most that one night''s re-checks may be expected to cost, in US dollars; null for no limit.';
COMMENT ON COLUMN recheck_settings.minimum_age_days IS 'A complete check younger than this is not repeated, in days.';
COMMENT ON COLUMN recheck_settings.next_tick_at IS 'When the schedule ticks next (UTC), as far as it was last heard of.';
INSERT INTO recheck_settings VALUES (20, 1.0, 7, NULL);

CREATE TABLE recheck_launches (
    video_id VARCHAR NOT NULL,
    planned_at TIMESTAMPTZ NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 1),
    reason VARCHAR NOT NULL,
    with_queries BOOLEAN NOT NULL,
    estimated_cost_usd DOUBLE NOT NULL CHECK (estimated_cost_usd >= 0 AND isfinite(estimated_cost_usd)),
    PRIMARY KEY (video_id, planned_at)
);
COMMENT ON TABLE recheck_launches IS 'The re-checks that were asked for: one row per video and night. A night that is planned again launches the same ones.';
COMMENT ON COLUMN recheck_launches.video_id IS 'The video.';
COMMENT ON COLUMN recheck_launches.planned_at IS 'The tick of the schedule, or the moment of the command, that asked for it.';
COMMENT ON COLUMN recheck_launches.position IS 'Place in that night''s list, from 1.';
COMMENT ON COLUMN recheck_launches.reason IS 'Why the video was on the list.';
COMMENT ON COLUMN recheck_launches.with_queries IS 'Whether queries that could not be written were to be written anew.';
COMMENT ON COLUMN recheck_launches.estimated_cost_usd IS 'Expected cost in US dollars.';

CREATE TABLE carried_claims (
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    source_run_id VARCHAR NOT NULL,
    last_checked_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (video_id, run_id, claim_id)
);
COMMENT ON TABLE carried_claims IS 'The claims that a run did not check: it was for other claims of the video alone, and took their rows over from the check before, so that its sets are complete.';
COMMENT ON COLUMN carried_claims.video_id IS 'The video.';
COMMENT ON COLUMN carried_claims.run_id IS 'The run that took them over.';
COMMENT ON COLUMN carried_claims.claim_id IS 'The claim.';
COMMENT ON COLUMN carried_claims.source_run_id IS 'The run that last checked the claim itself.';
COMMENT ON COLUMN carried_claims.last_checked_at IS 'When that was (UTC).';
