-- Hints about the pictures of a video. No verdict reads them.

CREATE TABLE media (
    finding_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    picture VARCHAR NOT NULL,
    content_hash VARCHAR,
    kind VARCHAR NOT NULL CHECK (kind IN ('metadata', 'error_level', 'match', 'miscaption', 'deepfake')),
    rank BIGINT NOT NULL CHECK (rank >= 1),
    provider VARCHAR NOT NULL,
    match_class VARCHAR CHECK (match_class IN ('exact', 'partial', 'similar')),
    claim_id VARCHAR,
    url VARCHAR,
    title VARCHAR,
    published_on DATE,
    score DOUBLE CHECK (score BETWEEN 0 AND 1),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    CHECK (reason IS NOT NULL OR status = 'ok')
);
COMMENT ON TABLE media IS 'Hints about the pictures of each video. No verdict reads them.';
COMMENT ON COLUMN media.finding_id IS 'Identifies the finding by its picture, its kind, and its place among its kind.';
COMMENT ON COLUMN media.video_id IS 'The video.';
COMMENT ON COLUMN media.picture IS 'thumbnail, the moment of a frame, or the name of a file.';
COMMENT ON COLUMN media.content_hash IS 'SHA-256 of the picture, where it could be had.';
COMMENT ON COLUMN media.kind IS 'The kind of finding: metadata of the picture, uneven compression, the same picture elsewhere, a claim that differs from an earlier caption, or a generated face.';
COMMENT ON COLUMN media.rank IS 'Order among the findings of this kind of this picture; of matches, the closest and earliest first.';
COMMENT ON COLUMN media.provider IS 'The service that found it; local: this pipeline.';
COMMENT ON COLUMN media.match_class IS 'How a picture elsewhere relates to this one.';
COMMENT ON COLUMN media.claim_id IS 'The claim that the earlier page is held against.';
COMMENT ON COLUMN media.url IS 'The page that shows the picture elsewhere, or else that picture. Text from outside.';
COMMENT ON COLUMN media.title IS 'The title of that page. Text from outside.';
COMMENT ON COLUMN media.published_on IS 'When that page was published.';
COMMENT ON COLUMN media.score IS 'How strong the hint is: the share of blocks compressed otherwise than most, of a claim''s words that the earlier page lacks, or the service''s own score.';
COMMENT ON COLUMN media.status IS 'ok: a finding; no_evidence: nothing was found; infra_error: a service failed; skipped: not asked, or no picture.';
COMMENT ON COLUMN media.reason IS 'The finding in words, or why there is none.';
COMMENT ON COLUMN media.latency_seconds IS 'How long the service took.';
COMMENT ON COLUMN media.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN media.checked_at IS 'When that run looked at the pictures (UTC).';
