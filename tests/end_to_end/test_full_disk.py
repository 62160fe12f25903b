"""A disk that fills up while a check goes on: where no file may grow, as under a quota."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.pipeline.assets.conftest import DEMO_VIDEO
from tests.shortcuts import prepare

FACTIBLE = str(Path(sys.executable).with_name("factible"))
ROOMY = 3_000_000
"""Bytes with room for Dagster's records and none for the warehouse."""


def test_a_full_disk_is_an_environment_error_of_the_command(tmp_path: Path) -> None:
    home = prepare(tmp_path / "home")
    (home / "warehouse.duckdb").unlink()
    command = [FACTIBLE, "check", DEMO_VIDEO, "-q", "--max-claims", "1"]
    limited = ["/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"', str(ROOMY // 512), *command]
    environment = {"FACTIBLE_HOME": str(home), "PATH": ""}
    with (tmp_path / "err").open("w+") as err:
        ended = subprocess.run(
            limited, env=environment, stdout=subprocess.DEVNULL, stderr=err, check=False
        )
        err.seek(0)
        words = err.read()
    assert (ended.returncode, "There is no room left" in words) == (5, True), words
