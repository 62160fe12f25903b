-- Who says what. A text that names its speakers may have no times.

ALTER TABLE transcript_segments ADD COLUMN speaker VARCHAR;
COMMENT ON COLUMN transcript_segments.speaker IS 'Who speaks, as the source names or labels them, such as Ann or SPEAKER_01; null if it does not.';
ALTER TABLE transcript_segments ALTER start_seconds DROP NOT NULL;
COMMENT ON COLUMN transcript_segments.start_seconds IS 'When the segment is said, in seconds from the start of the video; null if the text has no times.';
COMMENT ON TABLE transcript_segments IS 'The captions of a transcript, or the paragraphs of one that names its speakers; one without times and speakers has none.';

ALTER TABLE claims ADD COLUMN speaker VARCHAR;
COMMENT ON COLUMN claims.speaker IS 'Who says it, as the transcript or the corpus names or labels them; null if neither does.';
