"""The pages of one run: fetched once each, kept with one owner per text.

What belongs here: sharing fetches between claims. What does not: fetching itself (resources), what
is kept of a page (evidence.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from factible_assets.records import Page, SearchHit
from factible_assets.stages.evidence import StoredPage, store_page
from factible_assets.stages.once import Once
from factible_assets.stages.ports import Fetcher
from factible_assets.stages.search import is_answer
from resources.scraping.base import FetchedPage


class PageLibrary:
    """The pages of one run: each URL is fetched once, however many claims want it.

    At most `concurrency` fetches run at once. A URL's text has one owner, the fetch of that URL. An
    answer engine's answer is its own page, whose text came with the search.
    """

    def __init__(
        self, fetcher: Fetcher, *, concurrency: int, limit: int, topics: Sequence[str]
    ) -> None:
        self._fetcher = fetcher
        self._slots = asyncio.Semaphore(concurrency)
        self._limit = limit
        self._topics = topics
        self._wanted: dict[str, SearchHit] = {}
        self._stored: dict[str, StoredPage] = {}
        self._once: Once[str, StoredPage] = Once(self._fetch)

    async def get(self, hit: SearchHit) -> StoredPage:
        """Return the page of a hit, fetched by the URL of whoever asked for it first."""
        self._wanted.setdefault(hit.canonical_url, hit)
        return await self._once.get(hit.canonical_url)

    def pages(self) -> tuple[Page, ...]:
        """Return the rows of all pages that were asked for and answered, by URL."""
        return tuple(self._stored[url].page for url in sorted(self._stored))

    def texts(self) -> dict[str, str]:
        """Return all texts by content hash."""
        texts = (stored.text for stored in self._stored.values())
        return {text.content_hash: text.text for text in texts if text is not None}

    async def _fetch(self, canonical: str) -> StoredPage:
        hit = self._wanted[canonical]
        if is_answer(hit):
            text, now = hit.snippet, datetime.now(UTC)
            fetched = FetchedPage(hit.url, "ok", now, hit.url, via="snippet", text=text)
        else:
            async with self._slots:
                fetched = await self._fetcher.fetch(hit.url)
        stored = await asyncio.to_thread(
            store_page, hit, fetched, limit=self._limit, topics=self._topics
        )
        self._stored[canonical] = stored
        return stored
