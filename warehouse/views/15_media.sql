-- Findings about pictures.

CREATE OR REPLACE VIEW current_media AS
SELECT media.*
FROM media
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'media'
    AND newest.video_id = media.video_id
    AND newest.run_id = media.run_id;
COMMENT ON VIEW current_media IS 'The newest findings on the pictures of each video: hints, which no verdict reads.';
