"""Rules for every search service: each fault is an outage, and no message shows the key."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from resources.errors import SetupError
from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.network_guard import NetworkGuard
from resources.search.base import FactCheckAnswer, SearchAnswer, SearchProvider, SearchRequest
from resources.search.providers import (
    GoogleFactChecks,
    MergedSearch,
    PerplexityExpert,
    SearxngSearch,
    SemanticScholarSearch,
    SerperSearch,
    WikipediaSearch,
)
from resources.service import Service
from tests.resources.search.asking import ask
from tests.servers import Behaviour, MisbehavingServer, redirect, respond, respond_json, truncate

KEY = "canary-4711"
SAID = {"message": {"content": "It is so."}}
SERVICES: dict[str, Callable[[HttpClient, str], SearchProvider]] = {
    "serper": lambda http, url: SerperSearch(http, api_key=KEY, base_url=url),
    "searxng": lambda http, url: SearxngSearch(http, base_url=url),
    "semantic_scholar": lambda http, url: SemanticScholarSearch(http, api_key=KEY, base_url=url),
    "wikipedia": lambda http, url: WikipediaSearch(http, base_url=url),
    "perplexity": lambda http, url: PerplexityExpert(http, api_key=KEY, base_url=url),
}
FAULTS: dict[str, Behaviour] = {
    "server error": respond(KEY, status=500),
    "gone": respond(KEY, status=410),
    "truncated": truncate(b'{"results": ['),
    "a page": respond(f"<html>{KEY}</html>"),
    "malformed": respond('{"results": [', content_type="application/json"),
    "nested": respond("[" * 100_000, content_type="application/json"),
    "binary": respond(b"\xff\xfe\x00", content_type="application/json"),
    "a list": respond_json([KEY]),
    "a text": respond_json(KEY),
    "null": respond_json(None),
    "redirect inwards": redirect("http://169.254.169.254/latest/meta-data"),
}


@pytest.fixture
async def impatient(server: MisbehavingServer) -> AsyncIterator[HttpClient]:
    """A client that asks once and gives up soon."""
    async with HttpClient(
        guard=NetworkGuard(server.names),
        limits=HttpLimits(read_seconds=0.1, attempt_seconds=0.2),
        retry=RetryPolicy(attempts=1),
    ) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(("serper", fault) for fault in FAULTS),
        *((name, fault) for name in SERVICES for fault in ("server error", "truncated", "null")),
    ],
)
async def test_a_fault_is_an_outage_that_names_the_service(
    server: MisbehavingServer,
    impatient: HttpClient,
    name: str,
    fault: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.on("*", FAULTS[fault])
    answer = await ask(SERVICES[name](impatient, "http://service.example"))
    assert (answer.provider, answer.outcome, answer.hits) == (name, "outage", ())
    assert answer.reason is not None
    assert answer.reason.startswith(f"{name}: ")
    assert KEY not in repr(answer) + caplog.text


def refused(message: str, **more: str) -> dict[str, object]:
    return {"error": {"message": f"{message} {KEY}", **more}}


def wrong(service: str, *rows: tuple[object, str]) -> list[tuple[str, int, object, str]]:
    """Return answers of an undocumented shape, each with its error message."""
    return [(service, 200, body, what) for body, what in rows]


KEY_REFUSED = "the API key was refused; check "
ANSWERS = [
    ("serper", 403, refused("Unauthorized."), f"{KEY_REFUSED}SERPER_API_KEY"),
    ("serper", 400, refused("Not enough credits"), "out of credits; add some at serper.dev"),
    ("serper", 402, "", "the account is out of credits; add some at serper.dev"),
    ("serper", 400, refused("Missing query parameter"), "service.example answered 400 Bad Request"),
    ("serper", 429, "", "too many requests for this account; ask less often"),
    ("searxng", 403, "", "does not offer JSON; add json to search.formats in its settings.yml"),
    ("searxng", 429, "", "allow this address in its limiter.toml"),
    ("semantic_scholar", 403, refused("Forbidden"), f"{KEY_REFUSED}SEMANTIC_SCHOLAR_API_KEY"),
    ("wikipedia", 429, "", "too many requests; ask less often (it asks to wait 90 seconds)"),
    ("perplexity", 401, refused("x", type="insufficient_quota"), "the account is out of credits"),
    ("perplexity", 402, refused("x"), "add some at perplexity.ai/settings/api"),
    ("perplexity", 401, refused("Invalid API key"), f"{KEY_REFUSED}PERPLEXITY_API_KEY"),
    ("facts", 400, refused("API key not valid:"), f"{KEY_REFUSED}GOOGLE_FACT_CHECK_API_KEY"),
    ("facts", 403, refused("It has not been used in project 7"), "API is not enabled for the key"),
    ("facts", 403, refused("no permission"), f"{KEY_REFUSED}GOOGLE_FACT_CHECK_API_KEY"),
    ("facts", 429, refused("Quota exceeded"), "the project's quota is used up; ask less often"),
    *wrong(
        "serper",
        ([], "is no JSON object"),
        ({}, "has no list of organic results; has its format changed?"),
        (
            {"organic": [], "message": "Not enough credits"},
            "it found nothing and reported an error",
        ),
        ({"organic": ["x"]}, "has no list of organic results"),
        ({"organic": [{"link": None}]}, "gives no result a URL"),
    ),
    *wrong(
        "searxng",
        ({"results": [], "error": "rate limited"}, "it found nothing and reported an error"),
        ({"results": [], "errors": ["rate limited"]}, "it found nothing and reported an error"),
        ({"results": [], "status": "error"}, "it found nothing and reported an error"),
        ({"results": [], "code": 429}, "it found nothing and reported an error"),
        ({"results": [], "unresponsive_engines": {"google": "x"}}, "answered: google"),
    ),
    *wrong(
        "semantic_scholar",
        ({}, "has no total"),
        ({"total": 3, "data": None}, "has no list of papers"),
        ({"total": 1, "data": [{"title": "nameless"}]}, "gives no result a URL"),
    ),
    *wrong(
        "wikipedia",
        ({"error": {"code": "ratelimited", "info": "x"}}, "it found nothing and reported an error"),
        ({}, "has neither articles nor an end"),
        ({"query": {"pages": {"7": {}}}}, "has no list of articles"),
        ({"query": {"pages": [{"title": "x"}]}}, "gives no article a rank"),
        ({"query": {"pages": [{"title": "x", "index": 1}]}}, "gives no result a URL"),
    ),
    *wrong(
        "perplexity",
        ({}, "has no list of choices"),
        ({"choices": [{"message": {"content": None}}]}, "has no message"),
        ({"choices": [SAID], "search_results": [{}]}, "gives no result a URL"),
    ),
    *wrong(
        "facts",
        ([], "is no JSON object"),
        ({"claims": {}}, "has no list of claims"),
        ({"claims": [{"claimReview": "x"}]}, "has no list of reviews"),
        ({"claims": [{"claimReview": [{}]}]}, "gives no review a URL"),
    ),
]


@pytest.mark.parametrize(("name", "status", "body", "words"), ANSWERS)
async def test_refusals_and_wrong_shapes_have_their_own_messages(
    server: MisbehavingServer, http: HttpClient, name: str, status: int, body: object, words: str
) -> None:
    waiting = {"Retry-After": "90"}
    server.on("*", respond(json.dumps(body), status=status, headers=waiting))
    found: SearchAnswer | FactCheckAnswer
    if name == "facts":
        lane = GoogleFactChecks(http, api_key=KEY, base_url="http://service.example")
        found = await lane.prior_checks(SearchRequest("sugar", 10))
    else:
        found = await ask(SERVICES[name](http, "http://service.example"))
    assert found.outcome == "outage"
    assert words in (found.reason or "")
    assert KEY not in repr(found)


@pytest.mark.parametrize("key", ["", " ", "two\nlines", "schlüssel"])
@pytest.mark.parametrize(
    ("service", "setting"),
    [
        (SerperSearch, "SERPER_API_KEY"),
        (SemanticScholarSearch, "SEMANTIC_SCHOLAR_API_KEY"),
        (GoogleFactChecks, "GOOGLE_FACT_CHECK_API_KEY"),
        (PerplexityExpert, "PERPLEXITY_API_KEY"),
    ],
)
async def test_an_invalid_key_is_refused_without_showing_it(
    http: HttpClient, service: type[Service], setting: str, key: str
) -> None:
    with pytest.raises(SetupError, match=setting) as refusal:
        service(http, api_key=key)
    assert not key.strip() or key not in str(refusal.value)


async def test_an_outage_of_one_leaves_the_answer_of_the_other(
    server: MisbehavingServer, http: HttpClient
) -> None:
    server.on("/good/search", respond_json({"results": [{"url": "http://a.example/"}]}))
    server.on("/bad/search", respond(status=500))
    bad = SerperSearch(http, api_key="k", base_url="http://s.example/bad")
    good = SearxngSearch(http, base_url="http://s.example/good")
    answers = await MergedSearch([bad, good]).search(SearchRequest("q", limit=3))
    assert [(answer.provider, answer.outcome) for answer in answers] == [
        ("serper", "outage"),
        ("searxng", "ok"),
    ]


async def test_all_providers_are_asked_at_once() -> None:
    meeting = asyncio.Barrier(3)

    class Waiting:
        async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
            await meeting.wait()
            return (SearchAnswer("waiting", "ok"),)

    answers = await MergedSearch([Waiting(), Waiting(), Waiting()]).search(
        SearchRequest("q", limit=1)
    )
    assert len(answers) == 3


def test_a_search_without_providers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one search provider"):
        MergedSearch([])
