"""The whole service without doubles: `factible serve`, its workers, Dagster's records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from factible_assets.settings import Settings
from factible_assets.web.runs import recorded_runs
from tests.patience import eventually
from tests.shortcuts import prepare
from tests.web.doubles import Heard, events_of
from tests.web.slow_world import SLOW_VIDEO, list_slow_video, nobody_answers
from warehouse.store import Warehouse

STREAM = "/api/v1/fact-check/stream"
DEMO_VIDEO = "everyday-beliefs-talk"


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


def _url(process: subprocess.Popen[str]) -> str:
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if line.startswith("}"):
            break
    url: str = json.loads(said)["url"]
    return url


def names(heard: list[Heard]) -> list[str]:
    return [event.name for event in heard]


def sets_of(home: Path, run_id: str) -> set[str]:
    """Return the assets that a run stored completely."""
    stored = Warehouse(home / "warehouse.duckdb").query(
        "SELECT asset FROM materializations WHERE run_id = ?", [run_id]
    )
    return set(stored["asset"])


def test_a_run_is_streamed_and_recorded_and_a_killed_service_leaves_complete_assets(
    home: Path,
) -> None:
    list_slow_video(home)
    few = {"max_claims": 2, "max_queries_per_claim": 1, "max_results_per_query": 3}
    with (
        nobody_answers() as address,
        factible_serve(home, FACTIBLE_SEARXNG_URL=address) as (client, process),
    ):
        with client.stream("POST", STREAM, json={"video_url": DEMO_VIDEO, **few}) as response:
            heard = list(events_of(response))
        shown = client.get(f"/api/v1/videos/{DEMO_VIDEO}").json()
        listed = client.get("/api/v1/runs", params={"video_id": DEMO_VIDEO}).json()["items"]
        report = client.get(f"/reports/{DEMO_VIDEO}")
        with client.stream("POST", STREAM, json={"video_url": SLOW_VIDEO, **few}) as response:
            slow_run = response.headers["location"].rsplit("/", 1)[1]
            next(event for event in events_of(response) if event.name == "claims_extracted")
            process.kill()

        def is_canceled() -> bool:
            recorded = recorded_runs(Settings(home=home), limit=1, run_id=slow_run)
            return [each.status for each in recorded] == ["canceled"]

        eventually(is_canceled)
    assert sets_of(home, slow_run) == {"transcripts", "claims"}

    assert names(heard) == [
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
    assert result == shown
    assert result["run_id"] == run_id
    assert result["is_finished"]
    assert {claim["claim_id"] for claim in result["claims"]} == claims
    assert "automatic leaning" in report.text
    assert (home / "reports" / f"{DEMO_VIDEO}.html").exists()

    assert [(run["run_id"], run["status"]) for run in listed] == [(run_id, "success")]
    (recorded,) = recorded_runs(Settings(home=home), limit=1, run_id=run_id)
    assert recorded.launched_by == "factible serve"
