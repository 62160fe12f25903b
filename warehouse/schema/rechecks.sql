-- The plan of re-checks, and the claims that a run took over from an earlier one.

CREATE TABLE recheck_settings (  -- The limits that the plan of re-checks keeps to: one row, renewed from the settings whenever a plan is made.
    videos_per_night BIGINT NOT NULL CHECK (videos_per_night >= 0),  -- The most videos that one night checks again.
    cost_per_night_usd DOUBLE CHECK (cost_per_night_usd >= 0 AND isfinite(cost_per_night_usd)),  -- The most that one night's re-checks may be expected to cost, in US dollars; null for no limit.
    minimum_age_days DOUBLE NOT NULL CHECK (minimum_age_days >= 0 AND isfinite(minimum_age_days)),  -- A complete check younger than this is not repeated, in days.
    next_tick_at TIMESTAMPTZ  -- Next tick of the schedule (UTC), as last reported.
);
INSERT INTO recheck_settings VALUES (20, 1.0, 7, NULL);

CREATE TABLE recheck_launches (  -- The re-checks that were asked for: one row per video and night. A night that is planned again launches the same ones.
    video_id VARCHAR NOT NULL,  -- The video.
    planned_at TIMESTAMPTZ NOT NULL,  -- The tick of the schedule, or the moment of the command, that asked for it.
    position BIGINT NOT NULL CHECK (position >= 1),  -- Place in that night's list, from 1.
    reason VARCHAR NOT NULL,  -- Reason for the launch, in words.
    with_queries BOOLEAN NOT NULL,  -- Whether queries that could not be written were to be written anew.
    estimated_cost_usd DOUBLE NOT NULL CHECK (estimated_cost_usd >= 0 AND isfinite(estimated_cost_usd)),  -- Expected cost in US dollars.
    PRIMARY KEY (video_id, planned_at)
);

CREATE TABLE carried_claims (  -- The claims that a run did not check: it was for other claims of the video alone, and took their rows over from the check before, so that its sets are complete.
    video_id VARCHAR NOT NULL,  -- The video.
    run_id VARCHAR NOT NULL,  -- The run that took them over.
    claim_id VARCHAR NOT NULL,  -- The claim.
    source_run_id VARCHAR NOT NULL,  -- The run that last checked the claim itself.
    last_checked_at TIMESTAMPTZ NOT NULL,  -- When that was (UTC).
    PRIMARY KEY (video_id, run_id, claim_id)
);
