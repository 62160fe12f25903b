-- Videos, and their transcripts with the time of each part.

CREATE TABLE videos (
    video_id VARCHAR NOT NULL CHECK (length(video_id) BETWEEN 1 AND 128),
    title VARCHAR NOT NULL,
    url VARCHAR,
    channel VARCHAR,
    duration_seconds DOUBLE CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),
    published_on DATE,
    language VARCHAR,
    category VARCHAR,
    tags VARCHAR[] NOT NULL,
    notes VARCHAR,
    corpus VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE videos IS 'The videos of the corpus, as each run found them described.';
COMMENT ON COLUMN videos.video_id IS 'Identifier of the video, which is also its partition key.';
COMMENT ON COLUMN videos.title IS 'Title of the video.';
COMMENT ON COLUMN videos.url IS 'Where the video can be watched.';
COMMENT ON COLUMN videos.channel IS 'The publisher of the video.';
COMMENT ON COLUMN videos.duration_seconds IS 'Length of the video in seconds.';
COMMENT ON COLUMN videos.published_on IS 'Day on which the video was published.';
COMMENT ON COLUMN videos.language IS 'Language of the video, as its description states it.';
COMMENT ON COLUMN videos.category IS 'Category that the corpus gives the video.';
COMMENT ON COLUMN videos.tags IS 'Tags that the corpus gives the video.';
COMMENT ON COLUMN videos.notes IS 'Notes of the corpus on the video.';
COMMENT ON COLUMN videos.corpus IS 'The corpus file that lists the video.';
COMMENT ON COLUMN videos.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN videos.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE transcripts (
    video_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL CHECK (length(text) >= 1),
    language VARCHAR,
    kind VARCHAR NOT NULL CHECK (kind IN ('manual', 'generated', 'unknown')),
    provider VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE transcripts IS 'The raw text that was said in a video; all offsets of the video''s claims and segments index it.';
COMMENT ON COLUMN transcripts.video_id IS 'The video.';
COMMENT ON COLUMN transcripts.text IS 'The text, exactly as it was obtained.';
COMMENT ON COLUMN transcripts.language IS 'Language of the text.';
COMMENT ON COLUMN transcripts.kind IS 'Whether a person wrote the captions or a speech recogniser did: manual, generated or unknown.';
COMMENT ON COLUMN transcripts.provider IS 'Where the transcript came from.';
COMMENT ON COLUMN transcripts.content_hash IS 'SHA-256 of the text, hexadecimal.';
COMMENT ON COLUMN transcripts.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN transcripts.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE transcript_segments (
    video_id VARCHAR NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 0),
    start_seconds DOUBLE CHECK (start_seconds >= 0 AND isfinite(start_seconds)),
    duration_seconds DOUBLE NOT NULL CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),
    char_start BIGINT NOT NULL CHECK (char_start >= 0),
    char_end BIGINT NOT NULL CHECK (char_end >= 0),
    speaker VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    CHECK (char_end >= char_start)
);
COMMENT ON TABLE transcript_segments IS 'The captions of a transcript, or the paragraphs of one that names its speakers; one without times and speakers has none.';
COMMENT ON COLUMN transcript_segments.video_id IS 'The video.';
COMMENT ON COLUMN transcript_segments.position IS 'Place of the segment in the transcript, from 0.';
COMMENT ON COLUMN transcript_segments.start_seconds IS 'When the segment is said, in seconds from the start of the video; null if the text has no times.';
COMMENT ON COLUMN transcript_segments.duration_seconds IS 'How long the segment is shown, in seconds.';
COMMENT ON COLUMN transcript_segments.char_start IS 'Offset of its first character in the transcript''s text, in code points from 0.';
COMMENT ON COLUMN transcript_segments.char_end IS 'Offset behind its last character in the transcript''s text.';
COMMENT ON COLUMN transcript_segments.speaker IS 'The speaker, as the source names or labels them, such as Ann or SPEAKER_01; null if it does not.';
COMMENT ON COLUMN transcript_segments.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN transcript_segments.checked_at IS 'When that run checked the video (UTC).';
