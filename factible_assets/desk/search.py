"""Search: in claims, quotes and published fact-checks, and what other videos said before.

What belongs here: words that are sought, and the rows that have them. What does not: markup.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from factible_assets.desk.questions import Ask, Row
from factible_assets.reasoners.embedded.text import is_stop_word

Kind = Literal["claim", "quote", "review"]

ROWS = 15
"""Rows of each kind on one page."""

ALIKE = 0.5
"""From which similarity two claims are shown as near-duplicates, of 1."""

_MOST_ALIKE = 8
_MOST_WORDS = 12
_STEM = 6
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Found:
    """A page of what was found: the rows of each kind, best first, and how many there are."""

    rows: dict[Kind, list[Row]]
    totals: dict[Kind, int]
    page: int

    @property
    def pages(self) -> int:
        """How many pages the longest list has, at least one."""
        return max(1, -(-max(self.totals.values(), default=0) // ROWS))


def sought(text: str) -> list[str]:
    """Return the beginnings of the words that are sought, without marks, each once.

    Words that every text has are sought where there are no others.

    A word of more than six letters stands for all that begin as it does, so that "vaccines" finds
    "vaccination"; one with a digit for itself.
    """
    bare = unicodedata.normalize("NFKD", text.lower())
    words = _WORD.findall("".join(each for each in bare if not unicodedata.combining(each)))
    words = [word for word in words if not is_stop_word(word)] or words
    stems = (word if re.search(r"\d", word) else word[:_STEM] for word in words)
    return list(dict.fromkeys(stems))[:_MOST_WORDS]


def search(ask: Ask, text: str, page: int) -> Found:
    """Return what says most of the words of a text."""
    words = sought(text)
    offset = ROWS * (page - 1)
    rows = ask("search", words=words, limit=ROWS, offset=offset) if words else []
    kinds: tuple[Kind, ...] = ("claim", "quote", "review")
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    totals = {kind: each[0]["total"] if each else 0 for kind, each in by_kind.items()}
    return Found(by_kind, totals, page)


def said_before(ask: Ask, video_id: str, claim_id: str) -> list[Row]:
    """Return the claims of other videos that say almost what one claim says, most alike first."""
    return ask(
        "said_before", video_id=video_id, claim_id=claim_id, similarity=ALIKE, limit=_MOST_ALIKE
    )
