-- The plan of re-checks, and the claims that a run took over from an earlier one.

CREATE TABLE recheck_settings (  -- The limits of the plan of re-checks: one row, which each new plan updates from the settings.
    videos_per_night BIGINT NOT NULL CHECK (videos_per_night >= 0),  -- Maximum number of re-checks per night.
    cost_per_night_usd DOUBLE CHECK (cost_per_night_usd >= 0 AND isfinite(cost_per_night_usd)),  -- Maximum expected cost of re-checks per night, in US dollars; null for no limit.
    minimum_age_days DOUBLE NOT NULL CHECK (minimum_age_days >= 0 AND isfinite(minimum_age_days)),  -- Minimum age of a complete check before its repetition, in days.
    next_tick_at TIMESTAMPTZ  -- Next tick of the schedule (UTC), as last reported.
);
INSERT INTO recheck_settings VALUES (20, 1.0, 7, NULL);

CREATE TABLE recheck_launches (  -- The launched re-checks: one row per video and night. A repeated plan of a night launches the same re-checks.
    video_id VARCHAR NOT NULL,  -- The video.
    planned_at TIMESTAMPTZ NOT NULL,  -- The tick of the schedule, or the time of the command.
    position BIGINT NOT NULL CHECK (position >= 1),  -- Place in that night's list, from 1.
    reason VARCHAR NOT NULL,  -- Reason for the launch, in words.
    with_queries BOOLEAN NOT NULL,  -- Whether the re-check also writes missing queries.
    estimated_cost_usd DOUBLE NOT NULL CHECK (estimated_cost_usd >= 0 AND isfinite(estimated_cost_usd)),  -- Expected cost in US dollars.
    PRIMARY KEY (video_id, planned_at)
);

CREATE TABLE carried_claims (  -- The claims that a run of some other claims of the video did not check. It copied their rows from the previous check, so that its sets are complete.
    video_id VARCHAR NOT NULL,  -- The video.
    run_id VARCHAR NOT NULL,  -- The run that copied the rows.
    claim_id VARCHAR NOT NULL,  -- The claim.
    source_run_id VARCHAR NOT NULL,  -- The run that last checked the claim itself.
    last_checked_at TIMESTAMPTZ NOT NULL,  -- Time of that check (UTC).
    PRIMARY KEY (video_id, run_id, claim_id)
);
