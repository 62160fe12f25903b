"""Rules over what was looked for: queries, searches and what they found, ratings.

What belongs here: the rules of the assets queries, search_hits and reliability_ratings. What does
not: other assets.
"""

from __future__ import annotations

from collections.abc import Iterator

from factible_assets.records import Query, Search, SearchHit
from factible_assets.stages import ids
from factible_assets.stages.integrity.judged_rows import (
    JudgedRows,
    Violation,
    missing,
    ranks_of,
    repeated,
    unlike,
)
from factible_assets.stages.urls import (
    UnusableUrlError,
    canonical_url,
    host_of,
    registrable_domain,
)


def query_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """A query's id follows from its claim and its wording, and is there once."""
    yield from repeated(rows.queries, lambda query: query.query_id, _query)
    for query in rows.queries:
        derived = ids.query_id(query.claim_id, query.text)
        yield from unlike(_query(query), "query_id", query.query_id, derived)


def every_claim_has_queries(rows: JudgedRows) -> Iterator[Violation]:
    """Queries belong to claims, count from 1, have words or a reason, and no claim lacks them."""
    for query in rows.queries:
        yield from missing(_query(query), "claim", query.claim_id, rows.claim_ids)
        if not (query.text.strip() if query.status == "ok" else query.reason):
            yield Violation(
                _query(query), f"its status is {query.status}, and its words are missing"
            )
    for claim in rows.claims:
        own = [query for query in rows.queries if query.claim_id == claim.claim_id]
        if not own:
            yield Violation(f"claim {claim.claim_id}", "it has neither a query nor a reason")
        yield from ranks_of(((_query(query), query.rank) for query in own), "a claim's queries")


def searches_belong_to_queries(rows: JudgedRows) -> Iterator[Violation]:
    """Each search is of a query that was written, is there once, and says why it failed."""
    known = {(query.query_id, query.claim_id) for query in rows.queries}
    yield from repeated(rows.searches, lambda row: (row.query_id, row.provider, row.page), _search)
    for search in rows.searches:
        yield from missing(_search(search), "query", (search.query_id, search.claim_id), known)
        if search.status == "infra_error" and not search.reason:
            yield Violation(_search(search), "it failed and does not say why")
        if (search.status == "ok") != (search.hit_count > 0):
            yield Violation(
                _search(search), f"its status is {search.status}, with {search.hit_count} results"
            )


def hits_are_identified(rows: JudgedRows) -> Iterator[Violation]:
    """A hit's id follows from its query and canonical URL, and that from its URL."""
    yield from repeated(rows.hits, lambda hit: hit.hit_id, _hit)
    for hit in rows.hits:
        derived = ids.hit_id(hit.query_id, hit.canonical_url)
        yield from unlike(_hit(hit), "hit_id", hit.hit_id, derived)
        try:
            canonical, domain = canonical_url(hit.url), registrable_domain(host_of(hit.url))
        except UnusableUrlError:
            canonical, domain = hit.url, ""
        yield from unlike(_hit(hit), "canonical_url", hit.canonical_url, canonical)
        yield from unlike(_hit(hit), "domain", hit.domain, domain)


def hits_belong_to_searches(rows: JudgedRows) -> Iterator[Violation]:
    """Each hit was found by a query of its claim, through a search that succeeded."""
    known = {(query.query_id, query.claim_id) for query in rows.queries}
    answered = {row.query_id for row in rows.searches if row.status == "ok"}
    for hit in rows.hits:
        if (hit.query_id, hit.claim_id) not in known:
            yield from missing(_hit(hit), "query", (hit.query_id, hit.claim_id), known)
        elif hit.query_id not in answered:
            yield Violation(_hit(hit), "no search of its query had results")


def fact_checks_belong_to_claims(rows: JudgedRows) -> Iterator[Violation]:
    """What fact-checkers have published is identified, and stands beside a claim."""
    yield from repeated(
        rows.prior_fact_checks,
        lambda row: row.prior_fact_check_id,
        lambda row: f"prior fact check {row.prior_fact_check_id}",
    )
    for row in rows.prior_fact_checks:
        name = f"prior fact check {row.prior_fact_check_id}"
        derived = ids.prior_fact_check_id(row.claim_id, row.canonical_url)
        yield from unlike(name, "prior_fact_check_id", row.prior_fact_check_id, derived)
        yield from missing(name, "claim", row.claim_id, rows.claim_ids)


def every_domain_is_rated_once(rows: JudgedRows) -> Iterator[Violation]:
    """Each domain that was found has one rating, which says why."""
    yield from repeated(
        rows.ratings, lambda rating: rating.domain, lambda rating: f"rating of {rating.domain}"
    )
    for rating in rows.ratings:
        if not any(reason.strip() for reason in rating.reasons):
            yield Violation(f"rating of {rating.domain}", "it gives no reason")
    rated = {rating.domain for rating in rows.ratings}
    claims = rows.claim_ids
    found = {hit.domain for hit in rows.hits if hit.domain and hit.claim_id in claims}
    for domain in sorted(found - rated):
        yield Violation(f"domain {domain}", "it was found and is not rated")


def _query(query: Query) -> str:
    return f"query {query.query_id}"


def _search(search: Search) -> str:
    return f"search of {search.query_id} with {search.provider}, page {search.page}"


def _hit(hit: SearchHit) -> str:
    return f"hit {hit.hit_id}"
