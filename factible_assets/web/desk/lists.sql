-- The questions of the desk to the published copy. Times are in UTC without a zone.

-- name: listed
-- Every claim as the queue lists it; {listed} in the statements below. Unset filters are empty.
WITH acts AS (
    SELECT
        video_id,
        -- The acts on a claim's former words count for the claim.
        coalesce(moved.now, acts.claim_id) AS claim_id,
        max(acted_at) FILTER (action <> 'assign') AS reviewed_at,
        arg_max(reviewer, (acted_at, position)) FILTER (action <> 'assign') AS reviewer,
        max(acted_at) FILTER (action IN ('overrule_source', 'block_source')) AS decided_at,
        -- Not arg_max, which skips the NULL of a withdrawal.
        last(value ORDER BY acted_at, position) FILTER (action = 'assign') AS assigned_to,
        last(value ORDER BY acted_at, position) FILTER (action = 'sign' AND moved.now IS NULL) AS ruling,
        last(value ORDER BY acted_at, position) FILTER (action = 'assess' AND moved.now IS NULL) AS assessment,
        last(action ORDER BY acted_at, position)
            FILTER (action IN ('drop_claim', 'split_claim', 'restore_claim', 'add_claim')) AS changed
    FROM review_actions AS acts
    LEFT JOIN (SELECT unnest($former) AS former, unnest($now) AS now) AS moved
        ON moved.former = acts.claim_id
    GROUP BY ALL
),
flipped AS (
    SELECT
        video_id,
        claim_id,
        max(checked_at) AS flipped_at,
        arg_max(previous_stance, checked_at) AS previous_stance
    FROM verdict_changes
    WHERE change = 'flip'
    GROUP BY ALL
)
SELECT
    claims.video_id,
    claims.claim_id,
    claims.text,
    claims.start_seconds,
    claims.speaker,
    claims.importance,
    videos.title,
    videos.channel,
    videos.corpus,
    coalesce(verdicts.stance, CASE WHEN verdicts.claim_id IS NULL THEN 'unjudged' ELSE 'incomplete' END) AS outcome,
    CASE WHEN verdicts.stance IS NOT NULL THEN verdicts.basis END AS basis,
    CASE WHEN verdicts.stance <> 'unclear' THEN verdicts.confidence END AS confidence,
    verdicts.confidence_score,
    verdicts.last_checked_at AS checked_at,
    coalesce(verdicts.latest_reason, verdicts.reason) AS reason,
    flipped.flipped_at,
    flipped.previous_stance,
    coalesce(acts.ruling, acts.assessment) IS NULL
        OR coalesce(flipped.flipped_at > acts.reviewed_at, false) AS is_unreviewed,
    acts.reviewed_at,
    acts.reviewer,
    acts.assigned_to,
    acts.ruling,
    verdicts.claim_id IS NULL OR verdicts.latest_status = 'incomplete' AS is_incomplete,
    coalesce(flipped.flipped_at >= $since, false) AS has_flipped,
    claims.importance * (1 - coalesce(verdicts.confidence_score, 0)) AS doubt,
    NOT is_incomplete AND doubt >= $doubt AS is_uncertain,
    coalesce(acts.assigned_to = $me, false) AS is_mine,
    coalesce(acts.decided_at > verdicts.latest_checked_at, false) AS is_decided
FROM current_claims AS claims
LEFT JOIN current_videos AS videos USING (video_id)
LEFT JOIN current_verdicts AS verdicts USING (video_id, claim_id)
LEFT JOIN acts USING (video_id, claim_id)
LEFT JOIN flipped USING (video_id, claim_id)
WHERE ($corpus = '' OR videos.corpus = $corpus)
    AND ($channel = '' OR videos.channel = $channel)
    AND ($video = '' OR claims.video_id = $video)
    AND coalesce(acts.changed NOT IN ('drop_claim', 'split_claim'), true)

-- name: queue
-- The page of the queue with a claim, or a page by its number if the claim is not in the queue.
WITH listed AS ({listed}),
placed AS (
    SELECT
        *,
        row_number() OVER ordered AS place,
        lag({'video_id': video_id, 'claim_id': claim_id}) OVER ordered AS previous,
        lead({'video_id': video_id, 'claim_id': claim_id}) OVER ordered AS next
    FROM listed
    WHERE CASE $tab
        WHEN 'incomplete' THEN is_incomplete
        WHEN 'flipped' THEN has_flipped
        WHEN 'uncertain' THEN is_uncertain
        WHEN 'unreviewed' THEN is_unreviewed
        WHEN 'mine' THEN is_mine
        ELSE true
    END
    WINDOW ordered AS (ORDER BY
        CASE $sort WHEN 'need' THEN -(2 * is_incomplete::INTEGER + has_flipped::INTEGER) END,
        CASE $sort WHEN 'importance' THEN -importance WHEN 'confidence' THEN -coalesce(confidence_score, -1)
            WHEN 'need' THEN -doubt WHEN 'uncertainty' THEN -doubt END,
        CASE $sort WHEN 'flipped' THEN flipped_at WHEN 'newest' THEN checked_at END DESC NULLS LAST,
        CASE $sort WHEN 'oldest' THEN checked_at END NULLS FIRST,
        title, video_id, start_seconds NULLS LAST, claim_id)
)
SELECT *
FROM placed
WHERE (place - 1) // $limit = coalesce(
    (SELECT (place - 1) // $limit FROM placed WHERE video_id = $current_video AND claim_id = $current_claim),
    $page - 1
)
ORDER BY place

-- name: counts
WITH listed AS ({listed})
SELECT
    count(*) FILTER (is_incomplete) AS incomplete,
    count(*) FILTER (has_flipped) AS flipped,
    count(*) FILTER (is_uncertain) AS uncertain,
    count(*) FILTER (is_unreviewed) AS unreviewed,
    count(*) FILTER (is_mine) AS mine,
    count(*) AS "all"
FROM listed

-- name: rewordings
-- The reworded claims, in order. The id of the new words comes from stages/ids.py.
SELECT video_id, claim_id, value FROM review_actions
WHERE action = 'reword_claim' ORDER BY acted_at, position

-- name: places
SELECT DISTINCT corpus, channel FROM current_videos

-- name: search
-- BM25 (Robertson and Zaragoza 2009, section 3.2; k1 = 1.2, b = .75) over what the claims and the
-- quotes say. A sought word matches the beginning of a word, and counts once in a text. Rows with less
-- than half of the weight of all sought words are left out.
WITH texts AS MATERIALIZED (
    SELECT
        'claim' AS kind, video_id, claim_id, claim_id AS row_id, text,
        NULL AS domain, NULL AS source, NULL AS stance,
        NULL AS publisher, NULL AS url, NULL AS textual_rating
    FROM current_claims
    UNION ALL
    SELECT
        'quote', video_id, claim_id, evidence_id, quote, domain, title, stance, NULL, NULL, NULL
    FROM verdict_evidence WHERE quote IS NOT NULL
    UNION ALL
    SELECT
        'review', video_id, claim_id, prior_fact_check_id, concat_ws(' ', claim_reviewed, title),
        NULL, title, NULL, publisher, url, textual_rating
    FROM current_prior_fact_checks WHERE status = 'ok'
),
spoken AS MATERIALIZED (
    SELECT
        kind,
        row_id,
        strip_accents(lower(text)) AS words,
        length(text) / avg(length(text)) OVER (PARTITION BY kind) AS relative_length,
        count(*) OVER () AS texts
    FROM texts
),
hits AS MATERIALIZED (
    SELECT kind, row_id, relative_length, texts, word
    FROM spoken, unnest($words) AS sought(word)
    -- The costly search for the beginning of a word is only for texts that contain the letters.
    WHERE CASE WHEN contains(words, word) THEN
        contains(' ' || regexp_replace(words, '[^\pL\pN]+', ' ', 'g'), ' ' || word) ELSE false END
),
weights AS (
    SELECT word, ln(1 + (any_value(texts) - count(*) + .5) / (count(*) + .5)) AS weight
    FROM hits GROUP BY word
),
ranked AS (
    SELECT
        kind,
        row_id,
        sum(weight * 2.2 / (1 + 1.2 * (.25 + .75 * relative_length))) AS score,
        sum(weight) AS found
    FROM hits JOIN weights USING (word)
    GROUP BY kind, row_id
    HAVING sum(weight) >= .5 * (SELECT sum(weight) FROM weights)
),
best AS (
    SELECT *, count(*) OVER (PARTITION BY kind) AS total
    FROM ranked
    QUALIFY row_number() OVER (PARTITION BY kind ORDER BY score DESC, row_id)
        BETWEEN $offset + 1 AND $offset + $limit
)
SELECT
    texts.*,
    best.total,
    claims.text AS claim,
    claims.start_seconds,
    claims.speaker,
    videos.title,
    videos.channel,
    coalesce(verdicts.stance, CASE WHEN verdicts.claim_id IS NULL THEN 'unjudged' ELSE 'incomplete' END) AS outcome,
    CASE WHEN verdicts.stance IS NOT NULL THEN verdicts.basis END AS basis,
    CASE WHEN verdicts.stance <> 'unclear' THEN verdicts.confidence END AS confidence
FROM best
JOIN texts USING (kind, row_id)
LEFT JOIN current_videos AS videos USING (video_id)
LEFT JOIN current_claims AS claims USING (video_id, claim_id)
LEFT JOIN current_verdicts AS verdicts USING (video_id, claim_id)
ORDER BY best.kind, best.score DESC, best.row_id

-- name: claims
-- The claims of a video as a table, with the rulings that stand.
SELECT
    verdicts.claim,
    verdicts.verdict,
    verdicts.confidence,
    verdicts.basis,
    verdicts.summary,
    verdicts.{column},
    rulings.ruling,
    rulings.prose AS ruling_in_prose,
    rulings.signed_by,
    verdicts.speaker,
    verdicts.start_seconds,
    verdicts.importance,
    verdicts.link,
    verdicts.claim_id
FROM verdicts
LEFT JOIN signed_rulings AS rulings
    ON rulings.video_id = verdicts.video_id AND rulings.claim_id = verdicts.claim_id AND rulings.stands
WHERE verdicts.video_id = $video
ORDER BY verdicts.start_seconds NULLS LAST, verdicts.claim_rank

-- name: sources
-- The sources of a claim as a table.
SELECT claim, stance, quote, summary, page_title, domain, rating, published_on, coalesce(final_url, url) AS url
FROM evidence_chain
WHERE video_id = $video AND claim_id = $claim AND evidence_status = 'ok'
ORDER BY stance, evidence_id
