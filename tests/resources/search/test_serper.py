"""The Serper client against a server that speaks its format, properly and otherwise."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from resources.http import HttpClient
from resources.network_guard import NameTable, NetworkGuard
from resources.search.providers import SerperSearch
from tests.resources.search.asking import ask
from tests.servers import MisbehavingServer, respond_json

KEY = "canary-4711"
NOW = datetime(2025, 6, 15, tzinfo=UTC)
ANSWER = {
    "searchParameters": {"q": "sugar", "type": "search"},
    "knowledgeGraph": {"title": "Sugar", "website": "http://ignored.example/"},
    "organic": [
        {
            "title": "Sugar and  children",
            "link": "http://agency.example/sugar",
            "snippet": "Trials found\nno effect.",
            "position": 1,
            "date": "Mar 5, 2021",
        },
        {"title": "Undated", "link": "http://blog.example/a", "position": 2},
    ],
    "credits": 1,
}


@pytest.fixture
def serper(http: HttpClient) -> SerperSearch:
    search = SerperSearch(http, api_key=KEY, base_url="http://serper.example")
    search.now = lambda: NOW
    return search


async def test_organic_results_become_hits(server: MisbehavingServer, serper: SerperSearch) -> None:
    server.on("/search", respond_json(ANSWER))
    answer = await ask(serper)
    assert (answer.provider, answer.outcome, answer.reason) == ("serper", "ok", None)
    first, second = answer.hits
    assert (first.rank, first.title, first.url) == (
        1,
        "Sugar and children",
        "http://agency.example/sugar",
    )
    assert (first.snippet, first.published_on) == ("Trials found no effect.", date(2021, 3, 5))
    assert (second.rank, second.snippet, second.published_on) == (2, "", None)
    assert answer.latency_seconds > 0


async def test_the_request_carries_key_page_number_and_last_day(
    server: MisbehavingServer, serper: SerperSearch
) -> None:
    server.on("/search", respond_json(ANSWER))
    answer = await ask(serper, limit=5, page=3, before=date(2020, 3, 1))
    (asked,) = server.asked
    assert (asked.method, asked.headers["x-api-key"]) == ("POST", KEY)
    assert asked.json == {"q": "sugar", "num": 5, "page": 3, "tbs": "cdr:1,cd_max:02/29/2020"}
    assert [hit.rank for hit in answer.hits] == [11, 12]


async def test_exclusions_first_day_and_language_reach_the_service(
    server: MisbehavingServer, serper: SerperSearch
) -> None:
    server.on("/search", respond_json(ANSWER))
    answer = await ask(
        serper,
        after=date(2019, 1, 2),
        exclude_domains=["blog.example", "no spaces please"],
        exclude_file_types=["pdf"],
        language="de",
    )
    (asked,) = server.asked
    assert asked.json == {
        "q": "sugar -site:blog.example -filetype:pdf",
        "num": 3,
        "page": 1,
        "hl": "de",
        "tbs": "cdr:1,cd_min:01/02/2019",
    }
    assert [(hit.rank, hit.url) for hit in answer.hits] == [(1, "http://agency.example/sugar")]


async def test_no_more_hits_than_asked_for(server: MisbehavingServer, serper: SerperSearch) -> None:
    server.on("/search", respond_json(ANSWER))
    assert len((await ask(serper, limit=1)).hits) == 1


async def test_nothing_found_is_an_answer_and_no_outage(
    server: MisbehavingServer, serper: SerperSearch
) -> None:
    server.on("/search", respond_json({"organic": []}))
    answer = await ask(serper)
    assert (answer.outcome, answer.hits, answer.reason) == ("ok", (), None)


async def test_a_configured_service_on_a_private_network_is_reachable(
    server: MisbehavingServer,
) -> None:
    base_url = f"http://127.0.0.1:{server.port}"
    server.on("/search", respond_json(ANSWER))
    guard = NetworkGuard(NameTable.for_service(base_url))
    async with HttpClient(guard=guard) as http:
        answer = await ask(SerperSearch(http, api_key=KEY, base_url=base_url))
    assert answer.outcome == "ok"
