"""The SearXNG client against a server that speaks its format, properly and otherwise."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from resources.http import HttpClient
from resources.search.providers import SearxngSearch
from tests.resources.search.asking import ask, parameters
from tests.servers import MisbehavingServer, respond_json


def answer(*results: dict[str, object], silent: object = (), **fields: object) -> dict[str, object]:
    return {
        "query": "sugar",
        "number_of_results": 0,
        "results": list(results),
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": silent,
        **fields,
    }


def result(url: str, **fields: object) -> dict[str, object]:
    return {
        "url": url,
        "title": "A title",
        "content": "Its  beginning",
        "engine": "brave",
        "engines": ["brave"],
        "positions": [1],
        "score": 1.0,
        "category": "general",
        "publishedDate": None,
        **fields,
    }


@pytest.fixture
def searxng(http: HttpClient) -> SearxngSearch:
    return SearxngSearch(http, base_url="http://searx.example/")


async def test_results_become_hits(server: MisbehavingServer, searxng: SearxngSearch) -> None:
    dated = result("http://a.example/1", publishedDate="2021-03-05T10:00:00")
    server.on("/search", respond_json(answer(dated, result("http://b.example/2"))))
    found = await ask(searxng, "sugar & salt", limit=3)
    assert (found.provider, found.outcome, found.reason) == ("searxng", "ok", None)
    first, second = found.hits
    assert (first.rank, first.title, first.snippet) == (1, "A title", "Its beginning")
    assert (first.url, first.published_on) == ("http://a.example/1", date(2021, 3, 5))
    assert (second.rank, second.published_on) == (2, None)
    assert parameters(server) == {"q": "sugar & salt", "format": "json", "pageno": "1"}


async def test_the_next_page_is_the_instances_next_page(
    server: MisbehavingServer, searxng: SearxngSearch
) -> None:
    server.on("/search", respond_json(answer(result("http://a.example/1"))))
    found = await ask(searxng, limit=6, page=2, language="de")
    assert [hit.rank for hit in found.hits] == [7]
    asked = parameters(server)
    assert (asked["pageno"], asked["language"]) == ("2", "de")


async def test_exclusions_are_applied_here_because_the_instance_has_none(
    server: MisbehavingServer, searxng: SearxngSearch
) -> None:
    kept = result("http://good.example/a", publishedDate="2020-06-01T00:00:00")
    server.on(
        "/search",
        respond_json(
            answer(
                result("http://www.blog.example/a"),
                result("http://notblog.example/paper.PDF?x=1"),
                result("http://good.example/old", publishedDate="2019-12-31T00:00:00"),
                result("http://good.example/new", publishedDate="2021-01-01T00:00:00"),
                kept,
                result("http://notblog.example/undated"),
                result("http://[broken"),
            )
        ),
    )
    found = await ask(
        searxng,
        limit=9,
        after=date(2020, 1, 1),
        before=date(2021, 1, 1),
        exclude_domains=["Blog.example"],
        exclude_file_types=["pdf"],
    )
    assert [(hit.rank, hit.url) for hit in found.hits] == [
        (5, "http://good.example/a"),
        (6, "http://notblog.example/undated"),
        (7, "http://[broken"),
    ]


async def test_a_result_without_a_url_does_not_lose_the_others(
    server: MisbehavingServer, searxng: SearxngSearch
) -> None:
    odd = [result(""), result("http://a.example/", publishedDate="vor 3 Tagen")]
    server.on("/search", respond_json({**answer(*odd), "results": [*odd, None, "x"]}))
    found = await ask(searxng)
    assert [(hit.rank, hit.url) for hit in found.hits] == [(2, "http://a.example/")]
    assert found.hits[0].published_on is not None


async def test_an_error_beside_results_does_not_lose_them(
    server: MisbehavingServer, searxng: SearxngSearch
) -> None:
    server.on("/search", respond_json(answer(result("http://a.example/"), error="slow down")))
    assert len((await ask(searxng)).hits) == 1


async def test_silent_engines_are_reported_with_the_hits(
    server: MisbehavingServer, searxng: SearxngSearch
) -> None:
    silent = [["google", "Suspended: CAPTCHA"], ["qwant", "timeout"]]
    server.on("/search", respond_json(answer(result("http://a.example/"), silent=silent)))
    found = await ask(searxng)
    assert (found.outcome, len(found.hits)) == ("ok", 1)
    assert found.reason == (
        "searxng: not all of its engines answered: google: Suspended: CAPTCHA, qwant: timeout"
    )


async def test_no_results_while_engines_are_silent_is_an_outage(
    server: MisbehavingServer, searxng: SearxngSearch
) -> None:
    server.on("/search", respond_json(answer(silent=[["google", "timeout"]])))
    found = await ask(searxng)
    assert found.outcome == "outage"
    assert found.reason == (
        "searxng: it found nothing, and not all of its engines answered: google: timeout"
    )


async def test_no_results_while_all_engines_answered_is_an_answer(
    server: MisbehavingServer, searxng: SearxngSearch
) -> None:
    server.on("/search", respond_json(answer()))
    found = await ask(searxng)
    assert (found.outcome, found.hits, found.reason) == ("ok", (), None)


@pytest.mark.parametrize(
    ("silent", "named"),
    [
        ([["a", "b"], ["only"], "bare"], "a: b, only, bare"),
        ([[None, 3]], "None: 3"),
        (3, "3"),
        ([[f"engine{n}", "x"] for n in range(99)], " …"),
    ],
)
async def test_any_list_of_silent_engines_is_told_of(
    server: MisbehavingServer, searxng: SearxngSearch, silent: Any, named: str
) -> None:
    server.on("/search", respond_json(answer(result("http://a.example/"), silent=silent)))
    reason = (await ask(searxng)).reason
    assert reason is not None
    assert reason.endswith(named)


async def test_an_own_network_is_not_reached_by_default(server: MisbehavingServer) -> None:
    base_url = f"http://127.0.0.1:{server.port}"
    async with HttpClient() as http:
        found = await ask(SearxngSearch(http, base_url=base_url))
    assert (found.outcome, server.connections) == ("outage", 0)
