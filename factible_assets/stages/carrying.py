"""What a check of some of a video's claims takes over of the others, so that its sets are complete.

What belongs here: putting new rows and held ones together. What does not: checking (flow.py),
reading what is held (assets/claim_checks.py).

A set is everything that one run knows of one asset and one video. A run that checks one claim
alone therefore writes the rows of all others again, as they were: nothing of them changes but the
place of their verdicts in the order of all. Model calls are not taken over, for each was paid once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from factible_assets.records import Claim, Evidence, ReliabilityRating, SearchHit
from factible_assets.rows import VideoRows
from factible_assets.stages.flow import FlowResult
from factible_assets.stages.urls import UnusableUrlError, host_and_parents, host_of
from factible_assets.stages.verdict import ranked


class _OfAClaim(Protocol):
    @property
    def claim_id(self) -> str: ...


Row = TypeVar("Row", bound=_OfAClaim)


def with_others(
    result: FlowResult, held: VideoRows, claims: Sequence[Claim], others: frozenset[str]
) -> FlowResult:
    """Return the new rows with the held ones of the other claims.

    Args:
        result: The rows of the claims that were checked.
        held: The rows of the last check, of the assets that are written.
        claims: All claims of the video, in order.
        others: The ids of those that were not checked.
    """
    order = {claim.claim_id: place for place, claim in enumerate(claims)}

    def joined(new: Iterable[Row], old: Iterable[Row]) -> tuple[Row, ...]:
        rows = [*new, *(row for row in old if row.claim_id in others)]
        # Stable: the order inside a claim stays.
        return tuple(sorted(rows, key=lambda row: order[row.claim_id]))

    hits = joined(result.hits, held.hits)
    evidence = joined(result.evidence, held.evidence)
    wanted = {row.page_id for row in evidence}
    # The new answer of a page that did not change goes before the held one.
    by_id = {page.page_id: page for page in held.pages if page.page_id in wanted}
    by_id |= {page.page_id: page for page in result.pages}
    pages = tuple(sorted(by_id.values(), key=lambda page: (page.canonical_url, page.page_id)))
    texts = {text.content_hash: text for text in (*held.page_texts, *result.page_texts)}
    needed = {row.content_hash for row in evidence} | {page.content_hash for page in pages}
    return replace(
        result,
        queries=joined(result.queries, held.queries),
        searches=joined(result.searches, held.searches),
        hits=hits,
        prior_fact_checks=joined(result.prior_fact_checks, held.prior_fact_checks),
        ratings=_ratings(result.ratings, held.ratings, hits, evidence),
        pages=pages,
        page_texts=tuple(texts[each] for each in sorted(texts) if each in needed),
        evidence=evidence,
        verdicts=ranked(joined(result.verdicts, held.verdicts), claims),
        steps=joined(result.steps, held.steps),
    )


def _ratings(
    new: Iterable[ReliabilityRating],
    held: Iterable[ReliabilityRating],
    hits: Iterable[SearchHit],
    evidence: Iterable[Evidence],
) -> tuple[ReliabilityRating, ...]:
    """Join ratings by domain, new ones first in right, without those of domains no longer found."""
    names = {name for hit in hits for name in _names(hit)} | {row.domain for row in evidence}
    found = {rating.domain: rating for rating in held if rating.domain in names}
    found |= {rating.domain: rating for rating in new}
    return tuple(found[domain] for domain in sorted(found))


def _names(hit: SearchHit) -> tuple[str, ...]:
    try:
        return (*host_and_parents(host_of(hit.url)), hit.domain)
    except UnusableUrlError:
        return (hit.domain,)
