-- Views for analysts. Names and columns are stable, so that saved queries keep working.

-- Pages say that a claim is refuted; a row says that its evidence refutes it. DuckDB finds nothing for
-- an unknown word, also in an ENUM column, so each word has a column of its own name.
CREATE OR REPLACE MACRO verdict_of(stance) AS
    CASE stance
        WHEN '{name}' THEN '{word}'
        ELSE 'incomplete'
    END;
COMMENT ON MACRO verdict_of IS 'The word of pages for the stance of a verdict: {verdicts}, or incomplete for none.';

CREATE OR REPLACE VIEW verdicts AS  -- Begin here: one row per current claim, in the order of its video, with the current verdict, the speaker, the time and a link.
SELECT
    claims.text AS claim,  -- Wording of the claim.
    CASE WHEN judged.claim_id IS NULL THEN 'not judged yet' ELSE verdict_of(judged.stance) END AS verdict,  -- The word of the pages: {verdicts}, incomplete (services failed) or not judged yet.
    judged.confidence,  -- Confidence of the verdict: low, medium or high; null if it is incomplete.
    judged.summary,  -- The verdict in words.
    videos.title AS video_title,  -- Title of the video.
    videos.channel,  -- The publisher of the video.
    claims.speaker,  -- The speaker, as the transcript or the corpus names or labels them; null if neither does.
    videos.published_on,  -- Day on which the video was published.
    CASE
        WHEN claims.start_seconds IS NOT NULL
            AND regexp_full_match(claims.video_id, '[A-Za-z0-9_-]{11}')
            AND regexp_matches(coalesce(videos.url, 'https://youtu.be/' || claims.video_id), '^https?://([a-z]+\.)?(youtube(-nocookie)?\.com|youtu\.be)/')
        THEN 'https://www.youtube.com/watch?v=' || claims.video_id || '&t=' || trunc(claims.start_seconds)::BIGINT || 's'
        ELSE videos.url
    END AS link,  -- Link to the second of the claim on YouTube; elsewhere to the video.
    claims.start_seconds,  -- Start of the claim, in seconds from the start of the video; null if it is not known.
    claims.end_seconds,  -- End of the claim, in seconds from the start of the video.
    claims.rank AS claim_rank,  -- 1 is the most important claim of the video.
    claims.importance,  -- Weight of the claim for the video's thesis, from 0 to 1.
    claims.category AS topic,  -- Field that the claim belongs to; null if its finder names none.
    judged.confidence_score,  -- Confidence of the verdict, from 0 to 1.
    judged.evidence_quality,  -- Quality of the evidence, from 0 to 1.
    judged.{column},  -- Sources that {sources}.
    judged.independent_origins,  -- Independent sources; copies of one story count once.
    judged.strategy,  -- Name of the strategy that checked the claim.
    judged.basis,  -- The reader of the pages: embedded or labels (an automatic leaning), or llm.
    judged.last_checked_at AS checked_at,  -- Time of the verdict's check (UTC).
    judged.latest_status,  -- Status of the newest attempt at a verdict: complete or incomplete.
    judged.latest_checked_at,  -- Time of the newest attempt (UTC).
    videos.corpus,  -- The corpus that lists the video.
    videos.category,  -- Category that the corpus gives the video.
    videos.tags,  -- Tags that the corpus gives the video.
    claims.video_id,  -- The video.
    claims.claim_id,  -- The claim.
    judged.run_id  -- The run that reached the verdict, or copied it when it checked other claims.
FROM current_claims AS claims
LEFT JOIN current_videos AS videos USING (video_id)
LEFT JOIN current_verdicts AS judged USING (claim_id, video_id)
ORDER BY claims.video_id, claims.start_seconds NULLS LAST, claims.rank;

-- A verdict rests on the evidence of its own run, else on the newest evidence at that time.
CREATE OR REPLACE VIEW evidence_of_runs AS  -- The run that gathered the evidence behind the verdicts of each run.
SELECT
    judged.video_id,  -- The video.
    judged.run_id AS verdict_run_id,  -- The run that judged.
    gathered.run_id AS evidence_run_id  -- The run whose evidence it judged.
FROM materializations AS judged
JOIN materializations AS gathered
    ON gathered.asset = 'evidence'
    AND gathered.video_id = judged.video_id
    AND (gathered.run_id = judged.run_id OR gathered.checked_at <= judged.checked_at)
WHERE judged.asset = 'verdicts'
QUALIFY row_number() OVER (
    PARTITION BY judged.video_id, judged.run_id
    ORDER BY gathered.run_id = judged.run_id DESC, gathered.checked_at DESC, gathered.run_id DESC
) = 1;

CREATE OR REPLACE VIEW verdict_evidence AS  -- The evidence that each current verdict rests on, also where a later re-check failed.
SELECT evidence.*
FROM evidence
JOIN evidence_of_runs AS used
    ON used.video_id = evidence.video_id
    AND used.evidence_run_id = evidence.run_id
JOIN current_verdicts
    ON current_verdicts.video_id = evidence.video_id
    AND current_verdicts.claim_id = evidence.claim_id
    AND current_verdicts.run_id = used.verdict_run_id;

CREATE OR REPLACE VIEW current_page_texts AS  -- The texts that the newest evidence of each video was sought in, and those that its verdicts rest on: one row per text and video. Where a page was missing, the text is the snippet of its search (via in evidence).
SELECT
    page_texts.*,
    read_for.video_id  -- The video for whose claims the text was read.
FROM page_texts
JOIN (
    SELECT content_hash, video_id FROM current_pages
    UNION
    -- If a page is missing, its snippet may be the text; a snippet belongs to no page.
    SELECT content_hash, video_id FROM current_evidence
    UNION
    SELECT content_hash, video_id FROM verdict_evidence
) AS read_for USING (content_hash);

CREATE OR REPLACE VIEW evidence_chain AS  -- From claim to quote to page to rating: one row per piece of evidence behind a current verdict, and one per finding about a picture of the video that concerns the claim (class image; only the strategy agentic uses it for verdicts).
SELECT
    claims.video_id,  -- The video.
    videos.title AS video_title,  -- Title of the video.
    videos.channel,  -- The publisher of the video.
    claims.claim_id,  -- The claim.
    claims.text AS claim,  -- Wording of the claim.
    claims.start_seconds,  -- Start of the claim, in seconds from the start of the video.
    claims.importance,  -- Weight of the claim for the video's thesis, from 0 to 1.
    verdicts.status AS verdict_status,  -- Whether the verdict is complete or incomplete.
    verdict_of(verdicts.stance) AS verdict,  -- The verdict on the claim: {verdicts} or incomplete.
    verdicts.confidence AS verdict_confidence,  -- Confidence of the verdict: low, medium or high.
    verdicts.basis AS verdict_basis,  -- The reader of the pages: embedded or labels (an automatic leaning), or llm.
    verdicts.strategy,  -- Name of the strategy that checked the claim.
    -- A subquery, no join: it reads only the queries of the selected rows.
    (SELECT max(queries.text) FROM queries WHERE queries.query_id = evidence.query_id) AS query,  -- The search that found the page.
    evidence.evidence_id,  -- The piece of evidence.
    evidence.status AS evidence_status,  -- ok, no_evidence, infra_error or skipped.
    evidence.reason AS evidence_reason,  -- Reason, if the status is not ok.
    evidence.stance,  -- The stance of this page on the claim: {any stance}.
    evidence.stance_confidence,  -- Confidence of the stance, from 0 to 1.
    evidence.relevance,  -- Relevance of the page for the claim, from 0 to 1.
    evidence.quote,  -- Words of the page, verbatim. Text from outside.
    evidence.quote_start,  -- Offset of the quote in the page's text, in code points from 0.
    evidence.quote_end,  -- Offset behind the quote in the page's text.
    evidence.summary,  -- Statement of the page on the claim.
    evidence.title AS page_title,  -- Title of the page. Text from outside.
    evidence.canonical_url AS url,  -- URL of the page, in its canonical form.
    pages.final_url,  -- URL that answered, after redirects.
    evidence.domain,  -- Registrable domain of the page.
    evidence.via,  -- Origin of the page's text: scraped, browser, pdf, archive or snippet.
    evidence.published_on,  -- Day of publication of the page.
    evidence.published_on > videos.published_on AS is_later,  -- Whether the page was published after the video; null where a day is not known.
    pages.retrieved_at,  -- Time of the retrieval (UTC).
    evidence.content_hash,  -- The text that was read: key into page_texts.
    evidence.rating,  -- The rating that counted: high, medium, low, very_low or unknown.
    evidence.rating_score,  -- The rating that counted, from 0 to 1.
    evidence.source_class,  -- The class of the publisher; image: an earlier appearance of a picture in the video.
    evidence.bias,  -- Political leaning of the source, in the words of the dataset that states one.
    evidence.origin,  -- Sources with one origin repeat the same story.
    ratings.reasons AS rating_reasons,  -- Reasons of the current rating of the domain.
    ratings.datasets AS rating_datasets,  -- The rating datasets that list the domain today.
    evidence.run_id AS evidence_run_id,  -- The run that gathered the evidence.
    verdicts.run_id AS verdict_run_id,  -- The run that reached the verdict, or copied it when it checked other claims.
    verdicts.last_checked_at AS checked_at  -- Time of the verdict's check (UTC).
FROM verdict_evidence AS evidence
JOIN current_claims AS claims USING (claim_id, video_id)
JOIN current_verdicts AS verdicts USING (claim_id, video_id)
LEFT JOIN current_videos AS videos USING (video_id)
LEFT JOIN pages
    ON pages.page_id = evidence.page_id
    AND pages.video_id = evidence.video_id
    AND pages.run_id = evidence.run_id
LEFT JOIN current_reliability_ratings AS ratings
    ON ratings.domain = evidence.domain AND ratings.video_id = evidence.video_id
UNION ALL BY NAME
-- Earlier appearances of pictures in the video have the class image. Only the strategy agentic uses them for verdicts.
SELECT
    claims.video_id,
    videos.title AS video_title,
    videos.channel,
    claims.claim_id,
    claims.text AS claim,
    claims.start_seconds,
    claims.importance,
    media.finding_id AS evidence_id,
    media.status AS evidence_status,
    media.reason AS summary,
    media.title AS page_title,
    media.url,
    media.provider AS via,
    media.published_on,
    media.published_on > videos.published_on AS is_later,
    'image' AS source_class,
    media.run_id AS evidence_run_id,
    media.checked_at
FROM current_media AS media
JOIN current_claims AS claims USING (claim_id, video_id)
LEFT JOIN current_videos AS videos USING (video_id);

CREATE OR REPLACE VIEW source_scoreboard AS  -- The sources behind verdicts: one row per domain, over the evidence that current verdicts rest on.
-- The rows of current_verdicts without its additions, which saves a sort and a join of all rows.
WITH reached AS (
    SELECT video_id, claim_id, unnest(arg_max(
        {'run_id': run_id, 'stance': stance},
        (status = 'complete', checked_at <= now() + INTERVAL 1 HOUR, checked_at, run_id)
    ))
    FROM verdict_history
    SEMI JOIN current_claims USING (video_id, claim_id)
    GROUP BY video_id, claim_id
),
judged AS (
    SELECT reached.video_id, reached.claim_id, reached.stance, used.evidence_run_id
    FROM reached
    JOIN evidence_of_runs AS used
        ON used.video_id = reached.video_id
        AND used.verdict_run_id = reached.run_id
),
-- Only evidence with the status ok has a stance. FILTER would take a tenth more time than CASE.
counted AS (
SELECT
    evidence.domain,  -- Registrable domain.
    arg_max({
        'rating': evidence.rating,  -- Newest rating: high, medium, low, very_low or unknown. If the pages of one check differ, the best of them.
        'rating_score': evidence.rating_score,  -- That rating, from 0 to 1.
        'source_class': evidence.source_class  -- The class of the publisher of the domain.
    }, (evidence.checked_at, evidence.rating_score)) AS newest,
    count(DISTINCT evidence.video_id) AS videos,  -- Videos in whose fact-check the domain appears.
    count(DISTINCT evidence.claim_id) AS claims,  -- Claims on which a page of the domain was sought or read.
    count(*) AS sources,  -- Pieces of evidence, with any status.
    count(evidence.stance) AS read,  -- Pages that were read and speak of the claim.
    count(CASE WHEN evidence.stance = '{name}' THEN 1 END) AS {column},  -- Pages that {sources}.
    count(CASE WHEN evidence.stance = judged.stance AND judged.stance <> 'unclear' THEN 1 END) AS agreeing,  -- Pages whose stance became the verdict (unclear ones not counted).
    count(CASE WHEN
        evidence.stance IN ('supports', 'refutes')
        AND judged.stance IN ('supports', 'refutes')
        AND evidence.stance <> judged.stance
    THEN 1 END) AS opposing,  -- Pages whose stance is the opposite of the verdict.
    count(CASE WHEN evidence.status = 'no_evidence' THEN 1 END) AS without_evidence,  -- Pages that had nothing to say, or nothing to read.
    count(CASE WHEN evidence.status = 'infra_error' THEN 1 END) AS failed,  -- Pages that could not be read because a service failed.
    sources - read - without_evidence - failed AS skipped,  -- Pages that a rule skipped.
    avg(CASE WHEN evidence.stance IS NOT NULL THEN evidence.relevance END) AS mean_relevance,  -- Mean relevance of the pages that were read, from 0 to 1.
    sum(evidence.rejected_quotes)::BIGINT AS rejected_quotes  -- Offered quotes that are not in the page.
FROM evidence
JOIN judged
    ON judged.video_id = evidence.video_id
    AND judged.claim_id = evidence.claim_id
    AND judged.evidence_run_id = evidence.run_id
GROUP BY evidence.domain
)
SELECT domain, unnest(newest), * EXCLUDE (domain, newest) FROM counted;

CREATE OR REPLACE VIEW failures AS  -- Failures in each video's newest check: questions that stayed open because a service failed. Failed model calls count even if a repetition succeeded.
SELECT
    video_id,  -- The video.
    'queries' AS asset,  -- The asset in which it broke.
    claim_id,  -- The claim, if it concerns one.
    query_id AS subject,  -- The object of the request: a query, a provider, a domain, a URL, a picture, a claim or a model.
    status AS outcome,  -- infra_error; ok where only a part is missing; incomplete for verdicts; for model calls also invalid, truncated or refused.
    reason,  -- The service that failed, and its error.
    run_id,  -- The run.
    checked_at  -- Time of that run's check (UTC).
FROM current_queries WHERE status = 'infra_error'
UNION ALL
SELECT video_id, 'search_hits', claim_id, provider || ' ' || query_id, status, reason, run_id, checked_at
-- An answer with a reason is partial: the reason names the missing part.
FROM current_searches WHERE status = 'infra_error' OR reason IS NOT NULL
UNION ALL
SELECT video_id, 'search_hits', claim_id, provider, status, reason, run_id, checked_at
FROM current_prior_fact_checks WHERE status = 'infra_error'
UNION ALL
SELECT video_id, 'reliability_ratings', NULL, domain, status, array_to_string(reasons, '; '), run_id, checked_at
FROM current_reliability_ratings WHERE status = 'infra_error'
UNION ALL
SELECT video_id, 'evidence', claim_id, canonical_url, status, reason, run_id, checked_at
FROM current_evidence WHERE status = 'infra_error' OR page_due
UNION ALL
SELECT video_id, 'media', claim_id, provider || ' ' || picture, status, reason, run_id, checked_at
FROM current_media WHERE status = 'infra_error'
UNION ALL
SELECT video_id, 'verdicts', claim_id, claim_id, status, reason, run_id, checked_at
FROM verdict_history
SEMI JOIN (FROM current_materializations WHERE asset = 'verdicts') USING (video_id, run_id)
WHERE status = 'incomplete'
UNION ALL
SELECT video_id, stage, claim_id, provider || ' ' || model, outcome, reason, run_id, checked_at
FROM current_llm_calls WHERE outcome <> 'ok' AND NOT cache_hit;

CREATE OR REPLACE VIEW verdict_changes AS  -- The changes of verdicts and of their confidence: one row per change between two consecutive complete verdicts.
WITH reached AS (
    SELECT
        video_id,
        claim_id,
        stance,
        confidence,
        confidence_score,
        basis,
        run_id,
        checked_at,
        lag(stance) OVER in_time AS previous_stance,
        lag(confidence) OVER in_time AS previous_confidence,
        lag(confidence_score) OVER in_time AS previous_confidence_score,
        lag(basis) OVER in_time AS previous_basis,
        recheck_due OR lag(recheck_due) OVER in_time AS is_open,
        lag(run_id) OVER in_time AS previous_run_id,
        lag(checked_at) OVER in_time AS previous_checked_at
    FROM verdict_history
    -- A run of some claims copies the verdicts on the others.
    ANTI JOIN carried_claims USING (video_id, run_id, claim_id)
    WHERE status = 'complete'
    WINDOW in_time AS (PARTITION BY video_id, claim_id ORDER BY checked_at, run_id)
)
SELECT
    reached.video_id,  -- The video.
    reached.claim_id,  -- The claim.
    (SELECT max(claims.text) FROM claims WHERE claims.claim_id = reached.claim_id) AS claim,  -- Wording of the claim.
    verdict_of(reached.previous_stance) AS previous_verdict,  -- The verdict before: {verdicts}.
    verdict_of(reached.stance) AS verdict,  -- The verdict after.
    reached.previous_stance,  -- The stance before, as stored: {any stance}.
    reached.stance,  -- The stance after, as stored.
    reached.previous_confidence,  -- The confidence before.
    reached.confidence,  -- The confidence after.
    reached.previous_checked_at,  -- Time of the previous verdict's check (UTC).
    reached.checked_at,  -- Time of the new verdict's check (UTC).
    reached.previous_run_id,  -- The run of the verdict before.
    reached.run_id,  -- The run of the verdict after.
    CASE WHEN reached.previous_stance <> reached.stance THEN 'flip' ELSE 'confidence' END AS change,  -- flip: the stance is another one. confidence: the stance is the same, and its confidence has another word or moved by .05 or more.
    reached.previous_confidence_score,  -- The confidence before, from 0 to 1.
    reached.confidence_score,  -- The confidence after, from 0 to 1.
    reached.confidence_score - reached.previous_confidence_score AS confidence_move,  -- The difference of the two scores, from -1 to 1.
    reached.previous_basis,  -- The earlier reader: embedded, labels or llm. Another reader alone may cause another verdict.
    reached.basis,  -- The later reader.
    videos.title AS video_title,  -- Title of the video.
    videos.channel  -- The publisher of the video.
FROM reached
LEFT JOIN current_videos AS videos USING (video_id)
WHERE reached.previous_stance <> reached.stance
    -- A confidence that is low because services failed has not moved.
    OR NOT reached.is_open AND (
        reached.previous_confidence <> reached.confidence
        -- Smaller moves within one word are the noise of rewordings and of one page more or less.
        OR abs(reached.confidence_score - reached.previous_confidence_score) >= 0.05
    );
