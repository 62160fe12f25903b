"""A re-check repeats fresh questions; retention deletes unused answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from resources.pages.base import FetchedPage
from resources.search.base import SearchAnswer, SearchRequest
from resources.storage.answers import AnswerTable, DiskCache
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
    async with DiskCache(tmp_path, clock=clock) as cache:
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

    async with DiskCache(tmp_path, clock=clock) as cache:
        inner = CountingFetcher(site)
        await CachingFetcher(inner.fetch, cache, identity="direct").fetch(PAGE.url)
        clock.now += 60
        renewing = CachingFetcher(inner.fetch, cache, identity="direct")
        cache.renew()
        clock.now += 1
        pages = [await renewing.fetch(PAGE.url) for _ in range(3)]
    assert [known.conditions() if known else None for known in inner.asked] == [
        None,
        {"If-None-Match": '"v1"'},
    ]
    assert {(page.text, page.http_status) for page in pages} == {(PAGE.text, 200)}


@pytest.mark.parametrize(("unused_for", "left"), [(60, 1), (-60, 0)])
def test_unused_answers_are_trimmed_and_the_file_shrinks(
    tmp_path: Path, unused_for: float, left: int
) -> None:
    cache = DiskCache(tmp_path)
    table = cache._tables["pages"]
    table.put({"key": "x" * 500_000}, stored_at=0, seconds=1_000)
    before = table.bytes_on_disk()
    trimmed = cache.trim(timedelta(seconds=unused_for))
    after, (entries, _) = table.bytes_on_disk(), table.count()
    cache.close()
    assert trimmed["pages"] == 1 - left
    assert entries == left
    assert (after < before / 2) == (left == 0)


def test_expired_answers_are_trimmed_even_if_recently_used(tmp_path: Path) -> None:
    table = AnswerTable(tmp_path / "pages.sqlite", max_bytes=10**7)
    table.put({"new": "x"}, stored_at=0, seconds=1_000)
    table.put({"old": "x"}, stored_at=0, seconds=-1)
    try:
        assert table.trim(0) == 1
        assert "new" in table.get(["new"])
    finally:
        table.close()
