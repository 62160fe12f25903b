"""Jina's reader as another fetcher: the same shape, and a name for each way in which it fails."""

from __future__ import annotations

from datetime import date

import pytest

from factible_assets.stages.ports import Fetcher
from resources.http import HttpClient
from resources.pages.scraper import JinaReader
from tests.servers import Behaviour, MisbehavingServer, respond, respond_json, truncate

KEY = "canary-of-a-key"
PAGE = "https://news.example/article?n=1#part"


def answer(**changes: object) -> dict[str, object]:
    data = {
        "title": "  An\narticle ",
        "description": "",
        "url": "https://news.example/article?n=1",
        "content": "# An article\n\nSee the **study** of `2020`.\n\n> Said.",
        "publishedTime": "2021-03-05T08:00:00+00:00",
        "usage": {"tokens": 31},
        **changes,
    }
    return {"code": 200, "status": 20000, "data": data}


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on("/", respond_json(answer()))
    return server


@pytest.fixture
def reader(http: HttpClient) -> JinaReader:
    return JinaReader(http, api_key=KEY, base_url="http://jina.example/")


async def test_jina_returns_text_without_markdown_marks(
    server: MisbehavingServer, reader: JinaReader
) -> None:
    port: Fetcher = reader
    page = await port.fetch(PAGE)
    assert (page.outcome, page.via, page.reason) == ("ok", "scraped", None)
    assert page.text == "An article\nSee the study of 2020.\nSaid."
    assert (page.title, page.published_on) == ("An article", date(2021, 3, 5))
    assert (page.url, page.final_url) == (PAGE, "https://news.example/article?n=1")
    asked = server.asked[0]
    assert (asked.method, asked.json) == ("POST", {"url": PAGE})
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["accept"] == "application/json"


async def test_without_a_key_none_is_sent(server: MisbehavingServer, http: HttpClient) -> None:
    page = await JinaReader(http, base_url="http://jina.example/").fetch(PAGE)
    assert page.outcome == "ok"
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("behaviour", "outcome", "reason"),
    [
        (respond(status=401), "outage", "the API key was refused; check JINA_API_KEY"),
        (respond(status=402), "outage", "out of credits"),
        (respond(status=429), "outage", "too many requests"),
        (respond(status=500), "outage", "answered 500"),
        (respond(status=400), "unavailable", "answered 400"),
        (respond(status=451), "unavailable", "answered 451"),
        (respond("no json"), "outage", "is no JSON object"),
        (respond_json({"data": None}), "outage", "has an unknown form"),
        (respond_json({"data": {"content": None}}), "outage", "has an unknown form"),
        (respond_json(answer(content=" \n")), "unavailable", "empty"),
        (
            respond_json(answer(warning="Target URL returned error 404: Not Found")),
            "absent",
            "answered 404",
        ),
        (
            respond_json(answer(warning="Target URL returned error 503: Service Unavailable")),
            "outage",
            "answered 503",
        ),
        (truncate(), "outage", "broke off"),
    ],
)
async def test_every_failure_has_its_name_and_no_secret(
    server: MisbehavingServer, reader: JinaReader, behaviour: Behaviour, outcome: str, reason: str
) -> None:
    server.on("/", behaviour)
    page = await reader.fetch(PAGE)
    assert (page.outcome, page.text, page.via) == (outcome, "", None)
    assert reason in (page.reason or "")
    assert KEY not in (page.reason or "")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://intranet/",
        "http://printer.local/",
        "http://2130706433/",
        "file:///etc/passwd",
        "https://user:word@news.example/",
        "nonsense",
        "http://[::1",
    ],
)
async def test_no_private_name_leaves_the_machine(
    server: MisbehavingServer, reader: JinaReader, url: str
) -> None:
    page = await reader.fetch(url)
    assert page.outcome == "unavailable"
    assert server.asked == []


@pytest.mark.parametrize(
    ("told", "day"),
    [
        ("2021-03-05", date(2021, 3, 5)),
        ("Fri, 05 Mar 2021 08:00:00 GMT", date(2021, 3, 5)),
        ("some time after the harvest of the year before", None),
        (5, None),
    ],
)
async def test_dates_are_read_if_they_are_dates(
    server: MisbehavingServer, reader: JinaReader, told: object, day: date | None
) -> None:
    server.on("/", respond_json(answer(publishedTime=told)))
    assert (await reader.fetch(PAGE)).published_on == day
