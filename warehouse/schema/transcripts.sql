-- Videos, and their transcripts with the time of each part.

CREATE TABLE videos (  -- The videos of the corpus, as each run found them described.
    video_id VARCHAR NOT NULL CHECK (length(video_id) BETWEEN 1 AND 128),  -- Identifier of the video, which is also its partition key.
    title VARCHAR NOT NULL,  -- Title of the video.
    url VARCHAR,  -- Where the video can be watched.
    channel VARCHAR,  -- The publisher of the video.
    duration_seconds DOUBLE CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),  -- Length of the video in seconds.
    published_on DATE,  -- Day on which the video was published.
    language VARCHAR,  -- Language of the video, as its description states it.
    category VARCHAR,  -- Category that the corpus gives the video.
    tags VARCHAR[] NOT NULL,  -- Tags that the corpus gives the video.
    notes VARCHAR,  -- Notes of the corpus on the video.
    corpus VARCHAR,  -- The corpus file that lists the video.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE transcripts (  -- The raw text that was said in a video; all offsets of the video's claims and segments index it.
    video_id VARCHAR NOT NULL,  -- The video.
    text VARCHAR NOT NULL CHECK (length(text) >= 1),  -- The text, exactly as it was obtained.
    language VARCHAR,  -- Language of the text.
    kind VARCHAR NOT NULL CHECK (kind IN ('manual', 'generated', 'unknown')),  -- Whether a person wrote the captions or a speech recogniser did: manual, generated or unknown.
    provider VARCHAR NOT NULL,  -- Where the transcript came from.
    content_hash VARCHAR NOT NULL,  -- SHA-256 of the text, hexadecimal.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE transcript_segments (  -- The captions of a transcript, or the paragraphs of one that names its speakers; one without times and speakers has none.
    video_id VARCHAR NOT NULL,  -- The video.
    position BIGINT NOT NULL CHECK (position >= 0),  -- Place of the segment in the transcript, from 0.
    start_seconds DOUBLE CHECK (start_seconds >= 0 AND isfinite(start_seconds)),  -- Start of the segment, in seconds from the start of the video; null if the text has no times.
    duration_seconds DOUBLE NOT NULL CHECK (duration_seconds >= 0 AND isfinite(duration_seconds)),  -- Duration of the segment, in seconds.
    char_start BIGINT NOT NULL CHECK (char_start >= 0),  -- Offset of its first character in the transcript's text, in code points from 0.
    char_end BIGINT NOT NULL CHECK (char_end >= 0),  -- Offset behind its last character in the transcript's text.
    speaker VARCHAR,  -- The speaker, as the source names or labels them, such as Ann or SPEAKER_01; null if it does not.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of that run's check (UTC).
    CHECK (char_end >= char_start)
);
