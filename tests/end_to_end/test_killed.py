"""After a power cut, which kills all processes at once, the next start cleans up."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from factible_assets.cli.main import app
from factible_assets.pipeline.schedules import in_flight
from factible_assets.runs.launch import open_instance
from factible_assets.settings import Settings
from tests.patience import eventually
from tests.shortcuts import prepare
from tests.web.slow_world import nobody_answers

ROOT = Path(__file__).resolve().parents[2]
FACTIBLE = str(Path(sys.executable).with_name("factible"))
QUEUED, CHECKED, LATER = VIDEOS = ("queued-talk", "checked-talk", "later-talk")
LAUNCH = """mutation Launch($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}"""


def running_in(home: Path) -> set[int]:
    """Return the processes whose environment names the data folder."""
    found = set()
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and str(home).encode() in (each / "environ").read_bytes():
                found.add(int(each.name))
        except OSError:
            continue
    return found


def list_talks(home: Path) -> None:
    """List the talks, and have their partitions, as the sensor would in half a minute."""
    folder = home / "corpora"
    folder.mkdir(parents=True)
    (folder / "talk.txt").write_text("The lighthouse of Oneham was built in 1871.", "utf-8")
    entries = "".join(f"  - {{id: {each}, transcript: talk.txt, web: live}}\n" for each in VIDEOS)
    (folder / "talks.yaml").write_text(f"videos:\n{entries}", encoding="utf-8")
    with open_instance(Settings(home=home)) as instance:
        instance.add_dynamic_partitions("videos", VIDEOS)


def leave_one_place(home: Path) -> None:
    """Let the queue start one run at a time, as a user who writes the file of the instance."""
    file = home / "dagster" / "dagster.yaml"
    four = file.read_text("utf-8")
    one = four.replace("max_concurrent_runs: 4", "max_concurrent_runs: 1")
    assert one != four
    file.write_text(one, encoding="utf-8")


@contextmanager
def dev(environment: Mapping[str, str], port: int, log: Path) -> Iterator[str]:
    address = f"http://127.0.0.1:{port}"
    with log.open("ab") as output, httpx.Client(timeout=None) as client:
        process = subprocess.Popen(
            [FACTIBLE, "dev", "--port", str(port)],
            env=dict(environment),
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:

            def answers() -> bool:
                assert process.poll() is None, log.read_text()[-3000:]
                try:
                    return client.get(f"{address}/server_info").is_success
                except httpx.HTTPError:
                    return False

            eventually(answers, "the UI never answered")
            yield address
        finally:
            # End the processes that one of them was starting, too.
            while left := running_in(Path(environment["FACTIBLE_HOME"])):
                for each in left:
                    with suppress(ProcessLookupError):
                        os.kill(each, signal.SIGKILL)
                time.sleep(0.05)
            process.wait()


def launch(address: str, video: str) -> str:
    selector = {
        "repositoryLocationName": "factible-assets",
        "repositoryName": "__repository__",
        "jobName": "fact_check",
    }
    tags = [{"key": "dagster/partition", "value": video}, {"key": "video", "value": video}]
    params = {"selector": selector, "executionMetadata": {"tags": tags}, "mode": "default"}
    asked = {"query": LAUNCH, "variables": {"params": params}}
    answer = httpx.post(f"{address}/graphql", json=asked, timeout=None).json()
    assert "run" in answer["data"]["launchRun"], answer
    return str(answer["data"]["launchRun"]["run"]["runId"])


def running_of_status() -> Any:
    told = CliRunner().invoke(app, ["status", "--json"])
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)["running"]


# Two starts of the whole tree and three runs.
@pytest.mark.timeout(600)
def test_killed_runs_free_their_slots_at_the_next_start(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "dev.log"
    list_talks(prepare(home))
    leave_one_place(home)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with nobody_answers() as silent:
        kept = {name: each for name, each in os.environ.items() if "FACTIBLE" not in name}
        # A silent model keeps a run waiting longer than all runs need to start.
        model = {"OPENAI_API_KEY": "a-key", "OPENAI_BASE_URL": f"{silent}/v1"}
        environment = {**kept, **model, "FACTIBLE_HOME": str(home), "FACTIBLE_SEARXNG_URL": silent}
        alive = home / "dagster" / "run_locks"
        with dev(environment, port, log) as address, open_instance(Settings(home=home)) as instance:
            launch(address, QUEUED)
            # The queue has one place, which a check takes without asking.
            eventually(
                lambda: [run.status.value for run in instance.get_runs()] == ["STARTED"],
                "the queue's run never started",
            )
            check = subprocess.Popen(
                [FACTIBLE, "check", CHECKED], env=environment, stderr=subprocess.DEVNULL
            )
            eventually(
                lambda: (
                    [run.status.value for run in instance.get_runs()] == ["STARTED"] * 2
                    and len(list(alive.glob("[!.]*"))) == 2
                ),
                "the runs never started",
            )
        check.wait()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FACTIBLE_HOME", str(home))
            # A killed process gives up its memory first, and only then its lock.
            eventually(lambda: running_of_status() == [], "a dead run is shown as running")

        with dev(environment, port, log) as address, open_instance(Settings(home=home)) as instance:
            assert [run.status.value for run in instance.get_runs()] == ["FAILURE"] * 2
            assert in_flight(instance) == set(), "the night has its videos back"
            later = launch(address, LATER)
            eventually((alive / later).exists, "the later run stayed queued")
