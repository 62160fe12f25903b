"""The reports that runs write."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode
from factible_assets.pipeline.resources import ReportsResource
from factible_assets.runs.launch import run_video
from factible_assets.runs.result import StoredVideo
from factible_assets.settings import Settings
from tests.cli.stored import VIDEO_ID, store_sample

LOG = logging.getLogger("tests.reporting")


def test_a_run_leaves_a_report_and_an_index_and_names_both(tmp_path: Path) -> None:
    store = store_sample(tmp_path)
    said = ReportsResource.of(Settings(home=tmp_path)).publish(store, VIDEO_ID, LOG)
    assert {name: value.value for name, value in said.items()} == {
        "report": str(tmp_path / "reports" / f"{VIDEO_ID}.html"),
        "index of reports": str(tmp_path / "reports" / "index.html"),
    }
    assert all(Path(str(value.value)).is_file() for value in said.values())


def test_the_materialization_links_the_report_of_a_service(tmp_path: Path) -> None:
    store = store_sample(tmp_path)
    settings = Settings(home=tmp_path, public_url="https://checks.example.org/base/")
    said = ReportsResource.of(settings).publish(store, VIDEO_ID, LOG)
    base = "https://checks.example.org/base"
    assert [(name, each.value) for name, each in said.items()][:2] == [
        ("report", f"{base}/reports/{VIDEO_ID}"),
        ("desk", f"{base}/desk/videos/{VIDEO_ID}"),
    ]
    assert settings.published.exists(), "which the service reads: the links open at once"


def test_a_failed_report_becomes_metadata(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = store_sample(tmp_path)
    in_the_way = tmp_path / "reports"
    in_the_way.write_text("a file where the folder should be")
    said = ReportsResource(folder=str(in_the_way)).publish(store, VIDEO_ID, LOG)
    assert "could not be written" in str(said["report"].value)
    assert f"factible report -- {VIDEO_ID}" in caplog.text


def test_a_run_names_a_report_that_its_launcher_writes(tmp_path: Path) -> None:
    store = store_sample(tmp_path)
    reports = ReportsResource.of(Settings(home=tmp_path), launcher_writes=True)
    said = reports.publish(store, VIDEO_ID, LOG)
    assert said["report"].value == str(tmp_path / "reports" / f"{VIDEO_ID}.html")
    assert not (tmp_path / "reports").exists()


def test_a_check_that_fails_leaves_a_report_of_what_is_stored(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    store_sample(tmp_path)
    nobody_judges = FactCheckConfig(reasoner="llm")
    ended = run_video(StoredVideo(VIDEO_ID, settings), config=nobody_judges, assets=["claims"])
    assert ended.failures
    assert ended.code is ExitCode.FAILED
    assert ended.data.claims_by_time[0].text in ended.report.read_text("utf-8")


def test_a_video_without_stored_rows_gets_no_report(tmp_path: Path) -> None:
    store = store_sample(tmp_path)
    assert ReportsResource(folder=str(tmp_path / "reports")).publish(store, "another", LOG) == {}
