from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from resources.pages.base import FetchedPage
from resources.promises import Promise
from resources.search.base import FoundHit, SearchRequest
from resources.storage.archive import Archive, ArchivedWeb, ArchivingFetcher, is_fictional
from resources.storage.imports import ImportedEntry, NewSearch
from tests.resources.storage.pages import saved

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Shelf:
    """A fetcher that has two pages at hand, one of them fictional."""

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        if "gone" in url:
            return FetchedPage(url=url, outcome="absent", retrieved_at=NOW, reason="gone")
        return FetchedPage(
            url=url,
            outcome="ok",
            retrieved_at=NOW,
            final_url=url,
            via="scraped",
            title="A page",
            text="Honey never spoils.",
            http_status=200,
            etag='"1"',
        )


@pytest.fixture
def ruined(archive: Archive) -> Archive:
    connection = sqlite3.connect(archive.path)
    connection.execute("DROP TABLE documents")
    connection.close()
    return archive


def keeping(archive: Archive) -> ArchivingFetcher:
    return ArchivingFetcher(Shelf().fetch, archive, "fetched", is_fictional)


async def test_fetched_pages_are_found_and_read_offline(archive: Archive) -> None:
    fetched = await keeping(archive).fetch("https://bees.org/honey")
    (answer,) = await ArchivedWeb(archive).search(SearchRequest("does honey spoil", limit=3))
    assert (answer.provider, answer.outcome) == ("archive", "ok")
    assert [hit.url for hit in answer.hits] == ["https://bees.org/honey"]
    page = await ArchivedWeb(archive).fetch(answer.hits[0].url)
    assert (page.outcome, page.via, page.text) == ("ok", "archive", fetched.text)
    assert (page.title, page.retrieved_at, page.etag) == ("A page", NOW, '"1"')


async def test_fictional_and_unreadable_pages_are_not_archived(archive: Archive) -> None:
    fetcher = keeping(archive)
    assert (await fetcher.fetch("https://agency.example/honey")).text == "Honey never spoils."
    assert (await fetcher.fetch("https://bees.org/gone")).outcome == "absent"
    assert archive.collections() == {}


async def test_the_caller_chooses_pages_to_leave_out(archive: Archive) -> None:
    fetcher = ArchivingFetcher(
        Shelf().fetch, archive, "fetched", leave_out=lambda url: "bees" in url
    )
    await fetcher.fetch("https://bees.org/honey")
    await fetcher.fetch("https://wasps.org/honey")
    assert archive.page("https://bees.org/honey") is None
    assert archive.page("https://wasps.org/honey") is not None


async def test_a_missing_page_is_absent(archive: Archive) -> None:
    hit = FoundHit(1, "Only a hit", "https://hit.org/a", "snippet")
    archive.store([ImportedEntry(NewSearch("q", None, (hit,)), 1, 1)], "w")
    unknown = await ArchivedWeb(archive).fetch("https://nowhere.org/")
    known = await ArchivedWeb(archive).fetch("https://hit.org/a")
    assert (unknown.outcome, known.outcome) == ("absent", "absent")
    assert unknown.reason == "The archive does not have this page."
    assert known.reason is not None
    assert "not its text" in known.reason


async def test_nothing_found_is_an_answer(archive: Archive) -> None:
    (answer,) = await ArchivedWeb(archive).search(SearchRequest("anything", limit=3))
    assert (answer.outcome, answer.hits) == ("ok", ())


async def test_a_broken_archive_is_an_outage(ruined: Archive) -> None:
    (answer,) = await ArchivedWeb(ruined).search(SearchRequest("anything", limit=3))
    page = await ArchivedWeb(ruined).fetch("https://bees.org/")
    assert (answer.outcome, page.outcome) == ("outage", "outage")
    assert answer.reason is not None
    assert "the archive cannot be used" in answer.reason
    assert "move it away" in answer.reason


async def test_a_page_that_cannot_be_archived_is_not_lost(ruined: Archive) -> None:
    page = await keeping(ruined).fetch("https://bees.org/honey")
    assert page.text == "Honey never spoils."


async def test_a_web_of_one_collection_sees_no_other(archive: Archive) -> None:
    archive.add_page(saved("https://a.org/", text="salt"), "one")
    (answer,) = await ArchivedWeb(archive, ["two"]).search(SearchRequest("salt", limit=3))
    assert answer.hits == ()
    assert (await ArchivedWeb(archive, ["two"]).fetch("https://a.org/")).outcome == "absent"


async def test_a_search_respects_dates_and_excluded_domains(archive: Archive) -> None:
    days = {"old": date(2019, 5, 1), "new": date(2024, 5, 1), "undated": None}
    for name, day in days.items():
        archive.add_page(saved(f"https://{name}.org/salt", "salt", published_on=day), "w")
    archive.add_page(saved("https://sub.left-out.org/salt", "salt"), "w")
    archive.add_page(saved("https://papers.org/salt.PDF", "salt"), "w")
    hits = (
        FoundHit(1, "salt", "https://left-out.org/a", "salt"),
        FoundHit(2, "s", "https://b.org", ""),
    )
    archive.store([ImportedEntry(NewSearch("salt", None, hits), 1, 1)], "w")

    async def found(limit: int = 9, **restrictions: Any) -> set[str]:
        (answer,) = await ArchivedWeb(archive).search(
            SearchRequest("salt", limit=limit, **restrictions)
        )
        assert answer.outcome == "ok"
        return {urlsplit(hit.url).netloc for hit in answer.hits}

    everything = await found()
    assert len(everything) == 7
    assert everything - await found(after=date(2020, 1, 1)) == {"old.org"}
    assert everything - await found(before=date(2020, 1, 1)) == {"new.org"}
    outside = {"sub.left-out.org", "left-out.org"}
    assert everything - await found(exclude_domains=["left-out.org"]) == outside
    assert everything - await found(exclude_file_types=["pdf"]) == {"papers.org"}
    assert await found(language="de") == everything
    # Excluded pages take no place on a page of results.
    assert len(await found(limit=3, exclude_domains=["left-out.org", "b.org"])) == 3
