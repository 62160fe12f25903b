-- The newest complete set of every asset and video, table by table.
--
-- A set belongs to one asset and one video: new claims do not make old evidence outdated. The rows of
-- `materializations` decide, so a set without rows can be current. Columns from a table have the
-- table's comments. A time in the future comes from a wrong clock, and sorts last.

CREATE OR REPLACE VIEW current_materializations AS  -- The newest complete set of each asset and video.
SELECT materializations.*
FROM materializations
QUALIFY row_number() OVER (
    PARTITION BY asset, video_id
    ORDER BY checked_at > now() + INTERVAL 1 HOUR, checked_at DESC, run_id DESC
) = 1;

CREATE OR REPLACE VIEW current_videos AS  -- The videos as they were last described.
FROM videos SEMI JOIN (FROM current_materializations WHERE asset = 'transcripts') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_transcripts AS  -- The newest transcript of each video.
FROM transcripts SEMI JOIN (FROM current_materializations WHERE asset = 'transcripts') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_transcript_segments AS  -- The timed captions of the newest transcript of each video.
FROM transcript_segments SEMI JOIN (FROM current_materializations WHERE asset = 'transcripts') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_claims AS  -- The claims of each video's newest extraction.
FROM claims SEMI JOIN (FROM current_materializations WHERE asset = 'claims') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_queries AS  -- The newest queries of each video.
FROM queries SEMI JOIN (FROM current_materializations WHERE asset = 'queries') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_searches AS  -- The newest searches of each video.
FROM searches SEMI JOIN (FROM current_materializations WHERE asset = 'search_hits') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_search_hits AS  -- The results of the newest searches of each video.
FROM search_hits SEMI JOIN (FROM current_materializations WHERE asset = 'search_hits') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_prior_fact_checks AS  -- Published fact-checks at the last search for each video. No verdict uses their ratings.
FROM prior_fact_checks SEMI JOIN (FROM current_materializations WHERE asset = 'search_hits') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_reliability_ratings AS  -- The newest ratings of the domains found for each video.
FROM reliability_ratings SEMI JOIN (FROM current_materializations WHERE asset = 'reliability_ratings') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_pages AS  -- The pages that the newest evidence of each video was sought in.
FROM pages SEMI JOIN (FROM current_materializations WHERE asset = 'evidence') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_evidence AS  -- The newest evidence of each video. verdict_evidence has the evidence of verdicts that outlived a failed re-check.
FROM evidence SEMI JOIN (FROM current_materializations WHERE asset = 'evidence') USING (video_id, run_id);

-- A failed re-check leaves the last good verdict in place: complete goes before new.
CREATE OR REPLACE VIEW current_verdicts AS  -- The rows of verdict_history that stand, one per current claim: the newest complete one, or the newest incomplete one where there is no other. A failed re-check leaves the last good verdict in place; the columns latest_… tell how the newest attempt ended.
SELECT
    verdicts.*,
    first_value(verdicts.status) OVER newest_first AS latest_status,  -- Status of the newest attempt. incomplete beside a complete verdict: the re-check failed, and this is the last good verdict.
    first_value(verdicts.reason) OVER newest_first AS latest_reason,  -- Reason that the newest attempt gives.
    first_value(verdicts.run_id) OVER newest_first AS latest_run_id,  -- The run that wrote the newest attempt.
    first_value(coalesce(carried.last_checked_at, verdicts.checked_at)) OVER newest_first AS latest_checked_at,  -- Time of the newest attempt (UTC).
    -- A run of some claims copies the verdicts on the others, at its own time.
    coalesce(carried.last_checked_at, verdicts.checked_at) AS last_checked_at,  -- Time of the check that reached the verdict (UTC); checked_at is later if a check of other claims copied it.
    current_claims.text AS claim,  -- Wording of the claim.
    current_videos.title AS video_title  -- Title of the video.
FROM verdict_history AS verdicts
LEFT JOIN carried_claims AS carried USING (claim_id, video_id, run_id)
JOIN current_claims USING (claim_id, video_id)
LEFT JOIN current_videos USING (video_id)
WINDOW newest_first AS (
    PARTITION BY verdicts.video_id, verdicts.claim_id
    ORDER BY verdicts.checked_at > now() + INTERVAL 1 HOUR, verdicts.checked_at DESC, verdicts.run_id DESC
)
QUALIFY row_number() OVER (
    PARTITION BY verdicts.video_id, verdicts.claim_id
    ORDER BY
        verdicts.status = 'complete' DESC,
        verdicts.checked_at > now() + INTERVAL 1 HOUR,
        verdicts.checked_at DESC,
        verdicts.run_id DESC
) = 1;

CREATE OR REPLACE VIEW current_media AS  -- The newest findings on the pictures of each video: hints, which only verdicts of the strategy agentic use.
FROM media SEMI JOIN (FROM current_materializations WHERE asset = 'media') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_steps AS  -- The steps of each video's newest check: how a strategy came to its verdicts. The standard strategy has none.
FROM steps SEMI JOIN (FROM current_materializations WHERE asset = 'verdicts') USING (video_id, run_id);

CREATE OR REPLACE VIEW current_llm_calls AS  -- The model calls that made each video's newest claims, queries, evidence and verdicts.
FROM llm_calls
SEMI JOIN (SELECT asset AS stage, video_id, run_id FROM current_materializations) USING (stage, video_id, run_id);
