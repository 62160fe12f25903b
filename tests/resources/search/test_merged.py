"""Several providers behind one door."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from resources.http import HttpClient
from resources.search.base import SearchAnswer, SearchRequest
from resources.search.providers import SearxngSearch, SerperSearch
from resources.search.service import MergedSearch
from tests.servers import MisbehavingServer, respond, respond_json


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


def test_a_door_with_nobody_behind_it_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one search provider"):
        MergedSearch([])
