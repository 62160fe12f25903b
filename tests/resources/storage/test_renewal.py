"""A re-check repeats fresh questions; retention deletes unused answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from resources.pages.base import FetchedPage
from resources.search.base import SearchAnswer, SearchRequest
from resources.storage.answers import DiskCache
from resources.storage.archive import Archive
from resources.storage.caching import CachingFetcher, CachingSearch
from tests.resources.storage.doubles import NOON, Clock, CountingFetcher, CountingSearch

FOUND = SearchAnswer("serper", "ok")
PAGE = FetchedPage(
    url="https://a.example/",
    outcome="ok",
    retrieved_at=NOON,
    final_url="https://a.example/",
    http_status=200,
    via="scraped",
    text="Honey keeps for years.",
    etag='"v1"',
)
SUGAR = SearchRequest("sugar", limit=10)


async def test_renewal_repeats_fresh_searches_once(tmp_path: Path) -> None:
    clock = Clock()
    cache = DiskCache(tmp_path, clock=clock)
    inner = CountingSearch(lambda: (FOUND,))
    await CachingSearch(inner, cache, identity="serper").search(SUGAR)
    clock.now += 60
    renewing = CachingSearch(inner, cache, identity="serper")
    cache.renew()
    clock.now += 1
    await renewing.search(SUGAR)
    await renewing.search(SUGAR)
    assert len(inner.asked) == 2
    clock.now += 60
    await CachingSearch(inner, cache, identity="serper").search(SUGAR)
    assert len(inner.asked) == 2, "what was renewed counts for others"


async def test_a_renewing_fetcher_asks_whether_a_fresh_page_has_changed(tmp_path: Path) -> None:
    clock = Clock()

    def site(url: str, known: FetchedPage | None) -> FetchedPage:
        return PAGE if known is None else replace(PAGE, http_status=304, text=known.text)

    cache, archive = DiskCache(tmp_path, clock=clock), Archive(tmp_path / "archive.sqlite")
    inner = CountingFetcher(site)
    await CachingFetcher(inner.fetch, cache, archive, identity="direct").fetch(PAGE.url)
    clock.now += 60
    renewing = CachingFetcher(inner.fetch, cache, archive, identity="direct")
    cache.renew()
    clock.now += 1
    pages = [await renewing.fetch(PAGE.url) for _ in range(3)]
    assert [known.conditions() if known else None for known in inner.asked] == [
        None,
        {"If-None-Match": '"v1"'},
    ]
    assert {(page.text, page.http_status) for page in pages} == {(PAGE.text, 200)}
