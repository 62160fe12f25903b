"""A disk that fills up while a check goes on: where no file may grow, as under a quota."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from factible_assets.config import ClaimsConfig, FactCheckConfig, QueriesConfig, SearchConfig
from factible_assets.web.models import CheckOrder
from tests.pipeline.assets.conftest import DEMO_VIDEO
from tests.shortcuts import prepare

FACTIBLE = str(Path(sys.executable).with_name("factible"))
WORKER = "factible_assets.web.worker"
RUN = "00000000-0000-4000-8000-000000000001"
ONE_CLAIM = FactCheckConfig(
    claims=ClaimsConfig(max_claims=1),
    queries=QueriesConfig(max_queries=1),
    search=SearchConfig(max_results=2),
)
ROOMY, TIGHT = 3_000_000, 300_000
"""Room for Dagster's records and none for the warehouse; and for neither, once a run goes on."""


def ended(command: list[str], home: Path, most_bytes: int, given: str = "") -> tuple[int, str, str]:
    limited = ["/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"', str(most_bytes // 512)]
    with (home.parent / "out").open("w+") as out, (home.parent / "err").open("w+") as err:
        environment = {"FACTIBLE_HOME": str(home), "PATH": ""}
        process = subprocess.Popen(
            [*limited, *command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()
        code = process.wait()
        process.stdin.close()
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def test_a_full_disk_is_an_environment_error_of_the_command(tmp_path: Path) -> None:
    home = prepare(tmp_path / "home")
    (home / "warehouse.duckdb").unlink()
    command = [FACTIBLE, "check", DEMO_VIDEO, "-q", "--max-claims", "1"]
    code, _, words = ended(command, home, ROOMY)
    assert (code, "There is no room left" in words) == (5, True), words


def test_a_full_disk_ends_a_run_of_the_service_with_the_same_sentence(tmp_path: Path) -> None:
    home = prepare(tmp_path / "home")
    order = CheckOrder(run_id=RUN, video_id=DEMO_VIDEO, home=home, config=ONE_CLAIM)
    command = [sys.executable, "-m", WORKER]
    code, told, words = ended(command, home, TIGHT, f"{order.model_dump_json()}\n")
    last = json.loads(told.splitlines()[-1])
    assert (code, last["step"]) == (1, "error"), words
    assert "There is no room left" in last["message"]
