"""The index of all checked videos as its reader meets it.

What belongs here: rows, counts and the choices of the filters. What does not: markup, filtering
itself (index.js), single reports (view.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from factible_assets.records import Confidence, Video
from factible_assets.report.claims import claim_anchor
from factible_assets.report.data import IndexData, IndexedClaim, IndexedVideo
from factible_assets.report.view import Count, count_outcomes
from factible_assets.report.words import INCOMPLETE, OUTCOMES, UNJUDGED, outcome_words

CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
_CONFIDENCE_RANKS: dict[Confidence | None, int] = {"high": 3, "medium": 2, "low": 1}


@dataclass(frozen=True, slots=True)
class IndexClaim:
    """A row of the table of claims. `anchor` is its place in the report, `rank` its confidence."""

    claim: IndexedClaim
    anchor: str
    outcome: str
    words: str
    rank: int


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A row of the table of videos. `href` is None where no report is written."""

    number: int
    video: Video
    href: str | None
    checked_at: datetime | None
    counts: tuple[Count, ...]
    claims: tuple[IndexClaim, ...]
    changes: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a filter, and for how many rows it holds."""

    value: str
    words: str
    number: int


@dataclass(frozen=True, slots=True)
class IndexView:
    """Everything that the template of the index prints; choices count claims or videos."""

    rows: tuple[IndexRow, ...]
    counts: tuple[Count, ...]
    claim_count: int
    is_leaning: bool
    cost_usd: float
    outcomes: tuple[Choice, ...]
    confidences: tuple[Choice, ...]
    corpora: tuple[Choice, ...]
    categories: tuple[Choice, ...]
    channels: tuple[Choice, ...]


def arrange_index(data: IndexData, hrefs: Mapping[str, str]) -> IndexView:
    """Arrange all videos; `hrefs` has the relative address of each report that is written."""
    rows = tuple(
        _row(number, item, hrefs.get(item.video.video_id))
        for number, item in enumerate(data.videos, 1)
    )
    claims = [(each.outcome, each.claim.basis) for row in rows for each in row.claims]
    confidences = [each.claim.confidence for row in rows for each in row.claims]
    return IndexView(
        rows=rows,
        counts=count_outcomes(claims),
        claim_count=len(claims),
        is_leaning=any(basis == "embedded" for _, basis in claims),
        cost_usd=sum(row.cost_usd for row in rows),
        outcomes=tuple(
            Choice(outcome, outcome_words(outcome, None), number)
            for outcome in OUTCOMES
            if (number := sum(each == outcome for each, _ in claims))
        ),
        confidences=tuple(
            Choice(each, each, number)
            for each in CONFIDENCES
            if (number := confidences.count(each))
        ),
        corpora=_choices(row.video.corpus for row in rows),
        categories=_choices(row.video.category for row in rows),
        channels=_choices(row.video.channel for row in rows),
    )


def _row(number: int, item: IndexedVideo, href: str | None) -> IndexRow:
    claims = tuple(_claim(claim, n) for n, claim in enumerate(item.claims, 1))
    return IndexRow(
        number=number,
        video=item.video,
        href=href,
        checked_at=item.checked_at,
        counts=count_outcomes([(each.outcome, each.claim.basis) for each in claims]),
        claims=claims,
        changes=item.changes,
        cost_usd=item.cost_usd,
    )


def _claim(claim: IndexedClaim, number: int) -> IndexClaim:
    outcome = claim.stance or (INCOMPLETE if claim.is_judged else UNJUDGED)
    return IndexClaim(
        claim=claim,
        anchor=claim_anchor(claim.claim_id, number),
        outcome=outcome,
        words=outcome_words(outcome, claim.basis),
        rank=_CONFIDENCE_RANKS.get(claim.confidence, 0),
    )


def _choices(values: Iterable[str | None]) -> tuple[Choice, ...]:
    found: dict[str, int] = {}
    for value in values:
        if value:
            found[value] = found.get(value, 0) + 1
    return tuple(Choice(value, value, found[value]) for value in sorted(found, key=str.casefold))
