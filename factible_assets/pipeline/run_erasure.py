"""Deletes Dagster's records of old runs, and all its records of a video.

Dagster can delete a run with its events, and a partition. SQL over the connections of its storages
(SQLite or PostgreSQL) deletes the other records that name a video: asset checks, the newest event
of each asset, backfills, ticks, and messages of other runs.
"""

import re
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import dagster as dg
from sqlalchemy import Connection, bindparam, text

from factible_assets.pipeline.locks import RUN_LOCKS
from factible_assets.pipeline.partitions import VIDEO_TAGS, videos
from resources.statements import statements

_SQL = statements("factible_assets.pipeline", "run_erasure.sql")
_WAIT_SECONDS = 30.0


def delete_runs(instance: dg.DagsterInstance, run_ids: Iterable[str]) -> None:
    """Delete the records of runs, their lock files and their captured output."""
    root = Path(instance.root_directory)
    for run_id in run_ids:
        instance.delete_run(run_id)
        # Dagster leaves the emptied SQLite file of the run, and the captured output.
        for file in root.glob(f"history/runs/{run_id}.db*"):
            file.unlink(missing_ok=True)
        shutil.rmtree(root / "storage" / run_id, ignore_errors=True)
        (root / RUN_LOCKS / run_id).unlink(missing_ok=True)


def runs_of(instance: dg.DagsterInstance, video_id: str) -> list[str]:
    filters = (dg.RunsFilter(tags={name: video_id}) for name in VIDEO_TAGS)
    return sorted({run.run_id for condition in filters for run in instance.get_runs(condition)})


def forget_video(instance: dg.DagsterInstance, video_id: str, mention: re.Pattern[str]) -> None:
    """Delete a video's runs, its partition, and the records that name it.

    Deletes free texts, such as messages of other runs, if `mention` matches them.
    """
    # The connections are not part of the storages' common type.
    events: Any = instance.event_log_storage
    runs: Any = instance.run_storage
    schedules: Any = instance.schedule_storage
    with runs.connect() as connection:
        mentioning = _mentioning(connection, "runs", "run_id", "run_body", video_id, mention)
    deleted = sorted({*runs_of(instance, video_id), *mentioning})
    delete_runs(instance, deleted)
    instance.delete_dynamic_partition(str(videos.name), video_id)
    with events.index_connection() as connection:
        for statement in ("remove_checks", "remove_events"):
            connection.execute(text(_SQL[statement]), {"video": video_id})
    columns: list[tuple[AbstractContextManager[Connection], str, str]] = [
        (runs.connect(), "bulk_actions", "body"),
        (schedules.connect(), "job_ticks", "tick_body"),
        (schedules.connect(), "asset_daemon_asset_evaluations", "asset_evaluation_body"),
        (events.index_connection(), "event_logs", "event"),
    ]
    # In SQLite each run has its own file, and events without a run are in `.db`.
    files = sorted(Path(instance.root_directory).glob("history/runs/*.db"))
    columns += [
        (events.run_connection(file.name.removesuffix(".db")), "event_logs", "event")
        for file in files
        if file.stem != "index" and _holds(file, video_id.encode())
    ]
    for opening, table, column in columns:
        with opening as connection:
            sql = text(_SQL["remove_rows"].format(table=table))
            for row_id in _mentioning(connection, table, "id", column, video_id, mention):
                connection.execute(sql, {"id": row_id})
    _renew_newest(instance, video_id, mention, deleted)


def _mentioning(
    connection: Connection,
    table: str,
    key: str,
    column: str,
    video_id: str,
    mention: re.Pattern[str],
) -> list[Any]:
    """Return the keys of the rows whose column names the video and matches `mention`."""
    escaped = re.sub(r"([%_\\])", r"\\\1", video_id)
    sql = _SQL["mentioning"].format(table=table, key=key, column=column)
    rows = connection.execute(text(sql), {"like": f"%{escaped}%"}).fetchall()
    return [row_key for row_key, body in rows if mention.search(str(body))]


def _renew_newest(
    instance: dg.DagsterInstance, video_id: str, mention: re.Pattern[str], deleted: list[str]
) -> None:
    """Replace the copy that Dagster keeps of each asset's newest event, if the event is gone."""
    events: Any = instance.event_log_storage
    with events.index_connection() as connection:
        query = text(_SQL["newest_events"]).bindparams(bindparam("runs", expanding=True))
        keys = set(connection.execute(query, {"runs": deleted}).scalars())
        column = "last_materialization"
        keys |= {*_mentioning(connection, "asset_keys", "asset_key", column, video_id, mention)}
        # Dagster computes the status of all partitions anew.
        connection.execute(text(_SQL["no_status_of_partitions"]), {"video": f"%{video_id}%"})
    for stored_key in keys:
        key = dg.AssetKey.from_db_string(stored_key)
        records = instance.fetch_materializations(key, limit=1).records if key else ()
        if records:
            events.store_asset_event(records[0].event_log_entry, records[0].storage_id)
            continue
        with events.index_connection() as connection:
            connection.execute(text(_SQL["no_newest_event"]), {"key": stored_key})


def _holds(file: Path, needle: bytes) -> bool:
    """Tell whether an SQLite file or its write-ahead log contains some bytes."""
    parts = (file, file.with_name(f"{file.name}-wal"))
    return any(path.exists() and needle in path.read_bytes() for path in parts)


def vacuum(root: Path, needle: bytes) -> None:
    """Rewrite the SQLite files below a folder that still contain some bytes in deleted rows.

    Close the instance first. Raises sqlite3.Error: Another process uses a file.
    """
    for file in sorted(root.rglob("*.db")):
        if not _holds(file, needle):
            continue
        with closing(sqlite3.connect(file, timeout=_WAIT_SECONDS)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
