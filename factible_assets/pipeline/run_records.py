"""Reads Dagster's records of runs, and deletes those of old runs and of videos to forget.

Dagster can delete a run with its events, and a partition. SQL over the connections of its storages
(SQLite or PostgreSQL) deletes the other records that name a video: asset checks, the newest event
of each asset, backfills, ticks, and messages of other runs.
"""

import re
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
from sqlalchemy import Connection, bindparam, text

from factible_assets.config import FactCheckConfig, StageConfig
from factible_assets.pipeline.locks import RUN_LOCKS
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from resources.statements import statements

_SQL = statements("factible_assets.pipeline", "run_records.sql")
_WAIT_SECONDS = 30.0
_OWN_ERRORS = ("factible_assets.", "resources.", "warehouse.")


# --- Reading ------------------------------------------------------------------------------------


def newest_runs(
    instance: dg.DagsterInstance,
    *,
    limit: int,
    video: str | None = None,
    run_id: str | None = None,
    job: str | None = None,
    statuses: Iterable[str] = (),
) -> list[dict[str, Any]]:
    """List recent runs, optionally of one video, id, job or some statuses, as rows of a table."""
    wanted = dg.RunsFilter(
        run_ids=[run_id] if run_id else None,
        job_name=job,
        statuses=[dg.DagsterRunStatus[each.upper()] for each in statuses],
        tags={PARTITION_TAG: video} if video else None,
    )
    rows = []
    for record in instance.get_run_records(wanted, limit=limit):
        run = record.dagster_run
        started, ended = (
            None if seconds is None else datetime.fromtimestamp(seconds, UTC)
            for seconds in (record.start_time, record.end_time)
        )
        rows.append(
            {
                "run_id": run.run_id,
                "video_id": run.tags.get("video") or run.tags.get(PARTITION_TAG),
                "job": run.job_name,
                "status": run.status.value.lower(),
                "launched_by": run.tags.get("launched_by"),
                "experiment_name": run.tags.get("experiment"),
                "created_at": record.create_timestamp.replace(tzinfo=UTC),
                "started_at": started,
                "ended_at": ended,
            }
        )
    return rows


def options_of_run(instance: dg.DagsterInstance, run_id: str | None) -> dict[str, Any] | None:
    """Return the options with which a run checked claims, as JSON; None if Dagster lacks the run.

    Leaves out the options that apply to one run alone (`renew`, `only_claims`) or to the search for
    claims, and those that only an earlier version had.
    """
    own = {"renew", "only_claims", "claims"}
    run = instance.get_run_by_id(run_id) if run_id else None
    if run is None:
        return None
    ops: Any = run.run_config.get("ops", {})
    given = ops.get("claim_checks", {}).get("config", {})
    return {
        name: each for name, each in _known(given, FactCheckConfig()).items() if name not in own
    }


def _known(given: dict[str, Any], options: StageConfig) -> dict[str, Any]:
    known = {}
    for name in given.keys() & type(options).model_fields.keys():
        section = getattr(options, name)
        is_section = isinstance(section, StageConfig)
        known[name] = _known(given[name], section) if is_section else given[name]
    return known


def failures_of_run(instance: dg.DagsterInstance, run_id: str) -> tuple[str, ...]:
    """Return a sentence per failed step, or one for the run if no step failed; at least one.

    A sentence is the asset's own message, without the frames of the framework around it.
    """
    silent = "it failed without saying why"
    steps = []
    found = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    for event in (record.event_log_entry.dagster_event for record in found.records):
        if event is None:
            continue
        data = event.step_failure_data
        words = _cause(data.error) or silent
        if data.user_failure_data and data.user_failure_data.description:
            words = data.user_failure_data.description
        steps.append(f"{event.step_key}: {words}")
    if steps:
        return tuple(steps)
    found = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.RUN_FAILURE)
    events = (record.event_log_entry.dagster_event for record in found.records)
    failures = (
        _cause(getattr(event.event_specific_data, "error", None)) or event.message or silent
        for event in events
        if event
    )
    return tuple(failures) or (silent,)


def _cause(error: Any) -> str | None:
    """Return the message of our own exception in a chain of causes, else of the innermost one."""
    causes = []
    while error is not None:
        causes.append(error.message.strip())
        error = error.cause
    own = (each.partition(": ")[2] for each in causes if each.startswith(_OWN_ERRORS))
    return next(own, causes[-1] if causes else None)


# --- Deleting -----------------------------------------------------------------------------------


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
    filters = (dg.RunsFilter(tags={name: video_id}) for name in (PARTITION_TAG, "video"))
    return sorted({run.run_id for each in filters for run in instance.get_runs(each)})


def forget_video(instance: dg.DagsterInstance, video_id: str, mention: re.Pattern[str]) -> None:
    """Delete a video's runs, its partition, and the records that name it.

    Deletes free texts, such as messages of other runs, if `mention` matches them.
    """
    # The connections are not part of the storages' common type.
    events: Any = instance.event_log_storage
    runs: Any = instance.run_storage
    schedules: Any = instance.schedule_storage
    with runs.connect() as connection:
        named = _mentioning(connection, "runs", "run_id", "run_body", video_id, mention)
    deleted = sorted({*runs_of(instance, video_id), *named})
    delete_runs(instance, deleted)
    instance.delete_dynamic_partition(str(videos.name), video_id)
    with events.index_connection() as connection:
        for question in ("remove_checks", "remove_events"):
            connection.execute(text(_SQL[question]), {"video": video_id})
    places: list[tuple[AbstractContextManager[Connection], str, str]] = [
        (runs.connect(), "bulk_actions", "body"),
        (schedules.connect(), "job_ticks", "tick_body"),
        (schedules.connect(), "asset_daemon_asset_evaluations", "asset_evaluation_body"),
        (events.index_connection(), "event_logs", "event"),
    ]
    # In SQLite each run has its own file.
    files = sorted(Path(instance.root_directory).glob("history/runs/*.db"))
    places += [
        (events.run_connection(file.stem), "event_logs", "event")
        for file in files
        if file.stem != "index" and _holds(file, video_id.encode())
    ]
    for opened, table, column in places:
        with opened as connection:
            sql = text(_SQL["remove_rows"].format(table=table))
            for row_id in _mentioning(connection, table, "id", column, video_id, mention):
                connection.execute(sql, {"id": row_id})
    _renew_newest(instance, video_id, deleted)


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
    """Replace the copy that Dagster keeps of each asset's newest event, if the event is gone."""
    events: Any = instance.event_log_storage
    with events.index_connection() as connection:
        asked = text(_SQL["newest_events"]).bindparams(bindparam("runs", expanding=True))
        rows = connection.execute(asked, {"video": f'%"{video_id}"%', "runs": deleted}).fetchall()
        # Dagster computes the status of all partitions anew.
        connection.execute(text(_SQL["no_status_of_partitions"]), {"video": f"%{video_id}%"})
    for (written,) in rows:
        key = dg.AssetKey.from_db_string(written)
        records = instance.fetch_materializations(key, limit=1).records if key else ()
        if records:
            events.store_asset_event(records[0].event_log_entry, records[0].storage_id)
            continue
        with events.index_connection() as connection:
            connection.execute(text(_SQL["no_newest_event"]), {"key": written})


def _holds(file: Path, needle: bytes) -> bool:
    """Tell whether an SQLite file or its write-ahead log contains some bytes."""
    parts = (file, file.with_name(f"{file.name}-wal"))
    return any(each.exists() and needle in each.read_bytes() for each in parts)


def give_room_back(root: Path, needle: bytes) -> None:
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
