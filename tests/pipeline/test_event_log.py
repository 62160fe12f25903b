"""Dagster's event log while a run writes into it: opened once, and read by everybody."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from queue import Queue

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from factible_assets.runs.launch import OpenEventLog, open_instance
from factible_assets.settings import Settings, SettingsError

RUNS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(6)]


def test_dagsters_own_log_reads_what_is_written_while_it_is_written(tmp_path: Path) -> None:
    with open_instance(Settings(home=tmp_path)) as instance:
        assert isinstance(instance.event_log_storage, OpenEventLog)
        # More runs than are kept open at once, and back to the first.
        for run_id in [*RUNS, RUNS[0]]:
            if not instance.has_run(run_id):
                create_run_for_test(instance, run_id=run_id)
            instance.report_engine_event("a step of it", run_id=run_id, job_name="a job")
            with dg.DagsterInstance.from_config(instance.root_directory) as other:
                assert not isinstance(other.event_log_storage, OpenEventLog)
                assert other.all_logs(run_id)[-1].get_dagster_event().message == "a step of it"
    # What is closed leaves nothing beside its files that is yet to be taken over.
    assert list((tmp_path / "dagster" / "history" / "runs").glob("*-wal")) == []


@pytest.mark.parametrize("kept", [(), ("event_logs",), ("event_logs", "secondary_indexes")])
def test_an_index_whose_maker_was_killed_over_it_is_completed(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    with open_instance(Settings(home=tmp_path)) as instance:
        file = Path(instance.root_directory, "history", "runs", "index.db")
    with closing(sqlite3.connect(file)) as index:
        tables = index.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in tables:
            if name not in {*kept, "sqlite_sequence"}:
                index.execute(f"DROP TABLE {name}")
        if "secondary_indexes" in kept:
            index.execute("DELETE FROM secondary_indexes")
        index.commit()
    with open_instance(Settings(home=tmp_path)) as instance:
        instance.add_dynamic_partitions("videos", ["a-video"])
        assert isinstance(instance.event_log_storage, OpenEventLog)
        assert instance.event_log_storage.has_secondary_index("asset_key_table")
    with dg.DagsterInstance.from_config(instance.root_directory) as other:
        assert other.get_dynamic_partitions("videos") == ["a-video"]


def test_whoever_follows_a_run_hears_each_event_while_it_goes_on(tmp_path: Path) -> None:
    with open_instance(Settings(home=tmp_path)) as instance:
        create_run_for_test(instance, run_id=RUNS[0])
        instance.report_engine_event("before", run_id=RUNS[0], job_name="a job")
        heard: Queue[str | None] = Queue()
        with dg.DagsterInstance.from_config(instance.root_directory) as other:
            other.watch_event_logs(
                RUNS[0], None, lambda event, _: heard.put(event.get_dagster_event().message)
            )
            # The first brings what was there; each later one must come by itself.
            for message in ("first", "second"):
                instance.report_engine_event(message, run_id=RUNS[0], job_name="a job")
                while heard.get() != message:
                    pass


def test_a_storage_of_the_users_own_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text(
        f"storage: {{sqlite: {{base_dir: {tmp_path / 'elsewhere'}}}}}\n", "utf-8"
    )
    with open_instance(Settings(home=tmp_path)) as instance:
        assert not isinstance(instance.event_log_storage, OpenEventLog)
    assert (tmp_path / "elsewhere" / "history").is_dir()


def test_a_named_pipe_in_the_place_of_dagster_yaml_is_said_and_not_waited_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "dagster").mkdir()
    os.mkfifo(tmp_path / "dagster" / "dagster.yaml")
    with pytest.raises(SettingsError, match="is a named pipe"):
        open_instance(Settings(home=tmp_path))
