"""The pages of the desk: their content, their size and their cost at 50 videos."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

from factible_assets.errors import FactibleError
from factible_assets.records.tables import ReviewAction
from factible_assets.runs.changes import Change
from factible_assets.runs.claims import open_claim
from factible_assets.runs.review import record
from factible_assets.settings import Settings
from factible_assets.web import runs
from factible_assets.web.desk.answers import for_browser
from factible_assets.web.models import error_update, progress_update
from tests.cli.stored import VIDEO_ID, store_failed_recheck, store_published, store_sample
from tests.patience import eventually
from tests.report import samples
from tests.report.page import Page
from tests.warehouse.samples import write_asset
from tests.web.conftest import Serve
from tests.web.desk.many import store_many
from tests.web.doubles import Browser, Script
from warehouse.bookkeeping import read_actions
from warehouse.rows import Stamp
from warehouse.store import Warehouse

CLAIM = samples.claim(0).claim_id
CLAIM_PATH = f"/desk/videos/{VIDEO_ID}/claims/{CLAIM}"
MOST_BYTES = 500_000
ANY_STATE = ("note", "add_claim")
"""Acts that any state of the claim will do for."""


def version(client: Browser, path: str) -> str:
    """Return the version that the forms of a claim's page carry; an empty text for no claim."""
    _, video_id, _, claim_id = path.removesuffix("/acts").removeprefix("/desk/").split("/")
    try:
        return open_claim(video_id, claim_id, Settings(home=client.home)).version
    except FactibleError:
        return ""


def send(client: Browser, path: str, **fields: Any) -> httpx.Response:
    """Submit a form with the version of the claim."""
    if path.endswith("/acts") and "seen" not in fields and fields.get("act") not in ANY_STATE:
        fields |= {"seen": version(client, path)}
    return client.submit(path, fields)


def test_at_50_videos_pages_are_small_and_cost_little_more_than_at_one(
    serve: Serve, home: Path
) -> None:
    store_published(home)
    client = serve()
    pages = [
        "/desk",
        "/desk/queue?tab=all&sort=newest&page=15",
        "/desk/queue?tab=all&corpus=corpus-3&channel=Channel+3&sort=video",
        f"/desk/videos/{VIDEO_ID}",
        "/desk/search?q=honey+jar+vaccine",
        f"/desk/videos/{VIDEO_ID}-7/claims/{CLAIM}-7-1",
    ]

    def seconds() -> float:
        """Return the CPU seconds of all pages."""
        began = time.process_time()
        answers[:] = map(client.get, pages)
        return time.process_time() - began

    answers: list[httpx.Response] = []
    client.get(pages[-2])  # Modules that load once are not the cost of a page.
    of_one = seconds()
    store_many(home, 50, 3).publish(home / "published.duckdb")
    of_many = seconds()
    assert of_many < 6 * of_one
    for answer in answers:
        assert answer.status_code == 200, answer.url
        assert len(answer.content) <= MOST_BYTES, answer.url
    similar = Page(answers[-1].text).all("//section[@aria-labelledby='similar']//tbody/tr")
    assert len(similar) == 8


def test_the_tabs_of_the_queue_list_claims_by_reason(serve: Serve, home: Path) -> None:
    store = store_sample(home)
    store_failed_recheck(store)
    store.publish(home / "published.duckdb")
    client = serve()

    def claims(query: str) -> list[str]:
        rows = csv.DictReader(io.StringIO(client.get(f"/desk/queue.csv?{query}").text))
        return [f"/desk/videos/{row['video_id']}/claims/{row['claim_id']}" for row in rows]

    # The last verdict of the sample is incomplete, and the re-check of the first one failed.
    incomplete = claims("tab=incomplete")
    assert len(incomplete) == 2
    assert CLAIM_PATH in incomplete
    assert len(claims("tab=unreviewed")) == len(claims("tab=all")) == 5
    assert claims("tab=all&channel=Nobody") == []
    assert claims("tab=all&sort=video") == claims("tab=all&sort=nonsense&sort=video")
    page = Page(client.get("/desk/queue?tab=nonsense&page=-3&since=tomorrow").text)
    links = map(str, page.all("//ol[@class='listed']//a/@href"))
    unreviewed = [link.partition("?")[0] for link in links]
    assert set(unreviewed[:2]) == set(incomplete)
    assert len(unreviewed) == 5
    for act, left in (
        ({"act": "note", "text": "Seen."}, 5),
        ({"act": "assess", "text": "mixed"}, 4),
    ):
        assert send(client, f"{CLAIM_PATH}/acts", **act).status_code == 303
        assert len(claims("tab=unreviewed")) == left


def test_an_act_is_recorded_with_reviewer_and_reason(
    serve: Serve, home: Path, published: str
) -> None:
    client = serve(reviewer="Ada")
    done = send(
        client, f"{CLAIM_PATH}/acts", act="block_source", text="example.org", reason="sells pills"
    )
    assert (done.status_code, done.headers["location"]) == (
        303,
        f"{CLAIM_PATH}?recorded=waits#sign",
    )
    page = Page(client.get(done.headers["location"]).text)
    (said,) = page.all("//section[@class='reviews']//li")
    words = " ".join(said.text_content().split())
    assert words.startswith("Reviewed by Ada")
    assert "blocked example.org" in words
    assert "sells pills" in words
    assert "Recorded." in page.text("//article//p[@role='status']")

    wrong = send(client, f"{CLAIM_PATH}/acts", act="block_source", text="example.org")
    assert wrong.status_code == 422
    assert "blocked already" in wrong.text
    assert send(client, f"{CLAIM_PATH}/acts", act="drop_table", text="x").status_code == 422
    assert send(client, "/desk/videos/nothing/claims/c1/acts", act="note").status_code == 422
    many = {f"text-{number}": "x" for number in range(600)}
    half = dict(list(many.items())[:300])
    assert send(client, f"{CLAIM_PATH}/acts", act="note", text="x", **half).status_code == 303
    crowded = send(client, f"{CLAIM_PATH}/acts", **many)
    assert crowded.status_code == 400
    assert "Too many fields" in crowded.text


def test_pages_say_that_a_check_is_running(serve: Serve, home: Path, published: str) -> None:
    client = serve()

    def notices(path: str) -> str:
        return " ".join(
            each.text_content() for each in Page(client.get(path).text).all("//p[@role='status']")
        )

    assert "As of" not in notices(CLAIM_PATH)
    made = (home / "published.duckdb").stat().st_mtime
    os.utime(home / "warehouse.duckdb", (made + 60, made + 60))  # as a running check leaves it
    for path in ("/desk", "/desk/queue", f"/desk/videos/{VIDEO_ID}"):
        assert "A check is running" in notices(path), path


def test_a_claims_page_shows_the_claim_before_the_video(serve: Serve, published: str) -> None:
    page = Page(serve().get(CLAIM_PATH).text)
    sections = page.all("//main/section")
    assert sections[0].xpath(".//article")
    assert "Transcript" in sections[-1].xpath("preceding-sibling::section")[-1].text_content()
    (video,) = page.all("//h1/a")
    assert video.get("href") == f"/desk/videos/{VIDEO_ID}"
    assert page.all("//title")[0].text_content().startswith(samples.claim(0).text)


def test_pages_name_neither_commands_nor_settings(serve: Serve, published: str) -> None:
    client = serve()
    paths = (
        "/desk",
        "/desk/queue?tab=mine",
        "/desk/search",
        f"/desk/videos/{VIDEO_ID}",
        CLAIM_PATH,
    )
    for path in (*paths, "/desk/nothing", "/desk/videos/unknown", "/desk/sign-in"):
        words = Page(client.get(path).text).text()
        assert not re.search(r"\bfactible [a-z]|FACTIBLE_| --\w|/api/", words), path


def test_a_check_is_started_followed_and_cancelled(serve: Serve, script: Script) -> None:
    client = serve()
    started = send(client, "/desk/checks", link="everyday-beliefs-talk", max_claims="3")
    assert started.status_code == 303
    run = started.headers["location"]
    worker = script.worker()
    assert worker.order.config.claims.max_claims == 3
    claims = [samples.claim(number).model_dump(mode="json") for number in (0, 1)]
    verdict = samples.verdict(0, "refutes").model_dump(mode="json")
    worker.say(
        progress_update("claims_extracted", "2 claims.", claims=claims, total_claims=2),
        progress_update(
            "verdict_reached",
            "Refuted.",
            reached=1,
            total_claims=2,
            claim=claims[0],
            verdict=verdict,
        ),
    )
    eventually(lambda: "Refuted." in client.get(run).text)
    page = Page(client.get(run).text)
    states = [item.text_content() for item in page.all("//li/span[@class='state']")]
    assert ["refuted" in states[0], "being checked" in states[1]] == [True, True]
    assert page.all("//noscript"), "without scripts the page loads itself again"
    with client.stream("GET", page.all("//div[@id='run']")[0].get("data-events")) as events:
        assert events.status_code == 200

    assert send(client, f"{run}/cancel").status_code == 303
    eventually(lambda: worker.cancelled)
    assert send(client, "/desk/checks").status_code == 422
    assert send(client, "/desk/checks", link="https://evil.example/watch").status_code == 404


def test_an_uploaded_transcript_is_checked_against_uploaded_pages(
    serve: Serve, script: Script
) -> None:
    client = serve()
    page = b"<html><title>Honey</title><p>Honey keeps for years in a closed jar.</p></html>"
    files = [
        ("transcript", ("../my talk.txt", b"Honey keeps for years in a closed jar.")),
        ("pages", ("honey.html", page)),
        ("pages", ("more.txt", b"https://honey.example/\n\nHoney is sweet.")),
    ]
    started = client.submit("/desk/checks", {"title": "On honey"}, files)
    assert started.status_code == 303, started.text
    order = script.worker().order
    assert order.config.search.web.startswith("archive:desk-")
    assert order.config.search.pages_rating == "medium"
    listed = (Settings(home=order.home).home_corpora / "local.yaml").read_text("utf-8")
    assert "On honey" in listed
    assert ".." not in order.video_id


@pytest.mark.parametrize("name", ["x.vtt", "x.mp3"])
def test_a_refused_file_is_named_without_its_folder(serve: Serve, name: str) -> None:
    refused = serve().submit("/desk/checks", files={"transcript": (name, b"\x00\xff")})
    assert refused.status_code == 422
    assert Page(refused.text).text("//p[@role='alert']").startswith(f"{name}: ")


def bring(client: Browser, name: str = "my_talk.txt", **fields: str) -> httpx.Response:
    """Upload a transcript, always the same words."""
    file = {"transcript": (name, b"Honey keeps for years in a closed jar.")}
    return client.submit("/desk/checks", fields, file)


def test_a_known_transcript_needs_no_title_and_takes_no_other(serve: Serve, script: Script) -> None:
    script.at_once = True
    client = serve()

    def finished(run: str) -> bool:
        return "Done." in client.get(run).text

    assert bring(client, title="On honey").status_code == 303
    for number, name in enumerate(("my_talk.txt", "a copy.txt"), start=1):
        again = bring(client, name, title=" ")
        assert again.status_code == 303, again.text
        worker = script.worker(number)
        assert worker.order.video_id == script.worker().order.video_id
        eventually(partial(finished, again.headers["location"]))
    other = bring(client, title="On bees")
    assert other.status_code == 422
    assert "On honey" in other.text
    assert "Leave the title out" in other.text
    assert str(worker.order.home) not in other.text
    assert "--" not in Page(other.text).all("//p[@role='alert']")[0].text_content()


def test_a_new_transcript_without_a_title_is_named_after_its_file(
    serve: Serve, script: Script
) -> None:
    assert bring(serve()).status_code == 303
    order = script.worker().order
    assert order.video_id.startswith("my-talk-")
    assert "title: my talk" in (Settings(home=order.home).home_corpora / "local.yaml").read_text()


def test_a_refused_check_lists_no_video(
    serve: Serve, home: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_RUNS", 1)
    client = serve()
    assert bring(client, max_claims="99").status_code == 422
    assert bring(client, title="x" * 301).status_code == 422
    assert send(client, "/desk/checks", link="everyday-beliefs-talk").status_code == 303
    assert bring(client).status_code == 429
    assert not (Settings(home=home).home_corpora / "local.yaml").exists()
    script.worker().complete()
    eventually(lambda: bring(client, title="x" * 300).status_code == 303)


def test_an_act_is_recorded_even_if_its_check_is_refused(
    serve: Serve, home: Path, script: Script, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_RUNS", 1)
    client = serve()
    assert send(client, "/desk/checks", link=VIDEO_ID).status_code == 303
    query = {"act": "add_query", "text": "honey jar years", "again": "1"}
    conflict = send(client, f"{CLAIM_PATH}/acts", **query)
    script.worker().complete()
    eventually(lambda: send(client, f"{CLAIM_PATH}/check").status_code == 303)
    script.worker(1).complete()
    eventually(
        lambda: send(client, "/desk/checks", link="everyday-beliefs-talk").status_code == 303
    )
    busy = send(client, f"{CLAIM_PATH}/acts", **query | {"text": "honey spoils"})
    assert (conflict.status_code, busy.status_code) == (409, 429)
    for refused, why in ((conflict, "with other settings"), (busy, "at once")):
        said = Page(refused.text).all("//p[@role='alert']")[0].text_content()
        assert said.startswith("Your act is recorded. The claim is not checked again now: ")
        assert why in said
        assert "/api/" not in said
    assert [each.value for each in acts_of(home)] == ["honey jar years", "honey spoils"]


def test_a_number_or_a_part_of_an_id_leads_to_the_claim(serve: Serve, published: str) -> None:
    client = serve()
    claims = f"/desk/videos/{VIDEO_ID}/claims"
    paths = {f"{claims}/{samples.claim(number).claim_id}" for number in range(5)}
    first = client.get(f"{claims}/1", follow_redirects=False)
    assert first.status_code == 303
    assert first.headers["location"] in paths
    cut = client.get(CLAIM_PATH[:-2], follow_redirects=False)
    assert cut.headers["location"] == CLAIM_PATH
    for short in (f"{claims}/1", first.headers["location"][:-2]):
        noted = send(client, f"{short}/acts", act="note", text=short)
        assert noted.headers["location"] == f"{first.headers['location']}?recorded=kept#sign"


def test_one_claim_is_checked_again(serve: Serve, script: Script, published: str) -> None:
    client = serve()
    started = send(client, f"{CLAIM_PATH}/check")
    assert started.headers["location"].startswith("/desk/runs/")
    worker = script.worker()
    assert (worker.order.video_id, worker.order.claim_id) == (VIDEO_ID, CLAIM)
    worker.complete()
    run = started.headers["location"]
    eventually(lambda: CLAIM_PATH in client.get(run).text)


def test_a_claim_of_a_video_that_no_corpus_lists_any_more_is_checked_again(
    serve: Serve, script: Script, home: Path
) -> None:
    store_many(home, 2, 1).publish(home / "published.duckdb")
    unlisted = CLAIM_PATH.replace(VIDEO_ID, f"{VIDEO_ID}-1")
    started = send(serve(), f"{unlisted}-1-0/check")
    assert started.headers["location"].startswith("/desk/runs/")
    assert script.worker().order.video_id == f"{VIDEO_ID}-1"


def test_search_finds_the_beginnings_of_words(serve: Serve, published: str) -> None:
    client = serve()
    page = Page(client.get("/desk/search?q=HÖNEY+keeping").text)
    assert page.all(f"//section[@aria-labelledby='found-claims']//a[@href='{CLAIM_PATH}']")
    assert not Page(client.get("/desk/search?q=unspoken").text).all("//table")
    assert client.get("/desk/search?q=%F0%9F%90%9D+!!&page=3").status_code == 200


def test_a_page_beyond_the_results_links_the_first(serve: Serve, published: str) -> None:
    client = serve()
    for first, beyond in (("/desk/search?q=honey", "&"), ("/desk", "?")):
        said = Page(client.get(f"{first}{beyond}page=100000").text).all("//main")[0]
        assert "There is no page 100000" in said.text_content()
        assert first in said.xpath(".//@href")


def test_a_claim_can_be_exported_and_its_card_alone_embedded(serve: Serve, published: str) -> None:
    client = serve(public_url="https://checks.example.org")
    answer = client.get(CLAIM_PATH)
    for framed in (answer, client.get("/desk"), client.get(f"/desk/videos/{published}")):
        assert "frame-ancestors 'none'" in framed.headers["content-security-policy"], framed.url
        assert framed.headers["x-frame-options"] == "DENY", framed.url
    page = Page(answer.text)
    markdown = client.get(f"{CLAIM_PATH}/claim.md")
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert samples.claim(0).text.rstrip(".") in markdown.text
    (review,) = json.loads(client.get(f"{CLAIM_PATH}/claim-review.json").text)["@graph"]
    assert review["claimReviewed"] == samples.claim(0).text
    assert review["url"] == f"https://checks.example.org{CLAIM_PATH}"
    frame = page.all("//textarea[@id='embed']")[0].text_content()
    (address,) = re.findall(r'src="https://checks\.example\.org([^"]+)"', frame)
    card = client.get(address)
    assert samples.claim(0).text in card.text
    assert "frame-ancestors *" in card.headers["content-security-policy"]
    assert "x-frame-options" not in card.headers


def test_a_note_says_nothing_of_the_ruling_on_a_claim_that_it_does_not_find(
    serve: Serve, published: str
) -> None:
    client = serve()
    unsigned = client.get(f"{CLAIM_PATH}/community-note.txt")
    assert (unsigned.status_code, "Nobody has signed" in unsigned.text) == (422, True)
    unknown = client.get(f"/desk/videos/{published}/claims/1/community-note.txt")
    assert (unknown.status_code, "Nobody has signed" in unknown.text) == (404, False)


def test_a_copy_with_an_older_schema_is_published_anew(serve: Serve, home: Path) -> None:
    copy = store_sample(home).publish(home / "published.duckdb")
    copy.chmod(0o644)
    with duckdb.connect(str(copy)) as older:
        older.execute("UPDATE schema_version SET version = 20")
    client = serve()
    assert client.get(CLAIM_PATH).status_code == 200


def refused_for_its_age(
    client: Browser, path: str, seen: str, **fields: str
) -> tuple[Page, dict[str, str]]:
    """Send a form of an older page. Return the answer's page and the fields of its form."""
    answer = send(client, path, seen=seen, **fields)
    assert answer.status_code == 409
    page = Page(answer.text)
    (form,) = page.all("//form[@class='box']")
    sends = {each.get("name"): each.get("value") for each in form.xpath(".//input")}
    sends |= {each.get("name"): each.text for each in form.xpath(".//textarea")}
    sends |= {each.get("name"): each.get("value") for each in form.xpath(".//button[@name]")}
    return page, sends


def acts_of(home: Path) -> Sequence[ReviewAction]:
    return read_actions(Warehouse(home / "warehouse.duckdb"), VIDEO_ID)


def kinds(home: Path) -> list[str]:
    return [act.action for act in acts_of(home)]


URL = samples.evidence(0, "a.example").canonical_url


@pytest.mark.parametrize(
    ("first", "mine", "now"),
    [
        (
            Change("reword_claim", "Honey keeps."),
            {"act": "split_claim", "text": "Honey is sweet.\r\nIt keeps.", "again": "1"},
            "Honey keeps.",
        ),
        (
            Change("sign", "Supported", reason="Two studies say so."),
            {"act": "sign", "text": "Refuted", "reason": "Three studies deny it."},
            "Supported Fact-check by Ada",
        ),
        (
            Change("overrule_source", URL, value="refutes", reason="Of wine."),
            {"act": "overrule_source", "text": URL, "value": "unclear", "reason": "Of mead."},
            f"decided that {URL} contradicts the claim",
        ),
    ],
)
def test_an_act_on_an_older_state_of_the_claim_is_recorded_only_at_a_second_press(
    serve: Serve, home: Path, published: str, first: Change, mine: dict[str, str], now: str
) -> None:
    client, path = serve(reviewer="Ada"), f"{CLAIM_PATH}/acts"
    seen = version(client, path)
    record(VIDEO_ID, CLAIM, [first], "Ada", Settings(home=home), seen=seen)
    page, again = refused_for_its_age(client, path, seen, **mine)
    assert now in page.text("//section[@aria-labelledby='now']")
    assert {name: again[name].split() for name in mine} == {
        name: value.split() for name, value in mine.items()
    }
    assert kinds(home) == [first.kind]
    assert send(client, path, **again).status_code == 303
    assert kinds(home) == [first.kind, mine["act"]]


def test_an_act_on_a_replaced_verdict_is_not_recorded(
    serve: Serve, home: Path, published: str
) -> None:
    client, path = serve(), f"{CLAIM_PATH}/acts"
    seen = version(client, path)
    store = Warehouse(home / "warehouse.duckdb")
    rows = [samples.verdict(number, "refutes") for number in range(5)]
    stamp = Stamp("run-2", datetime(2026, 2, 3, 4, 5, tzinfo=UTC))
    write_asset(store, "verdicts", VIDEO_ID, rows, stamp=stamp, code_version="test")
    page, _ = refused_for_its_age(client, path, seen, act="assess", text="supports")
    assert "A check has reached a new verdict" in page.text("//section[@aria-labelledby='now']")
    assert "leaning refuted" in page.text("//section[@aria-labelledby='now']")
    assert send(client, path, seen=seen, act="note", text="Look.").status_code == 303
    assert kinds(home) == ["note"]


def test_a_form_without_a_version_records_nothing(serve: Serve, home: Path, published: str) -> None:
    client = serve()
    refused_for_its_age(client, f"{CLAIM_PATH}/acts", "", act="drop_claim", reason="Trivial.")
    assert kinds(home) == []


def test_an_invalid_form_keeps_its_words(serve: Serve, published: str) -> None:
    parts = "Honey keeps for years in a closed jar."
    refused = send(serve(), f"{CLAIM_PATH}/acts", act="split_claim", text=parts, reason="Two.")
    assert refused.status_code == 422
    page = Page(refused.text)
    assert "two parts or more" in page.text("//p[@role='alert']")
    assert parts in page.text("//textarea[@name='text']")


def test_an_overruling_changes_the_verdict_on_every_page(serve: Serve, published: str) -> None:
    client = serve()
    mine = {"act": "overrule_source", "text": URL, "value": "refutes", "reason": "Of wine."}
    assert send(client, f"{CLAIM_PATH}/acts", **mine).status_code == 303
    page = Page(client.get(CLAIM_PATH).text)
    headline = page.text("//article//p[@class='verdict']")
    assert "Automatic leaning" not in headline
    assert "leaning supported before" in headline
    card = page.all("//a[text()='Card']/@href")[0]
    assert "supported" not in Page(client.get(str(card)).text).text("//main")
    listed = client.get("/desk/queue?tab=all").text
    assert listed.count("from before a reviewer decided about a source") == 1


def test_an_empty_data_folder_offers_the_demo(serve: Serve, script: Script) -> None:
    client = serve()
    for path in ("/desk", "/desk/queue", "/desk/search", "/desk/search?q=honey"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        words = Page(answer.text).text("//main")
        for offered in ("Check the demo talk", "Paste the link", "Upload a transcript"):
            assert offered in words, path
    started = send(client, "/desk/checks", demo="1")
    assert started.status_code == 303
    order = script.worker().order
    assert order.video_id == "everyday-beliefs-talk"
    assert order.config.search.web == "miniature"


def test_the_counts_of_a_video_link_its_claims(serve: Serve, published: str) -> None:
    client = serve()
    links = [str(each) for each in Page(client.get("/desk").text).all("//tbody//td//a/@href")]
    assert len(links) == 6
    report = Page(client.get(f"/desk/videos/{VIDEO_ID}").text)
    ids = {str(each) for each in report.all("//@id")}
    assert {link.partition("#")[2] for link in links} <= ids
    counts = [str(each) for each in report.all("//ul[@class='counts']//a/@href")]
    assert len(counts) == 5
    assert {link.removeprefix("#") for link in counts} <= ids


def follow(client: Browser, answer: httpx.Response) -> Page:
    """Return the page that a form leads to."""
    assert answer.status_code == 303, answer.text
    return Page(client.get(answer.headers["location"]).text)


def button(page: Page, label: str) -> dict[str, str]:
    """Return the fields that a browser sends if a person presses a button."""
    (pressed,) = page.all(f"(//button[starts-with(normalize-space(), '{label}')])[1]")
    form = pressed.getparent()
    while form.tag != "form":
        form = form.getparent()
    sent = {
        str(each.get("name")): str(each.get("value")) for each in form.xpath(".//input[@value]")
    }
    return sent | {"act": pressed.get("value") or sent.get("act", "")}


def test_the_buttons_of_a_source_decide_about_it_and_undo(
    serve: Serve, home: Path, published: str
) -> None:
    client, path = serve(), f"{CLAIM_PATH}/acts"
    page = Page(client.get(CLAIM_PATH).text)
    walk = ("Agree", "Undo", "Block the site", "Read it after all", "Leave this page out")
    for label in walk:
        sent = button(page, label)
        answer = client.submit(path, sent)
        page = follow(client, answer)
        place = answer.headers["location"].partition("#")[2]
        assert place == sent["at"]
        assert page.all(f"//*[@id='{place}'][@tabindex='-1']"), "the focus has its place"
    acts = acts_of(home)
    assert [(act.action, act.value) for act in acts] == [
        ("overrule_source", acts[0].value),
        ("overrule_source", None),
        ("block_source", None),
        ("unblock_source", None),
        ("block_source", None),
    ]
    assert "://" not in str(acts[2].target)
    assert "://" in str(acts[4].target)


def test_the_name_of_a_reviewer_is_asked_once(serve: Serve, home: Path, published: str) -> None:
    client, path = serve(reviewer=None), f"{CLAIM_PATH}/acts"
    asked = client.submit(path, button(Page(client.get(CLAIM_PATH).text), "Assign to me"))
    assert asked.status_code == 200
    assert kinds(home) == []
    page = Page(asked.text)
    kept = {str(each.get("name")): each.get("value") for each in page.all("//main//form/input")}
    kept |= {"name": "Reviewer One", "organisation": "Health Desk"}
    assert send(client, path, **kept).status_code == 303
    signed = send(client, path, act="sign", text="Mixed", reason="Both hold.")
    assert signed.status_code == 303
    acts = acts_of(home)
    assert [(act.action, act.reviewer) for act in acts] == [
        ("assign", "Reviewer One"),
        ("sign", "Reviewer One"),
    ]
    assert acts[0].value == "Reviewer One"
    assert acts[1].organisation == "Health Desk"


def test_a_reviewer_may_sign_for_no_organisation(serve: Serve, home: Path, published: str) -> None:
    client = serve(reviewer=None, organisation="Health Desk")
    assert send(client, "/desk/name", name="Ada Bee", organisation="").status_code == 303
    send(client, f"{CLAIM_PATH}/acts", act="sign", text="Mixed", reason="Both hold.")
    (act,) = acts_of(home)
    assert (act.reviewer, act.organisation) == ("Ada Bee", None)


def test_the_queue_opens_on_the_first_tab_that_has_a_claim_and_a_ruling_leads_to_the_next(
    serve: Serve, home: Path
) -> None:
    store_sample(home, ("supports", "refutes")).publish(home / "published.duckdb")
    client = serve()

    def tab(page: Page) -> str:
        return page.text("//nav[@class='tabs']//a[@aria-current]")

    assert tab(Page(client.get("/desk/queue?tab=incomplete").text)) == "Incomplete 0"
    page = Page(client.get("/desk/queue").text)
    assert tab(page) == "Unreviewed 2"
    order = [str(each).partition("?")[0] for each in page.all("//ol[@class='listed']//a/@href")]
    for here, there in zip(order, [*order[1:], ""], strict=True):
        assert str(page.all("//ol[@class='listed']//a[@aria-current]/@href")[0]).startswith(here)
        sent = button(page, "Sign") | {"text": "Mixed", "reason": "Both hold."}
        page = follow(client, send(client, f"{here}/acts", **sent))
        if there:
            assert "Your decision is recorded." in page.text("//main")
    assert tab(page) == "Unreviewed 0"
    assert tab(Page(client.get("/desk/queue").text)) == "All claims 2"


def test_a_claim_is_edited_split_or_dropped_where_it_stands(
    serve: Serve, home: Path, published: str
) -> None:
    client = serve()
    path, split, dropped = (
        f"/desk/videos/{VIDEO_ID}/claims/{samples.claim(number).claim_id}" for number in range(3)
    )
    send(client, f"{path}/acts", act="edit_claim", text="Honey keeps.")
    page = Page(client.get(path).text)
    assert "not checked yet" in page.text("//h1")
    assert "Honey keeps." in page.text("//main")
    assert page.all("//button[text()='Check it']")
    (on,) = page.all("//main//a[@rel='next']/@href")
    assert Page(client.get(str(on)).text).all("//section[@class='sign']"), "the queue goes on"
    parts = "Honey is sweet.\r\nIt is old."
    assert send(client, f"{split}/acts", act="edit_claim", text=parts).status_code == 303
    links = Page(client.get(split).text).all("//main//li/a")
    assert [link.text for link in links] == parts.split("\r\n")
    assert [link.text in client.get(link.get("href")).text for link in links] == [True, True]
    answer = send(client, f"{dropped}/acts", act="drop_claim", reason="Trivial.")
    assert answer.status_code == 303
    assert kinds(home) == ["reword_claim", "split_claim", "drop_claim"]
    listed = client.get("/desk/queue.csv?tab=all").text
    assert [samples.claim(number).claim_id in listed for number in range(5)] == [
        True, False, False, True, True
    ]  # fmt: skip
    assert "not checked any more" in Page(client.get(dropped).text).text("//h1")


def test_claims_are_chosen_before_they_are_checked(
    serve: Serve, home: Path, script: Script, published: str
) -> None:
    client = serve()
    asked = send(client, "/desk/checks", link=VIDEO_ID, find="1", strategy="best")
    first = script.worker()
    assert first.order.finds_only
    first.complete()
    run = asked.headers["location"]
    eventually(lambda: "Choose the claims" in client.get(run).text)
    page = Page(client.get(run).text)
    ids = [str(each) for each in page.all("//input[@name='keep']/@value")]
    assert len(ids) == 5
    sent = {
        "keep": ids[:2],
        f"text-{ids[0]}": page.all(f"//textarea[@name='text-{ids[0]}']")[0].text,
        f"text-{ids[1]}": "Honey keeps.",
        "added": "Bees dance.",
        "run": run.rpartition("/")[2],
        "strategy": "standard",
    }
    refused = client.submit(f"/desk/videos/{VIDEO_ID}/claims", {"strategy": "standard"})
    assert refused.status_code == 422
    assert send(client, f"/desk/videos/{VIDEO_ID}/claims", **sent).status_code == 303
    order = script.worker(1).order
    assert len(order.claims) == 3
    assert sorted(kinds(home)) == [
        "add_claim", "drop_claim", "drop_claim", "drop_claim", "reword_claim"
    ]  # fmt: skip


def test_a_failed_check_offers_to_try_again_and_to_bring_the_words(
    serve: Serve, script: Script
) -> None:
    client = serve()
    asked = send(client, "/desk/checks", link="iGkLcqLWxMA")
    worker = script.worker()
    worker.say(error_update("YouTube is down. Try factible check again.", worker.order.run_id))
    worker.vanish()
    run = asked.headers["location"]
    eventually(lambda: "YouTube is down." in client.get(run).text)
    page = Page(client.get(run).text)
    assert "factible check" not in page.text("//main")
    eventually(lambda: bool(Page(client.get(run).text).all("//button[text()='Try again']")))
    brought = {"of": "iGkLcqLWxMA", "pasted": "Honey keeps for years in a closed jar."}
    assert send(client, "/desk/checks", **brought).status_code == 303
    assert script.worker(1).order.video_id == "iGkLcqLWxMA"
    script.worker(1).complete()
    again = f"{run}/again"
    eventually(lambda: send(client, again).status_code == 303)
    assert script.worker(2).order.video_id == "iGkLcqLWxMA"


def test_tables_come_as_csv_without_formulas(serve: Serve, home: Path) -> None:
    store = store_sample(home)
    with store.connection() as connection:
        connection.execute("UPDATE claims SET text = '=1+1' WHERE claim_id = $1", [CLAIM])
    store.publish(home / "published.duckdb")
    client = serve()
    for path in ("/desk/queue.csv?tab=all", f"/desk/videos/{VIDEO_ID}/claims.csv"):
        answer = client.get(path)
        assert answer.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert len(rows) == 5
        assert "'=1+1" in [row.get("text", row.get("claim")) for row in rows]
    nothing = client.get("/desk/queue.csv?tab=mine").text
    (names,) = csv.reader(io.StringIO(nothing))
    assert "video_id" in names, "a header without rows"
    assert not {"previous", "next"} & set(names)


def test_a_program_chooses_the_strategy_and_the_claims(
    serve: Serve, home: Path, script: Script, published: str
) -> None:
    client = serve()
    asked = {"video_url": VIDEO_ID, "strategy": "best"}
    found = client.post("/api/v1/fact-check", json={**asked, "find_only": True})
    assert found.status_code == 202, found.text
    worker = script.worker()
    assert (worker.order.finds_only, worker.order.config.strategy) == (True, "best")
    worker.complete()
    ended = f"/api/v1/runs/{worker.order.run_id}/events"
    assert "complete" in client.get(ended).text
    chosen = [samples.claim(0).text, "Bees dance."]

    def is_launched() -> bool:
        answer = client.post("/api/v1/fact-check", json={**asked, "claims": chosen})
        return answer.status_code == 202

    eventually(is_launched)
    assert script.worker(1).order.claims == tuple(chosen)
    assert sorted(kinds(home)) == ["add_claim", *["drop_claim"] * 4]
    wrong = client.post("/api/v1/fact-check", json={**asked, "strategy": "guess"})
    assert wrong.status_code == 422


def test_a_program_cannot_find_and_check_claims_in_one_request(serve: Serve) -> None:
    asked = {"video_url": VIDEO_ID, "find_only": True, "claims": ["Bees dance."]}
    refused = serve().post("/api/v1/fact-check", json=asked)
    assert refused.status_code == 422
    assert "claims" in refused.json()["detail"]
    assert "find_only" in refused.json()["detail"]


def test_errors_reach_the_browser_without_commands() -> None:
    said = "YouTube could not be reached. Or bring captions: factible corpus add --transcript FILE"
    assert for_browser(said) == "YouTube could not be reached."
    assert for_browser("No claim 9; factible review V lists them.") == "No claim 9."
    assert for_browser("Give it: --reason TEXT.") == "This cannot be done now."
