"""What other processes do to a warehouse while a test looks on. Run by way of multiprocessing."""

from __future__ import annotations

import time
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

import duckdb

from tests.warehouse.samples import fact_check, stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse


def write_in_step(path: Path, video_id: str, rounds: int, barrier: Barrier) -> None:
    """Write one video per round, each round at the same moment as everyone else."""
    warehouse = Warehouse(path)
    for number in range(rounds):
        barrier.wait(timeout=60)
        name = f"{video_id}-{number}"
        warehouse.write_assets(name, _small(name), stamp=stamp(1))


def write_without_end(path: Path, started: Event) -> None:
    """Write the same video under one run after another, with more claims each time."""
    warehouse = Warehouse(path)
    started.set()
    run = 0
    while True:
        run += 1
        warehouse.write_assets("v", fact_check("v", claims=1 + run % 7), stamp=stamp(run))


def hold(path: Path, seconds: float, started: Event) -> None:
    """Keep the file open for a while, as a shell or a notebook does."""
    with duckdb.connect(str(path)):
        started.set()
        time.sleep(seconds)


def _small(video_id: str) -> dict[str, AssetRows]:
    sets = fact_check(video_id, claims=1)
    return {name: sets[name] for name in ("claims", "evidence")}
