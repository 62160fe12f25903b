-- The questions of the overviews and the feeds to the published copy. Times are in UTC without a zone.

-- name: chosen
-- The claims of a channel, a speaker, a corpus or a source, or all: {chosen} in the statements below.
-- A claim belongs to a source if a page of it was read for the claim.
SELECT
    claims.video_id,
    claims.claim_id,
    claims.text,
    claims.start_seconds,
    claims.speaker,
    list_distinct(list_append(videos.tags, videos.category)) AS topics,
    videos.title,
    videos.channel,
    coalesce(videos.published_on, verdicts.last_checked_at::DATE) AS day,
    coalesce(verdicts.stance, CASE WHEN verdicts.claim_id IS NULL THEN 'unjudged' ELSE 'incomplete' END) AS outcome,
    CASE WHEN verdicts.stance IS NOT NULL THEN verdicts.basis END AS basis,
    CASE WHEN verdicts.stance <> 'unclear' THEN verdicts.confidence END AS confidence,
    verdicts.summary,
    verdicts.last_checked_at AS checked_at,
    rulings.ruling,
    rulings.stance AS ruled_stance,
    rulings.prose,
    rulings.signed_by,
    rulings.organisation,
    rulings.signed_at
FROM current_claims AS claims
LEFT JOIN current_videos AS videos USING (video_id)
LEFT JOIN current_verdicts AS verdicts USING (video_id, claim_id)
LEFT JOIN signed_rulings AS rulings
    ON rulings.video_id = claims.video_id AND rulings.claim_id = claims.claim_id AND rulings.stands
WHERE CASE $kind
    WHEN 'channel' THEN videos.channel = $name
    WHEN 'speaker' THEN claims.speaker = $name
    WHEN 'corpus' THEN videos.corpus = $name
    WHEN 'source' THEN EXISTS (
        SELECT 1 FROM verdict_evidence AS pages
        WHERE pages.status = 'ok' AND pages.domain = $name
            AND pages.video_id = claims.video_id AND pages.claim_id = claims.claim_id
    )
    ELSE true
END

-- name: groups
-- The claims by month, topic, channel and speaker with their verdicts, and by source with what its
-- pages say. Months are in order of time, the others by size; $most of each.
WITH chosen AS ({chosen}),
grouped AS (
    SELECT 'month' AS part, strftime(day, '%Y-%m') AS name, outcome FROM chosen
    UNION ALL
    SELECT 'topic', unnest(topics), outcome FROM chosen
    UNION ALL
    SELECT 'channel', channel, outcome FROM chosen
    UNION ALL
    SELECT 'speaker', speaker, outcome FROM chosen
    UNION ALL
    SELECT 'source', pages.domain, pages.stance
    FROM chosen
    JOIN verdict_evidence AS pages
        ON pages.video_id = chosen.video_id AND pages.claim_id = chosen.claim_id AND pages.status = 'ok'
)
SELECT
    part,
    name,
    count(*) AS total,
    count(*) FILTER (outcome = '{name}') AS {name},
    count(*) FILTER (outcome IN ('incomplete', 'unjudged')) AS incomplete
FROM grouped
WHERE name <> ''
GROUP BY part, name
QUALIFY row_number() OVER (
    PARTITION BY part ORDER BY CASE part WHEN 'month' THEN name END DESC, total DESC, name
) <= $most
ORDER BY part, CASE part WHEN 'month' THEN name END, total DESC, name

-- name: newest
SELECT *, greatest(checked_at, signed_at) AS changed_at
FROM ({chosen})
WHERE outcome NOT IN ('incomplete', 'unjudged') OR ruling IS NOT NULL
ORDER BY changed_at DESC, video_id, claim_id
LIMIT $most
