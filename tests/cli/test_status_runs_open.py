from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import threading
from pathlib import Path

import dagster as dg
import pytest

from factible_assets.pipeline.locks import hold_run_lock
from factible_assets.pipeline.partitions import PARTITION_TAG
from factible_assets.runs import instance as instances
from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_failed_recheck, store_published, store_sample
from tests.shortcuts import prepare


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


def test_status_of_an_empty_folder_names_the_first_step_and_creates_nothing(
    factible: Run, home: Path
) -> None:
    result = factible("status")
    assert result.exit_code == 0
    assert str(home) in result.stdout.replace("\n", "")
    assert "factible demo" in result.stderr
    assert not home.exists()


def test_status_counts_checked_and_incomplete_videos(factible: Run, home: Path) -> None:
    store_failed_recheck(store_sample(home, ("supports", "refutes")))
    found = json.loads(factible("status", "--json").stdout)
    assert found["videos"] == {"checked": 0, "incomplete": 1, "without_verdicts": 0}
    assert (found["claims"]["claims"], found["claims"]["incomplete"]) == (2, 1)
    assert found["running"] == []
    assert found["sizes_bytes"]["warehouse"] > 0
    assert found["sizes_bytes"]["published"] is None


def test_status_works_while_a_run_changes_folders(factible: Run, home: Path) -> None:
    store_sample(home, ("supports",))
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            (home / "cache" / "some" / "folder").mkdir(parents=True)
            shutil.rmtree(home / "cache" / "some")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        told = [factible("status", "--json") for _ in range(8)]
    finally:
        ended.set()
        worker.join()
    assert {each.exit_code for each in told} == {0}


def test_status_works_in_a_read_only_folder(
    factible: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(home)
    store_sample(home, ("supports",))

    def refused(path: Path, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(instances, "FileLock", refused)
    result = factible("status", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["claims"]["claims"], found["running"]) == (1, None)
    assert "Make that folder writable" in found["running_unknown"]
    listed = factible("runs")
    assert (listed.exit_code, str(home / "dagster") in listed.stderr) == (5, True)
    assert "(Read-only file system). Make that folder writable" in listed.stderr


def test_status_lists_waiting_and_running_checks_and_ends_dead_ones(
    factible: Run, home: Path
) -> None:
    statuses = {"a-talk": "STARTED", "b-talk": "STARTING", "c-talk": "SUCCESS", "d-talk": "STARTED"}
    with open_instance(Settings(home=prepare(home))) as instance:
        runs = {}
        for video, name in statuses.items():
            status = dg.DagsterRunStatus[name]
            runs[video] = dg.DagsterRun("fact_check", status=status, tags={PARTITION_TAG: video})
            instance.add_run(runs[video])
        with hold_run_lock(instance, runs["a-talk"].run_id):
            hold_run_lock(instance, runs["d-talk"].run_id).close()
            told = [json.loads(factible("status", "--json").stdout)["running"] for _ in range(2)]
        ended = instance.get_run_by_id(runs["d-talk"].run_id)
    expected = [
        (video, status, runs[video].run_id[:8])
        for video, status in (("b-talk", "starting"), ("a-talk", "started"))
    ]
    for running in told:
        assert [(run["video"], run["status"], run["id"]) for run in running] == expected
    assert ended is not None
    assert ended.status is dg.DagsterRunStatus.FAILURE


def test_runs_of_an_empty_folder_are_empty(factible: Run, home: Path) -> None:
    result = factible("runs")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no runs yet" in result.stderr
    assert json.loads(factible("runs", "--json").stdout) == []
    assert not home.exists()


def test_runs_can_be_narrowed_to_a_job_a_video_and_how_they_ended(
    factible: Run, home: Path
) -> None:
    success, failure = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE
    with open_instance(Settings(home=prepare(home))) as instance:
        for job, video, status in (
            ("fact_check", "a-talk", success),
            ("recheck", "a-talk", failure),
            ("recheck", "b-talk", success),
        ):
            run = dg.DagsterRun(job, status=status, tags={PARTITION_TAG: video})
            instance.add_run(run)
        instance.add_run(dg.DagsterRun("add_video", status=success, tags={"video": "b-talk"}))

    def found(*options: str) -> list[tuple[str, str]]:
        listed = json.loads(factible("runs", *options, "--json").stdout)
        return sorted((run["job"], run["video"]) for run in listed)

    assert found("--job", "recheck") == [("recheck", "a-talk"), ("recheck", "b-talk")]
    assert found("--job", "recheck", "--status", "failure") == [("recheck", "a-talk")]
    assert found("--job", "fact_check", "--video", "b-talk") == []
    assert found("--video", "b-talk") == [("add_video", "b-talk"), ("recheck", "b-talk")]
    assert found("--video", "b-talk", "--limit", "1") == [("add_video", "b-talk")]


def test_runs_keep_their_ids_and_their_videos_where_there_is_little_room(
    factible: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_instance(Settings(home=prepare(home))) as instance:
        status = dg.DagsterRunStatus.SUCCESS
        run = dg.DagsterRun("fact_check", status=status, tags={PARTITION_TAG: "talk"})
        instance.add_run(run)
    monkeypatch.setattr("factible_assets.cli.output._WIDTH", 60)
    shown = factible("runs").stdout
    assert run.run_id[:8] in shown
    assert "talk" in shown


def test_an_unknown_status_of_runs_is_wrong_usage(factible: Run) -> None:
    result = factible("runs", "--status", "done")
    assert result.exit_code == 2
    assert "success" in result.stderr


def test_without_a_browser_open_prints_the_place(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("open", VIDEO_ID)
    assert result.exit_code == 0
    assert Path(result.stdout.strip()).read_text(encoding="utf-8").startswith("<!")
    assert "Open it elsewhere" in result.stderr
    assert json.loads(factible("open", VIDEO_ID, "--json").stdout)["place"] == result.stdout.strip()


def test_the_published_copy_is_opened_by_its_path(factible: Run, home: Path) -> None:
    store_published(home)
    assert factible("open", "published", "-q").stdout == f"{home / 'published.duckdb'}\n"


@pytest.mark.parametrize(
    ("what", "remedy"),
    [
        ("published", "factible demo"),
        ("index", "factible demo"),
        ("everyday-beliefs-talk", "factible check -- everyday-beliefs-talk"),
        ("everyday-beliefs", "Did you mean 'everyday-beliefs-talk'?"),
        ("https://example.org/watch", "YouTube"),
    ],
)
def test_open_refuses_with_a_remedy(factible: Run, what: str, remedy: str) -> None:
    result = factible("open", what)
    assert (result.exit_code, result.stdout) == (4, "")
    assert remedy in result.stderr


def test_open_ui_names_a_silent_port(factible: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        assert factible("open", "ui", "--port", str(port), "--print").stdout == (
            f"http://127.0.0.1:{port}\n"
        )
    result = factible("open", "ui", "--port", str(port))
    assert result.exit_code == 4
    assert "factible dev" in result.stderr


def test_dev_names_a_busy_port_with_the_remedy(factible: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        result = factible("dev", "--port", str(port))
    assert result.exit_code == 5
    assert f"Port {port}" in result.stderr
    assert "Choose another --port" in result.stderr
