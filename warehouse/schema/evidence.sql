-- The pages that were read, and their stance on each claim.

CREATE TABLE page_texts (  -- The texts of pages. Each text is stored once, for all claims and videos.
    content_hash VARCHAR NOT NULL,  -- SHA-256 of the text, hexadecimal.
    text VARCHAR NOT NULL CHECK (length(text) >= 1),  -- The text, exactly as it was read. Text from outside.
    run_id VARCHAR NOT NULL,  -- The run that read the text first.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE trimmed_texts (  -- The page texts that retention removed because of their age. The evidence that was read in them stays, with its quotes, offsets and hashes.
    content_hash VARCHAR PRIMARY KEY,  -- SHA-256 of the text, hexadecimal.
    characters BIGINT NOT NULL CHECK (characters >= 1),  -- Length of the text, in code points.
    last_used_at TIMESTAMPTZ,  -- Time of the last check that read the text (UTC).
    trimmed_at TIMESTAMPTZ NOT NULL  -- Time of the removal (UTC).
);

CREATE TABLE pages (  -- The attempts to obtain pages: one row per page, video and run, with or without success.
    page_id VARCHAR NOT NULL,  -- Identifier derived from the canonical URL and the content.
    video_id VARCHAR NOT NULL,  -- The video whose claims the page was fetched for.
    canonical_url VARCHAR NOT NULL,  -- URL that was asked for, in its canonical form.
    final_url VARCHAR,  -- URL that answered, after redirects.
    domain VARCHAR NOT NULL,  -- Registrable domain.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok: there is text; no_evidence: the site answered and offers nothing to read; infra_error: the fetch failed; skipped: it was not tried.
    reason VARCHAR,  -- Reason, if the status is not ok.
    http_status BIGINT,  -- Status code of the site's answer.
    via VARCHAR CHECK (via IN ('scraped', 'browser', 'pdf', 'archive', 'snippet')),  -- Origin of the text: scraped, browser, pdf, archive or snippet.
    title VARCHAR,  -- Title that the page gives itself. Text from outside.
    author VARCHAR,  -- Author that the page names. Text from outside.
    published_on DATE,  -- Day of publication that the page states.
    content_hash VARCHAR,  -- The page's text: key into page_texts. Exactly the pages with status ok have one.
    byte_count BIGINT CHECK (byte_count >= 0),  -- Size of the answer in bytes.
    retrieved_at TIMESTAMPTZ NOT NULL,  -- Time of the retrieval (UTC).
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),  -- Duration of the retrieval, in seconds.
    etag VARCHAR,  -- The answer's ETag, with which to ask whether the page has changed.
    last_modified VARCHAR,  -- The answer's Last-Modified, with which to ask whether the page has changed.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of that run's check (UTC).
    CHECK ((status = 'ok') = (content_hash IS NOT NULL))
);

CREATE TABLE evidence (  -- The stance of a page on a claim, or the reason why it has none. A quote stands in the text of its page, between its offsets, character by character.
    evidence_id VARCHAR NOT NULL,  -- Identifier derived from the claim and the canonical URL; the same in every run.
    claim_id VARCHAR NOT NULL,  -- The claim.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    hit_id VARCHAR NOT NULL,  -- The search result that led to the page.
    query_id VARCHAR NOT NULL,  -- The query that found the page.
    canonical_url VARCHAR NOT NULL,  -- URL of the page, in its canonical form.
    domain VARCHAR NOT NULL,  -- Registrable domain of the page.
    title VARCHAR NOT NULL,  -- Title of the page. Text from outside.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok: the page was read and speaks of the claim; no_evidence: it has nothing to say; infra_error: a service failed; skipped: it was not read.
    reason VARCHAR,  -- Reason, if the status is not ok.
    stance VARCHAR CHECK (stance IN ({stances})),  -- The stance of the page on the claim: {any stance}. Exactly the evidence with status ok has one.
    stance_confidence DOUBLE CHECK (stance_confidence BETWEEN 0 AND 1),  -- Confidence of the stance, from 0 to 1.
    relevance DOUBLE CHECK (relevance BETWEEN 0 AND 1),  -- Relevance of the page for the claim, from 0 to 1.
    quote VARCHAR,  -- Words of the page that state the stance, verbatim. Text from outside.
    quote_start BIGINT CHECK (quote_start >= 0),  -- Offset of the quote in the page's text, in code points from 0.
    quote_end BIGINT CHECK (quote_end >= 0),  -- Offset behind the quote in the page's text.
    summary VARCHAR,  -- Statement of the page on the claim, in one or two sentences.
    page_id VARCHAR,  -- The page that was read.
    content_hash VARCHAR,  -- The text that was read: key into page_texts.
    via VARCHAR CHECK (via IN ('scraped', 'browser', 'pdf', 'archive', 'snippet')),  -- Origin of the text: scraped, browser, pdf, archive or snippet.
    published_on DATE,  -- Day of publication of the page.
    rating VARCHAR NOT NULL CHECK (rating IN ('high', 'medium', 'low', 'very_low', 'unknown')),  -- Reliability of the source: high, medium, low, very_low or unknown.
    rating_score DOUBLE NOT NULL CHECK (rating_score BETWEEN 0 AND 1),  -- The rating as a number, from 0 to 1.
    bias VARCHAR,  -- Political leaning of the source, in the words of the dataset that states one.
    source_class VARCHAR NOT NULL CHECK (source_class IN (  -- The class of the publisher.
        'academic', 'government', 'news', 'encyclopedia', 'fact_checker', 'satire', 'social', 'blog',
        'shop', 'video', 'organisation', 'answer_engine', 'unknown'
    )),
    origin VARCHAR,  -- Sources with the same origin tell one and the same story, and count once.
    rejected_quotes BIGINT NOT NULL CHECK (rejected_quotes >= 0),  -- Quotes that were offered and stand nowhere in the page.
    basis VARCHAR CHECK (basis IN ('embedded', 'labels', 'llm')),  -- The reader of the page: embedded (rules or an entailment model), labels (label probabilities of a small language model) or llm (a large language model).
    page_due BOOLEAN NOT NULL DEFAULT false,  -- Whether a service failed to fetch the page: only its search snippet was read, and the next re-check fetches the page.
    machine_stance VARCHAR,  -- The stance of the reader, if a reviewer overruled it: stance is then the reviewer's, and reason has their name and grounds.
    machine_rating VARCHAR,  -- The rating before a reviewer overruled it: rating is then the reviewer's, and reason has their name and grounds.
    ground VARCHAR,  -- Why the page takes its side: it states the claim (assertion), denies it (denial), gives another figure (number) or name (name), answers the claim as a question (answer) or rates it (rating); or a model says so: inference (an entailment model) or label (a small language model).
    reused_claim_id VARCHAR,  -- The same claim of another video, for whose check the page was read; null: it was read for this claim.
    reused_from VARCHAR,  -- That check in a sentence: its video, its day, and the decision of a reviewer.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of that run's check (UTC).
    CHECK ((status = 'ok') = (stance IS NOT NULL)),
    CHECK (status = 'ok' OR reason IS NOT NULL),
    CHECK ((quote IS NULL) = (quote_start IS NULL)),
    CHECK ((quote IS NULL) = (quote_end IS NULL))
);
