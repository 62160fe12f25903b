"""The Semantic Scholar client against a server that speaks its format, properly and otherwise."""

from __future__ import annotations

from datetime import date

import pytest

from resources.http import HttpClient
from resources.search.base import FoundHit
from resources.search.providers import SemanticScholarSearch
from tests.resources.search.asking import ask, parameters
from tests.servers import MisbehavingServer, respond, respond_json

KEY = "canary-4711"
PATH = "/graph/v1/paper/search"
OPEN = {
    "paperId": "p1",
    "url": "https://www.semanticscholar.org/paper/p1",
    "title": "Sugar and  hyperactivity",
    "abstract": "Children did not\nbehave differently.",
    "venue": "Journal",
    "journal": {"name": "The Journal of Trials", "volume": "12"},
    "year": 1995,
    "citationCount": 312,
    "openAccessPdf": {"url": "http://press.example/p1.pdf", "status": "GREEN"},
    "publicationDate": "1995-11-22",
}
CLOSED: dict[str, object] = {
    "paperId": "p2",
    "url": "https://www.semanticscholar.org/paper/p2",
    "title": "Another",
    "abstract": None,
    "venue": "",
    "year": 2001,
    "citationCount": 0,
    "openAccessPdf": {"url": "", "status": None},
    "publicationDate": None,
}


def page(*papers: object) -> dict[str, object]:
    return {"total": 40, "offset": 0, "next": 2, "data": list(papers)}


@pytest.fixture
def scholar(http: HttpClient) -> SemanticScholarSearch:
    return SemanticScholarSearch(http, api_key=KEY, base_url="http://s2.example")


@pytest.fixture
def keyless(http: HttpClient) -> SemanticScholarSearch:
    return SemanticScholarSearch(http, base_url="http://s2.example")


async def test_papers_become_hits_with_their_readable_address(
    server: MisbehavingServer, scholar: SemanticScholarSearch
) -> None:
    server.on(PATH, respond_json(page(OPEN, CLOSED)))
    second_page = "https://www.semanticscholar.org/paper/p2"
    found = await ask(scholar, "sugar-free diets", limit=2)
    first, second = (await ask(scholar, limit=2)).hits
    assert (first.url, first.snippet) == (found.hits[0].url, found.hits[0].snippet)
    assert first == FoundHit(
        rank=1,
        title="Sugar and hyperactivity",
        url="http://press.example/p1.pdf",
        snippet="Children did not behave differently.",
        published_on=date(1995, 11, 22),
        citation_count=312,
        journal="The Journal of Trials",
    )
    assert (second.url, second.snippet, second.published_on) == (second_page, "", None)
    assert second.citation_count == 0


async def test_the_request_carries_key_offset_and_period(
    server: MisbehavingServer, scholar: SemanticScholarSearch
) -> None:
    server.on(PATH, respond_json(page(OPEN)))
    found = await ask(
        scholar,
        "sugar-free diets",
        limit=5,
        page=3,
        after=date(1990, 1, 1),
        before=date(2000, 1, 1),
    )
    assert [hit.rank for hit in found.hits] == [11]
    asked = parameters(server)
    assert server.asked[0].headers["x-api-key"] == KEY
    assert (asked["query"], asked["offset"], asked["limit"]) == ("sugar free diets", "10", "5")
    assert asked["publicationDateOrYear"] == "1990-01-01:1999-12-31"
    assert {"abstract", "citationCount", "openAccessPdf"} <= set(asked["fields"].split(","))


@pytest.mark.parametrize(
    ("after", "before", "period"),
    [
        (date(1990, 1, 1), None, "1990-01-01:"),
        (None, date(1990, 1, 1), ":1989-12-31"),
        (None, None, None),
    ],
)
async def test_a_period_may_be_open(
    server: MisbehavingServer,
    keyless: SemanticScholarSearch,
    after: date | None,
    before: date | None,
    period: str | None,
) -> None:
    server.on(PATH, respond_json(page()))
    await ask(keyless, after=after, before=before)
    assert parameters(server).get("publicationDateOrYear") == period
    assert "x-api-key" not in server.asked[0].headers


@pytest.mark.parametrize("body", [{"total": 0, "offset": 0}, {"total": 0, "data": []}])
async def test_nothing_found_is_an_answer_with_or_without_a_list(
    server: MisbehavingServer, keyless: SemanticScholarSearch, body: object
) -> None:
    server.on(PATH, respond_json(body))
    found = await ask(keyless)
    assert (found.outcome, found.hits) == ("ok", ())


async def test_too_many_requests_without_a_key_says_that_a_key_helps(
    server: MisbehavingServer, keyless: SemanticScholarSearch
) -> None:
    server.on(PATH, respond(status=429, headers={"Retry-After": "60"}))
    found = await ask(keyless)
    assert found.outcome == "outage"
    assert found.reason == (
        "semantic_scholar: too many requests by all users without a key; set "
        "SEMANTIC_SCHOLAR_API_KEY or try again later (it asks to wait 60 seconds)"
    )
