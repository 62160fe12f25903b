"""A fetcher that fetches the same page only once a day, and then only if it changed.

What belongs here: keeping pages and asking after them with a condition. What does not: fetching
and reading them (resources.scraping).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from resources.cache.flights import Flights
from resources.cache.shelf import Kept
from resources.cache.store import DiskCache
from resources.cache.values import cache_key, from_json, to_json
from resources.scraping.pages import FetchedPage, KnownPage

_VERSION = 2
"""Raise it whenever the same page would now be read otherwise."""
_READERS = ("trafilatura", "htmldate", "pypdf")
"""Libraries whose versions decide what text a page has."""


class ConditionalFetcher(Protocol):
    """Fetches pages, and accepts what is known of them from before."""

    async def fetch(self, url: str, known: KnownPage | None = None) -> FetchedPage:
        """Fetch one page; see PageFetcher.fetch."""
        ...


class CachingFetcher:
    """Keeps pages with their text, and for a shorter time that a page is not given out.

    A kept page has the time at which it was retrieved, and took 0 seconds. One that is no longer
    fresh is asked after with its validators; if the site says that nothing changed, the kept text
    stands and the time is the new one. An outage is handed on, whatever is kept.
    """

    def __init__(
        self,
        fetcher: ConditionalFetcher,
        cache: DiskCache,
        *,
        identity: str,
        renew: bool = False,
    ) -> None:
        """Wrap a fetcher.

        Args:
            fetcher: Who fetches what is not kept.
            cache: Where pages are kept; its owner closes it.
            identity: Everything about the fetcher that changes its pages: whether it has a browser,
                asks an archive, heeds robots.txt. Never a key.
            renew: Whether what was kept before this wrapper was made is asked after, however fresh.
        """
        self._fetcher = fetcher
        self._cache = cache
        self._identity = identity
        self._since = cache.now() if renew else None
        self._readers = [_version_of(name) for name in _READERS]
        self._flights: Flights[FetchedPage] = Flights()

    async def fetch(self, url: str) -> FetchedPage:
        """Fetch one page. Never raises for a page that fails: it answers so."""
        address = url.partition("#")[0]
        key = cache_key("pages", _VERSION, self._identity, self._readers, address)

        async def work() -> FetchedPage:
            kept = await self._cache.get("pages", key)
            page = from_json(FetchedPage, kept.value) if kept is not None else None
            if kept is None or page is None:
                return await self._fetch(url, key, None)
            if self._is_good(kept, page):
                return replace(page, latency_seconds=0.0)
            return await self._fetch(url, key, page)

        return replace((await self._flights.join(key, work)).result(), url=url)

    def _is_good(self, kept: Kept, page: FetchedPage) -> bool:
        """Tell whether a kept page is given out without asking."""
        if self._since is not None and kept.stored_at < self._since:
            return False
        return self._cache.is_fresh(kept, self._limit(page))

    def _limit(self, page: FetchedPage) -> timedelta:
        policy = self._cache.policy
        return policy.pages if page.outcome == "ok" else policy.unavailable_pages

    async def _fetch(self, url: str, key: str, old: FetchedPage | None) -> FetchedPage:
        page = await self._fetcher.fetch(url, _known(old))
        if old is not None and page.http_status == HTTPStatus.NOT_MODIFIED:
            page = replace(page, http_status=old.http_status)
        written = to_json(FetchedPage, page) if page.outcome != "outage" else None
        if written is not None:
            policy = self._cache.policy
            keep = max(policy.pages, policy.kept_pages) if policy.pages else policy.pages
            if page.outcome != "ok":
                keep = policy.unavailable_pages
            await self._cache.put("pages", key, written, keep=keep)
        return page


def _known(page: FetchedPage | None) -> KnownPage | None:
    if page is None or page.outcome != "ok" or page.via is None or page.final_url is None:
        return None
    return KnownPage(
        final_url=page.final_url,
        text=page.text,
        via=page.via,
        etag=page.etag,
        last_modified=page.last_modified,
        title=page.title,
        author=page.author,
        published_on=page.published_on,
        byte_count=page.byte_count,
    )


def _version_of(name: str) -> Sequence[str]:
    try:
        return (name, version(name))
    except PackageNotFoundError:
        return (name,)
