"""The Dagster instance of a data folder, and stopping runs in other processes."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from factible_assets.config import ClaimsConfig, FactCheckConfig
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from factible_assets.pipeline.run_records import failures_of_run
from factible_assets.records.tables import METHOD
from factible_assets.runs import launch
from factible_assets.runs.instance import open_instance, prepare_instance
from factible_assets.settings import Settings, SettingsError
from factible_assets.stages.ports import Observer
from tests.patience import eventually
from tests.pipeline.assets.conftest import DEMO_VIDEO
from tests.pipeline.processes import execute, start
from tests.shortcuts import prepare
from tests.web.slow_world import SLOW_VIDEO, list_slow_video, nobody_answers

RUN = "00000000-0000-4000-8000-000000000002"


@pytest.mark.parametrize(
    ("report", "status"),
    [
        # The launcher terminates a run, the UI forces its end, the machine shuts down.
        ("report_run_canceling", "CANCELED"),
        ("report_run_canceled", "CANCELED"),
        ("", "FAILURE"),
    ],
)
def test_a_terminated_run_is_not_retried(tmp_path: Path, report: str, status: str) -> None:
    settings = Settings(home=prepare(tmp_path / "home"))
    list_slow_video(settings.home)
    is_searching = threading.Event()
    with (
        nobody_answers(is_searching) as address,
        open_instance(settings) as instance,
        worker_of(settings, instance, SLOW_VIDEO, FACTIBLE_SEARXNG_URL=address) as worker,
    ):
        eventually(lambda: is_searching.is_set() or not worker.is_alive())
        (run,) = instance.get_runs()
        if report:
            getattr(instance, report)(run)
        os.kill(worker.pid or 0, signal.SIGINT if report else signal.SIGTERM)
        worker.join()
        (run,) = instance.get_runs()
        assert run.status.value == status
        assert started_steps(instance).count("claim_checks") == 1


def test_a_run_creates_no_warehouse_in_place_of_a_lost_one(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", web="miniature")
    settings.ensure_home()
    Path(str(settings.published)).write_bytes(b"what is left")
    with open_instance(settings) as instance:
        with worker_of(settings, instance, DEMO_VIDEO, FACTIBLE_WEB="miniature") as worker:
            worker.join()
        (run,) = instance.get_runs()
        assert run.status is dg.DagsterRunStatus.FAILURE
        (why,) = failures_of_run(instance, run.run_id)
    assert "factible restore" in why
    assert not settings.warehouse.exists()


@contextmanager
def worker_of(
    settings: Settings, instance: dg.DagsterInstance, video: str, **variables: str
) -> Iterator[BaseProcess]:
    """Start a process that works on a run, and kill it with the block."""
    instance.add_dynamic_partitions(str(videos.name), [video])
    config = FactCheckConfig(claims=ClaimsConfig(max_claims=12), reasoner="embedded")
    environment = {"FACTIBLE_HOME": str(settings.home), **variables}
    given = ({PARTITION_TAG: video}, run_config_for(config, METHOD))
    worker = start(execute, instance.root_directory, environment, *given)
    try:
        yield worker
    finally:
        worker.kill()
        worker.join()


def started_steps(instance: dg.DagsterInstance) -> list[str]:
    kinds = {dg.DagsterEventType.STEP_START, dg.DagsterEventType.STEP_RESTARTED}
    return [
        entry.dagster_event.step_key
        for run in instance.get_runs()
        for entry in instance.all_logs(run.run_id, of_type=kinds)
        if entry.dagster_event is not None and entry.dagster_event.step_key
    ]


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
            launch.supervised(work, RUN, instance, Observer())
        run = instance.get_run_by_id(RUN)
        assert run is not None
        assert run.status is dg.DagsterRunStatus.CANCELED
    goes_on.set()


# --- The instance -------------------------------------------------------------------------------


def test_an_edited_instance_file_stays_as_it_is(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    file = prepare_instance(settings) / "dagster.yaml"
    with open_instance(settings) as instance:
        assert isinstance(instance.run_launcher, dg.DefaultRunLauncher)
        assert instance.run_monitoring_start_timeout_seconds == 3600
        assert instance.code_server_process_startup_timeout == 0
    edited = f"storage: {{sqlite: {{base_dir: {tmp_path / 'elsewhere'}}}}}\n"
    file.write_text(edited, "utf-8")
    with open_instance(settings):
        assert file.read_text("utf-8") == edited
    assert (tmp_path / "elsewhere" / "history").is_dir()


def test_a_named_pipe_in_place_of_dagster_yaml_is_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "dagster").mkdir()
    os.mkfifo(tmp_path / "dagster" / "dagster.yaml")
    with pytest.raises(SettingsError, match="is a named pipe"):
        open_instance(Settings(home=tmp_path))


def test_a_run_starts_while_another_of_its_process_logs(tmp_path: Path) -> None:
    """Dagster would wait for the handler of the other run, and that run for Dagster's lock."""
    other = logging.Handler()
    with open_instance(Settings(home=tmp_path)) as instance:
        starting = threading.Thread(target=instance.get_handlers, daemon=True)
        with other.lock:  # type: ignore[union-attr]  # it logs
            starting.start()
            starting.join()  # for ever, if it waits for the other
