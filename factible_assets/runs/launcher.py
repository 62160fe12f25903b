"""Runs that begin warm: each in a process of its own, forked from one that has all modules loaded.

What belongs here: how the daemon starts, ends and looks after the runs that it takes from the
queue; dagster.yaml names it. What does not: what a run does (assets/), runs in the process of who
asks for them (launch.py), whose turn it is (pipeline/liveness.py).

Dagster's own launcher starts an interpreter for each run, which spends seconds of CPU on imports
before its first step. Here the daemon starts one process that imports everything once and does
nothing else, and forks it for each run (multiprocessing's forkserver). A run stays what it was: one
per video, with its own events, failure, retry and termination, and none can take another down.
Dagster's way to have several partitions in one run (BackfillPolicy) was decided against: one that
fails there fails all of its run, and checks are recorded for one partition alone.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of its classes as types.

import multiprocessing
import os
import signal
import sys
import warnings
from multiprocessing.process import BaseProcess
from typing import IO, Any

import dagster as dg

from factible_assets.errors import ExitCode, leave
from factible_assets.pipeline.liveness import mark_alive, pid_of
from factible_assets.settings import load_settings

DEFINITIONS = "factible_assets.definitions"
_LOADED = (
    __name__,
    DEFINITIONS,
    "dagster._cli.api",
    "factible_assets.runs.launch",
    "factible_assets.reasoners.embedded.engine",
    "factible_assets.reasoners.llm.engine",
    "factible_assets.report.writing",
    "factible_assets.services.web",
    "pyarrow",
    "resources.cache.answers",
    "resources.llm.openai",
    "resources.transcripts.youtube",
    "onnxruntime",
    "tokenizers",
    "trafilatura.metadata",
)
"""What a run imports, early or late. None of it may start a thread that a fork would miss."""

_GOODBYE_SECONDS = 30.0

# A fork runs what its starter was started as by another name, and is warned that it has it already.
warnings.filterwarnings("ignore", ".* found in sys.modules after import of", RuntimeWarning)


class WarmRunLauncher(dg.DefaultRunLauncher):
    """Forks a process for each run of this project; others are launched as Dagster does it."""

    def __init__(self, inst_data: Any = None) -> None:
        """Start nothing yet."""
        super().__init__(inst_data)
        self._context = multiprocessing.get_context("forkserver")
        self._workers: dict[BaseProcess, IO[bytes]] = {}
        """The locks of their runs, for as long as they have not taken them themselves."""

    def launch_run(self, context: Any) -> None:
        """Start the worker of a run; the first one takes as long as all imports."""
        run = context.dagster_run
        origin = run.job_code_origin
        pointer = origin.repository_origin.code_pointer if origin else None
        if getattr(pointer, "module", None) != DEFINITIONS:
            super().launch_run(context)
            return
        # And what this process was started as: a fork loads that once more by another name.
        own = getattr(sys.modules["__main__"], "__spec__", None)
        self._context.set_forkserver_preload([*_LOADED, *([own.name] if own else [])])
        for each in [each for each in self._workers if not each.is_alive()]:
            self._workers.pop(each).close()
        held = mark_alive(self._instance, run.run_id, pid=0)
        worker = self._context.Process(target=_work, args=(run.run_id,), name=f"run {run.run_id}")
        worker.start()
        self._workers[worker] = held

    def terminate(self, run_id: str) -> bool:
        """Interrupt the worker of a run, whichever process started it."""
        pid = pid_of(self._instance, run_id)
        if pid is None:
            return bool(super().terminate(run_id))  # type: ignore[no-untyped-call]
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        os.kill(pid, signal.SIGINT)
        return True

    def dispose(self) -> None:
        """End the workers with the daemon; what was complete is stored."""
        for worker in self._workers:
            if worker.is_alive() and worker.pid is not None:
                os.kill(worker.pid, signal.SIGINT)
        for worker in self._workers:
            worker.join(_GOODBYE_SECONDS)
        super().dispose()


def _work(run_id: str) -> None:
    # Loaded before the fork, and by no other process.
    from factible_assets.pipeline.dagster_internals import _execute_run_command_body  # noqa: PLC0415
    from factible_assets.runs.launch import open_instance, supervised  # noqa: PLC0415

    with open_instance(load_settings()) as instance:
        # Dagster's own interrupts would be taken for failures that another try may cure.
        try:
            supervised(
                lambda: _execute_run_command_body(
                    run_id, instance, lambda _: None, set_exit_code_on_failure=False
                ),
                run_id,
                instance,
            )
        except KeyboardInterrupt:
            leave(ExitCode.INTERRUPTED)
            raise
