"""Work of other processes on a Dagster instance, in forks of one that has loaded Dagster."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any

import dagster as dg
from dagster._core.definitions.reconstruct import ReconstructableRepository

from factible_assets import definitions
from factible_assets.pipeline.locks import hold_run_lock, video_lock

PROCESSES = multiprocessing.get_context("forkserver")
LOADED = (
    __name__,
    "factible_assets.reasoners.embedded.engine",
    "factible_assets.services.transcripts",
    "factible_assets.services.web",
)
"""Modules that these processes share."""


def start(work: Callable[..., None], *given: object) -> BaseProcess:
    """Start a process on some work."""
    # Not at import, because only the last call counts, and other modules have their own.
    PROCESSES.set_forkserver_preload([*LOADED])
    process = PROCESSES.Process(target=work, args=given)
    process.start()
    return process


def hold(folder: str, run_ids: Sequence[str], held: Event) -> None:
    """Hold the locks of runs and of the video "a-video" until the end of the process."""
    with dg.DagsterInstance.from_config(folder) as instance:
        locks = [hold_run_lock(instance, each) for each in run_ids]
        with video_lock(instance, "a-video"):
            held.set()
            signal.pause()
        assert locks


def execute(
    folder: str, environment: Mapping[str, str], tags: Mapping[str, str], run_config: Any
) -> None:
    """Work on a run in the main thread of a process, as Dagster's launcher starts one."""
    # As `factible dev` does: a background job ignores SIGINT, and then Dagster ignores SIGTERM too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(environment)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    definitions.defs = definitions.build_defs()  # for this data folder
    repository = ReconstructableRepository.for_module(definitions.__name__, "defs", None)
    job = repository.get_reconstructable_job("fact_check")
    with dg.DagsterInstance.from_config(folder) as instance:
        dg.execute_job(job, instance, run_config=run_config, tags=tags)
