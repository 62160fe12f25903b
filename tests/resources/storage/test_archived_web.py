from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from resources.search.base import FoundHit, SearchRequest
from resources.storage.archive import Archive, ArchivedWeb
from resources.storage.imports import ImportedEntry, NewSearch
from tests.resources.storage.pages import saved

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def ruined(archive: Archive) -> Archive:
    connection = sqlite3.connect(archive.path)
    connection.execute("DROP TABLE documents")
    connection.close()
    return archive


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
