"""Tests that several workers lose no video and write none twice when one is killed.

Run: `python -m benchmarks.distributed --videos 40 --workers 4` with an interpreter that has
`dagster-celery[redis]` and `dagster-postgres`; PostgreSQL (`initdb`, `pg_ctl`) and `redis-server`
must be installed. Everything runs on loopback in its own folder, with the files of `deploy/`
unchanged. The videos are one made-up talk under other ids.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter

from benchmarks.shared import PATIENCE_SECONDS, eventually, free_port, started
from factible_assets.settings import Settings
from warehouse.store import Warehouse

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"

_TALK = """WEBVTT

00:00.000 --> 00:05.000
Lightning never strikes the same place twice.

00:05.000 --> 00:11.000
Mount Everest is 8,849 metres high, measured from sea level.

00:11.000 --> 00:18.000
Sealed honey can keep for years without spoiling, because it contains very little water.
"""
_BACKFILL = """mutation {
  launchPartitionBackfill(backfillParams: {partitionNames: VIDEOS, selector: {
    partitionSetName: "fact_check_partition_set",
    repositorySelector: {
      repositoryLocationName: "factible_assets.definitions", repositoryName: "__repository__"
    }
  }}) { __typename }
}"""
_OVER = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_SETS = """
SELECT video_id, asset, count(*) AS times, count(DISTINCT run_id) AS runs
FROM materializations GROUP BY ALL
"""
_VERDICTS = """
SELECT video_id, count(*) AS verdicts, count(DISTINCT claim_id) AS claims,
       string_agg(claim || ': ' || coalesce(stance, 'incomplete'), '; ' ORDER BY claim) AS words
FROM current_verdicts GROUP BY video_id
"""


def missing(*, in_lake: bool) -> str | None:
    """Name the missing software; None if everything is there."""
    modules = ("dagster_celery", "dagster_postgres", "redis")
    for module in (*modules, *(("duckdb_extension_ducklake",) if in_lake else ())):
        package = module.replace("_", "-")
        if importlib.util.find_spec(module) is None:
            return f"{package} is not installed (pip install {package})."
    for program, remedy in (("initdb", "postgresql"), ("redis-server", "redis-server")):
        if shutil.which(program) is None:
            return f"{program} is not on PATH (on Debian: apt-get install {remedy})."
    return None


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL server on loopback and yield the address of a new database.

    PostgreSQL refuses to run as root, so root uses the user `pguser` or `postgres`.
    """
    place, port = folder / "postgres", free_port()
    place.mkdir()
    by: list[str] = []
    if os.geteuid() == 0:
        known = Path("/etc/passwd").read_text("utf-8")
        user = "pguser" if "\npguser:" in known else "postgres"
        shutil.chown(place, user)
        folder.chmod(0o755)
        by = ["runuser", "-u", user, "--"]

    def run(*command: str) -> None:
        subprocess.run([*by, *command], check=True, stdout=subprocess.DEVNULL, cwd="/")

    run("initdb", "-D", f"{place}/data", "-A", "trust", "-U", "factible", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={place}"
    control = ("pg_ctl", "-D", f"{place}/data", "-l", f"{place}/log", "-w")
    run(*control, "-o", options, "start")
    try:
        yield f"postgresql+psycopg2://factible@127.0.0.1:{port}/postgres"
    finally:
        run(*control, "-m", "fast", "stop")


def make_home(home: Path, videos: int) -> list[str]:
    """Create a data folder with a corpus of short talks, and return their ids."""
    (home / "dagster").mkdir(parents=True)
    shutil.copyfile(DEPLOY / "dagster.yaml", home / "dagster" / "dagster.yaml")
    corpora = home / "corpora"
    corpora.mkdir()
    (corpora / "talk.vtt").write_text(_TALK, "utf-8")
    ids = [f"short-talk-{number:04}" for number in range(videos)]
    entries = [{"id": each, "title": f"Talk {each}", "transcript": "talk.vtt"} for each in ids]
    document = {"corpus": "distributed", "web": "miniature", "videos": entries}
    (corpora / "distributed.yaml").write_text(yaml.safe_dump(document), "utf-8")
    return ids


class Fleet:
    """PostgreSQL, a broker, Dagster's daemon and workers over one data folder."""

    def __init__(self, folder: Path, videos: int, stack: ExitStack, *, in_lake: bool) -> None:
        """Start the servers and the daemon."""
        self._folder, self._stack = folder, stack
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self.home = folder / "home"
        self.ids = make_home(self.home, videos)
        broker = free_port()
        kept = {name: each for name, each in os.environ.items() if not name.startswith("FACTIBLE_")}
        self.environment = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "DAGSTER_HOME": str(self.home / "dagster"),
            "FACTIBLE_HOME": str(self.home),
            "FACTIBLE_DAGSTER_POSTGRES": stack.enter_context(postgres(folder)),
            "FACTIBLE_BROKER": f"redis://127.0.0.1:{broker}/0",
        }
        if in_lake:
            address = self.environment["FACTIBLE_DAGSTER_POSTGRES"].replace("+psycopg2", "")
            self.environment["FACTIBLE_WAREHOUSE"] = f"ducklake:postgres:{address}"
        os.environ.update(self.environment)  # The instance below reads its settings there.
        self.start("redis", "redis-server", "--port", str(broker), "--bind", "127.0.0.1")
        self.instance = stack.enter_context(DagsterInstance.get())
        self.instance.add_dynamic_partitions("videos", self.ids)
        self.start("daemon", "dagster-daemon", "run", "-m", "factible_assets.definitions")

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"{name}.log"
        return self._stack.enter_context(started(command, log, self.environment))

    def start_worker(self, number: int) -> None:
        name = f"worker-{number}"
        config = str(DEPLOY / "celery.yaml")
        command = ("dagster-celery", "worker", "start", "-A", "dagster_celery.app", "-y", config)
        self._workers[number] = self.start(name, *command, "-n", name)

    def kill_a_worker(self) -> str:
        """Kill a worker and its processes during a check (kill -9); return its run."""
        while True:
            for run in self.runs(DagsterRunStatus.STARTED):
                for number, worker in self._workers.items():
                    log = (self._folder / f"worker-{number}.log").read_text("utf-8", "replace")
                    if re.search(rf"{run.run_id} .* claim_checks - STEP_START", log):
                        os.killpg(worker.pid, signal.SIGKILL)
                        return run.run_id
            time.sleep(0.2)

    def launch(self) -> None:
        """Launch a check of every video, like the UI."""
        asked = _BACKFILL.replace("VIDEOS", json.dumps(self.ids))
        command = ("dagster-graphql", "-m", "factible_assets.definitions", "-t", asked)
        self.start("backfill", *command).wait(PATIENCE_SECONDS)

    def runs(self, *statuses: DagsterRunStatus) -> list[DagsterRun]:
        """Return the runs with these statuses, or all runs."""
        return list(self.instance.get_runs(RunsFilter(statuses=list(statuses) or None)))

    def checked(self) -> set[str]:
        """Return the videos with a successful run."""
        return {run.tags["dagster/partition"] for run in self.runs(DagsterRunStatus.SUCCESS)}


def wrong(fleet: Fleet) -> list[str]:
    """Report lost and duplicated rows."""
    store = Warehouse(Settings(home=fleet.home).warehouse)
    said = []
    assets = Counter[str]()
    for video, asset, times, runs in store.query(_SETS).iter_rows():
        assets[asset] += 1
        if (times, runs) != (1, 1):
            said.append(f"{asset} of {video} was written {times} times, by {runs} runs.")
    said += [
        f"{asset} is there for {number} of {len(fleet.ids)} videos."
        for asset, number in assets.items()
        if number != len(fleet.ids)
    ]
    rows = store.query(_VERDICTS).rows()
    said += [f"Verdicts are missing: {set(fleet.ids) - {row[0] for row in rows}}."] * (
        len(rows) != len(fleet.ids)
    )
    said += [f"{row[0]}: {row[1]} verdicts on {row[2]} claims." for row in rows if row[1] != row[2]]
    words = Counter(row[3] for row in rows)
    if len(words) != 1:
        said.append(f"Equal talks have other verdicts: {words}.")
    succeeded = Counter(run.tags["dagster/partition"] for run in fleet.runs(_OVER[0]))
    said += [f"{video} has {times} good runs." for video, times in succeeded.items() if times > 1]
    return said


def main() -> int:
    """Check the videos and kill a worker meanwhile; return 1 if anything is lost or duplicated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--lake", action="store_true", help="Write a lake on the same server, in place of a file."
    )
    given = parser.parse_args()
    lacking = missing(in_lake=given.lake)
    if lacking:
        print(f"Nothing was measured: {lacking}")
        return 0
    with tempfile.TemporaryDirectory(prefix="factible-fleet-") as place, ExitStack() as stack:
        fleet = Fleet(Path(place), given.videos, stack, in_lake=given.lake)
        for number in range(given.workers):
            fleet.start_worker(number)
        fleet.launch()
        enough = given.videos // 3
        eventually(lambda: bool(fleet.checked()), "a first video is checked")
        began, had = time.monotonic(), len(fleet.checked())
        eventually(lambda: len(fleet.checked()) >= enough, "a third of the videos is checked")
        killed = fleet.kill_a_worker()
        eventually(lambda: fleet.checked() == set(fleet.ids), "every video is checked")
        eventually(lambda: all(run.status in _OVER for run in fleet.runs()), "no run is left over")
        seconds = time.monotonic() - began
        runs = Counter(run.status.value for run in fleet.runs())
        said = wrong(fleet)
        ended = {run.run_id: run.status.value for run in fleet.runs()}
        again = [run.status.value for run in fleet.runs() if run.parent_run_id == killed]
        if (ended[killed], again) != ("FAILURE", ["SUCCESS"]):
            said.append(f"The killed run ended as {ended[killed]}, the runs after it as {again}.")
        where = "a lake" if given.lake else "a file"
        print(
            f"videos: {given.videos}, workers: {given.workers} on {where}, "
            "one killed with -9 at its work"
        )
        print(f"runs: {dict(runs)}; {given.videos - had} videos in {seconds:.0f} s")
        print("\n".join(said) or "nothing lost, nothing twice")
        return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
