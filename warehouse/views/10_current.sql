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
SELECT videos.*
FROM videos
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'transcripts'
    AND newest.video_id = videos.video_id
    AND newest.run_id = videos.run_id;
COMMENT ON VIEW current_videos IS 'The videos as they were last described.';

CREATE OR REPLACE VIEW current_transcripts AS
SELECT transcripts.*
FROM transcripts
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'transcripts'
    AND newest.video_id = transcripts.video_id
    AND newest.run_id = transcripts.run_id;
COMMENT ON VIEW current_transcripts IS 'The newest transcript of each video.';

CREATE OR REPLACE VIEW current_transcript_segments AS
SELECT transcript_segments.*
FROM transcript_segments
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'transcripts'
    AND newest.video_id = transcript_segments.video_id
    AND newest.run_id = transcript_segments.run_id;
COMMENT ON VIEW current_transcript_segments IS 'The timed captions of the newest transcript of each video.';

CREATE OR REPLACE VIEW current_claims AS
SELECT claims.*
FROM claims
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'claims'
    AND newest.video_id = claims.video_id
    AND newest.run_id = claims.run_id;
COMMENT ON VIEW current_claims IS 'The claims of each video''s newest extraction.';

CREATE OR REPLACE VIEW current_queries AS
SELECT queries.*
FROM queries
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'queries'
    AND newest.video_id = queries.video_id
    AND newest.run_id = queries.run_id;
COMMENT ON VIEW current_queries IS 'The newest queries of each video.';

CREATE OR REPLACE VIEW current_searches AS
SELECT searches.*
FROM searches
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'search_hits'
    AND newest.video_id = searches.video_id
    AND newest.run_id = searches.run_id;
COMMENT ON VIEW current_searches IS 'The newest searches of each video.';

CREATE OR REPLACE VIEW current_search_hits AS
SELECT search_hits.*
FROM search_hits
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'search_hits'
    AND newest.video_id = search_hits.video_id
    AND newest.run_id = search_hits.run_id;
COMMENT ON VIEW current_search_hits IS 'The results of the newest searches of each video.';

CREATE OR REPLACE VIEW current_prior_fact_checks AS
SELECT prior_fact_checks.*
FROM prior_fact_checks
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'search_hits'
    AND newest.video_id = prior_fact_checks.video_id
    AND newest.run_id = prior_fact_checks.run_id;
COMMENT ON VIEW current_prior_fact_checks IS 'Published fact-checks at the last search for each video. No verdict uses them.';

CREATE OR REPLACE VIEW current_reliability_ratings AS
SELECT reliability_ratings.*
FROM reliability_ratings
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'reliability_ratings'
    AND newest.video_id = reliability_ratings.video_id
    AND newest.run_id = reliability_ratings.run_id;
COMMENT ON VIEW current_reliability_ratings IS 'The newest ratings of the domains found for each video.';

CREATE OR REPLACE VIEW current_pages AS
SELECT pages.*
FROM pages
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'evidence'
    AND newest.video_id = pages.video_id
    AND newest.run_id = pages.run_id;
COMMENT ON VIEW current_pages IS 'The pages that the newest evidence of each video was sought in.';

CREATE OR REPLACE VIEW current_evidence AS
SELECT evidence.*
FROM evidence
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'evidence'
    AND newest.video_id = evidence.video_id
    AND newest.run_id = evidence.run_id;
COMMENT ON VIEW current_evidence IS 'The newest evidence of each video. verdict_evidence has the evidence of verdicts that outlived a failed re-check.';

-- A failed re-check leaves the last good verdict in place: complete goes before new.
CREATE OR REPLACE VIEW current_verdicts AS
SELECT
    verdicts.*,
    first_value(verdicts.status) OVER newest_first AS latest_status,
    first_value(verdicts.reason) OVER newest_first AS latest_reason,
    first_value(verdicts.run_id) OVER newest_first AS latest_run_id,
    first_value(verdicts.checked_at) OVER newest_first AS latest_checked_at,
    current_claims.text AS claim,
    current_videos.title AS video_title
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
COMMENT ON COLUMN current_verdicts.latest_status IS 'Status of the newest attempt. incomplete beside a complete verdict: the re-check failed, and this is the last good verdict.';
COMMENT ON COLUMN current_verdicts.latest_reason IS 'Reason that the newest attempt gives.';
COMMENT ON COLUMN current_verdicts.latest_run_id IS 'The run of the newest attempt.';
COMMENT ON COLUMN current_verdicts.latest_checked_at IS 'When the newest attempt checked the video (UTC).';
COMMENT ON COLUMN current_verdicts.claim IS 'Wording of the claim.';
COMMENT ON COLUMN current_verdicts.video_title IS 'Title of the video.';

CREATE OR REPLACE VIEW current_steps AS
SELECT steps.*
FROM steps
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'verdicts'
    AND newest.video_id = steps.video_id
    AND newest.run_id = steps.run_id;
COMMENT ON VIEW current_steps IS 'The steps of each video''s newest check: how a strategy came to its verdicts. The standard strategy has none.';

CREATE OR REPLACE VIEW current_llm_calls AS
SELECT llm_calls.*
FROM llm_calls
SEMI JOIN current_materializations AS newest
    ON newest.asset = llm_calls.stage
    AND newest.video_id = llm_calls.video_id
    AND newest.run_id = llm_calls.run_id;
COMMENT ON VIEW current_llm_calls IS 'The model calls that made each video''s newest claims, queries, evidence and verdicts.';
