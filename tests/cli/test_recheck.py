"""`factible recheck` and `factible retention`, as their user meets them."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from factible_assets.cli.main import app
from factible_assets.errors import ExitCode, FactibleError
from tests.warehouse.samples import asset_rows, fact_check, incomplete_verdict
from warehouse.rows import Stamp
from warehouse.store import Warehouse


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Warehouse(tmp_path_factory.mktemp("checked") / "warehouse.duckdb")
    now = datetime.now(UTC)
    for number, video_id in enumerate(("aged", "open", "fresh")):
        age = timedelta(days=(20, 10, 1)[number])
        sets = fact_check(video_id)
        if video_id == "open":
            sets["verdicts"] = asset_rows(incomplete_verdict(video_id))
        store.write_assets(video_id, sets, stamp=Stamp(f"run-{video_id}", now - age))
    return store.path


@pytest.fixture
def home(checked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    monkeypatch.setenv("FACTIBLE_RECHECK_LIMITS", "cost_usd=0.6")
    monkeypatch.setenv("COLUMNS", "160")
    shutil.copyfile(checked, tmp_path / "warehouse.duckdb")
    return tmp_path


def test_more_videos_than_a_number_can_count_are_wrong_usage(home: Path) -> None:
    assert CliRunner().invoke(app, ["recheck", "--limit", "9" * 30]).exit_code == 2


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["recheck", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_plan_lists_the_next_videos_and_why_others_wait(home: Path) -> None:
    code, out, err = run("--plan")
    assert code == 0
    # Together their expected cost exceeds the limit of the night.
    assert "open" in out
    assert "verdicts incomplete" in out
    assert "aged" not in out
    assert "1 video waits: fresh enough" in err
    assert "1 video waits: beyond the cost per night" in err
    quiet = run("--plan", "--quiet")
    assert quiet[1:] == (out, "")


def test_the_plan_as_json_has_every_column_of_the_view(home: Path) -> None:
    code, out, _ = run("--plan", "--json")
    assert code == 0
    rows = json.loads(out)
    columns = Warehouse(home / "warehouse.duckdb").query("FROM recheck_plan LIMIT 0").columns
    assert {tuple(row) for row in rows} == {tuple(columns)}
    assert [row["decision"] for row in rows] == ["planned", "over_cost", "too_fresh"]


def test_a_limit_holds_for_the_command_and_not_for_the_nights(home: Path) -> None:
    rows = json.loads(run("--plan", "--json", "--limit", "0")[1])
    assert {row["decision"] for row in rows} == {"over_limit", "too_fresh"}
    assert json.loads(run("--plan", "--json")[1])[0]["decision"] == "planned"


def test_a_stopped_recheck_does_not_count_as_failed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise FactibleError("Interrupted.", "Run the same command.", ExitCode.INTERRUPTED)

    monkeypatch.setattr("factible_assets.runs.rechecks.run_video", stopped)
    store = Warehouse(home / "warehouse.duckdb")
    assert run()[0] == run()[0] == ExitCode.INTERRUPTED
    assert store.query("FROM recheck_launches").is_empty()
    assert json.loads(run("--plan", "--json")[1])[0]["decision"] == "planned"


def test_a_video_that_was_never_checked_is_named_with_the_remedy(home: Path) -> None:
    code, out, err = run("nobody")
    assert (code, out) == (4, "")
    assert err == (
        "factible: There are no claims of nobody to check again. "
        "Check it first: factible check -- nobody\n"
    )


def test_an_empty_recheck_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path / "empty"))
    assert run()[0] == 0
    assert "No video has claims" in run("--plan")[1]


def test_retention_counts_before_it_removes(home: Path) -> None:
    result = CliRunner().invoke(app, ["retention", "--dry-run", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["dry_run"] is True
    assert "page texts removed: 0" in CliRunner().invoke(app, ["retention"]).stdout
