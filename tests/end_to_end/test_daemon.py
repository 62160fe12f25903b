"""The nightly schedule as Dagster's own daemon ticks it, in processes of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.scheduler.instigation import TickStatus

from factible_assets.config import ClaimsConfig, FactCheckConfig, QueriesConfig
from factible_assets.pipeline.schedules import LAUNCHED_BY, SCHEDULE
from factible_assets.records.tables import Claim
from factible_assets.runs.launch import open_instance, prepare_instance, run_video
from factible_assets.runs.result import StoredVideo
from factible_assets.settings import load_settings
from tests.patience import eventually
from tests.pipeline.assets.conftest import DEMO_VIDEO
from warehouse.store import Warehouse

ROOT = Path(__file__).resolve().parents[2]
ONE_CLAIM = FactCheckConfig(
    claims=ClaimsConfig(max_claims=1), queries=QueriesConfig(max_queries=1), reasoner="embedded"
)

pytestmark = pytest.mark.timeout(900)


@contextmanager
def daemon(environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the daemon, with its code server and its runs, and end all of them."""
    program = Path(sys.executable).with_name("dagster-daemon")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(program), "run", "-m", "factible_assets.definitions", "-d", str(ROOT)],
            env=dict(environment),
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def test_the_schedule_launches_runs_that_check_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_of_the_test = {
        "FACTIBLE_HOME": str(tmp_path / "home"),
        "FACTIBLE_RECHECK_SCHEDULE": "* * * * *",
        "FACTIBLE_RECHECK_MIN_AGE_DAYS": "0",
        "FACTIBLE_RECHECK_VIDEOS": "1",
    }
    for name, value in settings_of_the_test.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    first = run_video(StoredVideo(DEMO_VIDEO, settings), config=ONE_CLAIM)
    assert not first.failures

    environment = {**os.environ, "DAGSTER_HOME": str(prepare_instance(settings))}
    log = tmp_path / "daemon.log"
    launched = dg.RunsFilter(tags={"launched_by": LAUNCHED_BY})
    with open_instance(settings) as instance, daemon(environment, log) as process:

        def is_over() -> bool:
            assert process.poll() is None, f"the daemon ended:\n{log.read_text()[-3000:]}"
            return any(run.is_finished for run in instance.get_runs(launched))

        eventually(is_over, lambda: f"it never came:\n{log.read_text()[-3000:]}", pause=1.0)
        ended = [run for run in instance.get_runs(launched) if run.is_finished]
        checks = [
            entry.dagster_event.asset_check_evaluation_data
            for run in ended
            for entry in instance.all_logs(
                run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION
            )
            if entry.dagster_event is not None
        ]
        ticks = [
            tick
            for state in instance.all_instigator_state()
            if state.instigator_name == SCHEDULE
            for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id)
        ]
    (run, *_) = reversed(ended)
    assert run.status is dg.DagsterRunStatus.SUCCESS, log.read_text()[-3000:]
    assert run.job_name == "recheck"
    assert run.tags["video"] == run.tags["dagster/partition"] == DEMO_VIDEO
    assert run.tags["dagster/run_key"].endswith(DEMO_VIDEO)
    assert run.asset_selection == {
        dg.AssetKey(name) for name in ("search_hits", "reliability_ratings", "evidence", "verdicts")
    }
    assert any(
        tick.status is TickStatus.SUCCESS and run.run_id in tick.run_ids for tick in ticks
    ), "the run was launched by a tick of the schedule"

    flips = [check for check in checks if check.check_name == "verdict_flips"]
    assert flips
    assert all(check.passed for check in flips)

    store = Warehouse(settings.warehouse)
    (claim,) = store.read_current(Claim, DEMO_VIDEO)
    history = store.query("SELECT run_id, claim_id FROM verdict_history ORDER BY checked_at").rows()
    assert history[:2] == [(first.run_id, claim.claim_id), (run.run_id, claim.claim_id)]
    launches = store.query("SELECT video_id, position FROM recheck_launches").rows()
    assert set(launches) == {(DEMO_VIDEO, 1)}
