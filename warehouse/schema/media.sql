-- Findings about pictures.

CREATE TABLE media (  -- Hints about the pictures of each video. Only the strategy agentic uses them for verdicts.
    finding_id VARCHAR NOT NULL,  -- Identifies the finding by its picture, its kind, and its place among its kind.
    video_id VARCHAR NOT NULL,  -- The video.
    picture VARCHAR NOT NULL,  -- thumbnail, the moment of a frame, or the name of a file.
    content_hash VARCHAR,  -- SHA-256 of the picture; null if it could not be loaded.
    kind VARCHAR NOT NULL CHECK (kind IN ('metadata', 'error_level', 'match', 'miscaption', 'deepfake')),  -- The kind of finding: metadata of the picture, uneven compression, the same picture elsewhere, a claim that differs from an earlier caption, or a generated face.
    rank BIGINT NOT NULL CHECK (rank >= 1),  -- Order among the findings of this kind of this picture; of matches, the closest and earliest first.
    provider VARCHAR NOT NULL,  -- The service that found it; local: this pipeline.
    match_class VARCHAR CHECK (match_class IN ('exact', 'partial', 'similar')),  -- How a picture elsewhere relates to this one.
    claim_id VARCHAR,  -- The claim that is compared with the earlier page.
    url VARCHAR,  -- The page that shows the picture elsewhere, or else that picture. Text from outside.
    title VARCHAR,  -- The title of that page. Text from outside.
    published_on DATE,  -- When that page was published.
    score DOUBLE CHECK (score BETWEEN 0 AND 1),  -- Strength of the hint, from 0 to 1. error_level: share of blocks with unusual compression; miscaption: share of the claim's words that the earlier page lacks; else the service's score.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok: a finding; no_evidence: nothing was found; infra_error: a service failed; skipped: not asked, or no picture.
    reason VARCHAR,  -- The finding in words, or why there is none.
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),  -- Duration of the request.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of that run's check (UTC).
    CHECK (reason IS NOT NULL OR status = 'ok')
);
