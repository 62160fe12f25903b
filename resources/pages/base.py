"""A page as it was fetched, kept or archived: one value for all who hand pages on.

What belongs here: the value. What does not: fetching (pages.py), keeping (resources.cache,
resources.archive), the rows of the warehouse (factible_assets.records).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final, Literal, TypeAlias

Via: TypeAlias = Literal["scraped", "browser", "pdf", "archive", "snippet"]

UNDATED: Final = datetime.min.replace(tzinfo=UTC)
"""When a page was retrieved of which nobody knows it, on its way into the archive."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """How one fetch ended; `text` is empty unless the outcome is ok. Times in seconds, UTC.

    `ok`: `text` is the page's readable text. `absent`: there is no such page, as the site or the
    archive says. `unavailable`: the site answered, and keeps the page from this reader: a refusal,
    a page without text, a file of another type. `outage`: the fetch failed, or another page came;
    the page may be had another time.

    `reason` says why it failed, or why the way before the successful one did. `etag` and
    `last_modified` are the validators of the answer at `final_url`.
    """

    url: str
    outcome: Literal["ok", "absent", "unavailable", "outage"]
    retrieved_at: datetime
    final_url: str | None = None
    reason: str | None = None
    http_status: int | None = None
    via: Via | None = None
    title: str | None = None
    author: str | None = None
    published_on: date | None = None
    text: str = field(default="", repr=False)
    byte_count: int | None = None
    latency_seconds: float = 0.0
    etag: str | None = None
    last_modified: str | None = None

    def conditions(self) -> dict[str, str]:
        """Return the request headers that ask for a change only (RFC 9110, section 13.1).

        Empty for a page that was not read from the site's answer: that its scripts are the same
        says nothing about what they draw.
        """
        if self.via not in {"scraped", "pdf"} or not self.text or self.final_url is None:
            return {}
        conditions = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in conditions.items() if value}
