-- The newest complete set of every asset and video, table by table.
--
-- A set belongs to one asset and one video: new claims do not make old evidence outdated. The rows of
-- `materializations` decide, so a set without rows can be current. Columns from a table have the
-- table's comments. A time in the future comes from a wrong clock, and sorts last.

CREATE OR REPLACE VIEW current_materializations AS
SELECT materializations.*
FROM materializations
QUALIFY row_number() OVER (
    PARTITION BY asset, video_id
    ORDER BY checked_at > now() + INTERVAL 1 HOUR, checked_at DESC, run_id DESC
) = 1;
COMMENT ON VIEW current_materializations IS 'The newest complete set of each asset and video.';

CREATE OR REPLACE VIEW current_videos AS
FROM videos SEMI JOIN (FROM current_materializations WHERE asset = 'transcripts') USING (video_id, run_id);
COMMENT ON VIEW current_videos IS 'The videos as they were last described.';

CREATE OR REPLACE VIEW current_transcripts AS
FROM transcripts SEMI JOIN (FROM current_materializations WHERE asset = 'transcripts') USING (video_id, run_id);
COMMENT ON VIEW current_transcripts IS 'The newest transcript of each video.';

CREATE OR REPLACE VIEW current_transcript_segments AS
FROM transcript_segments SEMI JOIN (FROM current_materializations WHERE asset = 'transcripts') USING (video_id, run_id);
COMMENT ON VIEW current_transcript_segments IS 'The timed captions of the newest transcript of each video.';

CREATE OR REPLACE VIEW current_claims AS
FROM claims SEMI JOIN (FROM current_materializations WHERE asset = 'claims') USING (video_id, run_id);
COMMENT ON VIEW current_claims IS 'The claims of each video''s newest extraction.';

CREATE OR REPLACE VIEW current_queries AS
FROM queries SEMI JOIN (FROM current_materializations WHERE asset = 'queries') USING (video_id, run_id);
COMMENT ON VIEW current_queries IS 'The newest queries of each video.';

CREATE OR REPLACE VIEW current_searches AS
FROM searches SEMI JOIN (FROM current_materializations WHERE asset = 'search_hits') USING (video_id, run_id);
COMMENT ON VIEW current_searches IS 'The newest searches of each video.';

CREATE OR REPLACE VIEW current_search_hits AS
FROM search_hits SEMI JOIN (FROM current_materializations WHERE asset = 'search_hits') USING (video_id, run_id);
COMMENT ON VIEW current_search_hits IS 'The results of the newest searches of each video.';

CREATE OR REPLACE VIEW current_prior_fact_checks AS
FROM prior_fact_checks SEMI JOIN (FROM current_materializations WHERE asset = 'search_hits') USING (video_id, run_id);
COMMENT ON VIEW current_prior_fact_checks IS 'Published fact-checks at the last search for each video. No verdict uses them.';

CREATE OR REPLACE VIEW current_reliability_ratings AS
FROM reliability_ratings SEMI JOIN (FROM current_materializations WHERE asset = 'reliability_ratings') USING (video_id, run_id);
COMMENT ON VIEW current_reliability_ratings IS 'The newest ratings of the domains found for each video.';

CREATE OR REPLACE VIEW current_pages AS
FROM pages SEMI JOIN (FROM current_materializations WHERE asset = 'evidence') USING (video_id, run_id);
COMMENT ON VIEW current_pages IS 'The pages that the newest evidence of each video was sought in.';

CREATE OR REPLACE VIEW current_evidence AS
FROM evidence SEMI JOIN (FROM current_materializations WHERE asset = 'evidence') USING (video_id, run_id);
COMMENT ON VIEW current_evidence IS 'The newest evidence of each video. verdict_evidence has the evidence of verdicts that outlived a failed re-check.';

-- A failed re-check leaves the last good verdict in place: complete goes before new.
CREATE OR REPLACE VIEW current_verdicts AS
SELECT
    verdicts.*,
    first_value(verdicts.status) OVER newest_first AS latest_status,  -- Status of the newest attempt. incomplete beside a complete verdict: the re-check failed, and this is the last good verdict.
    first_value(verdicts.reason) OVER newest_first AS latest_reason,  -- Reason that the newest attempt gives.
    first_value(verdicts.run_id) OVER newest_first AS latest_run_id,  -- The run of the newest attempt.
    first_value(verdicts.checked_at) OVER newest_first AS latest_checked_at,  -- When the newest attempt checked the video (UTC).
    current_claims.text AS claim,  -- Wording of the claim.
    current_videos.title AS video_title  -- Title of the video.
FROM verdict_history AS verdicts
JOIN current_claims
    ON current_claims.claim_id = verdicts.claim_id
    AND current_claims.video_id = verdicts.video_id
LEFT JOIN current_videos
    ON current_videos.video_id = verdicts.video_id
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
COMMENT ON VIEW current_verdicts IS 'The rows of verdict_history that stand, one per current claim: the newest complete one, or the newest incomplete one where there is no other. A failed re-check leaves the last good verdict in place; the columns latest_… tell how the newest attempt ended.';

CREATE OR REPLACE VIEW current_steps AS
FROM steps SEMI JOIN (FROM current_materializations WHERE asset = 'verdicts') USING (video_id, run_id);
COMMENT ON VIEW current_steps IS 'The steps of each video''s newest check: how a strategy came to its verdicts. The standard strategy has none.';

CREATE OR REPLACE VIEW current_llm_calls AS
FROM llm_calls
SEMI JOIN (SELECT asset AS stage, video_id, run_id FROM current_materializations) USING (stage, video_id, run_id);
COMMENT ON VIEW current_llm_calls IS 'The model calls that made each video''s newest claims, queries, evidence and verdicts.';
