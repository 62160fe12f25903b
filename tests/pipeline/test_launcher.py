from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings

RUN_ID = "00000000-0000-4000-8000-000000000007"


@pytest.mark.parametrize(
    ("before", "is_terminated", "after"),
    [("STARTED", True, "CANCELING"), ("SUCCESS", False, "SUCCESS")],
)
def test_the_ui_can_terminate_a_run_of_the_command_line_until_it_ends(
    tmp_path: Path, before: str, is_terminated: bool, after: str
) -> None:
    settings = Settings(home=tmp_path / "home")
    settings.ensure_home()
    with open_instance(settings) as instance:
        status = dg.DagsterRunStatus[before]
        instance.add_run(dg.DagsterRun(job_name="fact_check", run_id=RUN_ID, status=status))
        assert instance.run_coordinator.cancel_run(RUN_ID) is is_terminated
        run = instance.get_run_by_id(RUN_ID)
        assert run is not None
        assert run.status is dg.DagsterRunStatus[after]
