"""Work of other processes on a warehouse, run by multiprocessing."""

from __future__ import annotations

import os
from multiprocessing.synchronize import Barrier, Event, Semaphore
from pathlib import Path

import duckdb
import pytest

from tests.warehouse.samples import fact_check, stamp
from warehouse import publication
from warehouse.sets import AssetRows
from warehouse.store import Warehouse


def write_in_step(path: Path, video_id: str, rounds: int, barrier: Barrier) -> None:
    """Write one video per round, each round at the same moment as everyone else."""
    warehouse = Warehouse(path)
    for number in range(rounds):
        barrier.wait()
        name = f"{video_id}-{number}"
        warehouse.write_assets(name, _small(name), stamp=stamp(1))


def write_without_end(path: Path, begun: Semaphore) -> None:
    """Write the same video under one run after another, and tell when each begins."""
    warehouse = Warehouse(path)
    run = 0
    while True:
        run += 1
        begun.release()
        warehouse.write_assets("v", fact_check("v", claims=1 + run % 7), stamp=stamp(run))


def write_each(store: Warehouse, video_ids: list[str], barrier: Barrier) -> None:
    """Write videos one after the other, each at the same moment as everyone else writes one."""
    store.query("SELECT 1")
    for video_id in video_ids:
        barrier.wait()
        store.write_assets(video_id, fact_check(video_id), stamp=stamp(1))


def publish_until(path: Path, copy: Path, step: str) -> None:
    """Publish a copy, killed before a statement of that name or after a move to such a place."""
    pytest.MonkeyPatch().setattr(publication, "LARGE_FILE_BYTES", 0)
    ask, replace = publication._SQL, Path.replace

    class Asked(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            if name == step:
                os._exit(9)
            return ask[name]

    def moved(self: Path, target: Path) -> Path:
        result = replace(self, target)
        if str(target).endswith(step):
            os._exit(9)
        return result

    publication._SQL = Asked()
    Path.replace = moved  # type: ignore[assignment,method-assign]
    Warehouse(path).publish(copy)


def hold(path: Path, started: Event, may_end: Event) -> None:
    """Keep the file open until told, as a shell or a notebook does."""
    with duckdb.connect(str(path)):
        started.set()
        may_end.wait()


def _small(video_id: str) -> dict[str, AssetRows]:
    sets = fact_check(video_id, claims=1)
    return {name: sets[name] for name in ("claims", "evidence")}
