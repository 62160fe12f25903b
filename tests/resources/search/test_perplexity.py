"""The Perplexity client against a server that speaks its format, properly and otherwise."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from resources.http import HttpClient
from resources.search.providers import PerplexityExpert
from tests.resources.search.asking import ask
from tests.servers import MisbehavingServer, respond_json

KEY = "pplx-canary-4711"
PATH = "/chat/completions"


def completion(**fields: object) -> dict[str, Any]:
    return {
        "id": "c1",
        "model": "sonar",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Trials found no effect [1][2]."},
            }
        ],
        "citations": ["http://a.example/1", "http://b.example/2"],
        "search_results": [
            {"title": "Trial", "url": "http://a.example/1", "date": "2021-03-05", "snippet": "No."},
            {"title": "Review", "url": "http://b.example/2", "date": None},
        ],
        "usage": {
            "prompt_tokens": 40,
            "completion_tokens": 9,
            "total_tokens": 49,
            "cost": {"input_tokens_cost": 0.0, "total_cost": 0.005},
        },
        **fields,
    }


@pytest.fixture
def expert(http: HttpClient) -> PerplexityExpert:
    return PerplexityExpert(http, api_key=KEY, base_url="http://pplx.example")


async def test_the_cited_pages_become_hits(
    server: MisbehavingServer, expert: PerplexityExpert
) -> None:
    server.on(PATH, respond_json(completion()))
    answer = await ask(expert, "does sugar make children hyperactive", limit=3)
    first, second, _ = answer.hits
    assert (first.rank, first.title, first.url) == (1, "Trial", "http://a.example/1")
    assert (first.snippet, first.published_on) == ("No.", date(2021, 3, 5))
    assert (second.title, second.snippet, second.published_on) == ("Review", "", None)


async def test_the_engines_own_words_come_last_with_sources_and_outside_the_limit(
    server: MisbehavingServer, expert: PerplexityExpert
) -> None:
    server.on(PATH, respond_json(completion()))
    *cited, own = (await ask(expert, "does sugar harm?", limit=1)).hits
    assert [hit.url for hit in cited] == ["http://a.example/1"]
    assert own.url == "https://perplexity.ai/search?q=does+sugar+harm%3F"
    words, _, sources = own.snippet.partition("\n\n")
    assert words == "Trials found no effect [1][2]."
    assert sources.splitlines() == ["[1] http://a.example/1", "[2] http://b.example/2"]


async def test_words_that_were_cut_off_are_not_handed_out(
    server: MisbehavingServer, expert: PerplexityExpert
) -> None:
    body = completion()
    body["choices"][0]["finish_reason"] = "length"
    server.on(PATH, respond_json(body))
    assert [hit.rank for hit in (await ask(expert)).hits] == [1, 2]


async def test_the_request_carries_key_days_and_domains(
    server: MisbehavingServer, expert: PerplexityExpert
) -> None:
    server.on(PATH, respond_json(completion()))
    answer = await ask(
        expert, before=date(2021, 1, 2), after=date(2020, 3, 4), exclude_domains=["b.example"]
    )
    (asked,) = server.asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    body = asked.json
    assert isinstance(body, dict)
    assert body["search_before_date_filter"] == "01/02/2021"
    assert body["search_after_date_filter"] == "03/04/2020"
    assert body["search_domain_filter"] == ["-b.example"]
    assert body["messages"][-1] == {"role": "user", "content": "sugar"}
    assert [hit.url for hit in answer.hits[:-1]] == ["http://a.example/1"]


async def test_there_is_no_second_page_to_pay_for(
    server: MisbehavingServer, expert: PerplexityExpert
) -> None:
    answer = await ask(expert, page=2)
    assert (answer.outcome, answer.hits, server.asked) == ("ok", (), [])
