"""The browser extension in a real Chromium, on a page with the structure of YouTube's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from factible_assets.web.models import progress_update
from tests.chromium import needs_whole_browser, whole_browser
from tests.cli.stored import VIDEO_ID, store_sample
from tests.report import samples
from tests.warehouse.samples import write_asset
from tests.web.conftest import BOTH, TOKEN, Serve
from tests.web.desk.test_pages import send
from tests.web.doubles import Script
from warehouse.rows import Stamp
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

EXTENSION = Path(__file__).resolve().parents[2] / "extension"
YOUTUBE = "https://www.youtube.com"
HOSTILE = "<img src=x onerror=alert(1)>"
WATCH_PAGE = """<!doctype html><html><head><title>A talk - YouTube</title></head><body>
<ytd-app><ytd-browse hidden><div id="secondary"></div></ytd-browse>
<ytd-watch-flexy><div id="columns">
  <div id="primary"><div id="movie_player" class="html5-video-player">
    <video class="html5-main-video"></video>
    <div class="ytp-chrome-bottom"><div class="ytp-progress-bar-container">
      <div class="ytp-progress-bar" role="slider" style="position: relative; height: 5px">
        <div class="ytp-chapters-container"></div>
      </div></div></div></div></div>
  <div id="secondary"><div id="secondary-inner"><div id="related">More videos</div></div></div>
</div></ytd-watch-flexy></ytd-app></body></html>"""

pytestmark = needs_whole_browser


@dataclass(frozen=True)
class Installed:
    """Chromium with the extension, and the address of the extension's own pages."""

    context: BrowserContext
    place: str


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The extension, which may ask the loopback address from the start."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - without it the tests skip

    folder = tmp_path_factory.mktemp("chromium")
    copy = shutil.copytree(EXTENSION, folder / "extension")
    manifest = json.loads((copy / "manifest.json").read_text("utf-8"))
    # A person confirms this in a dialogue, which no test can press.
    manifest["host_permissions"] = ["http://127.0.0.1/*"]
    (copy / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(folder / "profile"),
            executable_path=whole_browser(),
            headless=False,
            args=[
                "--headless=new",
                "--no-sandbox",
                f"--disable-extensions-except={copy}",
                f"--load-extension={copy}",
                "--disable-features=DisableLoadExtensionCommandLineSwitch",
            ],
        )
        context.set_default_timeout(0)  # the watchdog of the test ends it
        context.route(
            f"{YOUTUBE}/**", lambda route: route.fulfill(body=WATCH_PAGE, content_type="text/html")
        )
        worker = context.service_workers[0] if context.service_workers else None
        worker = worker or context.wait_for_event("serviceworker")
        yield Installed(context, worker.url.rpartition("/")[0])
        context.close()


@pytest.fixture
def browser(installed: Installed) -> Iterator[Installed]:
    """The extension, whose pages close after the test."""
    others = {*installed.context.pages}
    yield installed
    for page in {*installed.context.pages} - others:
        page.close()


def set_up(browser: Installed, address: str, token: str = "") -> str:
    """Fill in the options as a person would, and return the page's answer."""
    page = browser.context.new_page()
    page.goto(f"{browser.place}/options.html")
    page.fill("#address", address)
    page.fill("#token", token)
    page.click("button")
    page.locator("#said:not(:empty)").wait_for()
    said = page.inner_text("#said")
    page.close()
    return said


def watch(browser: Installed, video_id: str = VIDEO_ID) -> Page:
    page = browser.context.new_page()
    page.on("dialog", lambda dialog: pytest.fail(f"a script of a claim ran: {dialog.message}"))
    page.goto(f"{YOUTUBE}/watch?v={video_id}")
    return page


def test_verdicts_stand_beside_the_video_and_on_its_bar(
    browser: Installed, serve: Serve, published: str
) -> None:
    client = serve(serve_token=BOTH)
    shown = client.get(f"/api/v1/videos/{published}", headers={"Authorization": f"Bearer {TOKEN}"})
    claims = shown.json()["claims"]
    assert "Checked videos: 1" in set_up(browser, str(client.base_url), TOKEN)
    page = watch(browser)
    items = page.locator("ytd-watch-flexy #secondary #factible-panel li")
    items.first.wait_for()
    assert items.count() == len(claims)
    for number, claim in enumerate(claims):
        assert claim["text"] in items.nth(number).inner_text()
    assert "1 refuted" in page.locator("#factible-panel .panel").inner_text()
    marks = page.locator(".ytp-progress-bar #factible-marks .mark")
    marks.first.wait_for(state="attached")
    timed = [each for each in claims if each["start_seconds"] is not None]
    assert marks.count() == len(timed)
    items.nth(1).locator("button").click()
    video = page.locator("#movie_player video")
    assert video.evaluate("each => each.currentTime") == claims[1]["start_seconds"]
    place = marks.first.evaluate("each => parseFloat(each.style.left)")
    assert place == pytest.approx(100 * timed[0]["start_seconds"] / 61.0)


def test_a_claim_is_text_and_never_markup(browser: Installed, serve: Serve, home: Path) -> None:
    store = store_sample(home)
    with store.connection() as connection:
        connection.execute("UPDATE claims SET text = $1", [HOSTILE])
    store.publish(home / "published.duckdb")
    set_up(browser, str(serve().base_url))
    page = watch(browser)
    first = page.locator("#factible-panel li").first
    first.wait_for()
    assert HOSTILE in first.inner_text()
    assert page.locator("#factible-panel img").count() == 0


def test_an_unchecked_video_can_be_checked_from_its_page(
    browser: Installed, serve: Serve, script: Script, home: Path
) -> None:
    failed, data = Warehouse(home / "warehouse.duckdb"), samples.report_data()
    rows, stamp = [data.video, *data.transcripts, *data.segments], Stamp("run-0", datetime.now(UTC))
    write_asset(failed, "transcripts", VIDEO_ID, rows, stamp=stamp, code_version="test")
    failed.publish(home / "published.duckdb")
    client = serve(serve_token=BOTH)
    set_up(browser, str(client.base_url), TOKEN)
    page = watch(browser)
    page.get_by_role("button", name="Check this video").click()
    page.get_by_text("The video is being checked").wait_for()
    worker = script.worker()
    assert worker.order.video_id == VIDEO_ID
    write_asset(failed, "claims", VIDEO_ID, [samples.claim(0)], stamp=stamp, code_version="test")
    failed.publish(home / "published.duckdb")
    worker.complete()
    page.locator("#factible-panel li").first.wait_for()


def test_the_panel_follows_the_video_without_a_new_page(
    browser: Installed, serve: Serve, published: str
) -> None:
    del published
    set_up(browser, str(serve().base_url))
    page = watch(browser)
    page.locator("#factible-panel li").first.wait_for()
    page.evaluate(
        """() => { history.pushState({}, "", "/watch?v=abcdefghijk");
        document.dispatchEvent(new CustomEvent("yt-navigate-finish")); }"""
    )
    page.get_by_text("This video has not been checked.").wait_for()
    assert page.locator(".mark").count() == 0
    # A service without tokens says how to let the extension start checks.
    page.get_by_role("button", name="Check this video").click()
    page.get_by_text("FACTIBLE_SERVE_ORIGINS").wait_for()
    page.evaluate(
        """() => { history.pushState({}, "", "/");
        document.dispatchEvent(new CustomEvent("yt-navigate-finish")); }"""
    )
    page.locator("#factible-panel").wait_for(state="detached")


@pytest.mark.usefixtures("published")
def test_errors_are_sentences_of_the_service(browser: Installed, serve: Serve) -> None:
    client = serve(serve_token=BOTH)
    assert "token is not valid here" in set_up(browser, str(client.base_url), "x" * 20)
    page = watch(browser)
    page.get_by_text("The token is not valid here.").wait_for()
    assert "https address" in set_up(browser, "http://facts.example.org", TOKEN)


def test_the_published_extension_may_ask_no_address_before_its_user_allows_it() -> None:
    manifest = json.loads((EXTENSION / "manifest.json").read_text("utf-8"))
    assert manifest["manifest_version"] == 3
    assert manifest["permissions"] == ["storage"]
    assert "host_permissions" not in manifest
    scripts = "".join(file.read_text("utf-8") for file in EXTENSION.glob("*.js"))
    for way in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", "importScripts"):
        assert way not in scripts


def test_a_live_verdict_on_the_desk_has_the_usual_words(
    browser: Installed, serve: Serve, script: Script
) -> None:
    client = serve()
    run = send(client, "/desk/checks", link="everyday-beliefs-talk").headers["location"]
    page = browser.context.new_page()
    page.goto(client.address + run)
    for number, outcome in enumerate(("unclear", "refutes", "incomplete")):
        verdict = samples.verdict(number, outcome, basis="embedded")
        made = {
            "claim": samples.claim(number).model_dump(mode="json"),
            "verdict": verdict.model_dump(mode="json"),
        }
        event = progress_update(
            "verdict_reached", "Said.", reached=number + 1, total_claims=3, **made
        )
        script.worker().say(event)
    page.wait_for_selector("#claims li >> nth=2")
    said = [badge.text_content() for badge in page.query_selector_all("#claims .badge")]
    assert said == ["?unclear", "✕leaning refuted", "!incomplete"]
    assert page.reload() is not None
    page.wait_for_selector("#claims li >> nth=2")
    again = [badge.inner_text() for badge in page.query_selector_all("#claims .badge")]
    assert ["leaning" in each for each in again] == [False, True, False]
    script.worker().complete()


def test_the_page_of_a_check_loads_again_if_its_events_are_refused(
    browser: Installed, serve: Serve, script: Script
) -> None:
    client = serve()
    run = send(client, "/desk/checks", link="everyday-beliefs-talk").headers["location"]
    page = browser.context.new_page()
    page.route("**/events", lambda route: route.fulfill(status=404))
    page.goto(client.address + run)
    script.worker().complete()
    page.wait_for_selector("#done")


def test_keys_work_without_storage(browser: Installed, serve: Serve, published: str) -> None:
    page = browser.context.new_page()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw 0; } })")
    page.goto(f"{serve().address}/desk/queue")
    page.keyboard.press("?")
    assert page.is_visible("#keys")


def test_a_printed_claim_fills_wide_paper_without_the_queue_and_the_forms(
    browser: Installed, serve: Serve, published: str
) -> None:
    page = browser.context.new_page()
    page.goto(f"{serve().address}/desk/queue")
    page.emulate_media(media="print")
    assert [page.is_visible(part) for part in ("#queue", ".fold", "#more", "#share")] == [False] * 4
    width = "(each) => each.getBoundingClientRect().width / document.body.clientWidth"
    assert page.locator("main").evaluate(width) > 0.9


def test_the_way_back_from_a_refused_form_keeps_its_words(browser: Installed, serve: Serve) -> None:
    page = browser.context.new_page()
    page.goto(f"{serve().address}/desk")
    page.fill("#link", "https://example.com/talk")
    page.click("button.main")
    page.get_by_role("link", name="Back").click()
    page.wait_for_selector("#link")
    assert page.input_value("#link") == "https://example.com/talk"
