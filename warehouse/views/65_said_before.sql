-- Claims of the same meaning in several videos. Names and columns are stable.

CREATE OR REPLACE VIEW said_before AS
WITH pairs AS (
    SELECT claim_id, other_claim_id, relation, similarity, matched_at FROM claim_matches
    UNION ALL
    SELECT other_claim_id, claim_id, relation, similarity, matched_at FROM claim_matches
),
newest AS (
    SELECT DISTINCT ON (claim_id, other_claim_id) * FROM pairs
    ORDER BY claim_id, other_claim_id, matched_at DESC
)
SELECT
    mine.claim,
    mine.verdict,
    newest.relation,
    others.claim AS other_claim,
    others.verdict AS other_verdict,
    mine.channel,
    mine.speaker,
    mine.published_on,
    mine.link,
    others.channel AS other_channel,
    others.speaker AS other_speaker,
    others.published_on AS other_published_on,
    others.link AS other_link,
    newest.similarity,
    mine.video_id,
    mine.claim_id,
    others.video_id AS other_video_id,
    newest.other_claim_id
FROM newest
JOIN verdicts AS mine ON mine.claim_id = newest.claim_id
JOIN verdicts AS others ON others.claim_id = newest.other_claim_id
ORDER BY mine.claim, others.published_on NULLS LAST, others.claim;
COMMENT ON VIEW said_before IS 'Claims of the same meaning in two videos, with their verdicts: each pair stands here both ways, once for either claim. factible said TEXT searches for any text.';
COMMENT ON COLUMN said_before.claim IS 'Wording of the claim.';
COMMENT ON COLUMN said_before.verdict IS 'Its verdict: supported, refuted, mixed, unclear, incomplete or not judged yet.';
COMMENT ON COLUMN said_before.relation IS 'same: they say the same. contrary: one denies the other. other figure: their figures differ. similar: close in meaning, and the rules cannot tell whether they agree.';
COMMENT ON COLUMN said_before.other_claim IS 'Wording of the claim in the other video.';
COMMENT ON COLUMN said_before.other_verdict IS 'Its verdict.';
COMMENT ON COLUMN said_before.channel IS 'The publisher of the video.';
COMMENT ON COLUMN said_before.speaker IS 'The speaker of the claim; null if not named.';
COMMENT ON COLUMN said_before.published_on IS 'Day on which the video was published.';
COMMENT ON COLUMN said_before.link IS 'Link to the second of the claim on YouTube; elsewhere to the video.';
COMMENT ON COLUMN said_before.other_channel IS 'The publisher of the other video.';
COMMENT ON COLUMN said_before.other_speaker IS 'The speaker in the other video; null if not named.';
COMMENT ON COLUMN said_before.other_published_on IS 'Day on which the other video was published.';
COMMENT ON COLUMN said_before.other_link IS 'Link to the second of the claim in the other video.';
COMMENT ON COLUMN said_before.similarity IS 'Cosine of the sentence embeddings of the two claims, from 0 to 1.';
COMMENT ON COLUMN said_before.video_id IS 'The video.';
COMMENT ON COLUMN said_before.claim_id IS 'The claim.';
COMMENT ON COLUMN said_before.other_video_id IS 'The other video.';
COMMENT ON COLUMN said_before.other_claim_id IS 'The claim in the other video.';
