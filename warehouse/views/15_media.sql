-- Findings about pictures.

CREATE OR REPLACE VIEW current_media AS  -- The newest findings on the pictures of each video: hints, which only verdicts of the strategy agentic use.
FROM media SEMI JOIN (FROM current_materializations WHERE asset = 'media') USING (video_id, run_id);
