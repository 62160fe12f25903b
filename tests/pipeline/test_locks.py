"""Locks of runs and videos, held by real processes that are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO

import dagster as dg
import pytest
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.test_utils import create_run_for_test
from dagster._utils.interrupts import raise_interrupts_as

from factible_assets.errors import FactibleError
from factible_assets.pipeline import executor
from factible_assets.pipeline.cancellation import Cancellations
from factible_assets.pipeline.locks import end_dead_runs, hold_run_lock, video_lock
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from factible_assets.pipeline.run_records import failures_of_run
from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings
from tests.pipeline.processes import PROCESSES, hold, start

RUN, CANCELED = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
STARTED, CANCELING = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with open_instance(Settings(home=tmp_path / "home")) as opened:
        yield opened


@pytest.fixture
def holder(instance: dg.DagsterInstance) -> Iterator[BaseProcess]:
    """A process that holds the locks of two runs and of the video "a-video"."""
    held = PROCESSES.Event()
    process = start(hold, instance.root_directory, (RUN, CANCELED), held)
    held.wait()
    yield process
    process.kill()
    process.join()


def status(instance: dg.DagsterInstance, run_id: str) -> str:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status.value


def test_a_run_ends_once_its_process_was_killed_and_not_before(
    instance: dg.DagsterInstance, holder: BaseProcess
) -> None:
    for run_id, before in ((RUN, STARTED), (CANCELED, CANCELING)):
        create_run_for_test(instance, run_id=run_id, status=before)
    assert end_dead_runs(instance) == []
    assert (status(instance, RUN), status(instance, CANCELED)) == ("STARTED", "CANCELING")
    holder.kill()
    holder.join()
    with open_instance(Settings(home=Path(instance.root_directory).parent)) as at_the_next_start:
        ended = status(at_the_next_start, RUN), status(at_the_next_start, CANCELED)
    assert ended == ("FAILURE", "CANCELED")
    assert end_dead_runs(instance) == []


def test_a_run_of_another_machine_is_left_alone(instance: dg.DagsterInstance) -> None:
    create_run_for_test(instance, run_id=RUN, status=STARTED)
    assert end_dead_runs(instance) == []
    assert status(instance, RUN) == "STARTED"


def test_a_run_that_ended_leaves_no_file(instance: dg.DagsterInstance) -> None:
    create_run_for_test(instance, run_id=RUN, status=dg.DagsterRunStatus.SUCCESS)
    hold_run_lock(instance, RUN).close()
    assert end_dead_runs(instance) == []
    assert list((Path(instance.root_directory) / "run_locks").iterdir()) == []


def test_threads_that_look_at_once_end_each_run_once(instance: dg.DagsterInstance) -> None:
    for number in range(100, 110):
        run_id = f"{RUN[:-3]}{number}"
        create_run_for_test(instance, run_id=run_id, status=STARTED)
        hold_run_lock(instance, run_id).close()
    with ThreadPoolExecutor(4) as pool:
        ended = [pool.submit(end_dead_runs, instance) for _ in range(4)]
        assert len([run_id for each in ended for run_id in each.result()]) == 10


def test_one_process_locks_a_video_and_the_next_one_waits(
    instance: dg.DagsterInstance, holder: BaseProcess
) -> None:
    with video_lock(instance, "b") as has_waited, video_lock(instance, "b") as again:
        assert (has_waited, again) == (False, False), "a thread may lock a video twice"
    told = threading.Event()

    def waiting() -> None:
        told.set()
        holder.kill()

    with video_lock(instance, "a-video", waiting) as has_waited:
        assert has_waited
    assert told.is_set()


@pytest.mark.parametrize(
    ("job", "tags", "words"),
    [
        ("fact_check", {}, "The run names no video"),
        ("recheck", {PARTITION_TAG: "nope"}, "The partition nope does not exist"),
        ("pictures", {}, "The run names no video"),
    ],
)
def test_a_run_without_a_video_fails_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, tags: dict[str, str], words: str
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path / "home"))
    held: list[IO[bytes]] = []
    monkeypatch.setattr(executor, "_HELD_LOCKS", held)
    definitions = ReconstructableRepository.for_module("factible_assets.definitions", "defs", None)
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(str(videos.name), ["a", "b"])
        whole = definitions.get_reconstructable_job(job)
        with dg.execute_job(whole, instance, tags=tags) as result:
            assert not result.success
            (why,) = failures_of_run(instance, result.run_id)
    for each in held:
        each.close()
    assert words in why
    assert not (tmp_path / "home" / "warehouse.duckdb").exists()


def test_a_run_of_checks_alone_says_how_to_run_them(instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions(str(videos.name), ["a"])
    checks = frozenset({dg.AssetCheckKey(dg.AssetKey("verdicts"), "verdict_flips")})
    alone = create_run_for_test(instance, tags={PARTITION_TAG: "a"}, asset_check_selection=checks)
    with pytest.raises(FactibleError, match="Checks run whenever a video is materialized"):
        executor.video_of(instance, alone)
    assert (
        executor.video_of(instance, create_run_for_test(instance, tags={PARTITION_TAG: "a"})) == "a"
    )


# --- Signals ------------------------------------------------------------------------------------


async def test_a_signal_after_an_event_of_a_step_cancels_its_task() -> None:
    """Dagster takes the handlers away with each event; a callback of the loop gets the signal."""
    cancellations, is_stored = Cancellations(), asyncio.Event()

    async def step() -> None:
        with cancellations.cancellable(RUN):
            await is_stored.wait()
            cancellations.catch_signals(RUN)
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
            await asyncio.sleep(60)

    working = asyncio.create_task(step())
    with raise_interrupts_as(DagsterExecutionInterruptedError):
        await asyncio.sleep(0)
    with raise_interrupts_as(DagsterExecutionInterruptedError):
        is_stored.set()
        with pytest.raises(dg.Failure):
            await working
    assert cancellations.is_requested(RUN)
