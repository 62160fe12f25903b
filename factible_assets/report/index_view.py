"""The index of all checked videos as its reader meets it.

What belongs here: rows, counts and the choices of the filters. What does not: markup, filtering
itself (index.js), single reports (view.py).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from factible_assets.records import Confidence
from factible_assets.report.claims import claim_anchor
from factible_assets.report.data import IndexedVideo
from factible_assets.report.view import Count, count_outcomes
from factible_assets.report.words import GLYPHS, OUTCOME_WORDS, OUTCOMES, day, outcome_words
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
    of: IndexedVideo
    href: str | None
    under: tuple[str, ...]
    counts: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class IndexView:
    """Everything that the template of the index prints.

    `choices` has by filter each value, its words, and for how many claims or videos it holds.
    `checked_at` is that of the newest check, timezone-aware.
    """

    rows: tuple[IndexRow, ...]
    counts: tuple[Count, ...]
    claim_count: int
    is_leaning: bool
    cost_usd: float
    checked_at: datetime | None
    choices: Mapping[str, Sequence[tuple[str, str, int]]]


def arrange_index(videos: Sequence[IndexedVideo], hrefs: Mapping[str, str]) -> IndexView:
    """Arrange all videos; `hrefs` has the relative address of each report that is written."""
    rows = []
    for number, item in enumerate(videos, 1):
        video, href = item.video, hrefs.get(item.video.video_id)
        under = (
            video.channel,
            day(video.published_on) if video.published_on else None,
            clock(video.duration_seconds) if video.duration_seconds is not None else None,
            video.corpus,
            video.category,
            None if href else f"no report is written: factible report -- {video.video_id}",
        )
        counts = count_outcomes((claim.outcome, claim.basis) for claim in item.claims)
        rows.append(IndexRow(number, item, href, tuple(filter(None, under)), counts))
    claims = [claim for item in videos for claim in item.claims]
    found: dict[str, Counter[str]] = {
        "outcome": Counter(claim.outcome for claim in claims),
        "confidence": Counter(claim.confidence or "" for claim in claims),
        "corpus": Counter(item.video.corpus or "" for item in videos),
        "category": Counter(item.video.category or "" for item in videos),
        "channel": Counter(item.video.channel or "" for item in videos),
    }
    orders: dict[str, Sequence[str]] = {"outcome": OUTCOMES, "confidence": CONFIDENCES}
    return IndexView(
        rows=tuple(rows),
        counts=count_outcomes((claim.outcome, claim.basis) for claim in claims),
        claim_count=len(claims),
        is_leaning=any(claim.basis == "embedded" for claim in claims),
        cost_usd=sum(item.cost_usd for item in videos),
        checked_at=max((item.checked_at for item in videos if item.checked_at), default=None),
        choices={
            name: [
                (value, OUTCOME_WORDS[value] if name == "outcome" else value, numbers[value])
                for value in orders.get(name) or sorted(numbers, key=str.casefold)
                if value and numbers[value]
            ]
            for name, numbers in found.items()
        },
    )


def packed(view: IndexView) -> str:
    """Return all rows for index.js to show page by page: JSON, compressed, in base64.

    Packed, because the texts of 6,000 claims are most of a megabyte. Nothing in it is markup, and
    base64 has no character that could become some. Words stand once, and the claims are numbers of
    words, digit by digit: compression alone finds repeated letters, and half as much.
    """
    # A claim's words, and the empty one at which they end.
    every = [
        word for row in view.rows for claim in row.of.claims for word in (*claim.text.split(), "")
    ]
    words = [word for word, _ in Counter(every).most_common()]
    numbers = {word: number for number, word in enumerate(words)}
    said = [
        "".join(chr(ord(_ZERO) + numbers[word] // _BASE**digit % _BASE) for word in every)
        for digit in range(_DIGITS)
    ]
    videos = [
        (
            row.of.video.title,
            row.href,
            row.under,
            row.of.video.corpus or "",
            row.of.video.category or "",
            row.of.video.channel or "",
            row.of.checked_at.date().isoformat() if row.of.checked_at else "",
            row.of.changes,
            [
                (
                    None if claim.start_seconds is None else int(claim.start_seconds),
                    claim_anchor(claim.claim_id, number)[:_ANCHOR],
                    OUTCOMES.index(claim.outcome),
                    int(claim.basis == "embedded"),
                    _RANKS.index(claim.confidence or ""),
                    claim.supporting,
                    claim.refuting,
                )
                for number, claim in enumerate(row.of.claims, 1)
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
