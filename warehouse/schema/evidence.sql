-- The pages that were read, and their stance on each claim.

CREATE TABLE page_texts (
    content_hash VARCHAR NOT NULL,
    text VARCHAR NOT NULL CHECK (length(text) >= 1),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE page_texts IS 'The texts of pages. Each text is stored once, for all claims and videos.';
COMMENT ON COLUMN page_texts.content_hash IS 'SHA-256 of the text, hexadecimal.';
COMMENT ON COLUMN page_texts.text IS 'The text, exactly as it was read. Text from outside.';
COMMENT ON COLUMN page_texts.run_id IS 'The run that read the text first.';
COMMENT ON COLUMN page_texts.checked_at IS 'When that run checked its video (UTC).';

CREATE TABLE trimmed_texts (
    content_hash VARCHAR PRIMARY KEY,
    characters BIGINT NOT NULL CHECK (characters >= 1),
    last_used_at TIMESTAMPTZ,
    trimmed_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE trimmed_texts IS 'The page texts that retention removed because of their age. The evidence that was read in them stays, with its quotes, offsets and hashes.';
COMMENT ON COLUMN trimmed_texts.content_hash IS 'SHA-256 of the text, hexadecimal.';
COMMENT ON COLUMN trimmed_texts.characters IS 'How long the text was, in code points.';
COMMENT ON COLUMN trimmed_texts.last_used_at IS 'When a check last read the text (UTC).';
COMMENT ON COLUMN trimmed_texts.trimmed_at IS 'When the text was removed (UTC).';

CREATE TABLE pages (
    page_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    canonical_url VARCHAR NOT NULL,
    final_url VARCHAR,
    domain VARCHAR NOT NULL,
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    http_status BIGINT,
    via VARCHAR CHECK (via IN ('scraped', 'browser', 'pdf', 'archive', 'snippet')),
    title VARCHAR,
    author VARCHAR,
    published_on DATE,
    content_hash VARCHAR,
    byte_count BIGINT CHECK (byte_count >= 0),
    retrieved_at TIMESTAMPTZ NOT NULL,
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    etag VARCHAR,
    last_modified VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    CHECK ((status = 'ok') = (content_hash IS NOT NULL))
);
COMMENT ON TABLE pages IS 'The attempts to obtain pages: one row per page, video and run, with or without success.';
COMMENT ON COLUMN pages.page_id IS 'Identifier derived from the canonical URL and the content.';
COMMENT ON COLUMN pages.video_id IS 'The video whose claims the page was fetched for.';
COMMENT ON COLUMN pages.canonical_url IS 'URL that was asked for, in its canonical form.';
COMMENT ON COLUMN pages.final_url IS 'URL that answered, after redirects.';
COMMENT ON COLUMN pages.domain IS 'Registrable domain.';
COMMENT ON COLUMN pages.status IS 'ok: there is text; no_evidence: the site answered and offers nothing to read; infra_error: the fetch failed; skipped: it was not tried.';
COMMENT ON COLUMN pages.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN pages.http_status IS 'Status code of the site''s answer.';
COMMENT ON COLUMN pages.via IS 'By which way the text was obtained: scraped, browser, pdf, archive or snippet.';
COMMENT ON COLUMN pages.title IS 'Title that the page gives itself. Text from outside.';
COMMENT ON COLUMN pages.author IS 'Author that the page names. Text from outside.';
COMMENT ON COLUMN pages.published_on IS 'Day of publication that the page states.';
COMMENT ON COLUMN pages.content_hash IS 'The page''s text: key into page_texts. Exactly the pages with status ok have one.';
COMMENT ON COLUMN pages.byte_count IS 'Size of the answer in bytes.';
COMMENT ON COLUMN pages.retrieved_at IS 'When the page was retrieved (UTC).';
COMMENT ON COLUMN pages.latency_seconds IS 'How long the retrieval took, in seconds.';
COMMENT ON COLUMN pages.etag IS 'The answer''s ETag, with which to ask whether the page has changed.';
COMMENT ON COLUMN pages.last_modified IS 'The answer''s Last-Modified, with which to ask whether the page has changed.';
COMMENT ON COLUMN pages.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN pages.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE evidence (
    evidence_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    hit_id VARCHAR NOT NULL,
    query_id VARCHAR NOT NULL,
    canonical_url VARCHAR NOT NULL,
    domain VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    stance VARCHAR CHECK (stance IN ('supports', 'refutes', 'mixed', 'unclear')),
    stance_confidence DOUBLE CHECK (stance_confidence BETWEEN 0 AND 1),
    relevance DOUBLE CHECK (relevance BETWEEN 0 AND 1),
    quote VARCHAR,
    quote_start BIGINT CHECK (quote_start >= 0),
    quote_end BIGINT CHECK (quote_end >= 0),
    summary VARCHAR,
    page_id VARCHAR,
    content_hash VARCHAR,
    via VARCHAR CHECK (via IN ('scraped', 'browser', 'pdf', 'archive', 'snippet')),
    published_on DATE,
    rating VARCHAR NOT NULL CHECK (rating IN ('high', 'medium', 'low', 'very_low', 'unknown')),
    rating_score DOUBLE NOT NULL CHECK (rating_score BETWEEN 0 AND 1),
    bias VARCHAR,
    source_class VARCHAR NOT NULL CHECK (source_class IN (
        'academic', 'government', 'news', 'encyclopedia', 'fact_checker', 'satire', 'social', 'blog',
        'shop', 'video', 'organisation', 'answer_engine', 'unknown'
    )),
    origin VARCHAR,
    rejected_quotes BIGINT NOT NULL CHECK (rejected_quotes >= 0),
    basis VARCHAR CHECK (basis IN ('embedded', 'labels', 'llm')),
    page_due BOOLEAN NOT NULL DEFAULT false,
    machine_stance VARCHAR,
    machine_rating VARCHAR,
    ground VARCHAR,
    reused_claim_id VARCHAR,
    reused_from VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    CHECK ((status = 'ok') = (stance IS NOT NULL)),
    CHECK (status = 'ok' OR reason IS NOT NULL),
    CHECK ((quote IS NULL) = (quote_start IS NULL)),
    CHECK ((quote IS NULL) = (quote_end IS NULL))
);
COMMENT ON TABLE evidence IS 'The stance of a page on a claim, or the reason why it has none. A quote stands in the text of its page, between its offsets, character by character.';
COMMENT ON COLUMN evidence.evidence_id IS 'Identifier derived from the claim and the canonical URL; the same in every run.';
COMMENT ON COLUMN evidence.claim_id IS 'The claim.';
COMMENT ON COLUMN evidence.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN evidence.hit_id IS 'The search result that led to the page.';
COMMENT ON COLUMN evidence.query_id IS 'The query that found the page.';
COMMENT ON COLUMN evidence.canonical_url IS 'URL of the page, in its canonical form.';
COMMENT ON COLUMN evidence.domain IS 'Registrable domain of the page.';
COMMENT ON COLUMN evidence.title IS 'Title of the page. Text from outside.';
COMMENT ON COLUMN evidence.status IS 'ok: the page was read and speaks of the claim; no_evidence: it has nothing to say; infra_error: a service failed; skipped: it was not read.';
COMMENT ON COLUMN evidence.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN evidence.stance IS 'How the page stands to the claim: supports, refutes, mixed or unclear. Exactly the evidence with status ok has one.';
COMMENT ON COLUMN evidence.stance_confidence IS 'How sure the stance is, from 0 to 1.';
COMMENT ON COLUMN evidence.relevance IS 'How much the page speaks of the claim, from 0 to 1.';
COMMENT ON COLUMN evidence.quote IS 'Words of the page that carry the stance, verbatim. Text from outside.';
COMMENT ON COLUMN evidence.quote_start IS 'Offset of the quote in the page''s text, in code points from 0.';
COMMENT ON COLUMN evidence.quote_end IS 'Offset behind the quote in the page''s text.';
COMMENT ON COLUMN evidence.summary IS 'Statement of the page on the claim, in one or two sentences.';
COMMENT ON COLUMN evidence.page_id IS 'The page that was read.';
COMMENT ON COLUMN evidence.content_hash IS 'The text that was read: key into page_texts.';
COMMENT ON COLUMN evidence.via IS 'By which way the text was obtained: scraped, browser, pdf, archive or snippet.';
COMMENT ON COLUMN evidence.published_on IS 'Day of publication of the page.';
COMMENT ON COLUMN evidence.rating IS 'How reliable the source is held to be: high, medium, low, very_low or unknown.';
COMMENT ON COLUMN evidence.rating_score IS 'The rating as a number, from 0 to 1.';
COMMENT ON COLUMN evidence.bias IS 'Political leaning of the source, in the words of the dataset that states one.';
COMMENT ON COLUMN evidence.source_class IS 'The class of the publisher.';
COMMENT ON COLUMN evidence.origin IS 'Sources with the same origin tell one and the same story, and count once.';
COMMENT ON COLUMN evidence.rejected_quotes IS 'Quotes that were offered and stand nowhere in the page.';
COMMENT ON COLUMN evidence.basis IS 'The reader of the page: embedded (rules or an entailment model), labels (label probabilities of a small language model) or llm (a large language model).';
COMMENT ON COLUMN evidence.page_due IS 'Whether a service failed to fetch the page: only its search snippet was read, and the next re-check fetches the page.';
COMMENT ON COLUMN evidence.machine_stance IS 'The stance as it was read, where a reviewer overruled it: then stance is theirs, and reason says whose and why.';
COMMENT ON COLUMN evidence.machine_rating IS 'The rating as it was, where a reviewer overruled it: then rating is theirs, and reason says whose and why.';
COMMENT ON COLUMN evidence.ground IS 'Why the page takes its side: it states the claim (assertion), denies it (denial), gives another figure (number) or name (name), answers the claim as a question (answer) or rates it (rating); or a model says so: inference (an entailment model) or label (a small language model).';
COMMENT ON COLUMN evidence.reused_claim_id IS 'The same claim of another video, for whose check the page was read; null: it was read for this claim.';
COMMENT ON COLUMN evidence.reused_from IS 'That check in a sentence: its video, its day, and the decision of a reviewer.';
COMMENT ON COLUMN evidence.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN evidence.checked_at IS 'When that run checked the video (UTC).';
