-- Views for analysts. Names and columns are stable, so that saved queries keep working.

-- Pages say that a claim is refuted; a row says that its evidence refutes it. DuckDB finds nothing for
-- an unknown word, also in an ENUM column, so each word has a column of its own name.
CREATE OR REPLACE MACRO verdict_of(stance) AS
    CASE stance WHEN 'supports' THEN 'supported' WHEN 'refutes' THEN 'refuted' ELSE coalesce(stance, 'incomplete') END;
COMMENT ON MACRO verdict_of IS 'The word of pages for the stance of a verdict: supported, refuted, mixed, unclear, or incomplete for none.';

CREATE OR REPLACE VIEW verdicts AS
SELECT
    claims.text AS claim,
    CASE WHEN judged.claim_id IS NULL THEN 'not judged yet' ELSE verdict_of(judged.stance) END AS verdict,
    judged.confidence,
    judged.summary,
    videos.title AS video_title,
    videos.channel,
    claims.speaker,
    videos.published_on,
    CASE
        WHEN claims.start_seconds IS NOT NULL
            AND regexp_full_match(claims.video_id, '[A-Za-z0-9_-]{11}')
            AND regexp_matches(coalesce(videos.url, 'https://youtu.be/' || claims.video_id), '^https?://([a-z]+\.)?(youtube(-nocookie)?\.com|youtu\.be)/')
        THEN 'https://www.youtube.com/watch?v=' || claims.video_id || '&t=' || trunc(claims.start_seconds)::BIGINT || 's'
        ELSE videos.url
    END AS link,
    claims.start_seconds,
    claims.end_seconds,
    claims.rank AS claim_rank,
    claims.importance,
    claims.category AS topic,
    judged.confidence_score,
    judged.evidence_quality,
    judged.supporting,
    judged.refuting,
    judged.mixed,
    judged.unclear,
    judged.independent_origins,
    judged.strategy,
    judged.basis,
    judged.checked_at,
    judged.latest_status,
    judged.latest_checked_at,
    videos.corpus,
    videos.category,
    videos.tags,
    claims.video_id,
    claims.claim_id,
    judged.run_id
FROM current_claims AS claims
LEFT JOIN current_videos AS videos
    ON videos.video_id = claims.video_id
LEFT JOIN current_verdicts AS judged
    ON judged.claim_id = claims.claim_id AND judged.video_id = claims.video_id
ORDER BY claims.video_id, claims.start_seconds NULLS LAST, claims.rank;
COMMENT ON VIEW verdicts IS 'Begin here: one row per current claim, in the order in which its video makes it, with the verdict that stands and who said it, when and where.';
COMMENT ON COLUMN verdicts.claim IS 'Wording of the claim.';
COMMENT ON COLUMN verdicts.verdict IS 'The word of the pages: supported, refuted, mixed, unclear, incomplete (services failed) or not judged yet.';
COMMENT ON COLUMN verdicts.confidence IS 'How sure the verdict is: low, medium or high; null if it is incomplete.';
COMMENT ON COLUMN verdicts.summary IS 'The verdict in words.';
COMMENT ON COLUMN verdicts.video_title IS 'Title of the video.';
COMMENT ON COLUMN verdicts.channel IS 'The publisher of the video.';
COMMENT ON COLUMN verdicts.speaker IS 'The speaker, as the transcript or the corpus names or labels them; null if neither does.';
COMMENT ON COLUMN verdicts.published_on IS 'Day on which the video was published.';
COMMENT ON COLUMN verdicts.link IS 'Link to the second of the claim on YouTube; elsewhere to the video.';
COMMENT ON COLUMN verdicts.start_seconds IS 'When the claim begins, in seconds from the start of the video; null if it is not known.';
COMMENT ON COLUMN verdicts.end_seconds IS 'When the claim ends, in seconds from the start of the video.';
COMMENT ON COLUMN verdicts.claim_rank IS '1 is the most important claim of the video.';
COMMENT ON COLUMN verdicts.importance IS 'How much the video''s thesis rests on the claim, from 0 to 1.';
COMMENT ON COLUMN verdicts.topic IS 'Field that the claim belongs to; null if its finder names none.';
COMMENT ON COLUMN verdicts.confidence_score IS 'How sure the verdict is, from 0 to 1.';
COMMENT ON COLUMN verdicts.evidence_quality IS 'Quality of the evidence, from 0 to 1.';
COMMENT ON COLUMN verdicts.supporting IS 'Sources that support the claim.';
COMMENT ON COLUMN verdicts.refuting IS 'Sources that refute the claim.';
COMMENT ON COLUMN verdicts.mixed IS 'Sources that do both.';
COMMENT ON COLUMN verdicts.unclear IS 'Sources that speak of the claim without deciding.';
COMMENT ON COLUMN verdicts.independent_origins IS 'Sources that tell stories of their own; copies of one story count once.';
COMMENT ON COLUMN verdicts.strategy IS 'How the claim was checked: the name of the strategy.';
COMMENT ON COLUMN verdicts.basis IS 'The reader of the pages: embedded or labels (an automatic leaning), or llm.';
COMMENT ON COLUMN verdicts.checked_at IS 'When the verdict''s run checked the video (UTC).';
COMMENT ON COLUMN verdicts.latest_status IS 'Status of the newest attempt at a verdict: complete or incomplete.';
COMMENT ON COLUMN verdicts.latest_checked_at IS 'When the newest attempt checked the video (UTC).';
COMMENT ON COLUMN verdicts.corpus IS 'The corpus that lists the video.';
COMMENT ON COLUMN verdicts.category IS 'Category that the corpus gives the video.';
COMMENT ON COLUMN verdicts.tags IS 'Tags that the corpus gives the video.';
COMMENT ON COLUMN verdicts.video_id IS 'The video.';
COMMENT ON COLUMN verdicts.claim_id IS 'The claim.';
COMMENT ON COLUMN verdicts.run_id IS 'The run that reached the verdict.';

-- A verdict rests on the evidence of its own run, else on the newest evidence at that time.
CREATE OR REPLACE VIEW evidence_of_runs AS
SELECT
    judged.video_id,
    judged.run_id AS verdict_run_id,
    gathered.run_id AS evidence_run_id
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
COMMENT ON VIEW evidence_of_runs IS 'Which run gathered the evidence that the verdicts of a run rest on.';
COMMENT ON COLUMN evidence_of_runs.video_id IS 'The video.';
COMMENT ON COLUMN evidence_of_runs.verdict_run_id IS 'The run that judged.';
COMMENT ON COLUMN evidence_of_runs.evidence_run_id IS 'The run whose evidence it judged.';

CREATE OR REPLACE VIEW verdict_evidence AS
SELECT evidence.*
FROM evidence
JOIN evidence_of_runs AS used
    ON used.video_id = evidence.video_id
    AND used.evidence_run_id = evidence.run_id
JOIN current_verdicts
    ON current_verdicts.video_id = evidence.video_id
    AND current_verdicts.claim_id = evidence.claim_id
    AND current_verdicts.run_id = used.verdict_run_id;
COMMENT ON VIEW verdict_evidence IS 'The evidence that each current verdict rests on, also where a later re-check failed.';

CREATE OR REPLACE VIEW current_page_texts AS
SELECT page_texts.*, read_for.video_id
FROM page_texts
JOIN (
    SELECT content_hash, video_id FROM current_pages
    UNION
    -- Of a page that is missing, the snippet may have been read, which belongs to no page.
    SELECT content_hash, video_id FROM current_evidence
    UNION
    SELECT content_hash, video_id FROM verdict_evidence
) AS read_for USING (content_hash);
COMMENT ON VIEW current_page_texts IS 'The texts that the newest evidence of each video was sought in, and those that its verdicts rest on: one row per text and video. Where a page was missing, the text is the snippet of its search (via in evidence).';
COMMENT ON COLUMN current_page_texts.video_id IS 'The video for whose claims the text was read.';

CREATE OR REPLACE VIEW evidence_chain AS
SELECT
    claims.video_id,
    videos.title AS video_title,
    videos.channel,
    claims.claim_id,
    claims.text AS claim,
    claims.start_seconds,
    claims.importance,
    verdicts.status AS verdict_status,
    verdict_of(verdicts.stance) AS verdict,
    verdicts.confidence AS verdict_confidence,
    verdicts.basis AS verdict_basis,
    verdicts.strategy,
    -- Not joined: of all queries there are, only those of the rows in question are looked at.
    (SELECT max(queries.text) FROM queries WHERE queries.query_id = evidence.query_id) AS query,
    evidence.evidence_id,
    evidence.status AS evidence_status,
    evidence.reason AS evidence_reason,
    evidence.stance,
    evidence.stance_confidence,
    evidence.relevance,
    evidence.quote,
    evidence.quote_start,
    evidence.quote_end,
    evidence.summary,
    evidence.title AS page_title,
    evidence.canonical_url AS url,
    pages.final_url,
    evidence.domain,
    evidence.via,
    evidence.published_on,
    evidence.published_on > videos.published_on AS is_later,
    pages.retrieved_at,
    evidence.content_hash,
    evidence.rating,
    evidence.rating_score,
    evidence.source_class,
    evidence.bias,
    evidence.origin,
    ratings.reasons AS rating_reasons,
    ratings.datasets AS rating_datasets,
    evidence.run_id AS evidence_run_id,
    verdicts.run_id AS verdict_run_id,
    verdicts.checked_at
FROM verdict_evidence AS evidence
JOIN current_claims AS claims
    ON claims.claim_id = evidence.claim_id AND claims.video_id = evidence.video_id
JOIN current_verdicts AS verdicts
    ON verdicts.claim_id = evidence.claim_id AND verdicts.video_id = evidence.video_id
LEFT JOIN current_videos AS videos
    ON videos.video_id = evidence.video_id
LEFT JOIN pages
    ON pages.page_id = evidence.page_id
    AND pages.video_id = evidence.video_id
    AND pages.run_id = evidence.run_id
LEFT JOIN current_reliability_ratings AS ratings
    ON ratings.domain = evidence.domain AND ratings.video_id = evidence.video_id
UNION ALL BY NAME
-- Earlier appearances of pictures in the video have the class image. No verdict uses them.
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
JOIN current_claims AS claims
    ON claims.claim_id = media.claim_id AND claims.video_id = media.video_id
LEFT JOIN current_videos AS videos
    ON videos.video_id = media.video_id;
COMMENT ON VIEW evidence_chain IS 'From claim to quote to page to rating: one row per piece of evidence that a current verdict rests on, and one per finding on a picture of the video that concerns the claim, of the class image, on which none rests.';
COMMENT ON COLUMN evidence_chain.video_id IS 'The video.';
COMMENT ON COLUMN evidence_chain.video_title IS 'Title of the video.';
COMMENT ON COLUMN evidence_chain.channel IS 'The publisher of the video.';
COMMENT ON COLUMN evidence_chain.claim_id IS 'The claim.';
COMMENT ON COLUMN evidence_chain.claim IS 'Wording of the claim.';
COMMENT ON COLUMN evidence_chain.start_seconds IS 'When the claim begins, in seconds from the start of the video.';
COMMENT ON COLUMN evidence_chain.importance IS 'How much the video''s thesis rests on the claim, from 0 to 1.';
COMMENT ON COLUMN evidence_chain.verdict_status IS 'Whether the verdict is complete or incomplete.';
COMMENT ON COLUMN evidence_chain.verdict IS 'The verdict on the claim: supported, refuted, mixed, unclear or incomplete.';
COMMENT ON COLUMN evidence_chain.verdict_confidence IS 'How sure the verdict is: low, medium or high.';
COMMENT ON COLUMN evidence_chain.verdict_basis IS 'The reader of the pages: embedded or labels (an automatic leaning), or llm.';
COMMENT ON COLUMN evidence_chain.strategy IS 'How the claim was checked.';
COMMENT ON COLUMN evidence_chain.query IS 'The search that found the page.';
COMMENT ON COLUMN evidence_chain.evidence_id IS 'The piece of evidence.';
COMMENT ON COLUMN evidence_chain.evidence_status IS 'ok, no_evidence, infra_error or skipped.';
COMMENT ON COLUMN evidence_chain.evidence_reason IS 'Why the status is not ok.';
COMMENT ON COLUMN evidence_chain.stance IS 'How this page stands to the claim: supports, refutes, mixed or unclear.';
COMMENT ON COLUMN evidence_chain.stance_confidence IS 'How sure the stance is, from 0 to 1.';
COMMENT ON COLUMN evidence_chain.relevance IS 'How much the page speaks of the claim, from 0 to 1.';
COMMENT ON COLUMN evidence_chain.quote IS 'Words of the page, verbatim. Text from outside.';
COMMENT ON COLUMN evidence_chain.quote_start IS 'Offset of the quote in the page''s text, in code points from 0.';
COMMENT ON COLUMN evidence_chain.quote_end IS 'Offset behind the quote in the page''s text.';
COMMENT ON COLUMN evidence_chain.summary IS 'Statement of the page on the claim.';
COMMENT ON COLUMN evidence_chain.page_title IS 'Title of the page. Text from outside.';
COMMENT ON COLUMN evidence_chain.url IS 'URL of the page, in its canonical form.';
COMMENT ON COLUMN evidence_chain.final_url IS 'URL that answered, after redirects.';
COMMENT ON COLUMN evidence_chain.domain IS 'Registrable domain of the page.';
COMMENT ON COLUMN evidence_chain.via IS 'By which way the page''s text was obtained.';
COMMENT ON COLUMN evidence_chain.published_on IS 'Day of publication of the page.';
COMMENT ON COLUMN evidence_chain.is_later IS 'Whether the page was published after the video; null where a day is not known.';
COMMENT ON COLUMN evidence_chain.retrieved_at IS 'When the page was retrieved (UTC).';
COMMENT ON COLUMN evidence_chain.content_hash IS 'The text that was read: key into page_texts.';
COMMENT ON COLUMN evidence_chain.rating IS 'The rating that counted: high, medium, low, very_low or unknown.';
COMMENT ON COLUMN evidence_chain.rating_score IS 'The rating that counted, from 0 to 1.';
COMMENT ON COLUMN evidence_chain.source_class IS 'The class of the publisher; image: an earlier appearance of a picture in the video.';
COMMENT ON COLUMN evidence_chain.bias IS 'Political leaning of the source, in the words of the dataset that states one.';
COMMENT ON COLUMN evidence_chain.origin IS 'Sources with the same origin tell one and the same story.';
COMMENT ON COLUMN evidence_chain.rating_reasons IS 'Why the domain is rated as it is now.';
COMMENT ON COLUMN evidence_chain.rating_datasets IS 'The rating datasets that list the domain now.';
COMMENT ON COLUMN evidence_chain.evidence_run_id IS 'The run that gathered the evidence.';
COMMENT ON COLUMN evidence_chain.verdict_run_id IS 'The run that reached the verdict.';
COMMENT ON COLUMN evidence_chain.checked_at IS 'When the run that reached the verdict checked the video (UTC).';

CREATE OR REPLACE VIEW source_scoreboard AS
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
)
-- Only evidence with the status ok has a stance. Counts are derived from each other, without FILTER,
-- which would take a tenth more time.
SELECT
    evidence.domain,
    arg_max(evidence.rating, evidence.checked_at) AS rating,
    arg_max(evidence.rating_score, evidence.checked_at) AS rating_score,
    arg_max(evidence.source_class, evidence.checked_at) AS source_class,
    count(DISTINCT evidence.video_id) AS videos,
    count(DISTINCT evidence.claim_id) AS claims,
    count(*) AS sources,
    count(evidence.stance) AS read,
    count(CASE WHEN evidence.stance = 'supports' THEN 1 END) AS supporting,
    count(CASE WHEN evidence.stance = 'refutes' THEN 1 END) AS refuting,
    count(CASE WHEN evidence.stance = 'mixed' THEN 1 END) AS mixed,
    read - supporting - refuting - mixed AS unclear,
    count(CASE WHEN evidence.stance = judged.stance AND judged.stance <> 'unclear' THEN 1 END) AS agreeing,
    count(CASE WHEN
        evidence.stance IN ('supports', 'refutes')
        AND judged.stance IN ('supports', 'refutes')
        AND evidence.stance <> judged.stance
    THEN 1 END) AS opposing,
    count(CASE WHEN evidence.status = 'no_evidence' THEN 1 END) AS without_evidence,
    count(CASE WHEN evidence.status = 'infra_error' THEN 1 END) AS failed,
    sources - read - without_evidence - failed AS skipped,
    avg(CASE WHEN evidence.stance IS NOT NULL THEN evidence.relevance END) AS mean_relevance,
    sum(evidence.rejected_quotes)::BIGINT AS rejected_quotes
FROM evidence
JOIN judged
    ON judged.video_id = evidence.video_id
    AND judged.claim_id = evidence.claim_id
    AND judged.evidence_run_id = evidence.run_id
GROUP BY evidence.domain;
COMMENT ON VIEW source_scoreboard IS 'Which sources decide: one row per domain, over the evidence that current verdicts rest on.';
COMMENT ON COLUMN source_scoreboard.domain IS 'Registrable domain.';
COMMENT ON COLUMN source_scoreboard.rating IS 'Newest rating: high, medium, low, very_low or unknown.';
COMMENT ON COLUMN source_scoreboard.rating_score IS 'Newest rating, from 0 to 1.';
COMMENT ON COLUMN source_scoreboard.source_class IS 'The class of the publisher of the domain.';
COMMENT ON COLUMN source_scoreboard.videos IS 'Videos in whose fact-check the domain appears.';
COMMENT ON COLUMN source_scoreboard.claims IS 'Claims on which a page of the domain was sought or read.';
COMMENT ON COLUMN source_scoreboard.sources IS 'Pieces of evidence, with any status.';
COMMENT ON COLUMN source_scoreboard.read IS 'Pages that were read and speak of the claim.';
COMMENT ON COLUMN source_scoreboard.supporting IS 'Pages that support their claim.';
COMMENT ON COLUMN source_scoreboard.refuting IS 'Pages that refute their claim.';
COMMENT ON COLUMN source_scoreboard.mixed IS 'Pages that do both.';
COMMENT ON COLUMN source_scoreboard.unclear IS 'Pages that speak of the claim without deciding.';
COMMENT ON COLUMN source_scoreboard.agreeing IS 'Pages whose stance became the verdict (unclear ones not counted).';
COMMENT ON COLUMN source_scoreboard.opposing IS 'Pages whose stance is the opposite of the verdict.';
COMMENT ON COLUMN source_scoreboard.without_evidence IS 'Pages that had nothing to say, or nothing to read.';
COMMENT ON COLUMN source_scoreboard.failed IS 'Pages that could not be read because a service failed.';
COMMENT ON COLUMN source_scoreboard.skipped IS 'Pages that were left unread by a rule.';
COMMENT ON COLUMN source_scoreboard.mean_relevance IS 'Mean relevance of the pages that were read, from 0 to 1.';
COMMENT ON COLUMN source_scoreboard.rejected_quotes IS 'Quotes that were offered and stand nowhere in the page.';

CREATE OR REPLACE VIEW failures AS
SELECT video_id, 'queries' AS asset, claim_id, query_id AS subject, status AS outcome, reason, run_id, checked_at
FROM current_queries WHERE status = 'infra_error'
UNION ALL
SELECT video_id, 'search_hits', claim_id, provider || ' ' || query_id, status, reason, run_id, checked_at
-- An answer with a reason is partial: the reason names the missing part.
FROM current_searches WHERE status = 'infra_error' OR reason IS NOT NULL
UNION ALL
SELECT video_id, 'reliability_ratings', NULL, domain, status, array_to_string(reasons, '; '), run_id, checked_at
FROM current_reliability_ratings WHERE status = 'infra_error'
UNION ALL
SELECT video_id, 'evidence', claim_id, canonical_url, status, reason, run_id, checked_at
FROM current_evidence WHERE status = 'infra_error' OR page_due
UNION ALL
SELECT video_id, 'verdicts', claim_id, claim_id, status, reason, run_id, checked_at
FROM verdict_history
SEMI JOIN current_materializations AS newest
    ON newest.asset = 'verdicts'
    AND newest.video_id = verdict_history.video_id
    AND newest.run_id = verdict_history.run_id
WHERE status = 'incomplete'
UNION ALL
SELECT video_id, stage, claim_id, provider || ' ' || model, outcome, reason, run_id, checked_at
FROM current_llm_calls WHERE outcome <> 'ok' AND NOT cache_hit;
COMMENT ON VIEW failures IS 'Failures in each video''s newest check: questions that stayed open because a service failed. Failed model calls count even if a repetition succeeded.';
COMMENT ON COLUMN failures.video_id IS 'The video.';
COMMENT ON COLUMN failures.asset IS 'The asset in which it broke.';
COMMENT ON COLUMN failures.claim_id IS 'The claim, if it concerns one.';
COMMENT ON COLUMN failures.subject IS 'The object of the request: a query, a provider, a domain, a URL, a claim or a model.';
COMMENT ON COLUMN failures.outcome IS 'infra_error; ok where only a part is missing; incomplete for verdicts; for model calls also invalid, truncated or refused.';
COMMENT ON COLUMN failures.reason IS 'Which service failed, and how.';
COMMENT ON COLUMN failures.run_id IS 'The run.';
COMMENT ON COLUMN failures.checked_at IS 'When that run checked the video (UTC).';

CREATE OR REPLACE VIEW verdict_changes AS
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
    WHERE status = 'complete'
    WINDOW in_time AS (PARTITION BY video_id, claim_id ORDER BY checked_at, run_id)
)
SELECT
    reached.video_id,
    reached.claim_id,
    (SELECT max(claims.text) FROM claims WHERE claims.claim_id = reached.claim_id) AS claim,
    verdict_of(reached.previous_stance) AS previous_verdict,
    verdict_of(reached.stance) AS verdict,
    reached.previous_stance,
    reached.stance,
    reached.previous_confidence,
    reached.confidence,
    reached.previous_checked_at,
    reached.checked_at,
    reached.previous_run_id,
    reached.run_id,
    CASE WHEN reached.previous_stance <> reached.stance THEN 'flip' ELSE 'confidence' END AS change,
    reached.previous_confidence_score,
    reached.confidence_score,
    reached.confidence_score - reached.previous_confidence_score AS confidence_move,
    reached.previous_basis,
    reached.basis,
    videos.title AS video_title,
    videos.channel
FROM reached
LEFT JOIN current_videos AS videos
    ON videos.video_id = reached.video_id
WHERE reached.previous_stance <> reached.stance
    -- A confidence that is low because services failed has not moved.
    OR NOT reached.is_open AND (
        reached.previous_confidence <> reached.confidence
        -- Smaller moves within one word are the noise of rewordings and of one page more or less.
        OR abs(reached.confidence_score - reached.previous_confidence_score) >= 0.05
    );
COMMENT ON VIEW verdict_changes IS 'The claims whose verdict turned, or whose confidence moved: one row per change between two complete verdicts that follow each other.';
COMMENT ON COLUMN verdict_changes.video_id IS 'The video.';
COMMENT ON COLUMN verdict_changes.claim_id IS 'The claim.';
COMMENT ON COLUMN verdict_changes.claim IS 'Wording of the claim.';
COMMENT ON COLUMN verdict_changes.previous_verdict IS 'The verdict before: supported, refuted, mixed or unclear.';
COMMENT ON COLUMN verdict_changes.verdict IS 'The verdict after.';
COMMENT ON COLUMN verdict_changes.previous_stance IS 'The stance before, as stored: supports, refutes, mixed or unclear.';
COMMENT ON COLUMN verdict_changes.stance IS 'The stance after, as stored.';
COMMENT ON COLUMN verdict_changes.previous_confidence IS 'The confidence before.';
COMMENT ON COLUMN verdict_changes.confidence IS 'The confidence after.';
COMMENT ON COLUMN verdict_changes.previous_checked_at IS 'When the run of the verdict before checked the video (UTC).';
COMMENT ON COLUMN verdict_changes.checked_at IS 'When the run of the verdict after checked the video (UTC).';
COMMENT ON COLUMN verdict_changes.previous_run_id IS 'The run of the verdict before.';
COMMENT ON COLUMN verdict_changes.run_id IS 'The run of the verdict after.';
COMMENT ON COLUMN verdict_changes.change IS 'flip: the stance is another one. confidence: the stance is the same, and its confidence has another word or moved by .05 or more.';
COMMENT ON COLUMN verdict_changes.previous_confidence_score IS 'The confidence before, from 0 to 1.';
COMMENT ON COLUMN verdict_changes.confidence_score IS 'The confidence after, from 0 to 1.';
COMMENT ON COLUMN verdict_changes.confidence_move IS 'The confidence after less the confidence before, from -1 to 1.';
COMMENT ON COLUMN verdict_changes.previous_basis IS 'The earlier reader: embedded or llm. Another reader alone may cause another verdict.';
COMMENT ON COLUMN verdict_changes.basis IS 'The later reader.';
COMMENT ON COLUMN verdict_changes.video_title IS 'Title of the video.';
COMMENT ON COLUMN verdict_changes.channel IS 'The publisher of the video.';
