"""Tests four writers on one lake while an analyst reads: losses, duplicates, refusals, speed.

It starts its own PostgreSQL server. Each writer is a process that writes the sets of the demo's
video (12 claims, 115 pieces of evidence, 51 pages) under other ids, with its own texts and one
shared text. One writer works alone, then four, then four of which one is killed, together with the
server, halfway: the others continue, and the killed one's videos are written again.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from benchmarks.homes import SEED, make_home, sets_of_its_own
from benchmarks.shared import PERFORMANCE, publish, timed
from tests.warehouse.lakes import Server, server
from warehouse.errors import WarehouseError
from warehouse.lake import Lake
from warehouse.rows import Stamp
from warehouse.store import Warehouse

WRITERS = 4
KEYS = {
    "materializations": "asset, video_id, run_id",
    "claims": "video_id, run_id, claim_id",
    "evidence": "video_id, run_id, evidence_id",
    "verdict_history": "video_id, run_id, claim_id",
    "page_texts": "content_hash",
}


def write(seed: Path, lake: Lake, videos: Sequence[str], barrier: Barrier | None, cpu: Any) -> None:
    """Write some videos; `cpu` gets the process's CPU time for them."""
    held, store = Warehouse(seed).read_video(SEED), Warehouse(lake)
    store.query("SELECT 1")
    shared = min(held.texts)
    if barrier is not None:
        barrier.wait(timeout=300)
    with timed() as spent:
        for name in videos:
            sets = sets_of_its_own(held, name, name, shared)
            store.write_assets(name, sets, stamp=Stamp(f"run of {name}", datetime.now(UTC)))
    cpu.put(spent.cpu)


@dataclass
class Reading:
    """The results of an analyst's continuous queries."""

    asked: int = 0
    refused: int = 0
    halves: int = 0

    def ask(self, store: Warehouse, sets: int) -> None:
        """Query once for partly written videos, which nobody should ever see."""
        self.asked += 1
        try:
            found = store.query(
                "SELECT video_id FROM materializations GROUP BY ALL HAVING count(*) <> ?", [sets]
            )
        except WarehouseError:
            self.refused += 1
        else:
            self.halves += found.height


@dataclass
class Bench:
    """The server, the written video, and the writers."""

    postgres: Server
    seed: Path
    scratch: Path
    context: SpawnContext

    def writers(
        self, lake: Lake, names: Sequence[Sequence[str]], barrier: Barrier | None
    ) -> tuple[list[SpawnProcess], Any]:
        """Start a process for each list of videos."""
        cpu = self.context.Queue()
        started = [
            self.context.Process(target=write, args=(self.seed, lake, each, barrier, cpu))
            for each in names
        ]
        for each in started:
            each.start()
        return started, cpu

    def together(self, name: str, writers: int, videos: int) -> tuple[str, float]:
        """Let writers write at once while an analyst reads; return the row, and videos a second."""
        lake = self.postgres.lake(name, self.scratch / name)
        store = Warehouse(lake)
        store.query("SELECT 1")
        sets = len(Warehouse(self.seed).read_video(SEED).sets)
        names = [[f"{name}-{writer}-{each}" for each in range(videos)] for writer in range(writers)]
        barrier = self.context.Barrier(writers + 1)
        running, cpu = self.writers(lake, names, barrier)
        barrier.wait(timeout=300)
        reading = Reading()
        with timed() as spent:
            while any(each.is_alive() for each in running):
                reading.ask(store, sets)
                time.sleep(0.5)
        used = sum(cpu.get(timeout=10) for _ in running)
        rate = writers * videos / spent.wall
        row = (
            f"| {writers} x {videos} videos | {spent.wall:,.0f} s | {rate:.2f} | "
            f"{1000 * used / (writers * videos):,.0f} ms | {'; '.join(counted(store))} | "
            f"{reading.asked} / {reading.refused} / {reading.halves} |"
        )
        return row, rate

    def killed(self, name: str, videos: int) -> str:
        """Kill a writer and the server halfway, and write the rest."""
        lake = self.postgres.lake(name, self.scratch / name)
        store = Warehouse(lake)
        store.query("SELECT 1")
        names = [[f"{name}-{writer}-{each}" for each in range(videos)] for writer in range(WRITERS)]
        running, _ = self.writers(lake, names, None)
        started = time.perf_counter()
        while len(store.video_ids()) < WRITERS * videos // 4:
            time.sleep(0.2)
        running[0].kill()
        while len(store.video_ids()) < WRITERS * videos // 2:
            time.sleep(0.2)
        self.postgres.control("-m", "immediate", "restart")
        for each in running[1:]:
            each.join(timeout=600)
        codes = [each.exitcode for each in running]
        there = set(store.video_ids())
        (again,), _ = self.writers(lake, [[each for each in names[0] if each not in there]], None)
        again.join(timeout=600)
        took = time.perf_counter() - started
        missing = {each for part in names for each in part} - set(store.video_ids())
        rows = f"{'; '.join(counted(store))}; videos missing {len(missing)}"
        what = f"{WRITERS} x {videos}, one writer and the server killed"
        return f"| {what} | {took:,.0f} s | – | – | {rows} | writers exited with {codes} |"


def counted(store: Warehouse) -> Iterator[str]:
    """Count the rows and the duplicate rows of each table."""
    for table, key in KEYS.items():
        sql = f"SELECT count(*), count(*) - count(DISTINCT ({key})) FROM {table}"  # noqa: S608
        ((rows, twice),) = store.query(sql).rows()
        yield f"{table} {rows:,} ({twice})"


def main() -> int:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=50, help="How many each writer writes.")
    parser.add_argument("--write", action="store_true", help=f"Write {PERFORMANCE.name}.")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        seed = Path(str(make_home(scratch / "home", 1).warehouse))
        postgres = stack.enter_context(server())
        bench = Bench(postgres, seed, scratch, multiprocessing.get_context("spawn"))
        alone, one = bench.together("alone", 1, given.videos)
        four, many = bench.together("four", WRITERS, given.videos)
        lines = [
            "| writers | took | a second | CPU a video | rows (twice) | asked / refused / halves |",
            "|---|---|---|---|---|---|",
            alone,
            four,
            bench.killed("killed", max(4, given.videos // 5)),
            "",
            f"Four writers write {many / one:.1f} times as many videos a second as one.",
        ]
    publish("lake", lines, write=given.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
