-- Search results, ratings of the sources, and published fact-checks.

CREATE TABLE searches (
    query_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    page BIGINT NOT NULL CHECK (page >= 1),
    hit_count BIGINT NOT NULL CHECK (hit_count >= 0),
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE searches IS 'The questions put to search providers, one row per query, provider and page of results, and how each ended.';
COMMENT ON COLUMN searches.query_id IS 'The query.';
COMMENT ON COLUMN searches.claim_id IS 'The claim that the query looks for evidence on.';
COMMENT ON COLUMN searches.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN searches.provider IS 'The search provider.';
COMMENT ON COLUMN searches.page IS 'Which page of results was asked for, from 1.';
COMMENT ON COLUMN searches.hit_count IS 'How many results came.';
COMMENT ON COLUMN searches.latency_seconds IS 'How long the provider took to answer, in seconds.';
COMMENT ON COLUMN searches.status IS 'ok; no_evidence: the provider answered and had no results; infra_error: it failed; skipped: it was not asked.';
COMMENT ON COLUMN searches.reason IS 'Why the status is not ok.';
COMMENT ON COLUMN searches.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN searches.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE search_hits (
    hit_id VARCHAR NOT NULL,
    query_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    page BIGINT NOT NULL CHECK (page >= 1),
    rank BIGINT NOT NULL CHECK (rank >= 1),
    title VARCHAR NOT NULL,
    url VARCHAR NOT NULL,
    canonical_url VARCHAR NOT NULL,
    domain VARCHAR NOT NULL,
    snippet VARCHAR NOT NULL,
    published_on DATE,
    citation_count BIGINT,
    journal VARCHAR,
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE search_hits IS 'The search results, before anything is fetched.';
COMMENT ON COLUMN search_hits.hit_id IS 'Identifier derived from the query and the canonical URL; the same in every run.';
COMMENT ON COLUMN search_hits.query_id IS 'The query that found it.';
COMMENT ON COLUMN search_hits.claim_id IS 'The claim that the query looks for evidence on.';
COMMENT ON COLUMN search_hits.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN search_hits.provider IS 'The search provider that found it.';
COMMENT ON COLUMN search_hits.page IS 'The page of results it stood on, from 1.';
COMMENT ON COLUMN search_hits.rank IS 'Position in the provider''s answer, counted over pages from 1.';
COMMENT ON COLUMN search_hits.title IS 'Title that the provider gives it. Text from outside.';
COMMENT ON COLUMN search_hits.url IS 'URL as the provider gave it.';
COMMENT ON COLUMN search_hits.canonical_url IS 'URL in its canonical form.';
COMMENT ON COLUMN search_hits.domain IS 'Registrable domain of the URL.';
COMMENT ON COLUMN search_hits.snippet IS 'Excerpt that the provider gives. Text from outside.';
COMMENT ON COLUMN search_hits.published_on IS 'Day of publication, if the provider states one.';
COMMENT ON COLUMN search_hits.citation_count IS 'How often the paper is cited, if the provider knows papers.';
COMMENT ON COLUMN search_hits.journal IS 'The journal of the paper, if the provider knows papers. Text from outside.';
COMMENT ON COLUMN search_hits.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN search_hits.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE reliability_ratings (
    video_id VARCHAR NOT NULL,
    domain VARCHAR NOT NULL,
    rating VARCHAR NOT NULL CHECK (rating IN ('high', 'medium', 'low', 'very_low', 'unknown')),
    score DOUBLE NOT NULL CHECK (score BETWEEN 0 AND 1),
    source_class VARCHAR NOT NULL CHECK (source_class IN (
        'academic', 'government', 'news', 'encyclopedia', 'fact_checker', 'satire', 'social', 'blog',
        'shop', 'video', 'organisation', 'answer_engine', 'unknown'
    )),
    bias VARCHAR,
    datasets VARCHAR[] NOT NULL,
    listed_as VARCHAR,
    reasons VARCHAR[] NOT NULL,
    domain_age_years DOUBLE CHECK (domain_age_years >= 0 AND isfinite(domain_age_years)),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE reliability_ratings IS 'How reliable the domains found for a video are held to be, and why.';
COMMENT ON COLUMN reliability_ratings.video_id IS 'The video whose searches found the domain.';
COMMENT ON COLUMN reliability_ratings.domain IS 'Registrable domain.';
COMMENT ON COLUMN reliability_ratings.rating IS 'high, medium, low, very_low or unknown.';
COMMENT ON COLUMN reliability_ratings.score IS 'The rating as a number, from 0 to 1.';
COMMENT ON COLUMN reliability_ratings.source_class IS 'The class of the publisher of the domain.';
COMMENT ON COLUMN reliability_ratings.bias IS 'Political leaning, in the words of the dataset that states one.';
COMMENT ON COLUMN reliability_ratings.datasets IS 'The rating datasets that list the domain.';
COMMENT ON COLUMN reliability_ratings.listed_as IS 'The listed domain that decided, if it is a parent.';
COMMENT ON COLUMN reliability_ratings.reasons IS 'The reasons for the rating.';
COMMENT ON COLUMN reliability_ratings.domain_age_years IS 'Years since the domain was registered.';
COMMENT ON COLUMN reliability_ratings.status IS 'ok, or infra_error where the domain''s age could not be had because a service failed.';
COMMENT ON COLUMN reliability_ratings.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN reliability_ratings.checked_at IS 'When that run checked the video (UTC).';

CREATE TABLE prior_fact_checks (
    prior_fact_check_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    rank BIGINT NOT NULL CHECK (rank >= 1),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),
    reason VARCHAR,
    publisher VARCHAR,
    domain VARCHAR,
    url VARCHAR,
    canonical_url VARCHAR,
    title VARCHAR,
    claim_reviewed VARCHAR,
    claimant VARCHAR,
    textual_rating VARCHAR,
    reviewed_on DATE,
    claimed_on DATE,
    language VARCHAR,
    similarity DOUBLE CHECK (similarity BETWEEN 0 AND 1),
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    CHECK ((url IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK ((canonical_url IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK ((similarity IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK (reason IS NOT NULL OR status IN ('ok', 'no_evidence'))
);
COMMENT ON TABLE prior_fact_checks IS 'Published fact-checks of statements like each claim. They are pointers for readers: no verdict uses them. A claim that was looked up has at least one row.';
COMMENT ON COLUMN prior_fact_checks.prior_fact_check_id IS 'Identifies the row by its claim and the review''s canonical URL.';
COMMENT ON COLUMN prior_fact_checks.claim_id IS 'The claim that was looked up.';
COMMENT ON COLUMN prior_fact_checks.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN prior_fact_checks.provider IS 'The service that was asked.';
COMMENT ON COLUMN prior_fact_checks.rank IS 'The most similar review of the claim is 1; those that were left out come last.';
COMMENT ON COLUMN prior_fact_checks.status IS 'ok: a review that belongs to the claim; skipped: one that was left out by a rule; no_evidence: nothing was found; infra_error: the service failed.';
COMMENT ON COLUMN prior_fact_checks.reason IS 'Why it was left out, or how the service failed.';
COMMENT ON COLUMN prior_fact_checks.publisher IS 'The reviewing organisation, by its own name.';
COMMENT ON COLUMN prior_fact_checks.domain IS 'The registrable domain of the review.';
COMMENT ON COLUMN prior_fact_checks.url IS 'The review, as the provider gave it.';
COMMENT ON COLUMN prior_fact_checks.canonical_url IS 'The identity of the review''s page.';
COMMENT ON COLUMN prior_fact_checks.title IS 'The title of the review.';
COMMENT ON COLUMN prior_fact_checks.claim_reviewed IS 'The claim that was reviewed, in the words of the review.';
COMMENT ON COLUMN prior_fact_checks.claimant IS 'The reported author of that claim.';
COMMENT ON COLUMN prior_fact_checks.textual_rating IS 'The publisher''s rating in its own words; scales differ.';
COMMENT ON COLUMN prior_fact_checks.reviewed_on IS 'The day of the review.';
COMMENT ON COLUMN prior_fact_checks.claimed_on IS 'The day on which the reviewed claim was made.';
COMMENT ON COLUMN prior_fact_checks.language IS 'The language of the review (BCP 47).';
COMMENT ON COLUMN prior_fact_checks.similarity IS 'How many content words the video''s claim shares with the reviewed one or its title, from 0 to 1.';
COMMENT ON COLUMN prior_fact_checks.latency_seconds IS 'How long the look-up took.';
COMMENT ON COLUMN prior_fact_checks.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN prior_fact_checks.checked_at IS 'When that run checked the video (UTC).';
