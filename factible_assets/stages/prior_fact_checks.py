"""Looks up published fact checks of a claim, and chooses those to read as evidence.

The rating of a fact check decides nothing; its page is read like any other. A failed or late
look-up makes no verdict incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from factible_assets.config import SearchConfig
from factible_assets.records.tables import Claim, PriorFactCheck, Status, Video
from factible_assets.stages.ids import normalise_text, prior_fact_check_id
from factible_assets.stages.search import identity_of, is_the_video, unwanted
from factible_assets.stages.transcript import storable
from factible_assets.stages.urls import domain_of
from resources.search.base import FactCheckLookup, FoundFactCheck, FoundHit, SearchRequest
from resources.words import SILENT_WORDS, SYLLABIC

LIMIT = 10
"""Reviews to ask for; more are seldom about the claim."""
LEAST_SIMILARITY = 0.3
"""Below this a review is about something else that shares a word or two with the claim."""
SAME_STATEMENT = 0.5
"""Similarity from which the page of a review may be evidence on the claim."""
_LONGEST_QUESTION = 400
_STEM = 5
_LETTER = rf"(?!{SYLLABIC.pattern})\w"
_WORD = re.compile(rf"{SYLLABIC.pattern}|(?:{_LETTER})+(?:['\u2019](?:{_LETTER})+)*")
"""Words; in scripts without spaces, characters."""


async def look_up(
    claim: Claim, video: Video, service: FactCheckLookup, config: SearchConfig
) -> tuple[PriorFactCheck, ...]:
    """Look up the published reviews of a claim; return at least one row, the best first.

    Of several reviews on one page the most similar stays. An outage is a row, not an exception.
    """
    since, language = config.published_after, config.language
    request = SearchRequest(question(claim), LIMIT, after=since, language=language)
    answer = await service.prior_checks(request)
    shared = {
        "claim_id": claim.claim_id,
        "video_id": claim.video_id,
        "provider": answer.provider,
        "latency_seconds": answer.latency_seconds,
    }

    def row(rank: int, status: Status, reason: str | None, **review: Any) -> PriorFactCheck:
        row_id = prior_fact_check_id(claim.claim_id, review.get("canonical_url"))
        result = {"prior_fact_check_id": row_id, "rank": rank, "status": status, "reason": reason}
        return PriorFactCheck.model_validate(shared | result | review)

    if answer.outcome == "outage":
        return (row(1, "infra_error", answer.reason or f"{answer.provider} did not say why"),)
    reviews = [_review(claim, check) for check in answer.checks]
    reviews.sort(key=lambda review: -review["similarity"])
    best: dict[str, dict[str, Any]] = {}
    for review in reviews:
        best.setdefault(review["canonical_url"], review)
    judged = [(review, _exclusion(review, video, config)) for review in best.values()]
    judged.sort(key=lambda pair: pair[1] is not None)
    return tuple(
        row(rank, "skipped" if reason else "ok", reason, **review)
        for rank, (review, reason) in enumerate(judged, start=1)
    ) or (row(1, "no_evidence", None),)


def pages_to_read(checks: Sequence[PriorFactCheck]) -> list[FoundHit]:
    """Return the pages of fact checks that share most words with the claim."""
    alike = [check for check in checks if (check.similarity or 0.0) >= SAME_STATEMENT]
    urls = [(check, check.url) for check in alike if check.status == "ok" and check.url]
    return [
        FoundHit(rank, check.title or url, url, published_on=check.reviewed_on)
        for rank, (check, url) in enumerate(urls, start=1)
    ]


def question(claim: Claim) -> str:
    """Return the question of the look-up: the claim's words on one line."""
    return shorten(claim.text.rstrip().rstrip(".!?…"), _LONGEST_QUESTION, placeholder="")


def similarity(first: str, second: str) -> float:
    """Return the similarity of two statements, from 0 to 1: Dice's coefficient of their words.

    It compares content words, not meanings: a claim and its denial are alike, as a look-up needs.
    """
    words, other_words = content_words(first), content_words(second)
    return 2 * len(words & other_words) / (len(words) + len(other_words) or 1)


def content_words(text: str) -> frozenset[str]:
    """Return the content words of a text, each cut to its first letters."""
    words = _WORD.findall(normalise_text(text))
    return frozenset(word[:_STEM].rstrip("s") for word in words if word not in SILENT_WORDS)


def _review(claim: Claim, check: FoundFactCheck) -> dict[str, Any]:
    """Return the columns of a review."""
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
