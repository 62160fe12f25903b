-- Overviews per channel, speaker and source. Names and columns are stable.
--
-- The two views by month are long: sum their columns over what a chart does not show.

CREATE OR REPLACE VIEW channel_scoreboard AS  -- The current claims of all videos, counted by channel and verdict.
SELECT
    channel,  -- The publisher of the videos; null if it is not known.
    count(DISTINCT video_id) AS videos,  -- Number of videos.
    count(*) AS claims,  -- Number of claims.
    count(*) FILTER (verdict = '{word}') AS {word},  -- Claims whose verdict is {word}.
    count(*) FILTER (verdict IN ('incomplete', 'not judged yet')) AS open,  -- Claims without a complete verdict.
    min(published_on) AS first_published_on,  -- Day on which the first of the videos was published.
    max(published_on) AS last_published_on  -- Day on which the last of the videos was published.
FROM verdicts
GROUP BY channel
ORDER BY claims DESC, channel;

CREATE OR REPLACE VIEW speaker_scoreboard AS  -- The current claims of all videos, counted by the speaker that a transcript or a corpus names. A label such as SPEAKER_01 is another person in every video: verdicts has the speaker by video.
SELECT
    speaker,  -- The speaker, as named or labelled.
    list(DISTINCT channel ORDER BY channel) AS channels,  -- The channels of the videos.
    count(DISTINCT video_id) AS videos,  -- Number of videos.
    count(*) AS claims,  -- Number of claims.
    count(*) FILTER (verdict = '{word}') AS {word},  -- Claims whose verdict is {word}.
    count(*) FILTER (verdict IN ('incomplete', 'not judged yet')) AS open  -- Claims without a complete verdict.
FROM verdicts
WHERE speaker IS NOT NULL
GROUP BY speaker
ORDER BY claims DESC, speaker;

CREATE OR REPLACE VIEW verdicts_by_month AS  -- The current claims over time: one row per month, channel, speaker, topic and verdict.
SELECT
    date_trunc('month', coalesce(published_on, CAST(checked_at AT TIME ZONE 'UTC' AS DATE)))::DATE AS month,  -- First day of the month in which the videos were published; of the check, if that is not known; null without either.
    channel,  -- The publisher of the videos.
    speaker,  -- The speaker, if a transcript or a corpus names one.
    topic,  -- Field that the claims belong to; null if their finder names none.
    verdict,  -- {verdicts}, incomplete or not judged yet.
    count(*) AS claims  -- Number of claims.
FROM verdicts
GROUP BY ALL
ORDER BY ALL;

CREATE OR REPLACE VIEW sources_by_month AS  -- The sources that current verdicts rely upon: one row per month, channel, speaker and domain, over the pages that speak of a claim. source_scoreboard has the sums per domain.
SELECT
    date_trunc('month', coalesce(verdicts.published_on, CAST(verdicts.checked_at AT TIME ZONE 'UTC' AS DATE)))::DATE AS month,  -- First day of the month in which the videos were published; of the check, if that is not known.
    verdicts.channel,  -- The publisher of the videos.
    verdicts.speaker,  -- The speaker, if a transcript or a corpus names one.
    evidence.domain,  -- Registrable domain of the source.
    arg_max(evidence.rating, (evidence.checked_at, evidence.rating_score)) AS rating,  -- Newest rating of the source: high, medium, low, very_low or unknown. If the pages of one check differ, the best of them.
    count(DISTINCT evidence.claim_id) AS claims,  -- Number of claims.
    count(*) AS pages,  -- Pages that were read and speak of the claim.
    count(*) FILTER (verdict_of(evidence.stance) = verdicts.verdict AND evidence.stance <> 'unclear') AS agreeing,  -- Pages whose stance became the verdict (unclear ones not counted).
    count(*) FILTER (evidence.stance = 'supports' AND verdicts.verdict = 'refuted'
        OR evidence.stance = 'refutes' AND verdicts.verdict = 'supported') AS opposing  -- Pages whose stance is the opposite of the verdict.
FROM verdict_evidence AS evidence
JOIN verdicts USING (video_id, claim_id)
WHERE evidence.status = 'ok'
GROUP BY ALL
ORDER BY ALL;
