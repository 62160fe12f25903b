"""Workers that are forked from a warm process: who is told of them, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import dagster as dg
import pytest
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.test_utils import create_run_for_test

from factible_assets.config import ClaimsConfig, FactCheckConfig
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.pipeline.liveness import end_dead_runs, failures_of_run, pid_of
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from factible_assets.records import METHOD
from factible_assets.runs import launch
from factible_assets.runs.launch import open_instance, prepare_instance
from factible_assets.runs.launcher import DEFINITIONS, WarmRunLauncher
from factible_assets.settings import Settings
from tests.pipeline.assets.conftest import DEMO_VIDEO

RUN = "00000000-0000-4000-8000-000000000002"
WORKER = """
import signal, sys
import dagster as dg
from factible_assets.pipeline.liveness import mark_alive
with dg.DagsterInstance.from_config(sys.argv[1]) as instance:
    held = mark_alive(instance, sys.argv[2])
    print("held", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize(("step", "is_forced"), [("claims", False), ("claim_checks", True)])
def test_a_run_that_is_terminated_is_canceled_and_not_tried_again(
    tmp_path: Path, step: str, is_forced: bool
) -> None:
    settings = Settings(home=tmp_path / "home", web="miniature")
    settings.ensure_home()
    with open_instance(settings) as instance:
        run_id = queued(instance)
        with worker_of(settings, run_id) as worker:
            while step not in started(instance, run_id):
                assert worker.poll() is None
                time.sleep(0.05)
            if is_forced:
                instance.report_run_canceled(run_of(instance, run_id))
            else:
                assert instance.run_launcher.terminate(run_id)
            worker.wait()
        assert run_of(instance, run_id).status is dg.DagsterRunStatus.CANCELED
        assert started(instance, run_id).count(step) == 1


def test_a_run_begins_no_warehouse_in_the_place_of_one_that_is_lost(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", web="miniature")
    settings.ensure_home()
    Path(str(settings.published)).write_bytes(b"what is left")
    with open_instance(settings) as instance:
        run_id = queued(instance)
        with worker_of(settings, run_id) as worker:
            worker.wait()
        assert run_of(instance, run_id).status is dg.DagsterRunStatus.FAILURE
        (why,) = failures_of_run(instance, run_id)
    assert "Put it back with: factible restore" in why
    assert not settings.warehouse.exists()


def queued(instance: dg.DagsterInstance) -> str:
    recon = ReconstructableRepository.for_module(DEFINITIONS, "defs", None)
    job = recon.get_reconstructable_job("fact_check")
    instance.add_dynamic_partitions(str(videos.name), [DEMO_VIDEO])
    config = FactCheckConfig(claims=ClaimsConfig(max_claims=12), reasoner="embedded")
    return instance.create_run_for_job(
        job_def=job.get_definition(),
        run_config=run_config_for(config, METHOD),
        tags={PARTITION_TAG: DEMO_VIDEO},
        job_code_origin=job.get_python_origin(),
        status=dg.DagsterRunStatus.STARTING,
    ).run_id


def worker_of(settings: Settings, run_id: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from factible_assets.runs.launcher import _work; _work(sys.argv[1])",
            run_id,
        ],
        env={**os.environ, "FACTIBLE_HOME": str(settings.home), "FACTIBLE_WEB": "miniature"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def run_of(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRun:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run


def started(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    kinds = {dg.DagsterEventType.STEP_START, dg.DagsterEventType.STEP_RESTARTED}
    events = [entry.dagster_event for entry in instance.all_logs(run_id, of_type=kinds)]
    return [event.step_key for event in events if event is not None and event.step_key]


def test_a_folder_of_an_earlier_version_starts_its_runs_warm_and_one_that_was_edited_as_it_says(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path)
    file = prepare_instance(settings) / "dagster.yaml"
    newest = file.read_text("utf-8")
    earlier = Path(__file__).with_name("dagster_earlier.yaml").read_text("utf-8")
    file.write_text(earlier, "utf-8")
    with open_instance(settings) as instance:
        assert isinstance(instance.run_launcher, WarmRunLauncher)
    assert file.read_text("utf-8") == newest
    file.write_text("telemetry:\n  enabled: false\n", "utf-8")
    with open_instance(settings) as instance:
        assert not isinstance(instance.run_launcher, WarmRunLauncher)


def test_neither_a_run_nor_the_code_server_has_to_start_within_a_time(tmp_path: Path) -> None:
    with open_instance(Settings(home=tmp_path)) as instance:
        assert instance.run_monitoring_start_timeout_seconds == 0
        assert instance.code_server_process_startup_timeout == 0


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
        assert worker.communicate()[0] == "interrupted\n"
        run = instance.get_run_by_id(RUN)
        assert run is not None
        assert run.status is dg.DagsterRunStatus.CANCELING
        assert pid_of(instance, RUN) is None


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_does_not_stop_is_left_and_is_canceled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: signal.Signals
) -> None:
    monkeypatch.setattr(launch, "_CLOSING_SECONDS", 0.5)
    goes_on = threading.Event()

    def work() -> None:
        os.kill(os.getpid(), kind)
        goes_on.wait()

    with open_instance(Settings(home=tmp_path)) as instance:
        create_run_for_test(instance, run_id=RUN, status=dg.DagsterRunStatus.STARTED)
        with pytest.raises(KeyboardInterrupt):
            launch.supervised(work, RUN, instance)
        assert run_of(instance, RUN).status is dg.DagsterRunStatus.CANCELED
    goes_on.set()
