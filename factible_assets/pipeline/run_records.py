"""Reads Dagster's records of runs: the newest and the unfinished ones, options, and failures."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from factible_assets.config import FactCheckConfig, StageConfig
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.pipeline.partitions import PARTITION_TAG, VIDEO_TAGS
from factible_assets.wording import plain

IN_FLIGHT = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""Runs in these states may still write, so no other run of their video is launched."""

_OWN_ERRORS = ("factible_assets.", "resources.", "warehouse.")


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
    wanted = [dg.DagsterRunStatus[status.upper()] for status in statuses]
    records = {
        record.storage_id: record
        for tags in ([{name: video} for name in VIDEO_TAGS] if video else [{}])
        for record in instance.get_run_records(
            dg.RunsFilter([run_id] if run_id else None, job, wanted, tags), limit=limit
        )
    }
    rows = []
    for storage_id in sorted(records, reverse=True)[:limit]:
        record = records[storage_id]
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


def in_flight(instance: dg.DagsterInstance) -> set[str]:
    """Return the videos with a running or queued run."""
    busy: set[str] = set()
    for record in instance.get_run_records(dg.RunsFilter(statuses=IN_FLIGHT)):
        tags = record.dagster_run.tags
        busy |= {tags[name] for name in VIDEO_TAGS if name in tags}
    return busy


def refuse_busy(
    instance: dg.DagsterInstance,
    video_ids: Collection[str],
    remedy: str = "Wait until that run has ended, or cancel it in the Dagster UI.",
) -> None:
    """Raise FactibleError if a run is checking one of the videos."""
    if busy := sorted(in_flight(instance) & set(video_ids)):
        words = f"A run is checking {plain(', '.join(busy))} at the moment."
        raise FactibleError(words, remedy, ExitCode.FAILED)


def options_of_run(instance: dg.DagsterInstance, run_id: str | None) -> dict[str, Any] | None:
    """Return the options with which a run checked claims, as JSON; None if Dagster lacks the run.

    Leaves out the options that apply to one run alone (`renew`, `only_claims`) or to the search for
    claims, and those that only an earlier version had.
    """
    run = instance.get_run_by_id(run_id) if run_id else None
    if run is None:
        return None
    ops: Any = run.run_config.get("ops", {})
    stored = ops.get("claim_checks", {}).get("config", {})
    known = _known_options(stored, FactCheckConfig())
    return {name: known[name] for name in known.keys() - {"renew", "only_claims", "claims"}}


def _known_options(stored: dict[str, Any], model: StageConfig) -> dict[str, Any]:
    """Return the stored options that the model of this version has too."""
    known = {}
    for name in stored.keys() & type(model).model_fields.keys():
        section = getattr(model, name)
        is_section = isinstance(section, StageConfig)
        known[name] = _known_options(stored[name], section) if is_section else stored[name]
    return known


def failures_of_run(instance: dg.DagsterInstance, run_id: str) -> tuple[str, ...]:
    """Return a sentence per failed step, or one for the run if no step failed; at least one.

    A sentence is the message of the asset, without the messages that Dagster puts around it.
    """
    no_reason = "it failed without saying why"

    def events(kind: dg.DagsterEventType) -> list[dg.DagsterEvent]:
        records = instance.get_records_for_run(run_id, of_type=kind).records
        logged = (record.event_log_entry.dagster_event for record in records)
        return [event for event in logged if event is not None]

    sentences = []
    for event in events(dg.DagsterEventType.STEP_FAILURE):
        data = event.step_failure_data
        description = data.user_failure_data.description if data.user_failure_data else None
        sentences.append(f"{event.step_key}: {description or _cause(data.error) or no_reason}")
    for event in () if sentences else events(dg.DagsterEventType.RUN_FAILURE):
        error = getattr(event.event_specific_data, "error", None)
        sentences.append(_cause(error) or event.message or no_reason)
    return tuple(sentences) or (no_reason,)


def _cause(error: Any) -> str | None:
    """Return the message of our own exception in a chain of causes, else of the innermost one."""
    messages = []
    while error is not None:
        messages.append(error.message.strip())
        error = error.cause
    ours = (words.partition(": ")[2] for words in messages if words.startswith(_OWN_ERRORS))
    return next(ours, messages[-1] if messages else None)
