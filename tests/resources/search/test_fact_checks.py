"""The prior-fact-check lane against a server that speaks Google's format."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from resources.http import HttpClient
from resources.search.base import PriorFactCheck
from resources.search.providers import GoogleFactChecks
from tests.resources.search.asking import parameters
from tests.servers import MisbehavingServer, respond, respond_json

KEY = "canary-4711"
PATH = "/v1alpha1/claims:search"
DISABLED = (
    "the Fact Check Tools API is not enabled for the key's project; enable it at "
    "console.cloud.google.com"
)
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


def refusal(code: int, message: str, status: str, reason: str = "") -> dict[str, object]:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}]
    return {"error": {"code": code, "message": message, "status": status, "details": details}}


@pytest.fixture
def lane(http: HttpClient) -> GoogleFactChecks:
    return GoogleFactChecks(http, api_key=KEY, base_url="http://google.example")


async def test_every_review_of_a_claim_is_a_prior_fact_check(
    server: MisbehavingServer, lane: GoogleFactChecks
) -> None:
    server.on(PATH, respond_json({"claims": [CLAIM], "nextPageToken": "CAo"}))
    answer = await lane.prior_checks("sugar")
    assert (answer.provider, answer.outcome) == ("google_fact_check", "ok")
    first, second = answer.checks
    assert first == PriorFactCheck(
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
    await lane.prior_checks("sugar", limit=5, language="de", after=week_ago)
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
    answer = await lane.prior_checks("sugar")
    assert (answer.outcome, answer.checks, answer.reason) == ("ok", (), None)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (
            400,
            refusal(400, f"API key not valid: {KEY}", "INVALID_ARGUMENT", "API_KEY_INVALID"),
            "the API key was refused; check GOOGLE_FACT_CHECK_API_KEY",
        ),
        (
            403,
            refusal(403, "Fact Check Tools API has not been used in project 7", "X"),
            DISABLED,
        ),
        (
            403,
            refusal(403, "The caller does not have permission", "PERMISSION_DENIED"),
            "the API key was refused; check GOOGLE_FACT_CHECK_API_KEY",
        ),
        (
            429,
            refusal(429, "Quota exceeded", "RESOURCE_EXHAUSTED"),
            "the project's quota is used up; ask less often",
        ),
        (
            400,
            refusal(400, "Request contains an invalid argument.", "INVALID_ARGUMENT"),
            "google.example answered 400 Bad Request",
        ),
    ],
)
async def test_refusals_say_what_to_do(
    server: MisbehavingServer, lane: GoogleFactChecks, status: int, body: object, reason: str
) -> None:
    server.on(PATH, respond_json(body, status=status))
    answer = await lane.prior_checks("sugar")
    assert (answer.outcome, answer.reason) == ("outage", f"google_fact_check: {reason}")
    assert KEY not in repr(answer)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ([], "is no JSON object"),
        ({"claims": {}}, "has no list of claims"),
        ({"claims": [{"claimReview": "x"}]}, "has no list of reviews"),
        ({"claims": [{"claimReview": [{}]}]}, "gives a review no URL"),
    ],
)
async def test_another_shape_is_an_outage(
    server: MisbehavingServer, lane: GoogleFactChecks, body: object, what: str
) -> None:
    server.on(PATH, respond_json(body))
    answer = await lane.prior_checks("sugar")
    assert answer.outcome == "outage"
    assert what in (answer.reason or "")


async def test_an_outage_is_not_the_absence_of_fact_checks(
    server: MisbehavingServer, lane: GoogleFactChecks
) -> None:
    server.on(PATH, respond(status=500))
    assert (await lane.prior_checks("sugar")).outcome == "outage"
