"""The whole service without doubles: `factible serve`, workers, Dagster's records, a browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from factible_assets.settings import Settings
from factible_assets.web.runs import recorded_runs
from tests.chromium import missing_part, needs_browser
from tests.patience import eventually
from tests.report.browser import chromium
from tests.report.test_browser import COLOURS
from tests.shortcuts import prepare
from tests.web.doubles import Heard, events_of
from tests.web.slow_world import SLOW_VIDEO, list_slow_video, nobody_answers
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from playwright.sync_api import Page

STREAM = "/api/v1/fact-check/stream"
DEMO_VIDEO = "everyday-beliefs-talk"
FEW = {"max_claims": 2, "max_queries_per_claim": 1, "max_results_per_query": 3}


@contextmanager
def factible_serve(
    home: Path, **variables: str
) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """Run the command on a free port and yield a client and the process."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FACTIBLE_") and not name.endswith("_API_KEY")
    }
    command = [sys.executable, "-m", "factible_assets", "serve", "--port", "0", "--json"]
    prepare(home)
    process = subprocess.Popen(
        command,
        env={**kept, "FACTIBLE_HOME": str(home), **variables},
        cwd=home,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            with httpx.Client(base_url=_url(process), timeout=None) as client:
                yield client, process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                assert process.wait() == 0, "Ctrl-C is how a service ends"


def _url(process: subprocess.Popen[str]) -> str:
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if line.startswith("}"):
            break
    url: str = json.loads(said)["url"]
    return url


def sets_of(home: Path, run_id: str) -> set[str]:
    """Return the assets that a run stored completely."""
    stored = Warehouse(home / "warehouse.duckdb").query(
        "SELECT asset FROM materializations WHERE run_id = ?", [run_id]
    )
    return set(stored["asset"])


def assert_streamed_and_recorded(client: httpx.Client, home: Path, heard: list[Heard]) -> None:
    """Compare the events of a check of two claims with its result, its report and its record."""
    assert [event.name for event in heard] == [
        "transcript_extraction",
        "transcript_complete",
        "claim_extraction",
        "claims_extracted",
        "verdict_reached",
        "verdict_reached",
        "generating_report",
        "complete",
    ]
    progress = [event.data["progress"] for event in heard]
    assert progress == [5, 15, 20, 35, 62, 89, 90, 100]
    assert heard[1].payload["transcript_length"] > 1000
    claims = {claim["claim_id"] for claim in heard[3].payload["claims"]}
    assert heard[3].payload["total_claims"] == len(claims) == 2
    judged = [event.payload["verdict"]["claim_id"] for event in heard[4:6]]
    assert sorted(judged) == sorted(claims)

    run_id, result = heard[0].payload["run_id"], heard[-1].payload["result"]
    assert result == client.get(f"/api/v1/videos/{DEMO_VIDEO}").json()
    assert result["run_id"] == run_id
    assert result["is_finished"]
    assert {claim["claim_id"] for claim in result["claims"]} == claims
    assert "automatic leaning" in client.get(f"/reports/{DEMO_VIDEO}").text
    assert (home / "reports" / f"{DEMO_VIDEO}.html").exists()

    listed = client.get("/api/v1/runs", params={"video_id": DEMO_VIDEO}).json()["items"]
    assert [(run["run_id"], run["status"]) for run in listed] == [(run_id, "success")]
    (recorded,) = recorded_runs(Settings(home=home), limit=1, run_id=run_id)
    assert recorded.launched_by == "factible serve"


@pytest.mark.skipif(missing_part() is None, reason="The walk through the desk shows it too.")
def test_a_run_is_streamed_and_recorded(home: Path) -> None:
    with factible_serve(home) as (client, _):
        with client.stream("POST", STREAM, json={"video_url": DEMO_VIDEO, **FEW}) as response:
            heard = list(events_of(response))
        assert_streamed_and_recorded(client, home, heard)


def test_a_killed_service_leaves_complete_assets(home: Path) -> None:
    list_slow_video(home)
    with (
        nobody_answers() as address,
        factible_serve(home, FACTIBLE_SEARXNG_URL=address) as (client, process),
    ):
        with client.stream("POST", STREAM, json={"video_url": SLOW_VIDEO, **FEW}) as response:
            slow_run = response.headers["location"].rsplit("/", 1)[1]
            next(event for event in events_of(response) if event.name == "claims_extracted")
            process.kill()

        def is_canceled() -> bool:
            recorded = recorded_runs(Settings(home=home), limit=1, run_id=slow_run)
            return [each.status for each in recorded] == ["canceled"]

        eventually(is_canceled)
    assert sets_of(home, slow_run) == {"transcripts", "claims"}


def press_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(150):
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reached {selector}")


def findings(page: Page, *, dark: bool = False) -> list[str]:
    """Return all findings of axe on the unfolded page, and whether it is too wide on a phone.

    `dark` also asks for the contrast of dark colours. All pages but /docs share them.
    """
    base: Any = pytest.importorskip("axe_playwright_python.base")
    run = "(options) => axe.run({...options, resultTypes: ['violations']})"
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate(base.AXE_FILE_PATH.read_text("utf-8"))
    found = page.evaluate(run, {})["violations"]
    if dark:
        page.emulate_media(color_scheme="dark")
        found += page.evaluate(run, COLOURS)["violations"]
        page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 360, "height": 740})
    widest = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 800})
    too_wide = [f"{page.url} is {widest} wide"] if widest > 360 else []
    return too_wide + [
        f"{page.url} {each['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found
        for node in each["nodes"]
    ]


@needs_browser
def test_a_link_leads_to_a_signed_ruling_by_keyboard(home: Path) -> None:  # noqa: PLR0915 - one walk
    with (
        factible_serve(home, FACTIBLE_REVIEWER="Reviewer One") as (client, _),
        chromium() as browser,
    ):
        address = str(client.base_url).rstrip("/")
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.set_default_timeout(0)  # the watchdog of the test ends it
        elsewhere: list[str] = []
        errors: list[str] = []
        page.on(
            "request",
            lambda each: None if each.url.startswith(address) else elsewhere.append(each.url),
        )
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))

        page.goto(address)
        page.wait_for_selector("#link:focus")  # It is given with the first painting.
        page.keyboard.type(DEMO_VIDEO)
        press_to(page, "#most")
        page.keyboard.press("Control+A")
        page.keyboard.type("2")
        page.keyboard.press("Enter")

        page.wait_for_url("**/desk/runs/*")
        page.wait_for_selector("#done a:focus")
        assert len(page.query_selector_all("#claims .badge")) == 2
        run_id = page.url.rsplit("/", 1)[1]
        with client.stream("GET", f"/api/v1/runs/{run_id}/events") as response:
            assert_streamed_and_recorded(client, home, list(events_of(response)))
        found = findings(page, dark=True)
        page.keyboard.press("Enter")
        page.wait_for_url("**/claims/**")
        claim = page.url

        page.keyboard.press("j")
        card = page.evaluate("document.activeElement.id")
        assert card.startswith("source-")
        page.keyboard.press("a")
        page.wait_for_url("**recorded=waits**")
        assert page.evaluate("document.activeElement.id").startswith("on-")
        assert "Undo" in page.inner_text(".work:focus")
        page.keyboard.press("?")
        assert page.inner_text("dialog").startswith("Keys")
        page.keyboard.press("Escape")

        page.keyboard.press("2")
        page.wait_for_selector("#prose:focus")
        page.keyboard.type("no one ever showed it")  # The letters are no keys here.
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**decided=**")
        assert page.inner_text("main [role=status]").startswith("Your decision is recorded.")
        assert claim.partition("?")[0] not in page.url.partition("?")[0]
        page.goto(claim.partition("?")[0])
        said = page.inner_text(".reviews")
        assert "Reviewer One" in said
        assert "signed: Refuted" in said
        assert "no one ever showed it" in said
        found += findings(page, dark=True)

        video = f"/desk/videos/{DEMO_VIDEO}"
        lists = ("/desk", "/desk/queue?tab=mine", "/desk/search?q=people+honey+vitamin")
        for path in (*lists, "/desk/name", "/docs", video, f"{video}/claims"):
            page.goto(f"{address}{path}")
            found += findings(page, dark=path in {"/desk", "/docs"})
        page.goto(claim)
        page.goto(f"{address}{page.get_attribute('text=Card', 'href')}")
        assert "no one ever showed it" in page.inner_text("main")
        found += findings(page)
        context.close()
    assert found == []
    assert errors == []
    assert elsewhere == []
