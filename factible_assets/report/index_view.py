"""The index of all checked videos as its reader meets it.

What belongs here: rows, counts and the choices of the filters. What does not: markup, filtering
itself (index.js), single reports (view.py).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from factible_assets.records import Confidence, Video
from factible_assets.report.claims import claim_anchor
from factible_assets.report.data import IndexData, IndexedClaim, IndexedVideo
from factible_assets.report.view import Count, count_outcomes
from factible_assets.report.words import (
    GLYPHS,
    INCOMPLETE,
    OUTCOME_WORDS,
    OUTCOMES,
    UNJUDGED,
    day,
    outcome_words,
)
from factible_assets.wording import clock

CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
_RANKS = ("", *reversed(CONFIDENCES))
_DIGITS = 4
_BASE = 64
_ZERO = "0"
_ANCHOR = 5
"""Characters of a claim's id that tell it from others of its video; report.js finds the rest."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A row of the table of videos. `href` is None where no report is written.

    `under` is what stands below the title, in words, the channel first.
    """

    number: int
    video: Video
    href: str | None
    under: tuple[str, ...]
    checked_at: datetime | None
    counts: tuple[Count, ...]
    claims: tuple[IndexedClaim, ...]
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
    """Everything that the template of the index prints; choices count claims or videos.

    `checked_at` is that of the newest check, timezone-aware.
    """

    rows: tuple[IndexRow, ...]
    counts: tuple[Count, ...]
    claim_count: int
    is_leaning: bool
    cost_usd: float
    checked_at: datetime | None
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
    every = [claim for row in rows for claim in row.claims]
    claims = [(outcome_of(claim), claim.basis) for claim in every]
    confidences = [claim.confidence for claim in every]
    return IndexView(
        rows=rows,
        counts=count_outcomes(claims),
        claim_count=len(claims),
        is_leaning=any(basis == "embedded" for _, basis in claims),
        cost_usd=sum(row.cost_usd for row in rows),
        checked_at=max((row.checked_at for row in rows if row.checked_at), default=None),
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


def outcome_of(claim: IndexedClaim) -> str:
    """Return how a claim ended."""
    return claim.stance or (INCOMPLETE if claim.is_judged else UNJUDGED)


def packed(view: IndexView) -> str:
    """Return all rows for index.js to show page by page: JSON, compressed, in base64.

    Packed, because the texts of 6,000 claims are most of a megabyte. Nothing in it is markup, and
    base64 has no character that could become some. Words stand once, and the claims are numbers of
    words, digit by digit: compression alone finds repeated letters, and half as much.
    """
    every = [word for row in view.rows for claim in row.claims for word in _words(claim)]
    words = [word for word, _ in Counter(every).most_common()]
    numbers = {word: number for number, word in enumerate(words)}
    said = [
        "".join(chr(ord(_ZERO) + numbers[word] // _BASE**digit % _BASE) for word in every)
        for digit in range(_DIGITS)
    ]
    videos = [
        (
            row.video.title,
            row.href,
            row.under,
            row.video.corpus or "",
            row.video.category or "",
            row.video.channel or "",
            row.checked_at.date().isoformat() if row.checked_at else "",
            row.changes,
            [
                (
                    None if claim.start_seconds is None else int(claim.start_seconds),
                    claim_anchor(claim.claim_id, number)[:_ANCHOR],
                    OUTCOMES.index(outcome_of(claim)),
                    int(claim.basis == "embedded"),
                    _RANKS.index(claim.confidence or ""),
                    claim.supporting,
                    claim.refuting,
                )
                for number, claim in enumerate(row.claims, 1)
            ],
        )
        for row in view.rows
    ]
    outcomes = [
        (name, OUTCOME_WORDS[name], outcome_words(name, "embedded"), GLYPHS[name])
        for name in OUTCOMES
    ]
    document = {"outcomes": outcomes, "confidences": _RANKS, "videos": videos}
    document |= {"words": words, "said": said}
    # Lone surrogates, which a transcript may hold, are no UTF-8.
    text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def _words(claim: IndexedClaim) -> list[str]:
    """Return the words of a claim, and the empty one at which it ends."""
    return [*claim.text.split(), ""]


def _row(number: int, item: IndexedVideo, href: str | None) -> IndexRow:
    video = item.video
    under = (
        video.channel,
        day(video.published_on) if video.published_on else None,
        clock(video.duration_seconds) if video.duration_seconds is not None else None,
        video.corpus,
        video.category,
        None if href else f"no report is written: factible report -- {video.video_id}",
    )
    return IndexRow(
        number=number,
        video=video,
        href=href,
        under=tuple(words for words in under if words),
        checked_at=item.checked_at,
        counts=count_outcomes([(outcome_of(claim), claim.basis) for claim in item.claims]),
        claims=item.claims,
        changes=item.changes,
        cost_usd=item.cost_usd,
    )


def _choices(values: Iterable[str | None]) -> tuple[Choice, ...]:
    found = Counter(value for value in values if value)
    return tuple(Choice(value, value, found[value]) for value in sorted(found, key=str.casefold))
