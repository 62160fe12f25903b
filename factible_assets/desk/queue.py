"""The queue: which claims need a person, in tabs, pages and orders that an address names.

What belongs here: what an address asks for, and the rows that answer it. What does not: markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, Self, cast, get_args
from urllib.parse import urlencode

from factible_assets.desk.questions import Ask, Row
from factible_assets.stages.ids import claim_id

Tab = Literal["incomplete", "turned", "uncertain", "unreviewed", "mine", "all"]
Sort = Literal["uncertainty", "importance", "confidence", "turned", "newest", "oldest", "video"]

TABS: dict[Tab, str] = {
    "incomplete": "Incomplete",
    "turned": "Turned",
    "uncertain": "Important and uncertain",
    "unreviewed": "Unreviewed",
    "mine": "Assigned to me",
    "all": "All claims",
}
SORTS: dict[Sort, str] = {
    "uncertainty": "important and uncertain first",
    "importance": "most important first",
    "confidence": "surest first",
    "turned": "last turned first",
    "newest": "last checked first",
    "oldest": "checked longest ago first",
    "video": "by video and time",
}
ROWS = 40
"""Rows of one page."""

DOUBT = 0.35
"""From where a claim is important and uncertain: its importance times what its confidence leaves to
certainty, both from 0 to 1."""

_DAYS = 7
_LAST_PAGE = 100_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """One page of the queue. An address that names nothing known asks for what is usual."""

    tab: Tab = "incomplete"
    since: date = date.min
    corpus: str | None = None
    channel: str | None = None
    sort: Sort = "uncertainty"
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Read the query of an address."""
        tab, sort, page = query.get("tab"), query.get("sort"), query.get("page", "1")
        is_number = page.isascii() and page.isdecimal() and len(page) <= len(str(_LAST_PAGE))
        try:
            since = date.fromisoformat(query.get("since", ""))
        except ValueError:
            since = (datetime.now(UTC) - timedelta(days=_DAYS)).date()
        return cls(
            tab=cast("Tab", tab) if tab in get_args(Tab) else "incomplete",
            since=since,
            corpus=query.get("corpus") or None,
            channel=query.get("channel") or None,
            sort=cast("Sort", sort) if sort in get_args(Sort) else "uncertainty",
            page=max(1, min(int(page), _LAST_PAGE)) if is_number else 1,
        )

    def address(self, **changes: object) -> str:
        """Return the address that asks for this, changed in some respect, from its first page."""
        given = asdict(self) | {"page": 1} | changes
        return f"/desk/queue?{urlencode({key: value for key, value in given.items() if value})}"


@dataclass(frozen=True, slots=True)
class Queue:
    """A page of the queue, how many claims each tab has, and what can be chosen."""

    wanted: Wanted
    rows: list[Row]
    numbers: dict[Tab, int]
    corpora: list[str]
    channels: list[str]

    @property
    def total(self) -> int:
        """How many claims the tab has."""
        return self.numbers[self.wanted.tab]

    @property
    def pages(self) -> int:
        """How many pages that makes, at least one."""
        return max(1, -(-self.total // ROWS))


def read_queue(ask: Ask, wanted: Wanted, me: str) -> Queue:
    """Return what an address asks for, as the reviewer of that name sees it."""
    names: dict[str, str] = {}
    for row in ask("rewordings"):
        before, made = row["claim_id"], claim_id(row["video_id"], row["value"])
        names = {old: made if now == before else now for old, now in names.items()}
        names[before] = made
    filters: dict[str, Any] = {"since": wanted.since, "doubt": DOUBT, "me": me}
    filters |= {"corpus": wanted.corpus, "channel": wanted.channel}
    filters |= {"former": list(names), "now": list(names.values())}
    part = {"tab": wanted.tab, "sort": wanted.sort, "limit": ROWS}
    rows = ask("queue", **filters, **part, offset=ROWS * (wanted.page - 1))
    (counts,) = ask("counts", **filters)
    places = ask("places")
    return Queue(
        wanted,
        rows,
        {tab: counts[tab] for tab in TABS},
        sorted({row["corpus"] for row in places if row["corpus"]}),
        sorted({row["channel"] for row in places if row["channel"]}, key=str.casefold),
    )
