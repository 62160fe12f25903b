-- Views for analysts. Names and columns are stable, so that saved queries keep working.

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
    verdicts.stance AS verdict_stance,
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
COMMENT ON COLUMN evidence_chain.verdict_stance IS 'How the evidence as a whole stands to the claim.';
COMMENT ON COLUMN evidence_chain.verdict_confidence IS 'How sure the verdict is: low, medium or high.';
COMMENT ON COLUMN evidence_chain.verdict_basis IS 'The reader of the pages: embedded or labels (an automatic leaning), or llm.';
COMMENT ON COLUMN evidence_chain.strategy IS 'How the claim was checked.';
COMMENT ON COLUMN evidence_chain.query IS 'The search that found the page.';
COMMENT ON COLUMN evidence_chain.evidence_id IS 'The piece of evidence.';
COMMENT ON COLUMN evidence_chain.evidence_status IS 'ok, no_evidence, infra_error or skipped.';
COMMENT ON COLUMN evidence_chain.evidence_reason IS 'Why the status is not ok.';
COMMENT ON COLUMN evidence_chain.stance IS 'How this page stands to the claim.';
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

CREATE OR REPLACE VIEW claims_timeline AS
SELECT
    claims.video_id,
    videos.title AS video_title,
    videos.channel,
    videos.url AS video_url,
    claims.start_seconds,
    claims.end_seconds,
    claims.claim_id,
    claims.rank AS claim_rank,
    claims.text AS claim,
    claims.importance,
    verdicts.status AS verdict_status,
    verdicts.stance,
    verdicts.confidence,
    verdicts.confidence_score,
    verdicts.evidence_quality,
    verdicts.basis,
    verdicts.summary,
    verdicts.checked_at,
    verdicts.latest_status,
    verdicts.latest_checked_at,
    videos.corpus,
    videos.category,
    videos.tags,
    claims.speaker
FROM current_claims AS claims
LEFT JOIN current_videos AS videos
    ON videos.video_id = claims.video_id
LEFT JOIN current_verdicts AS verdicts
    ON verdicts.claim_id = claims.claim_id AND verdicts.video_id = claims.video_id
ORDER BY claims.video_id, claims.start_seconds NULLS LAST, claims.rank;
COMMENT ON VIEW claims_timeline IS 'The current claims in the order in which a video makes them, each with its current verdict, if it has one.';
COMMENT ON COLUMN claims_timeline.video_id IS 'The video.';
COMMENT ON COLUMN claims_timeline.video_title IS 'Title of the video.';
COMMENT ON COLUMN claims_timeline.channel IS 'The publisher of the video.';
COMMENT ON COLUMN claims_timeline.video_url IS 'Where the video can be watched.';
COMMENT ON COLUMN claims_timeline.start_seconds IS 'When the claim begins, in seconds from the start of the video; null if it is not known.';
COMMENT ON COLUMN claims_timeline.end_seconds IS 'When the claim ends, in seconds from the start of the video.';
COMMENT ON COLUMN claims_timeline.claim_id IS 'The claim.';
COMMENT ON COLUMN claims_timeline.claim_rank IS '1 is the most important claim of the video.';
COMMENT ON COLUMN claims_timeline.claim IS 'Wording of the claim.';
COMMENT ON COLUMN claims_timeline.importance IS 'How much the video''s thesis rests on the claim, from 0 to 1.';
COMMENT ON COLUMN claims_timeline.verdict_status IS 'complete or incomplete; null while the claim has no verdict.';
COMMENT ON COLUMN claims_timeline.stance IS 'How the evidence stands to the claim: supports, refutes, mixed or unclear.';
COMMENT ON COLUMN claims_timeline.confidence IS 'How sure the verdict is: low, medium or high.';
COMMENT ON COLUMN claims_timeline.confidence_score IS 'How sure the verdict is, from 0 to 1.';
COMMENT ON COLUMN claims_timeline.evidence_quality IS 'Quality of the evidence, from 0 to 1.';
COMMENT ON COLUMN claims_timeline.basis IS 'The reader of the pages: embedded or labels (an automatic leaning), or llm.';
COMMENT ON COLUMN claims_timeline.summary IS 'The verdict in words.';
COMMENT ON COLUMN claims_timeline.checked_at IS 'When the verdict''s run checked the video (UTC).';
COMMENT ON COLUMN claims_timeline.latest_status IS 'Status of the newest attempt at a verdict.';
COMMENT ON COLUMN claims_timeline.latest_checked_at IS 'When the newest attempt checked the video (UTC).';
COMMENT ON COLUMN claims_timeline.corpus IS 'The corpus that lists the video.';
COMMENT ON COLUMN claims_timeline.category IS 'Category that the corpus gives the video.';
COMMENT ON COLUMN claims_timeline.tags IS 'Tags that the corpus gives the video.';
COMMENT ON COLUMN claims_timeline.speaker IS 'The speaker, as the transcript or the corpus names or labels them; null if neither does.';

CREATE OR REPLACE VIEW claims_by_speaker AS
SELECT
    speaker,
    count(*) AS claims,
    count(DISTINCT video_id) AS videos,
    count(*) FILTER (stance = 'supports') AS supported,
    count(*) FILTER (stance = 'refutes') AS refuted,
    count(*) FILTER (stance = 'mixed') AS mixed,
    count(*) FILTER (stance = 'unclear') AS unclear,
    count(*) FILTER (stance IS NULL) AS open
FROM claims_timeline
WHERE speaker IS NOT NULL
GROUP BY speaker
ORDER BY claims DESC, speaker;
COMMENT ON VIEW claims_by_speaker IS 'The current claims of all videos, counted by the speaker that a transcript or a corpus names. A label such as SPEAKER_01 is another person in every video: claims_timeline has the speaker by video.';
COMMENT ON COLUMN claims_by_speaker.speaker IS 'The speaker, as named or labelled.';
COMMENT ON COLUMN claims_by_speaker.claims IS 'How many claims.';
COMMENT ON COLUMN claims_by_speaker.videos IS 'In how many videos.';
COMMENT ON COLUMN claims_by_speaker.supported IS 'Claims that the evidence supports.';
COMMENT ON COLUMN claims_by_speaker.refuted IS 'Claims that the evidence refutes.';
COMMENT ON COLUMN claims_by_speaker.mixed IS 'Claims with good evidence on both sides.';
COMMENT ON COLUMN claims_by_speaker.unclear IS 'Claims on which the evidence takes no clear side.';
COMMENT ON COLUMN claims_by_speaker.open IS 'Claims without a complete verdict.';

CREATE OR REPLACE VIEW source_scoreboard AS
-- The rows of current_verdicts without its additions, which saves a sort and a join of all rows.
WITH reached AS (
    SELECT video_id, claim_id, unnest(arg_max(
        {'run_id': run_id, 'stance': stance},
        (status = 'complete', checked_at <= now() + INTERVAL 1 HOUR, checked_at, run_id)
    ))
    FROM verdicts
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
FROM latest_verdicts WHERE status = 'incomplete'
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

CREATE OR REPLACE VIEW costs_by_stage AS
SELECT
    video_id,
    run_id,
    max(checked_at) AS checked_at,
    stage,
    provider,
    model,
    count(*) AS calls,
    count(*) FILTER (outcome <> 'ok') AS failed_calls,
    count(*) FILTER (cache_hit) AS cache_hits,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    sum(cost_usd) AS cost_usd,
    sum(latency_seconds) AS latency_seconds
FROM llm_calls
GROUP BY video_id, run_id, stage, provider, model;
COMMENT ON VIEW costs_by_stage IS 'Costs of language models: one row per video, run, stage and model, over all runs.';
COMMENT ON COLUMN costs_by_stage.video_id IS 'The video.';
COMMENT ON COLUMN costs_by_stage.run_id IS 'The run.';
COMMENT ON COLUMN costs_by_stage.checked_at IS 'When that run checked the video (UTC).';
COMMENT ON COLUMN costs_by_stage.stage IS 'The stage: claims, queries, evidence or verdicts.';
COMMENT ON COLUMN costs_by_stage.provider IS 'The provider of the model.';
COMMENT ON COLUMN costs_by_stage.model IS 'The model.';
COMMENT ON COLUMN costs_by_stage.calls IS 'Calls, repeated ones included.';
COMMENT ON COLUMN costs_by_stage.failed_calls IS 'Calls whose outcome was not ok.';
COMMENT ON COLUMN costs_by_stage.cache_hits IS 'Calls answered from the cache.';
COMMENT ON COLUMN costs_by_stage.input_tokens IS 'Tokens read.';
COMMENT ON COLUMN costs_by_stage.output_tokens IS 'Tokens written.';
COMMENT ON COLUMN costs_by_stage.cost_usd IS 'Cost in US dollars.';
COMMENT ON COLUMN costs_by_stage.latency_seconds IS 'Seconds spent waiting for answers, summed over calls that may have run at once.';

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
    FROM verdicts
    WHERE status = 'complete'
    WINDOW in_time AS (PARTITION BY video_id, claim_id ORDER BY checked_at, run_id)
)
SELECT
    reached.video_id,
    reached.claim_id,
    (SELECT max(claims.text) FROM claims WHERE claims.claim_id = reached.claim_id) AS claim,
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
COMMENT ON COLUMN verdict_changes.previous_stance IS 'The stance before.';
COMMENT ON COLUMN verdict_changes.stance IS 'The stance after.';
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
