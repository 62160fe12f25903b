"""Measures a backfill of many videos, launched like in Dagster's UI; one video fails.

Run: `python -m benchmarks.backfill [--videos 12]`. It starts `factible dev` with its own data
folder, sends the same GraphQL mutation as the button of the UI, and waits. Each video is the same
made-up talk of two claims against the miniature web; one transcript is missing. It prints the runs
by status, seconds and CPU of all processes per video, and the median seconds from STARTING to the
first step and from there to the end.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import dagster as dg
import httpx

from benchmarks.shared import dagster_ui, eventually, timed
from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings

_TALK = "WEBVTT\n\n00:00.000 --> 00:05.000\nLightning never strikes the same place twice.\n\n"
_TALK += "00:05.000 --> 00:11.000\nA goldfish has a memory of only three seconds.\n"
_MISSING = "video-001"
_LAUNCH = """mutation ($names: [String!]!) { launchPartitionBackfill(backfillParams: {
  selector: {partitionSetName: "fact_check_partition_set", repositorySelector: {
    repositoryLocationName: "factible-assets", repositoryName: "__repository__"}},
  partitionNames: $names}) {
  __typename ... on LaunchBackfillSuccess {backfillId} ... on PythonError {message} } }"""


def prepare(home: Path, videos: int) -> tuple[Settings, list[str]]:
    settings = Settings(home=home)
    folder = settings.home_corpora
    folder.mkdir(parents=True)
    names = [f"video-{at:03}" for at in range(videos)]
    entries = []
    for name in names:
        if name != _MISSING:
            (folder / f"{name}.vtt").write_text(_TALK, encoding="utf-8")
        entries.append(f'  - {{id: {name}, title: "A talk", transcript: {name}.vtt}}\n')
    head = "corpus: many\nweb: miniature\nvideos:\n"
    (folder / "many.yaml").write_text(head + "".join(entries), encoding="utf-8")
    with open_instance(settings) as instance:
        instance.add_dynamic_partitions("videos", names)
    return settings, names


def ask(address: str, query: str, **variables: Any) -> Any:
    sent = {"query": query, "variables": variables}
    return httpx.post(f"{address}/graphql", json=sent, timeout=60).raise_for_status().json()["data"]


def used(session: int) -> float:
    """Return the CPU seconds of a session's living processes and of their ended children."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=12)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        settings, names = prepare(Path(home) / "home", given.videos)
        environment = {**os.environ, "FACTIBLE_HOME": str(settings.home)}
        ui = dagster_ui(environment, settings.home / "dev.log")
        with ui as (address, session), open_instance(settings) as instance:
            wanted = dg.RunsFilter(job_name="fact_check")

            def all_ended() -> bool:
                runs = instance.get_runs(wanted)
                return len(runs) == len(names) and all(run.is_finished for run in runs)

            before = used(session)
            with timed() as spent:
                print(ask(address, _LAUNCH, names=names)["launchPartitionBackfill"], flush=True)
                eventually(all_ended, "every run ends")
            cpu = used(session) - before
            waits, works, ends = [], [], []
            for record in instance.get_run_records(wanted):
                at = {
                    entry.dagster_event.event_type_value: entry.timestamp
                    for entry in reversed(instance.all_logs(record.dagster_run.run_id))
                    if entry.dagster_event is not None
                }
                ends.append(record.dagster_run.status.value)
                if "STEP_START" in at:
                    waits.append(at["STEP_START"] - at["PIPELINE_STARTING"])
                    works.append((record.end_time or 0) - at["STEP_START"])
    counts = ", ".join(f"{ends.count(each)} {each}" for each in sorted(set(ends)))
    print(
        f"| {given.videos} | {counts} | {spent.wall / given.videos:.1f} | "
        f"{cpu / given.videos:.1f} | {statistics.median(waits):.1f} | "
        f"{statistics.median(works):.1f} |"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
