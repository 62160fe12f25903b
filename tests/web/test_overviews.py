"""Overviews of channels, speakers and sources, and the feeds of their verdicts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote
from xml.etree.ElementTree import Element

import httpx
import pytest
from defusedxml.ElementTree import fromstring

from factible_assets.records.tables import ReviewAction, Verdict
from factible_assets.stages.ids import claim_id
from factible_assets.web.desk.lists import claim_path
from tests.report import samples
from tests.web.conftest import BOTH, TOKEN, Serve, bearer
from warehouse.bookkeeping import CarriedClaim, record_run
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/feeds/verdicts.atom"
CHANNEL = str(samples.video().channel)


def entries(answer: httpx.Response) -> list[Element]:
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/atom+xml"
    feed: Element = fromstring(answer.content)
    assert feed.tag == f"{ATOM}feed"
    for each in (feed, *feed.iter(f"{ATOM}entry")):
        for needed in ("title", "id", "updated"):
            assert each.findtext(f"{ATOM}{needed}"), f"RFC 4287 wants {needed}"
    return list(feed.iter(f"{ATOM}entry"))


def titles(answer: httpx.Response) -> set[str]:
    return {each.findtext(f"{ATOM}title") or "" for each in entries(answer)}


def test_the_feeds_have_complete_verdicts_with_links_to_their_pages(
    serve: Serve, published: str
) -> None:
    client = serve()
    answer = client.get(FEED)
    found = entries(answer)
    assert len(found) == 4, "the fifth verdict is incomplete"
    links = {link.attrib["href"] for each in found for link in each.iter(f"{ATOM}link")}
    base = client.address
    assert links == {
        f"{base}{claim_path(published, samples.claim(number).claim_id)}" for number in range(4)
    }
    assert client.get(links.pop()).status_code == 200
    assert titles(client.get(f"/feeds/channel/{CHANNEL}.atom")) == titles(answer)
    assert not entries(client.get("/feeds/channel/Nobody%2FElse.atom"))
    # An unchanged feed is not sent again.
    etag = answer.headers["etag"]
    again = client.get(FEED, headers={"If-None-Match": f'"other", {etag}'})
    assert (again.status_code, again.content) == (304, b"")


def test_a_check_of_another_claim_updates_no_entry(
    serve: Serve, home: Path, published: str
) -> None:
    before = {each.findtext(f"{ATOM}updated") for each in entries(serve().get(FEED))}
    store, now = Warehouse(home / "warehouse.duckdb"), Stamp("run-2", datetime.now(UTC))
    copied = store.read_current(Verdict, published)
    (check,) = store.query("SELECT DISTINCT run_id, checked_at FROM verdict_history").rows()
    held = [CarriedClaim(row.claim_id, *check) for row in copied]
    store.write_assets(
        published,
        {"verdicts": AssetRows(copied, "1")},
        stamp=now,
        also=lambda connection: record_run(connection, published, now, applied=[], carried=held),
    )
    store.publish(home / "published.duckdb")
    after = {each.findtext(f"{ATOM}updated") for each in entries(serve().get(FEED))}
    assert before == after


def test_an_empty_home_has_an_empty_feed(serve: Serve) -> None:
    assert not entries(serve().get(FEED))


def test_a_signed_ruling_is_the_title_of_its_entry(
    serve: Serve, home: Path, published: str
) -> None:
    text = samples.claim(0).text
    ruling = ReviewAction(
        action_id="a1",
        claim_id=claim_id(published, text),
        video_id=published,
        position=1,
        action="sign",
        target="truth",
        value="Mostly\x07 false",
        reason="The sources say otherwise.",
        stance="refutes",
        reviewer="Ada",
        acted_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    store = Warehouse(home / "warehouse.duckdb")
    store.write_rows({"review_actions": [ruling]})
    store.publish(home / "published.duckdb")
    first = entries(serve().get(FEED))[0]
    assert first.findtext(f"{ATOM}title") == f"Mostly false: {text}"
    assert first.findtext(f"{ATOM}author/{ATOM}name") == "Ada"


@pytest.mark.parametrize("path", [FEED, "/feeds/channel/x.atom", "/desk/overview"])
def test_feeds_and_overviews_need_the_token_of_other_pages(serve: Serve, path: str) -> None:
    client = serve(serve_token=BOTH)
    assert client.get(path).status_code == 401
    assert client.get(path, headers=bearer()).status_code == 200
    assert client.get(path, auth=("any name", TOKEN)).status_code == 200


@pytest.mark.usefixtures("published")
def test_an_overview_counts_the_verdicts_of_a_channel(serve: Serve) -> None:
    client, quoted = serve(), quote(CHANNEL)
    assert f"/desk/overview/channel/{quoted}" in client.get("/desk/overview").text
    page = client.get(f"/desk/overview/channel/{CHANNEL}").text
    assert "Verdicts over time" in page
    assert "Sources relied on" in page
    assert f"/feeds/channel/{quoted}.atom" in page


@pytest.mark.usefixtures("published")
def test_an_unknown_speaker_is_an_error_with_a_name(serve: Serve) -> None:
    answer = serve().get("/desk/overview/speaker/No%2FOne")
    assert answer.status_code == 404
    assert "No checked claim belongs to a speaker No/One." in answer.text
