-- Claims of the same meaning in several videos. Names and columns are stable.

CREATE OR REPLACE VIEW said_before AS  -- Claims of the same meaning in two videos, with their verdicts: each pair stands here both ways, once for either claim. factible said TEXT searches for any text.
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
    said.claim,  -- Wording of the claim.
    said.verdict,  -- Its verdict: {verdicts}, incomplete or not judged yet.
    newest.relation,  -- same: they say the same. contrary: one denies the other. other figure: their figures differ. similar: close in meaning, and the rules cannot tell whether they agree.
    other.claim AS other_claim,  -- Wording of the claim in the other video.
    other.verdict AS other_verdict,  -- Its verdict.
    said.channel,  -- The publisher of the video.
    said.speaker,  -- The speaker of the claim; null if not named.
    said.published_on,  -- Day on which the video was published.
    said.link,  -- Link to the second of the claim on YouTube; elsewhere to the video.
    other.channel AS other_channel,  -- The publisher of the other video.
    other.speaker AS other_speaker,  -- The speaker in the other video; null if not named.
    other.published_on AS other_published_on,  -- Day on which the other video was published.
    other.link AS other_link,  -- Link to the second of the claim in the other video.
    newest.similarity,  -- Cosine of the sentence embeddings of the two claims, from 0 to 1.
    said.video_id,  -- The video.
    said.claim_id,  -- The claim.
    other.video_id AS other_video_id,  -- The other video.
    newest.other_claim_id  -- The claim in the other video.
FROM newest
JOIN verdicts AS said USING (claim_id)
JOIN verdicts AS other ON other.claim_id = newest.other_claim_id
ORDER BY said.claim, other.published_on NULLS LAST, other.claim;
