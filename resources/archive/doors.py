"""The archive as a search provider and as a source of pages, and a fetcher that feeds it.

What belongs here: the pipeline's search and fetch protocols over an archive. What does not: how
the archive finds and stores (store.py).

SQLite blocks, so every call runs in a thread, off the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Protocol

from resources.archive.sources import ArchiveError
from resources.archive.store import Archive
from resources.http import elapsed_since
from resources.scraping.base import FetchedPage
from resources.search.base import SearchAnswer, SearchRequest

_log = logging.getLogger(__name__)

PROVIDER: Final = "archive"


@dataclass(frozen=True, slots=True)
class ArchivedWeb:
    """Searches an archive and hands out its pages. `collections` as in `Archive.search`."""

    archive: Archive
    collections: Sequence[str] | None = None

    async def search(self, request: SearchRequest) -> tuple[SearchAnswer, ...]:
        """Return one page of results; an archive that cannot be read is an outage."""
        began = time.perf_counter()
        try:
            hits = await asyncio.to_thread(self.archive.search, request, self.collections)
        except ArchiveError as error:
            return (SearchAnswer(PROVIDER, "outage", reason=str(error)),)
        return (SearchAnswer(PROVIDER, "ok", hits, latency_seconds=elapsed_since(began)),)

    async def fetch(self, url: str) -> FetchedPage:
        """Return a stored page.

        A page that the archive does not hold is unavailable: asking again changes nothing.
        """
        began, now = time.perf_counter(), datetime.now(UTC)
        try:
            page = await asyncio.to_thread(self.archive.page, url, self.collections)
        except ArchiveError as error:
            return FetchedPage(url=url, outcome="outage", retrieved_at=now, reason=str(error))
        if page is None:
            reason = "The archive does not hold this page."
            return FetchedPage(url, "unavailable", now, reason=reason)
        return replace(page, url=url, latency_seconds=elapsed_since(began))


class PageSource(Protocol):
    """What fetches pages from somewhere else. Never raises for a page that fails."""

    async def fetch(self, url: str) -> FetchedPage:
        """Fetch one page."""
        ...


@dataclass(frozen=True, slots=True)
class ArchivingFetcher:
    """Stores in an archive what another fetcher fetches, so that it can be read again without.

    `leave_out` is told a URL; true for pages that must not be kept, such as fictional ones.
    """

    inner: PageSource
    archive: Archive
    collection: str
    leave_out: Callable[[str], bool]

    async def fetch(self, url: str) -> FetchedPage:
        """Fetch a page and store its text; one that cannot be stored is handed over too."""
        page = await self.inner.fetch(url)
        is_left_out = any(map(self.leave_out, (page.url, page.final_url or page.url)))
        if page.outcome == "ok" and page.via not in {"archive", "snippet"} and not is_left_out:
            try:
                await asyncio.to_thread(self.archive.add_page, page, self.collection)
            except ArchiveError as error:
                _log.warning("A page was fetched and not archived: %s", error)
        return page
