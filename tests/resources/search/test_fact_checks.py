"""The prior-fact-check lane against a server that speaks Google's format."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from resources.http import HttpClient
from resources.search.base import FoundFactCheck, SearchRequest
from resources.search.providers import GoogleFactChecks
from tests.resources.search.asking import parameters
from tests.servers import MisbehavingServer, respond_json

KEY = "canary-4711"
PATH = "/v1alpha1/claims:search"
CLAIM = {
    "text": "Sugar makes children  hyperactive",
    "claimant": "Viral post",
    "claimDate": "2019-10-01T00:00:00Z",
    "claimReview": [
        {
            "publisher": {"name": "Checkers", "site": "checkers.example"},
            "url": "https://checkers.example/sugar",
            "title": "No, it does not",
            "reviewDate": "2019-10-31T09:00:00Z",
            "textualRating": "Mostly false",
            "languageCode": "en",
        },
        {"publisher": {"site": "other.example"}, "url": "https://other.example/1"},
    ],
}


@pytest.fixture
def lane(http: HttpClient) -> GoogleFactChecks:
    return GoogleFactChecks(http, api_key=KEY, base_url="http://google.example")


async def test_every_review_of_a_claim_is_a_prior_fact_check(
    server: MisbehavingServer, lane: GoogleFactChecks
) -> None:
    server.on(PATH, respond_json({"claims": [CLAIM], "nextPageToken": "CAo"}))
    answer = await lane.prior_checks(SearchRequest("sugar", 10))
    assert (answer.provider, answer.outcome) == ("google_fact_check", "ok")
    first, second = answer.checks
    assert first == FoundFactCheck(
        claim="Sugar makes children hyperactive",
        claimant="Viral post",
        rating="Mostly false",
        publisher="Checkers",
        url="https://checkers.example/sugar",
        reviewed_on=date(2019, 10, 31),
        claimed_on=date(2019, 10, 1),
        title="No, it does not",
        language="en",
    )
    assert (second.publisher, second.rating, second.reviewed_on) == ("other.example", "", None)


async def test_the_key_travels_in_a_header_and_not_in_the_url(
    server: MisbehavingServer, lane: GoogleFactChecks
) -> None:
    server.on(PATH, respond_json({}))
    week_ago = datetime.now(UTC).date() - timedelta(days=7)
    await lane.prior_checks(SearchRequest("sugar", 5, language="de", after=week_ago))
    (asked,) = server.asked
    assert asked.headers["x-goog-api-key"] == KEY
    assert KEY not in asked.target
    assert parameters(server) == {
        "query": "sugar",
        "pageSize": "5",
        "languageCode": "de",
        "maxAgeDays": "7",
    }


async def test_no_prior_check_is_an_answer(
    server: MisbehavingServer, lane: GoogleFactChecks
) -> None:
    server.on(PATH, respond_json({}))
    answer = await lane.prior_checks(SearchRequest("sugar", 10))
    assert (answer.outcome, answer.checks, answer.reason) == ("ok", (), None)
