"""Removing Dagster's records: of runs, and of everything that names one video.

What belongs here: which records are a video's, and giving their room back. What does not: the
project's own rows (warehouse/erasure.py), which runs are old (pipeline/schedules.py).

Dagster offers to delete a run with its events, and a partition. Other records that name a video
(checks, the newest event of each asset, backfills, ticks of schedules and sensors, messages of
other runs) are removed over the connections of its storages, SQLite and PostgreSQL alike.
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

from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from resources.statements import statements

_SQL = statements("factible_assets.pipeline", "event_log.sql")
_WAIT_SECONDS = 30.0


def delete_runs(instance: dg.DagsterInstance, run_ids: Iterable[str]) -> None:
    """Delete the records of runs, and what their steps printed."""
    root = Path(instance.root_directory)
    for run_id in run_ids:
        instance.delete_run(run_id)
        # Where each run has a file, it is emptied and left; and so is what steps printed.
        for file in root.glob(f"history/runs/{run_id}.db*"):
            file.unlink(missing_ok=True)
        shutil.rmtree(root / "storage" / run_id, ignore_errors=True)
        (root / "alive" / run_id).unlink(missing_ok=True)


def runs_of(instance: dg.DagsterInstance, video_id: str) -> list[str]:
    """Return the ids of all runs of a video."""
    filters = (dg.RunsFilter(tags={name: video_id}) for name in (PARTITION_TAG, "video"))
    return sorted({run.run_id for each in filters for run in instance.get_runs(each)})


def forget_video(
    instance: dg.DagsterInstance, video_id: str, mention: re.Pattern[str] | None
) -> None:
    """Remove a video's runs, its partition, and the records that name it.

    Free texts, such as messages of other runs, are removed where `mention` finds the video in them;
    None leaves them, for an id that is a common word.
    """
    deleted = runs_of(instance, video_id)
    delete_runs(instance, deleted)
    instance.delete_dynamic_partition(str(videos.name), video_id)
    # The storages' connections are no part of their common type.
    events: Any = instance.event_log_storage
    with events.index_connection() as connection:
        own = {"video": video_id}
        for question in ("remove_checks", "remove_events"):
            connection.execute(text(_SQL[question]), own)
    if mention is not None:
        _forget_mentions(instance, video_id, mention)
    _renew_newest(instance, video_id, deleted)


def _forget_mentions(instance: dg.DagsterInstance, video_id: str, mention: re.Pattern[str]) -> None:
    events: Any = instance.event_log_storage
    runs: Any = instance.run_storage
    schedules: Any = instance.schedule_storage
    with runs.connect() as connection:
        others = _mentioning(connection, "runs", "run_id", "run_body", video_id, mention)
    delete_runs(instance, others)
    places: list[tuple[AbstractContextManager[Connection], str, str]] = [
        (runs.connect(), "bulk_actions", "body"),
        (schedules.connect(), "job_ticks", "tick_body"),
        (schedules.connect(), "asset_daemon_asset_evaluations", "asset_evaluation_body"),
        (events.index_connection(), "event_logs", "event"),
    ]
    # With SQLite each run has a file of its own.
    files = sorted(Path(instance.root_directory).glob("history/runs/*.db"))
    places += [
        (events.run_connection(file.stem), "event_logs", "event")
        for file in files
        if file.stem != "index" and _holds(file, video_id.encode())
    ]
    for opened, table, column in places:
        with opened as connection:
            found = _mentioning(connection, table, "id", column, video_id, mention)
            sql = text(_SQL["remove_rows"].format(table=table))
            for number in found:
                connection.execute(sql, {"id": number})


def _mentioning(
    connection: Connection,
    table: str,
    key: str,
    column: str,
    video_id: str,
    mention: re.Pattern[str],
) -> list[Any]:
    escaped = re.sub(r"([%_\\])", r"\\\1", video_id)
    sql = _SQL["mentioning"].format(table=table, key=key, column=column)
    rows = connection.execute(text(sql), {"like": f"%{escaped}%"}).fetchall()
    return [found for found, body in rows if mention.search(str(body))]


def _renew_newest(instance: dg.DagsterInstance, video_id: str, deleted: list[str]) -> None:
    """Let each asset's newest event, which is kept a second time, be one that is still there."""
    events: Any = instance.event_log_storage
    with events.index_connection() as connection:
        asked = text(_SQL["newest_events"]).bindparams(bindparam("runs", expanding=True))
        rows = connection.execute(asked, {"video": f'%"{video_id}"%', "runs": deleted}).fetchall()
    for (written,) in rows:
        key = dg.AssetKey.from_db_string(written)
        records = instance.fetch_materializations(key, limit=1).records if key else ()
        if records:
            events.store_asset_event(records[0].event_log_entry, records[0].storage_id)
            continue
        with events.index_connection() as connection:
            connection.execute(text(_SQL["no_newest_event"]), {"key": written})


def _holds(file: Path, needle: bytes) -> bool:
    """Tell whether an SQLite file or its write-ahead log holds some bytes."""
    parts = (file, file.with_name(f"{file.name}-wal"))
    return any(each.exists() and needle in each.read_bytes() for each in parts)


def give_room_back(root: Path, needle: bytes) -> None:
    """Write the SQLite files below a folder anew that still hold some bytes in removed rows.

    Call it when the instance is closed. Raises sqlite3.Error: Another process uses a file.
    """
    for file in sorted(root.rglob("*.db")):
        if not _holds(file, needle):
            continue
        with closing(sqlite3.connect(file, timeout=_WAIT_SECONDS)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
