-- Overviews per channel, speaker and source. Names and columns are stable.
--
-- The two views by month are long: sum their columns over what a chart does not show.

CREATE OR REPLACE VIEW channel_scoreboard AS
SELECT
    channel,
    count(DISTINCT video_id) AS videos,
    count(*) AS claims,
    count(*) FILTER (verdict = 'supported') AS supported,
    count(*) FILTER (verdict = 'refuted') AS refuted,
    count(*) FILTER (verdict = 'mixed') AS mixed,
    count(*) FILTER (verdict = 'unclear') AS unclear,
    count(*) FILTER (verdict IN ('incomplete', 'not judged yet')) AS open,
    min(published_on) AS first_published_on,
    max(published_on) AS last_published_on
FROM verdicts
GROUP BY channel
ORDER BY claims DESC, channel;
COMMENT ON VIEW channel_scoreboard IS 'The current claims of all videos, counted by channel and verdict.';
COMMENT ON COLUMN channel_scoreboard.channel IS 'The publisher of the videos; null if it is not known.';
COMMENT ON COLUMN channel_scoreboard.videos IS 'In how many videos.';
COMMENT ON COLUMN channel_scoreboard.claims IS 'How many claims.';
COMMENT ON COLUMN channel_scoreboard.supported IS 'Claims that the evidence supports.';
COMMENT ON COLUMN channel_scoreboard.refuted IS 'Claims that the evidence refutes.';
COMMENT ON COLUMN channel_scoreboard.mixed IS 'Claims with good evidence on both sides.';
COMMENT ON COLUMN channel_scoreboard.unclear IS 'Claims on which the evidence takes no clear side.';
COMMENT ON COLUMN channel_scoreboard.open IS 'Claims without a complete verdict.';
COMMENT ON COLUMN channel_scoreboard.first_published_on IS 'Day on which the first of the videos was published.';
COMMENT ON COLUMN channel_scoreboard.last_published_on IS 'Day on which the last of the videos was published.';

CREATE OR REPLACE VIEW speaker_scoreboard AS
SELECT
    speaker,
    list(DISTINCT channel ORDER BY channel) AS channels,
    count(DISTINCT video_id) AS videos,
    count(*) AS claims,
    count(*) FILTER (verdict = 'supported') AS supported,
    count(*) FILTER (verdict = 'refuted') AS refuted,
    count(*) FILTER (verdict = 'mixed') AS mixed,
    count(*) FILTER (verdict = 'unclear') AS unclear,
    count(*) FILTER (verdict IN ('incomplete', 'not judged yet')) AS open
FROM verdicts
WHERE speaker IS NOT NULL
GROUP BY speaker
ORDER BY claims DESC, speaker;
COMMENT ON VIEW speaker_scoreboard IS 'The current claims of all videos, counted by the speaker that a transcript or a corpus names. A label such as SPEAKER_01 is another person in every video: verdicts has the speaker by video.';
COMMENT ON COLUMN speaker_scoreboard.speaker IS 'The speaker, as named or labelled.';
COMMENT ON COLUMN speaker_scoreboard.channels IS 'The channels of the videos.';
COMMENT ON COLUMN speaker_scoreboard.videos IS 'In how many videos.';
COMMENT ON COLUMN speaker_scoreboard.claims IS 'How many claims.';
COMMENT ON COLUMN speaker_scoreboard.supported IS 'Claims that the evidence supports.';
COMMENT ON COLUMN speaker_scoreboard.refuted IS 'Claims that the evidence refutes.';
COMMENT ON COLUMN speaker_scoreboard.mixed IS 'Claims with good evidence on both sides.';
COMMENT ON COLUMN speaker_scoreboard.unclear IS 'Claims on which the evidence takes no clear side.';
COMMENT ON COLUMN speaker_scoreboard.open IS 'Claims without a complete verdict.';

CREATE OR REPLACE VIEW verdicts_by_month AS
SELECT
    date_trunc('month', coalesce(published_on, CAST(checked_at AT TIME ZONE 'UTC' AS DATE)))::DATE AS month,
    channel,
    speaker,
    topic,
    verdict,
    count(*) AS claims
FROM verdicts
GROUP BY ALL
ORDER BY ALL;
COMMENT ON VIEW verdicts_by_month IS 'The current claims over time: one row per month, channel, speaker, topic and verdict.';
COMMENT ON COLUMN verdicts_by_month.month IS 'First day of the month in which the videos were published; of the check, if that is not known.';
COMMENT ON COLUMN verdicts_by_month.channel IS 'The publisher of the videos.';
COMMENT ON COLUMN verdicts_by_month.speaker IS 'The speaker, if a transcript or a corpus names one.';
COMMENT ON COLUMN verdicts_by_month.topic IS 'Field that the claims belong to; null if their finder names none.';
COMMENT ON COLUMN verdicts_by_month.verdict IS 'supported, refuted, mixed, unclear, incomplete or not judged yet.';
COMMENT ON COLUMN verdicts_by_month.claims IS 'How many claims.';

CREATE OR REPLACE VIEW sources_by_month AS
SELECT
    date_trunc('month', coalesce(verdicts.published_on, CAST(verdicts.checked_at AT TIME ZONE 'UTC' AS DATE)))::DATE AS month,
    verdicts.channel,
    verdicts.speaker,
    evidence.domain,
    arg_max(evidence.rating, evidence.checked_at) AS rating,
    count(DISTINCT evidence.claim_id) AS claims,
    count(*) AS pages,
    count(*) FILTER (verdict_of(evidence.stance) = verdicts.verdict AND evidence.stance <> 'unclear') AS agreeing,
    count(*) FILTER (evidence.stance = 'supports' AND verdicts.verdict = 'refuted'
        OR evidence.stance = 'refutes' AND verdicts.verdict = 'supported') AS opposing
FROM verdict_evidence AS evidence
JOIN verdicts
    ON verdicts.video_id = evidence.video_id AND verdicts.claim_id = evidence.claim_id
WHERE evidence.status = 'ok'
GROUP BY ALL
ORDER BY ALL;
COMMENT ON VIEW sources_by_month IS 'The sources that current verdicts rely upon: one row per month, channel, speaker and domain, over the pages that speak of a claim. source_scoreboard has the sums per domain.';
COMMENT ON COLUMN sources_by_month.month IS 'First day of the month in which the videos were published; of the check, if that is not known.';
COMMENT ON COLUMN sources_by_month.channel IS 'The publisher of the videos.';
COMMENT ON COLUMN sources_by_month.speaker IS 'The speaker, if a transcript or a corpus names one.';
COMMENT ON COLUMN sources_by_month.domain IS 'Registrable domain of the source.';
COMMENT ON COLUMN sources_by_month.rating IS 'Newest rating of the source: high, medium, low, very_low or unknown.';
COMMENT ON COLUMN sources_by_month.claims IS 'On how many claims.';
COMMENT ON COLUMN sources_by_month.pages IS 'Pages that were read and speak of the claim.';
COMMENT ON COLUMN sources_by_month.agreeing IS 'Pages whose stance became the verdict (unclear ones not counted).';
COMMENT ON COLUMN sources_by_month.opposing IS 'Pages whose stance is the opposite of the verdict.';
