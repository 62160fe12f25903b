"""A fetched, cached or archived page, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final, Literal, TypeAlias

Via: TypeAlias = Literal["scraped", "browser", "pdf", "archive", "snippet"]

UNDATED: Final = datetime.min.replace(tzinfo=UTC)
"""Stands for an unknown time of retrieval, on the way into the archive."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The result of one fetch; `text` is empty unless the outcome is ok. Times in seconds, UTC.

    `ok`: `text` is the page's readable text. `absent`: the site or the archive has no such page.
    `unavailable`: the site answered without a readable page (a refusal, no text, another file
    type). `outage`: the fetch failed or returned another page; a later fetch may succeed.

    `reason` explains the failure, or why an earlier way failed before the successful one. `etag`
    and `last_modified` are the validators of the answer at `final_url`.
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
        """Return the headers of a conditional request (RFC 9110, section 13.1).

        Empty if the text does not come from the site's own answer: unchanged scripts may draw a
        changed page.
        """
        if self.via not in {"scraped", "pdf"} or not self.text or self.final_url is None:
            return {}
        conditions = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in conditions.items() if value}
