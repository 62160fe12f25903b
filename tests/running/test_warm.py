"""Workers that are forked from a warm process: who is told of them, and how they end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import dagster as dg
from dagster._core.test_utils import create_run_for_test

from factible_assets.running.launch import open_instance, prepare_instance
from factible_assets.running.warm import DEFINITIONS, WarmRunLauncher
from factible_assets.services.alive import end_dead_runs, pid_of
from factible_assets.settings import Settings

RUN = "00000000-0000-4000-8000-000000000002"
WORKER = """
import signal, sys, time
import dagster as dg
from factible_assets.services.alive import mark_alive
with dg.DagsterInstance.from_config(sys.argv[1]) as instance:
    held = mark_alive(instance, sys.argv[2])
    print("held", flush=True)
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_a_folder_of_an_earlier_version_starts_its_runs_warm_and_one_that_was_edited_as_it_says(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path)
    file = prepare_instance(settings) / "dagster.yaml"
    newest = file.read_text("utf-8")
    before, _, after = newest.partition("run_launcher:")
    earlier = before + "scheduler:" + after.partition("scheduler:")[2]
    file.write_text(earlier.replace("services/alive.py", "running/alive.py"), "utf-8")
    with open_instance(settings) as instance:
        assert isinstance(instance.run_launcher, WarmRunLauncher)
    assert file.read_text("utf-8") == newest
    file.write_text(f"{earlier}# Mine.\n", "utf-8")
    with open_instance(settings) as instance:
        assert not isinstance(instance.run_launcher, WarmRunLauncher)


def test_a_run_whose_worker_has_not_begun_lives_as_long_as_its_launcher(tmp_path: Path) -> None:
    with open_instance(Settings(home=tmp_path)) as instance:
        run = create_run_for_test(instance, run_id=RUN, status=dg.DagsterRunStatus.STARTING)
        launcher = instance.run_launcher
        assert isinstance(launcher, WarmRunLauncher)
        starting = Mock(**{"Process.return_value.is_alive.return_value": True})
        launcher._context = starting
        pointer = Mock(module=DEFINITIONS)
        origin = Mock(repository_origin=Mock(code_pointer=pointer))
        launcher.launch_run(Mock(dagster_run=Mock(run_id=run.run_id, job_code_origin=origin)))
        starting.Process.return_value.start.assert_called_once()
        assert end_dead_runs(instance) == []
        assert pid_of(instance, RUN) is None, "an interrupt would reach the launcher"
        launcher._workers.popitem()[1].close()  # as the kernel does when a process is killed
        assert end_dead_runs(instance) == [RUN]


def test_a_run_is_terminated_by_whoever_knows_it_and_not_once_its_process_is_gone(
    tmp_path: Path,
) -> None:
    with open_instance(Settings(home=tmp_path)) as instance:
        create_run_for_test(instance, run_id=RUN, status=dg.DagsterRunStatus.STARTED)
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, instance.root_directory, RUN],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout is not None
        assert worker.stdout.readline() == "held\n"
        assert pid_of(instance, RUN) == worker.pid
        assert instance.run_launcher.terminate(RUN)
        assert worker.communicate(timeout=60)[0] == "interrupted\n"
        run = instance.get_run_by_id(RUN)
        assert run is not None
        assert run.status is dg.DagsterRunStatus.CANCELING
        assert pid_of(instance, RUN) is None
