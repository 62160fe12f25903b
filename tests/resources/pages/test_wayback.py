"""Archived copies of pages that are gone."""

from __future__ import annotations

from datetime import date
from urllib.parse import parse_qs, urlsplit

import pytest

from resources.http import HttpClient
from resources.network_guard import NetworkGuard
from resources.pages.scraper import PageFetcher, Wayback
from tests.resources.pages.pdfs import pdf
from tests.servers import Behaviour, MisbehavingServer, redirect, reset, respond, respond_json

GONE = "http://site.example/gone?n=1"
SENTENCE = "The old page said that glass is an amorphous solid and does not flow. "
COPY = (
    '<title>Old</title><meta property="article:published_time" content="2011-04-02">'
    f"<article><p>{SENTENCE * 5}</p></article>"
)
STAMP = "20150102030405"


def found(**changes: object) -> dict[str, object]:
    nearest = {
        "available": True,
        "status": "200",
        "timestamp": STAMP,
        "url": "http://169.254.169.254/latest/",
        **changes,
    }
    return {"url": GONE, "archived_snapshots": {"closest": nearest}}


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on("/gone", respond("gone", status=410))
    server.on("/wayback/available", respond_json(found()))
    return server


@pytest.fixture
def fetcher(http: HttpClient) -> PageFetcher:
    return PageFetcher(http, wayback=Wayback(http, base_url="http://archive.example"))


def copy_path(server: MisbehavingServer) -> str:
    return f"/web/{STAMP}id_/http://site.example/gone"


async def test_a_page_that_is_gone_is_read_from_its_newest_copy(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on(copy_path(server), respond(COPY))
    page = await fetcher.fetch(GONE)
    assert (page.outcome, page.via, page.url) == ("ok", "archive", GONE)
    assert page.final_url == f"http://archive.example/web/{STAMP}id_/{GONE}"
    assert SENTENCE.strip() in page.text
    assert page.published_on == date(2011, 4, 2)
    assert page.reason == "site.example answered 410 Gone"
    question = next(asked for asked in server.asked if asked.path == "/wayback/available")
    assert parse_qs(urlsplit(question.target).query)["url"] == [GONE]


async def test_a_copy_may_be_a_pdf_and_may_lie_at_a_neighbouring_time(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    later = "/web/20150909090909id_/http://site.example/gone"
    server.on(copy_path(server), redirect(f"{later}?n=1"))
    server.on(later, respond(pdf([SENTENCE] * 4), content_type="application/pdf"))
    page = await fetcher.fetch(GONE)
    assert (page.outcome, page.via) == ("ok", "archive")
    assert page.final_url == f"http://archive.example{later}?n=1"


@pytest.mark.parametrize("status", [403, 503])
async def test_the_archive_is_only_for_pages_that_are_gone(
    server: MisbehavingServer, fetcher: PageFetcher, status: int
) -> None:
    server.on("/gone", respond(status=status))
    assert (await fetcher.fetch(GONE)).outcome != "ok"
    assert server.count("/wayback/available") == 0


async def test_without_the_setting_nothing_is_asked_for(server: MisbehavingServer) -> None:
    async with HttpClient(guard=NetworkGuard(server.names)) as http:
        page = await PageFetcher(http).fetch(GONE)
    assert (page.outcome, page.http_status) == ("absent", 410)
    assert server.count("/wayback/available") == 0


@pytest.mark.parametrize(
    "answer", [{"url": GONE, "archived_snapshots": {}}, found(available=False)]
)
async def test_a_page_without_a_copy_is_still_gone(
    server: MisbehavingServer, fetcher: PageFetcher, answer: object
) -> None:
    server.on("/wayback/available", respond_json(answer))
    page = await fetcher.fetch(GONE)
    assert (page.outcome, page.http_status) == ("absent", 410)
    assert page.reason == (
        "site.example answered 410 Gone; archive: the Wayback Machine holds no copy"
    )


@pytest.mark.parametrize(
    "behaviour",
    [
        respond(status=404),
        reset(),
        respond("<html>", content_type="text/html"),
        respond_json([]),
        respond_json({"archived_snapshots": []}),
        respond_json(found(timestamp="../../etc")),
        respond_json(found(timestamp=20150102030405)),
        respond_json({}),
    ],
)
async def test_an_archive_that_does_not_answer_properly_is_an_outage(
    server: MisbehavingServer, fetcher: PageFetcher, behaviour: Behaviour
) -> None:
    server.on("/wayback/available", behaviour)
    page = await fetcher.fetch(GONE)
    assert (page.outcome, page.text) == ("outage", "")
    assert "archive: " in (page.reason or "")


async def test_a_failed_archive_is_an_outage_but_a_missing_copy_is_not(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on(copy_path(server), respond(status=503))
    assert (await fetcher.fetch(GONE)).outcome == "outage"
    server.on(copy_path(server), respond(status=404))
    page = await fetcher.fetch(GONE)
    assert (page.outcome, page.http_status) == ("absent", 410)


async def test_the_answer_never_decides_which_address_is_fetched(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on(copy_path(server), respond(COPY))
    await fetcher.fetch(GONE)
    hosts = {asked.host for asked in server.asked}
    assert hosts == {"site.example", "archive.example"}
