"""What fact-checkers have already published on a claim.

What belongs here: the question, which reviews are of the claim, their rows, and which of them are
read as evidence. What does not: who is asked (resources/search/providers.py), reading their pages
(evidence.py), verdicts (verdict.py).

A review is a pointer. Its rating is another's judgement and decides nothing. But its page is read
like any other, as a source of the class fact_checker, if the statement that it reviews shares most
words with the claim. Whether it speaks of the claim, and what it says of it, the reading tells: a
page on another statement is no evidence. A lane that fails or is late makes no verdict incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from factible_assets.config import SearchConfig
from factible_assets.records import Claim, PriorFactCheck, Query, Search, SearchHit, Status, Video
from factible_assets.stages.ids import hit_id, normalise_text, prior_fact_check_id
from factible_assets.stages.search import PUBLISHED, identity_of, is_the_video, merge_hits, unwanted
from factible_assets.stages.transcript import storable
from factible_assets.stages.urls import domain_of
from resources.search.base import FactCheckLane, SearchRequest
from resources.search.base import PriorFactCheck as FoundFactCheck

LIMIT = 10
"""Reviewed claims that are asked for; more are seldom about the claim."""
LEAST_SIMILARITY = 0.3
"""Below this a review is about something else that shares a word or two with the claim."""
SAME_STATEMENT = 0.5
"""Similarity from which the page of a review is read as evidence on the claim."""
_LONGEST_QUESTION = 400
_STEM = 5
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
"""Words; in scripts that write none apart, characters."""
_EMPTY_TEXT = """
    a about all also an and any are aren as at be been but by can couldn did didn do does doesn
    doing don for from get gets got had has hasn have haven he her his how if in into is isn it its
    just know like ll made make makes making many more most much no not of on one only or our out
    over per re s said say says she so some such t than that the their them then there these they
    this those to up us ve very was wasn we were weren what when which who why will with won would
    wouldn you your
"""
_EMPTY_WORDS = frozenset(_EMPTY_TEXT.split())


async def look_up(
    claim: Claim, video: Video, lane: FactCheckLane, config: SearchConfig
) -> tuple[PriorFactCheck, ...]:
    """Ask once what has been published on a claim; returns at least one row, the best first.

    A review is kept, or left out for a stated reason. Of several on one page the most similar
    stays. Never raises for an outage: it is a row.
    """
    since, language = config.published_after, config.language
    wanted = SearchRequest(question(claim), LIMIT, after=since, language=language)
    answer = await lane.prior_checks(wanted)
    own = {
        "claim_id": claim.claim_id,
        "video_id": claim.video_id,
        "provider": answer.provider,
        "latency_seconds": answer.latency_seconds,
    }

    def row(rank: int, status: Status, reason: str | None, **review: Any) -> PriorFactCheck:
        derived = prior_fact_check_id(claim.claim_id, review.get("canonical_url"))
        place = {"prior_fact_check_id": derived, "rank": rank, "status": status, "reason": reason}
        return PriorFactCheck.model_validate(own | place | review)

    if answer.outcome == "outage":
        return (row(1, "infra_error", answer.reason or f"{answer.provider} did not say why"),)
    found = [_review(claim, check) for check in answer.checks]
    found.sort(key=lambda each: -each["similarity"])
    # One review per page: of those with the same canonical URL the most similar.
    best: dict[str, dict[str, Any]] = {}
    for each in found:
        best.setdefault(each["canonical_url"], each)
    judged = [(each, _exclusion(each, video, config)) for each in best.values()]
    judged.sort(key=lambda pair: pair[1] is not None)
    return tuple(
        row(rank, "skipped" if reason else "ok", reason, **review)
        for rank, (review, reason) in enumerate(judged, start=1)
    ) or (row(1, "no_evidence", None),)


def with_reviews(
    queries: Sequence[Query],
    searches: Sequence[Search],
    hits: Sequence[SearchHit],
    checks: Sequence[PriorFactCheck],
) -> tuple[tuple[Search, ...], tuple[SearchHit, ...]]:
    """Put the pages of reviews of the claim among the results of its first query.

    A page that this query found itself is found by both.
    """
    under = next((each for each in queries if each.rank == 1 and each.status == "ok"), None)
    alike = [
        each
        for each in checks
        if each.status == "ok" and (each.similarity or 0.0) >= SAME_STATEMENT and each.url
    ]
    if under is None or not alike:
        return tuple(searches), tuple(hits)
    own: dict[str, Any] = {
        "query_id": under.query_id,
        "claim_id": under.claim_id,
        "video_id": under.video_id,
        "provider": PUBLISHED,
        "page": 1,
    }
    found = [
        SearchHit(
            **own,
            hit_id=hit_id(under.query_id, each.canonical_url or ""),
            rank=rank,
            title=each.title or each.url or "",
            url=each.url or "",
            canonical_url=each.canonical_url or "",
            domain=each.domain or "",
            snippet="",
            published_on=each.reviewed_on,
        )
        for rank, each in enumerate(alike, start=1)
    ]
    asked = Search(
        **own, hit_count=len(found), latency_seconds=alike[0].latency_seconds, status="ok"
    )
    others = [each for each in hits if each.query_id != under.query_id]
    mine = [each for each in hits if each.query_id == under.query_id]
    return (*searches, asked), (*merge_hits([*mine, *found]), *others)


def question(claim: Claim) -> str:
    """Return what the lane is asked about a claim: its words, once, on one line."""
    words = " ".join(claim.text.split()).rstrip(".!?…")
    if len(words) <= _LONGEST_QUESTION:
        return words
    return words[: _LONGEST_QUESTION + 1].rpartition(" ")[0] or words[:_LONGEST_QUESTION]


def similarity(one: str, other: str) -> float:
    """Return how much two statements have in common, from 0 to 1.

    Dice's coefficient of their content words, each cut to its beginning. Words, not meanings: a
    claim and its denial are alike, which is what a look-up wants.
    """
    first, second = content_words(one), content_words(other)
    return 2 * len(first & second) / (len(first) + len(second) or 1)


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that say something, each cut to its beginning."""
    words = _WORD.findall(normalise_text(text))
    return frozenset(word[:_STEM].rstrip("s") for word in words if word not in _EMPTY_WORDS)


def _review(claim: Claim, check: FoundFactCheck) -> dict[str, Any]:
    """Return the columns of a review; what is no web address is left out later, with its reason."""
    texts = {
        "publisher": check.publisher,
        "title": check.title,
        "claim_reviewed": check.claim,
        "claimant": check.claimant,
        "textual_rating": check.rating,
        "language": check.language,
    }
    url = storable(check.url)
    return {
        **{name: storable(text) or None for name, text in texts.items()},
        "domain": domain_of(url) or None,
        "url": url,
        "canonical_url": identity_of(url),
        "reviewed_on": check.reviewed_on,
        "claimed_on": check.claimed_on,
        "similarity": max(similarity(claim.text, text) for text in (check.claim, check.title)),
    }


def _exclusion(review: dict[str, Any], video: Video, config: SearchConfig) -> str | None:
    if not review["domain"]:
        return "It is no web address."
    if is_the_video(video, review["url"]):
        return "It is the video itself."
    limits = unwanted(review["canonical_url"], review["reviewed_on"], config)
    if limits is None and review["similarity"] < LEAST_SIMILARITY:
        return "It shares too few words with the claim to be about it."
    return limits
