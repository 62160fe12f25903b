"""Readers that never let go, beside a pipeline that writes and publishes.

A writer stores the sets of a checked video under one new run after another and publishes a copy
after each: with nobody reading, then for `--seconds` beside two processes, then with nobody again,
for the history grows meanwhile and a copy of it takes longer. One reader opens the published copy
once and never closes it, the other one opens it anew for each question. Prints what a write and a
publication took in each phase, and whether the readers saw what they should.

Ten minutes, as the project promises it: python -m benchmarks.readers --seconds 600
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import duckdb

from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.running.launch import check_video
from factible_assets.settings import Settings
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

VIDEO = "everyday-beliefs-talk"
QUESTION = (
    "SELECT count(DISTINCT run_id), (SELECT count(*) FROM evidence_chain) "
    "FROM materializations WHERE asset = 'verdicts'"
)


@dataclass
class Timings:
    """Seconds that the writer's work took."""

    writes: list[float] = field(default_factory=list)
    publications: list[float] = field(default_factory=list)

    def words(self) -> str:
        """Say how many there were, and what they took."""
        write, publish = _spread(self.writes), _spread(self.publications)
        return f"{len(self.writes)} times; write {write}; publish {publish}"


def _spread(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"median {statistics.median(ordered):.3f} s, p95 {p95:.3f} s, max {ordered[-1]:.3f} s"


def hold(path: Path, ready: Event, done: Event, answers: Connection) -> None:
    """Open the copy once, ask again and again, and never close it."""
    reader = duckdb.connect(str(path), read_only=True)
    seen = {reader.execute(QUESTION).fetchall()[0]}
    asked = 1
    ready.set()
    while not done.wait(0.5):
        seen.add(reader.execute(QUESTION).fetchall()[0])
        asked += 1
    answers.send({"asked": asked, "different": len(seen)})


def reopen(path: Path, ready: Event, done: Event, answers: Connection) -> None:
    """Open the copy anew for each question."""
    seen: list[int] = []
    failures: list[str] = []
    while True:
        try:
            with duckdb.connect(str(path), read_only=True) as reader:
                seen.append(reader.execute(QUESTION).fetchall()[0][0])
        except duckdb.Error as error:
            failures.append(str(error))
        ready.set()
        if done.wait(0.2):
            break
    answers.send(
        {
            "asked": len(seen),
            "last": seen[-1],
            "in_order": seen == sorted(seen),
            "different": len(set(seen)),
            "failures": failures,
        }
    )


def prepare(home: Path) -> tuple[Settings, dict[str, AssetRows]]:
    """Check the demo's video and return its sets, to be written again under other runs."""
    settings = Settings(home=home)
    config = FactCheckConfig(search=SearchConfig(web="miniature"), reasoner="embedded")
    outcome = check_video(VIDEO, settings=settings, config=config)
    if not outcome.success:
        raise SystemExit("; ".join(outcome.failures))
    store = Warehouse(settings.warehouse)
    sets = {}
    held = store.read_video(VIDEO)
    for asset in held.sets:
        sets[asset] = AssetRows(held.of_asset(asset), code_version="benchmark")
    return settings, sets


def cycle(settings: Settings, sets: dict[str, AssetRows], number: int, timings: Timings) -> None:
    """Write one run and publish it."""
    store = Warehouse(settings.warehouse)
    started = time.perf_counter()
    store.write_assets(VIDEO, sets, stamp=Stamp(f"run-{number:06}", datetime.now(UTC)))
    written = time.perf_counter()
    store.publish(settings.published)
    timings.writes.append(written - started)
    timings.publications.append(time.perf_counter() - written)


def measure(settings: Settings, sets: dict[str, AssetRows], seconds: float, alone: int) -> int:
    """Print the figures; return 1 if a reader was refused or saw something old."""
    quiet, watched, after = Timings(), Timings(), Timings()
    for number in range(alone):
        cycle(settings, sets, number, quiet)
    print(f"nobody reading:   {quiet.words()}")
    context = multiprocessing.get_context("spawn")
    done = context.Event()
    readers = []
    for work in (hold, reopen):
        ready, (mine, theirs) = context.Event(), context.Pipe()
        process = context.Process(target=work, args=(settings.published, ready, done, theirs))
        process.start()
        ready.wait()
        readers.append((work.__name__, process, mine))
    number, started = alone, time.perf_counter()
    while time.perf_counter() - started < seconds:
        cycle(settings, sets, number, watched)
        number += 1
    lasted = time.perf_counter() - started
    time.sleep(1)  # for the reader that opens anew to open the last copy
    done.set()
    answers = {name: mine.recv() for name, _, mine in readers}
    for _, process, _ in readers:
        process.join()
    runs = number + 1  # the check that prepared it
    for later in range(number, number + alone):
        cycle(settings, sets, later, after)
    print(f"with two readers: {watched.words()}, in {lasted:.0f} s")
    held, anew = answers["hold"], answers["reopen"]
    print(f"after they left:  {after.words()}")
    print(f"never closed:     {held['asked']} questions, {held['different']} different answer(s)")
    print(
        f"opened anew:      {anew['asked']} questions, {anew['different']} different answers, "
        f"in order: {anew['in_order']}, last saw {anew['last']} of {runs} runs, "
        f"refused {len(anew['failures'])} times"
    )
    print(json.dumps({"published_bytes": Path(str(settings.published)).stat().st_size}))
    good = anew["in_order"] and not anew["failures"] and anew["last"] == runs
    return 0 if good and held["different"] == 1 else 1


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="How long the readers stay.")
    parser.add_argument("--alone", type=int, default=20, help="Publications before they come.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        settings, sets = prepare(Path(scratch))
        return measure(settings, sets, given.seconds, given.alone)


if __name__ == "__main__":
    sys.exit(main())
