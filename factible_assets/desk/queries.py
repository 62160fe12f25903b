"""What the pages of the desk ask the published copy: the queue, the search, what was said before.

What belongs here: what an address asks for, and the rows that answer it. What does not:
connections, markup.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import urlencode

from factible_assets.reasoners.embedded.text import is_stop_word
from factible_assets.report.data import ask
from factible_assets.stages.ids import claim_id
from resources.statements import statements

if TYPE_CHECKING:
    from warehouse.store import Warehouse

Row: TypeAlias = dict[str, Any]

_WRITTEN = statements("factible_assets.desk", "queries.sql")
_ASK = {name: sql.replace("{listed}", _WRITTEN["listed"]) for name, sql in _WRITTEN.items()}

TABS = {
    "incomplete": "Incomplete",
    "turned": "Turned",
    "uncertain": "Important and uncertain",
    "unreviewed": "Unreviewed",
    "mine": "Assigned to me",
    "all": "All claims",
}
SORTS = {
    "uncertainty": "important and uncertain first",
    "importance": "most important first",
    "confidence": "surest first",
    "turned": "last turned first",
    "newest": "last checked first",
    "oldest": "checked longest ago first",
    "video": "by video and time",
}
ROWS_OF_QUEUE, ROWS_FOUND = 40, 15
"""Rows of one page of the queue, and of each kind on one page of what was found."""

DOUBT = 0.35
"""From where a claim is important and uncertain: its importance times what its confidence leaves to
certainty, both from 0 to 1."""

ALIKE = 0.5
"""From which similarity two claims are shown as near-duplicates, of 1."""

_DAYS = 7
_LAST_PAGE = 100_000
_MOST_ALIKE = 8
_MOST_WORDS = 12
_STEM = 6
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One page of the queue. An address that names nothing known asks for what is usual."""

    tab: str = "incomplete"
    since: date = date.min
    corpus: str | None = None
    channel: str | None = None
    sort: str = "uncertainty"
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Read the query of an address."""
        tab, sort, page = (query.get(name, "") for name in ("tab", "sort", "page"))
        is_number = page.isascii() and page.isdecimal() and len(page) <= len(str(_LAST_PAGE))
        try:
            since = date.fromisoformat(query.get("since", ""))
        except ValueError:
            since = (datetime.now(UTC) - timedelta(days=_DAYS)).date()
        return cls(
            tab=tab if tab in TABS else "incomplete",
            since=since,
            corpus=query.get("corpus") or None,
            channel=query.get("channel") or None,
            sort=sort if sort in SORTS else "uncertainty",
            page=max(1, min(int(page), _LAST_PAGE)) if is_number else 1,
        )

    def address(self, **changes: object) -> str:
        """Return the address that asks for this, changed in some respect, from its first page."""
        given = asdict(self) | {"page": 1} | changes
        return f"/desk/queue?{urlencode({key: value for key, value in given.items() if value})}"


def read_queue(now: Warehouse, wanted: Wanted, me: str) -> Row:
    """Return a page of the queue as the reviewer of that name sees it.

    Beside the `rows` these are how many claims each tab has (`numbers`), `total` for the wanted
    one, on how many `pages`, and the `corpora` and `channels` that can be chosen.
    """
    names: dict[str, str] = {}
    for row in ask(now, "rewordings", _ASK):
        before, made = row["claim_id"], claim_id(row["video_id"], row["value"])
        names = {old: made if now == before else now for old, now in names.items()}
        names[before] = made
    filters: dict[str, Any] = {"since": wanted.since, "doubt": DOUBT, "me": me}
    filters |= {"corpus": wanted.corpus, "channel": wanted.channel}
    filters |= {"former": list(names), "now": list(names.values())}
    part = {"tab": wanted.tab, "sort": wanted.sort, "limit": ROWS_OF_QUEUE}
    rows = ask(now, "queue", _ASK, **filters, **part, offset=ROWS_OF_QUEUE * (wanted.page - 1))
    (counts,) = ask(now, "counts", _ASK, **filters)
    places = ask(now, "places", _ASK)
    total = counts[wanted.tab]
    return {
        "wanted": wanted,
        "rows": rows,
        "numbers": counts,
        "total": total,
        "pages": max(1, -(-total // ROWS_OF_QUEUE)),
        "corpora": sorted({row["corpus"] for row in places if row["corpus"]}),
        "channels": sorted({row["channel"] for row in places if row["channel"]}, key=str.casefold),
    }


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


def search(now: Warehouse, text: str, page: int) -> Row:
    """Return a page of what says most of the words of a text.

    These are the `rows` of each kind, best first, how many there are (`totals`), and on how many
    `pages` the longest list is.
    """
    words = sought(text)
    offset = ROWS_FOUND * (page - 1)
    rows = ask(now, "search", _ASK, words=words, limit=ROWS_FOUND, offset=offset) if words else []
    kinds = ("claim", "quote", "review")
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    totals = {kind: each[0]["total"] if each else 0 for kind, each in by_kind.items()}
    pages = max(1, -(-max(totals.values()) // ROWS_FOUND))
    return {"rows": by_kind, "totals": totals, "page": page, "pages": pages}


def said_before(now: Warehouse, video_id: str, claim_id: str) -> list[Row]:
    """Return the claims of other videos that say almost what one claim says, most alike first."""
    this = {"video_id": video_id, "claim_id": claim_id}
    return ask(now, "said_before", _ASK, **this, similarity=ALIKE, limit=_MOST_ALIKE)
