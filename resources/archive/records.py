"""What goes into the archive and what comes out of it.

What belongs here: the archive's values. What does not: files (sources.py), SQL (statements.py),
the protocols of the pipeline (doors.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class NewPage:
    """A page to be stored. `retrieved_at` is timezone-aware, None if nobody knows."""

    url: str
    text: str
    title: str = ""
    final_url: str | None = None
    author: str | None = None
    published_on: date | None = None
    retrieved_at: datetime | None = None
    http_status: int | None = None
    byte_count: int | None = None
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class NewHit:
    """One result of a recorded search; `rank` counts from 1."""

    rank: int
    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class NewSearch:
    """A query that was once asked, and what came back."""

    query: str
    searched_on: date | None
    hits: tuple[NewHit, ...]


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something in a source that cannot be stored, and why: a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of the archive. `text` is empty if only a search hit of it is known."""

    collection: str
    url: str
    canonical_url: str
    final_url: str | None
    title: str
    text: str
    author: str | None
    published_on: date | None
    retrieved_at: datetime
    """When the page was retrieved or, where that is unknown, stored. UTC."""
    http_status: int | None
    byte_count: int | None
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class ArchiveHit:
    """One search result. `rank` counts from 1 over all pages of the answer."""

    rank: int
    title: str
    url: str
    snippet: str
    published_on: date | None
    has_text: bool
    recorded: bool
    """Whether a search engine once gave this result to the same query."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. A second import of the same files finds everything `unchanged`."""

    added: int = 0
    """Pages whose text is new."""
    updated: int = 0
    """Pages whose text was replaced by a newer or longer one."""
    unchanged: int = 0
    searches: int = 0
    hits: int = 0
    unusable: int = 0
    """Entries without a usable address, files without text."""
    remarks: tuple[str, ...] = ()
    """A sentence for each of the first unusable ones."""
