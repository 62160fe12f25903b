"""What is changed about Dagster does what it is for."""

from __future__ import annotations

import logging
import shutil
import threading
from pathlib import Path
from typing import Any

from dagster._core.test_utils import create_run_for_test

from factible_assets.runs.launch import open_instance
from factible_assets.settings import load_settings


def test_a_run_begins_while_another_of_its_process_logs(tmp_path: Path) -> None:
    """Dagster would wait for the other's handler, and the other for the lock that it holds."""
    other = logging.Handler()
    with open_instance(load_settings(tmp_path)) as instance:
        begun = threading.Thread(target=instance.get_handlers, daemon=True)
        with other.lock:  # type: ignore[union-attr]  # it logs
            begun.start()
            begun.join()  # for ever, if it waits for the other


def test_records_of_runs_have_one_engine_and_may_begin_anew(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    for _ in range(2):
        with open_instance(settings) as instance:
            storage: Any = instance.run_storage
            with storage.connect() as first, storage.connect() as second:
                assert first.engine is second.engine
            assert instance.get_runs_count() == 0
            create_run_for_test(instance)
            assert instance.get_runs_count() == 1
        shutil.rmtree(settings.dagster_home)
