"""The Dagster UI: the real `factible dev` in a real browser, from an empty data folder.

Starting the UI takes many seconds, so all tests share one browser session, and each test continues
where the last one ended. Without Chromium or Playwright pytest skips them.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import httpx
import pytest

from benchmarks.pictures import CHECKS, GRAPH, recorded, said
from factible_assets.pipeline.schedules import LAUNCHED_BY, RENEWED, SCHEDULE
from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings
from resources.pages.browser import find_browser
from tests.chromium import needs_browser
from tests.patience import eventually
from tests.report.browser import SWITCHES
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
JOBS = "/locations/factible-assets/jobs"
SELECTOR = (
    '{repositoryName: "__repository__", repositoryLocationName: "factible-assets", '
    f'scheduleName: "{SCHEDULE}"}}'
)
VTT = """WEBVTT

00:00.000 --> 00:05.000
Lightning never strikes the same place twice.

00:05.000 --> 00:11.000
A goldfish has a memory of only three seconds.

00:11.000 --> 00:18.000
Sugar makes children hyperactive, and every parent has seen it at a birthday party.
"""

pytestmark = [needs_browser, pytest.mark.timeout(900)]


@dataclass
class Session:
    """A browser, in front of the UI over a data folder of its own."""

    page: Page
    address: str
    folder: Path
    client: httpx.Client
    first_run: str = ""

    def open(self, path: str) -> None:
        self.page.goto(f"{self.address}{path}")

    def type_config(self, text: str) -> None:
        self.page.locator(".CodeMirror").first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)
        # The launchpad validates the config before it enables the launch.
        self.page.get_by_text("No errors").wait_for()

    def ask(self, query: str) -> dict[str, object]:
        answer = self.client.post("/graphql", json={"query": query})
        document: dict[str, object] = answer.raise_for_status().json()["data"]
        return document

    def stop_schedule(self) -> None:
        """Stop the schedule that the setting starts, so that a person can start it."""
        state = "{scheduleState {id}}"
        query = f"{{scheduleOrError(scheduleSelector: {SELECTOR}) {{... on Schedule {state}}}}}"
        name = self.eventually(query, "[0-9a-f]{40}::[0-9a-f]{40}")
        told = self.ask(
            f'mutation {{stopRunningSchedule(id: "{name}") {{... on ScheduleStateResult {state}}}}}'
        )
        assert name in str(told)

    def eventually(self, query: str, pattern: str) -> str:
        """Ask until the answer has the expected content, and return it."""
        answers = [""]

        def found() -> re.Match[str] | None:
            answers.append(str(self.ask(query)))
            return re.search(pattern, answers[-1])

        match = eventually(found, lambda: f"it never came: {answers[-1]}", pause=0.5)
        assert match is not None
        return match[0]

    def run_ends(self, run_id: str) -> str:
        """Leave the page, which would draw the whole time; wait for a run's end, and return how."""
        self.page.goto("about:blank")
        query = f'{{runOrError(runId: "{run_id}") {{... on Run {{status}}}}}}'
        return self.eventually(query, "SUCCESS|FAILURE|CANCELED")

    def run_shown(self) -> str:
        """Wait until the page is that of a run, and return the run's id."""
        self.page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}"))
        return self.page.url.rsplit("/", 1)[-1]

    def scroll_to(self, selector: str) -> None:
        """Turn the wheel over a run's events, whose list may stop short of its end, until seen."""
        while not self.page.locator(selector).count():
            self.page.get_by_text("STEP_").or_(self.page.get_by_text("ASSET_")).last.hover()
            self.page.mouse.wheel(0, 10_000)
            time.sleep(0.5)

    def check_of(self, partition: str) -> str:
        """Wait for the launch of a video's check, and return the run's id."""
        tag = f'{{key: "dagster/partition", value: "{partition}"}}'
        wanted = f'{{pipelineName: "fact_check", tags: [{tag}]}}'
        query = f"{{runsOrError(filter: {wanted}) {{... on Runs {{results {{runId}}}}}}}}"
        return self.eventually(query, r"[0-9a-f-]{36}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Start `factible dev` as a script's background job, and end it with all that it started."""
    port = free_port()
    log = folder / "dev.log"
    factible = str(Path(sys.executable).with_name("factible"))
    kept = {name: each for name, each in os.environ.items() if not name.startswith("FACTIBLE_")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", 'trap "" INT; exec "$@"', "sh", factible, "dev", "--port", str(port)],
            env={
                **kept,
                "FACTIBLE_HOME": str(folder / "home"),
                "FACTIBLE_RECHECK_SCHEDULE": "* * * * *",
                "FACTIBLE_RECHECK_LIMITS": "min_age_days=0 videos=1",
            },
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/server_info", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, f"it ended:\n{log.read_text()[-3000:]}"
        try:
            return httpx.get(url, timeout=None).is_success
        except httpx.HTTPError:
            return False

    eventually(answers, lambda: f"it never answered:\n{log.read_text()[-3000:]}", pause=0.5)


@pytest.fixture(scope="module")
def session(address: str, folder: Path) -> Iterator[Session]:
    # An extra: without it, the tests are skipped before they ask for this.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with httpx.Client(base_url=address, timeout=None) as client, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(find_browser()), args=list(SWITCHES)
        )
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(0)  # the watchdog of the test ends it
        session = Session(page, address, folder, client)
        session.stop_schedule()
        yield session
        browser.close()


def test_a_newcomer_finds_the_steps_of_the_method_as_a_graph(session: Session) -> None:
    session.open("/asset-groups")
    for name in ("transcripts", "claims", "search_hits", "evidence", "verdicts", "evaluation"):
        session.page.get_by_text(name, exact=True).first.wait_for()
    assert said(session.page, GRAPH) == recorded(GRAPH), "take it anew: make pictures"
    text = session.page.locator("body").inner_text()
    assert "Join the Dagster community" not in text


def test_a_video_that_a_corpus_lists_gets_its_partition_from_the_sensor(session: Session) -> None:
    session.open("/assets/transcripts?view=partitions")
    session.page.get_by_text("everyday-beliefs-talk").first.wait_for()


def test_five_clicks_start_a_check_beside_which_the_launchpad_refuses_a_link_to_no_video(
    session: Session,
) -> None:
    page = session.page
    # The root redirects here, but late, after the test's next clicks.
    session.open("/jobs")
    # By its text, because the icon beside "Jobs" has the name lineage too.
    page.get_by_text("Lineage", exact=True).first.click()
    page.get_by_role("button", name="Materialize all").first.click()
    page.get_by_role("dialog").get_by_text("All", exact=True).first.click()
    page.get_by_role("button", name="Launch 1 run").click()
    page.get_by_text("View", exact=True).first.click()
    session.first_run = session.run_shown()

    link = "https://www.youtube.com/playlist?list=PL0"
    session.open(f"{JOBS}/add_video/playground")
    session.type_config(f'ops: {{list_video: {{config: {{video: "{link}"}}}}}}')
    page.get_by_role("button", name="Launch Run").click()
    page.get_by_text("names a playlist, not a video").first.wait_for()
    page.get_by_role("button", name="OK").click()


def test_a_video_is_added_in_the_launchpad_and_checked_at_once(session: Session) -> None:
    talk = session.folder / "home" / "talk.vtt"
    talk.write_text(VTT)
    session.type_config(
        f'ops: {{list_video: {{config: {{video: my-talk, transcript: "{talk}", '
        "title: A short talk, web: miniature, max_claims: 2}}}"
    )
    session.page.get_by_role("button", name="Launch Run").click()
    assert session.run_ends(session.run_shown()) == "SUCCESS"
    checked = session.check_of("my-talk")
    assert session.run_ends(checked) == "SUCCESS"
    asked = f'{{runOrError(runId: "{checked}") {{... on Run {{tags {{key value}}}}}}}}'
    tags = str(session.ask(asked))
    for key, value in [("video", "my-talk"), ("corpus", "local"), ("launched_by", "add_video")]:
        assert str({"key": key, "value": value}) in tags


def test_the_check_leads_to_the_verdicts(session: Session) -> None:
    assert session.run_ends(session.first_run) == "SUCCESS"
    # Its first tick comes while the next tests go on.
    told = session.ask(
        f"mutation {{startSchedule(scheduleSelector: {SELECTOR}) "
        "{... on ScheduleStateResult {scheduleState {id}}}}"
    )
    assert "id" in str(told)
    session.open(f"/runs/{session.first_run}")
    for place in ("desk/videos", "reports"):
        session.scroll_to(f"a[href='{session.address}/{place}/everyday-beliefs-talk']")


def test_its_verdicts_are_read_on_the_page_of_the_asset(session: Session) -> None:
    session.open("/assets/verdicts?view=events&partition=my-talk")
    page = session.page
    page.get_by_text("home/reports/my-talk.html").first.wait_for()
    page.get_by_role("img", name="outcomes").first.wait_for()
    folded = page.get_by_text("[Show Markdown]")
    if folded.count():
        folded.first.click()
    page.get_by_text("for : against").first.wait_for()
    assert page.get_by_role("table").filter(has_text="leaning").first.is_visible()
    assert (session.folder / "home" / "reports" / "my-talk.html").is_file()


def test_its_checks_have_passed(session: Session) -> None:
    session.open("/assets/verdicts?view=checks")
    session.page.get_by_text("integrity").first.wait_for()
    session.page.get_by_text("Succeeded").first.wait_for()
    assert said(session.page, CHECKS) == recorded(CHECKS), "take it anew: make pictures"
    text = session.page.locator("body").inner_text()
    assert "Failed" not in text


def test_the_schedule_that_a_person_starts_launches_runs_that_check_again(session: Session) -> None:
    session.page.goto("about:blank")
    settings = Settings(home=session.folder / "home")
    launched = dg.RunsFilter(tags={"launched_by": LAUNCHED_BY})
    with open_instance(settings) as instance:
        (run_id, *_) = eventually(
            lambda: [each.run_id for each in instance.get_runs(launched)],
            lambda: (session.folder / "dev.log").read_text()[-3000:],
            pause=1.0,
        )
        session.stop_schedule()  # One run is enough.
        session.run_ends(run_id)
        run = instance.get_run_by_id(run_id)
        assert run is not None
        ticks = [
            tick
            for state in instance.all_instigator_state()
            if state.instigator_name == SCHEDULE
            for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id)
        ]
    assert (run.status, run.job_name) == (dg.DagsterRunStatus.SUCCESS, "recheck")
    video_id = run.tags["video"]
    assert run.tags["dagster/partition"] == video_id
    assert run.tags["dagster/run_key"].endswith(video_id)
    assert run.asset_selection == {dg.AssetKey(name) for name in RENEWED}
    assert any(run.run_id in tick.run_ids for tick in ticks), "a tick of the schedule launched it"
    store = Warehouse(settings.warehouse)
    history = store.query(
        "SELECT claim_id, count(DISTINCT run_id) FROM verdict_history WHERE video_id = $video "
        "GROUP BY claim_id",
        {"video": video_id},
    )
    assert {times >= 2 for _, times in history.rows()} == {True}
    assert video_id in store.query("FROM recheck_launches")["video_id"].to_list()


def test_the_terminal_shows_only_problems(session: Session) -> None:
    log = (session.folder / "dev.log").read_text("utf-8")
    assert session.address in log
    assert "Checking for new runs" not in log
    assert "superseded" not in log
