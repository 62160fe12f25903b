-- Search results, ratings of the sources, and published fact-checks.

CREATE TABLE searches (  -- The requests to search providers and their outcomes: one row per query, provider and page of results.
    query_id VARCHAR NOT NULL,  -- The query.
    claim_id VARCHAR NOT NULL,  -- The claim that the query looks for evidence on.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    provider VARCHAR NOT NULL,  -- The search provider.
    page BIGINT NOT NULL CHECK (page >= 1),  -- Number of the requested page of results, from 1.
    hit_count BIGINT NOT NULL CHECK (hit_count >= 0),  -- Number of results.
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),  -- Duration of the request, in seconds.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok; no_evidence: the provider answered and had no results; infra_error: it failed; skipped: it was not asked.
    reason VARCHAR,  -- Reason, if the status is not ok.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE search_hits (  -- The search results, before anything is fetched.
    hit_id VARCHAR NOT NULL,  -- Identifier derived from the query and the canonical URL; the same in every run.
    query_id VARCHAR NOT NULL,  -- The query that found it.
    claim_id VARCHAR NOT NULL,  -- The claim that the query looks for evidence on.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    provider VARCHAR NOT NULL,  -- The search provider that found it.
    page BIGINT NOT NULL CHECK (page >= 1),  -- The page of results it stood on, from 1.
    rank BIGINT NOT NULL CHECK (rank >= 1),  -- Position in the provider's answer, counted over pages from 1.
    title VARCHAR NOT NULL,  -- Title that the provider gives it. Text from outside.
    url VARCHAR NOT NULL,  -- URL as the provider gave it.
    canonical_url VARCHAR NOT NULL,  -- URL in its canonical form.
    domain VARCHAR NOT NULL,  -- Registrable domain of the URL.
    snippet VARCHAR NOT NULL,  -- Excerpt that the provider gives. Text from outside.
    published_on DATE,  -- Day of publication, if the provider states one.
    citation_count BIGINT,  -- Number of citations of the paper, if the provider knows papers.
    journal VARCHAR,  -- The journal of the paper, if the provider knows papers. Text from outside.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE reliability_ratings (  -- Reliability ratings of the domains found for a video, with reasons.
    video_id VARCHAR NOT NULL,  -- The video whose searches found the domain.
    domain VARCHAR NOT NULL,  -- Registrable domain.
    rating VARCHAR NOT NULL CHECK (rating IN ('high', 'medium', 'low', 'very_low', 'unknown')),  -- high, medium, low, very_low or unknown.
    score DOUBLE NOT NULL CHECK (score BETWEEN 0 AND 1),  -- The rating as a number, from 0 to 1.
    source_class VARCHAR NOT NULL CHECK (source_class IN (  -- The class of the publisher of the domain.
        'academic', 'government', 'news', 'encyclopedia', 'fact_checker', 'satire', 'social', 'blog',
        'shop', 'video', 'organisation', 'answer_engine', 'unknown'
    )),
    bias VARCHAR,  -- Political leaning, in the words of the dataset that states one.
    datasets VARCHAR[] NOT NULL,  -- The rating datasets that list the domain.
    listed_as VARCHAR,  -- The listed domain that decided, if it is a parent.
    reasons VARCHAR[] NOT NULL,  -- The reasons for the rating.
    domain_age_years DOUBLE CHECK (domain_age_years >= 0 AND isfinite(domain_age_years)),  -- Years since the domain was registered.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok, or infra_error if a service failed to tell the domain's age.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL  -- Time of that run's check (UTC).
);

CREATE TABLE prior_fact_checks (  -- Published fact-checks of statements like each claim, for readers; no verdict uses their ratings. A claim that was looked up has at least one row.
    prior_fact_check_id VARCHAR NOT NULL,  -- Identifies the row by its claim and the review's canonical URL.
    claim_id VARCHAR NOT NULL,  -- The claim that was looked up.
    video_id VARCHAR NOT NULL,  -- The video that makes the claim.
    provider VARCHAR NOT NULL,  -- The service that was asked.
    rank BIGINT NOT NULL CHECK (rank >= 1),  -- The most similar review of the claim is 1; those that were left out come last.
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'no_evidence', 'infra_error', 'skipped')),  -- ok: a review that belongs to the claim; skipped: one that was left out by a rule; no_evidence: nothing was found; infra_error: the service failed.
    reason VARCHAR,  -- Why it was left out, or how the service failed.
    publisher VARCHAR,  -- The reviewing organisation, by its own name.
    domain VARCHAR,  -- The registrable domain of the review.
    url VARCHAR,  -- The review, as the provider gave it.
    canonical_url VARCHAR,  -- The identity of the review's page.
    title VARCHAR,  -- The title of the review.
    claim_reviewed VARCHAR,  -- The claim that was reviewed, in the words of the review.
    claimant VARCHAR,  -- The reported author of that claim.
    textual_rating VARCHAR,  -- The publisher's rating in its own words; scales differ.
    reviewed_on DATE,  -- The day of the review.
    claimed_on DATE,  -- The day on which the reviewed claim was made.
    language VARCHAR,  -- The language of the review (BCP 47).
    similarity DOUBLE CHECK (similarity BETWEEN 0 AND 1),  -- Dice coefficient of the content words of the claim and of the reviewed claim or its title, from 0 to 1.
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),  -- Duration of the look-up.
    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
    checked_at TIMESTAMPTZ NOT NULL,  -- Time of that run's check (UTC).
    CHECK ((url IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK ((canonical_url IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK ((similarity IS NOT NULL) = (status IN ('ok', 'skipped'))),
    CHECK (reason IS NOT NULL OR status IN ('ok', 'no_evidence'))
);
