"""A fetcher that fetches the same page only once a day, and then only if it changed.

What belongs here: keeping pages and asking after them with a condition. What does not: fetching
and reading them (resources.scraping).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from importlib.metadata import version
from typing import Protocol

from resources.cache.answers import Answers
from resources.cache.store import DiskCache
from resources.scraping.base import FetchedPage

_VERSION = 2
"""Raise it whenever the same page would now be read otherwise."""
_READERS = ("trafilatura", "htmldate", "pypdf")
"""Libraries whose versions decide what text a page has."""


class ConditionalFetcher(Protocol):
    """Fetches pages, and accepts what is known of them from before."""

    async def fetch(self, url: str, known: FetchedPage | None = None) -> FetchedPage:
        """Fetch one page; see PageFetcher.fetch."""
        ...


class CachingFetcher:
    """Keeps pages with their text, and for a shorter time that a page is not given out.

    A kept page has the time at which it was retrieved, and took 0 seconds. One that is no longer
    fresh is asked after with its validators; if the site says that nothing changed, the kept text
    stands and the time is the new one. An outage is handed on, whatever is kept.
    """

    def __init__(
        self, fetcher: ConditionalFetcher, cache: DiskCache, *, identity: str, renew: bool = False
    ) -> None:
        """Wrap a fetcher.

        Args:
            fetcher: Who fetches what is not kept.
            cache: Where pages are kept; its owner closes it.
            identity: Everything about the fetcher that changes its pages: whether it has a browser,
                asks an archive, heeds robots.txt. Never a key.
            renew: Whether what was kept before this wrapper was made is asked after, however fresh.
        """
        policy = cache.policy
        limits = {"ok": policy.pages, "unavailable": policy.unavailable_pages}
        self._fetcher = fetcher
        self._answers = Answers[FetchedPage](
            cache,
            "pages",
            FetchedPage,
            version=_VERSION,
            identity=[identity, [[name, version(name)] for name in _READERS]],
            counts_for=lambda page: limits.get(page.outcome),
            stays_for=lambda page: policy.kept_pages if page.outcome == "ok" else timedelta(0),
            recalled=lambda page, _: replace(page, latency_seconds=0.0),
            renew=renew,
        )

    async def fetch(self, url: str) -> FetchedPage:
        """Fetch one page. Never raises for a page that fails: it answers so."""

        async def work(old: FetchedPage | None) -> FetchedPage:
            known = old if old is not None and old.outcome == "ok" else None
            page = await self._fetcher.fetch(url, known)
            if old is not None and page.http_status == HTTPStatus.NOT_MODIFIED:
                page = replace(page, http_status=old.http_status)
            return page

        landed = await self._answers.ask(url.partition("#")[0], work)
        return replace(landed.result(), url=url)
