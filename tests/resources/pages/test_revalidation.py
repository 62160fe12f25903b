"""Conditional requests: an unchanged page keeps its stored text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from resources.http import HttpClient
from resources.pages.base import FetchedPage, Via
from resources.pages.scraper import PageFetcher
from tests.servers import Behaviour, Exchange, MisbehavingServer, redirect, respond

SITE = "http://site.example"
ARTICLE = f"<title>New</title><article><p>{'The words of the changed page. ' * 12}</p></article>"
KNOWN = FetchedPage(
    f"{SITE}/page",
    "ok",
    datetime(2026, 1, 2, tzinfo=UTC),
    final_url=f"{SITE}/page",
    via="scraped",
    text="The stored text.",
    etag='"v1"',
    last_modified="Fri, 05 Mar 2021 08:00:00 GMT",
    title="Stored",
    author="Ada Lovelace",
    published_on=date(2021, 3, 5),
    byte_count=1_234,
)


def revalidating(etag: str) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        if exchange.asked.headers.get("if-none-match") == etag:
            await respond(status=304, headers={"ETag": etag})(exchange)
        else:
            await respond(ARTICLE, headers={"ETag": etag})(exchange)

    return behave


@pytest.fixture
def fetcher(http: HttpClient) -> PageFetcher:
    return PageFetcher(http)


async def test_an_unchanged_page_keeps_its_stored_text(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/page", revalidating('"v1"'))
    page = await fetcher.fetch(f"{SITE}/page", KNOWN)
    assert (page.outcome, page.http_status, page.via) == ("ok", 304, "scraped")
    assert (page.text, page.title, page.author) == ("The stored text.", "Stored", "Ada Lovelace")
    assert (page.published_on, page.byte_count) == (date(2021, 3, 5), 1_234)
    assert (page.etag, page.last_modified) == ('"v1"', KNOWN.last_modified)
    headers = server.asked[-1].headers
    assert headers["if-none-match"] == '"v1"'
    assert headers["if-modified-since"] == KNOWN.last_modified


async def test_a_changed_page_is_read_anew(server: MisbehavingServer, fetcher: PageFetcher) -> None:
    server.on("/page", revalidating('"v2"'))
    page = await fetcher.fetch(f"{SITE}/page", KNOWN)
    assert (page.http_status, page.title, page.etag) == (200, "New", '"v2"')
    assert page.text.startswith("The words of the changed page.")


async def test_a_redirect_to_the_known_address_counts_as_unchanged(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/old", redirect("/page"))
    server.on("/page", revalidating('"v1"'))
    page = await fetcher.fetch(f"{SITE}/old", KNOWN)
    assert (page.http_status, page.final_url, page.text) == (304, f"{SITE}/page", KNOWN.text)


async def test_an_unchanged_answer_from_another_address_does_not_return_the_stored_text(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/page", redirect("/elsewhere"))
    server.on("/elsewhere", revalidating('"v1"'))
    page = await fetcher.fetch(f"{SITE}/page", KNOWN)
    assert (page.http_status, page.final_url, page.title) == (200, f"{SITE}/elsewhere", "New")
    assert KNOWN.text not in page.text


@pytest.mark.parametrize("via", ["browser", "archive", "snippet"])
async def test_only_a_sites_own_answers_are_revalidated(
    server: MisbehavingServer, fetcher: PageFetcher, via: Via
) -> None:
    server.on("/page", revalidating('"v1"'))
    known = replace(KNOWN, text="drawn", via=via, etag='"v1"')
    assert (await fetcher.fetch(f"{SITE}/page", known)).http_status == 200


async def test_a_304_that_nobody_asked_for_is_no_page(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/page", respond(status=304))
    page = await fetcher.fetch(f"{SITE}/page")
    assert (page.outcome, page.text) == ("unavailable", "")
