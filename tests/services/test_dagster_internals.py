"""What is changed about Dagster does what it is for."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from factible_assets.running.launch import open_instance
from factible_assets.settings import load_settings


def test_a_run_begins_while_another_of_its_process_logs(tmp_path: Path) -> None:
    """Dagster would wait for the other's handler, and the other for the lock that it holds."""
    other = logging.Handler()
    with open_instance(load_settings(tmp_path)) as instance:
        begun = threading.Thread(target=instance.get_handlers, daemon=True)
        with other.lock:  # type: ignore[union-attr]  # it logs
            begun.start()
            begun.join(20)
            waits = begun.is_alive()
        begun.join(20)
    assert not waits
