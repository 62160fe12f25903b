"""The Wikipedia client against a server that speaks its format, properly and otherwise."""

from __future__ import annotations

import pytest

from resources.http import HttpClient
from resources.search.providers import WikipediaSearch
from tests.resources.search.asking import ask, parameters
from tests.servers import MisbehavingServer, respond_json

PATH = "/w/api.php"


def article(index: int, title: str, **fields: object) -> dict[str, object]:
    return {
        "pageid": index,
        "ns": 0,
        "title": title,
        "index": index,
        "extract": f"{title} is a\nthing.",
        "touched": "2024-01-01T00:00:00Z",
        "fullurl": f"https://en.wikipedia.org/wiki/{title}",
        "canonicalurl": f"https://en.wikipedia.org/wiki/{title}",
        **fields,
    }


def found(*pages: object) -> dict[str, object]:
    return {
        "batchcomplete": True,
        "continue": {"gsroffset": 2, "continue": "gsroffset||"},
        "query": {"pages": list(pages)},
    }


@pytest.fixture
def wikipedia(http: HttpClient) -> WikipediaSearch:
    return WikipediaSearch(http, base_url="http://{language}.wiki.example")


async def test_articles_come_in_order_of_rank_with_their_beginning(
    server: MisbehavingServer, wikipedia: WikipediaSearch
) -> None:
    server.on(PATH, respond_json(found(article(2, "Salt"), article(1, "Sugar"))))
    answer = await ask(wikipedia, "sugar", limit=2)
    assert [(hit.rank, hit.title, hit.snippet) for hit in answer.hits] == [
        (1, "Sugar", "Sugar is a thing."),
        (2, "Salt", "Salt is a thing."),
    ]
    assert answer.hits[0].url == "https://en.wikipedia.org/wiki/Sugar"
    assert answer.hits[0].published_on is None


async def test_an_article_without_a_beginning_is_still_a_hit(
    server: MisbehavingServer, wikipedia: WikipediaSearch
) -> None:
    bare = article(1, "Sugar")
    del bare["extract"]
    server.on(PATH, respond_json(found(bare)))
    assert [hit.snippet for hit in (await ask(wikipedia)).hits] == [""]


async def test_page_and_language_reach_the_service(
    server: MisbehavingServer, wikipedia: WikipediaSearch
) -> None:
    server.on(PATH, respond_json(found(article(11, "Zucker"))))
    answer = await ask(wikipedia, "zucker", limit=5, page=3, language="de")
    asked = parameters(server)
    assert (asked["gsroffset"], asked["gsrlimit"], asked["gsrsearch"]) == ("10", "5", "zucker")
    assert server.asked[0].host == "de.wiki.example"
    assert [hit.rank for hit in answer.hits] == [11]


@pytest.mark.parametrize("language", ["evil.example/", "en.evil", "", "a" * 40, "en\r\nx"])
async def test_what_is_no_language_never_becomes_a_host(
    server: MisbehavingServer, wikipedia: WikipediaSearch, language: str
) -> None:
    server.on(PATH, respond_json(found(article(1, "Sugar"))))
    await ask(wikipedia, language=language)
    assert server.asked[0].host == "en.wiki.example"


async def test_nothing_found_is_an_answer(
    server: MisbehavingServer, wikipedia: WikipediaSearch
) -> None:
    server.on(PATH, respond_json({"batchcomplete": True}))
    answer = await ask(wikipedia)
    assert (answer.outcome, answer.hits) == ("ok", ())


@pytest.mark.parametrize(
    ("query", "sent"),
    [("sugar " * 80, ("sugar " * 50).strip()), ("a" * 400, "a" * 300), ("a\nb", "a b")],
)
async def test_a_long_query_is_cut_to_the_services_limit(
    server: MisbehavingServer, wikipedia: WikipediaSearch, query: str, sent: str
) -> None:
    server.on(PATH, respond_json(found(article(1, "Sugar"))))
    await ask(wikipedia, query)
    assert parameters(server)["gsrsearch"] == sent
