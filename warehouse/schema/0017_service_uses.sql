-- What was asked of services that are paid by the request: search providers, readers of pages.

CREATE TABLE service_uses (
    video_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    stage VARCHAR NOT NULL CHECK (stage IN ('search_hits', 'evidence')),
    service VARCHAR NOT NULL,
    requests BIGINT NOT NULL CHECK (requests >= 0),
    cost_usd DOUBLE CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, stage, service)
);
COMMENT ON TABLE service_uses IS 'What each run asked of services that are paid by the request, at the price that was listed then. Answers from the cache are none.';
COMMENT ON COLUMN service_uses.video_id IS 'The video.';
COMMENT ON COLUMN service_uses.run_id IS 'The run.';
COMMENT ON COLUMN service_uses.stage IS 'search_hits for searches, evidence for pages that a reader read.';
COMMENT ON COLUMN service_uses.service IS 'The search provider or reader.';
COMMENT ON COLUMN service_uses.requests IS 'Requests that were answered.';
COMMENT ON COLUMN service_uses.cost_usd IS 'What they cost at the listed price, in US dollars; null where none is listed.';
COMMENT ON COLUMN service_uses.checked_at IS 'When the run checked the video (UTC).';
