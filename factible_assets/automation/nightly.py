"""What happens at night: re-checks, retention, and telling somebody what came of it.

What belongs here: Dagster's schedules, jobs and sensors for it, made for one machine's settings,
and the messages of a webhook. What does not: the rule of the plan
(warehouse/views/40_rechecks.sql), what is old (retention.py), what a re-check does (assets/).

A message is JSON with a `text` that chat services show as it is, and the facts beside it for
programs. Its address is a secret, for whoever knows a webhook can write to it: it stands in no log
and in no error.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from factible_assets.automation.rechecks import (
    RECHECK_ASSETS,
    RECHECK_JOB,
    held_videos,
    next_tick,
    recheck_assets,
    recheck_config,
    recheck_limits,
    run_tags,
)
from factible_assets.automation.retention import apply_retention
from factible_assets.checks.verdict_changes import read_changes
from factible_assets.launchpad import run_config_for
from factible_assets.partitions import PARTITION_TAG
from factible_assets.records import Video
from factible_assets.rows import VerdictChange
from factible_assets.services.alive import end_dead_runs, failures_of_run
from factible_assets.services.dagster_internals import is_valid_cron_string
from factible_assets.services.resource import FactCheckServices
from factible_assets.settings import Settings, SettingsError
from warehouse.rechecks import Launch, plan_night, read_plan
from warehouse.store import Warehouse

RETENTION_JOB = "retention"
SCHEDULE = "nightly_recheck"
RETENTION_SCHEDULE = "weekly_retention"
LAUNCHED_BY = "nightly_recheck"


@dataclass(frozen=True, slots=True)
class Nightly:
    """What the definitions take over from here."""

    jobs: tuple[Any, ...]
    schedules: tuple[dg.ScheduleDefinition, ...]
    sensors: tuple[dg.SensorDefinition, ...]


@dg.op(name="remove_what_is_old", description="Removes old texts, answers and runs.")
def _remove_what_is_old(context: dg.OpExecutionContext, services: FactCheckServices) -> None:
    removed = apply_retention(services.settings(), context.instance, now=datetime.now(UTC))
    answers = sum(removed.answers.values())
    context.log.info(
        "Removed %d texts of %d characters, %d kept answers and the records of %d runs; the "
        "warehouse is %d bytes shorter.",
        removed.texts,
        removed.characters,
        answers,
        removed.runs,
        removed.bytes_freed,
    )
    context.add_output_metadata(
        {
            "texts": removed.texts,
            "characters": removed.characters,
            "kept answers": answers,
            "runs": removed.runs,
            "bytes freed": removed.bytes_freed,
        }
    )


@dg.job(
    name=RETENTION_JOB,
    description=(
        "Remove texts of pages that no current verdict rests on, kept answers, and Dagster's "
        "records of runs, once they are old. Verdicts, evidence and quotes stay."
    ),
)
def retention() -> None:
    """Remove what is old."""
    _remove_what_is_old()


def nightly(settings: Settings) -> Nightly:
    """Return the jobs, schedules and sensors of the night.

    Raises:
        SettingsError: A cron expression in the settings cannot be used.
    """
    for variable in ("recheck_cron", "retention_cron"):
        if not is_valid_cron_string(getattr(settings, variable)):
            raise SettingsError(
                f"The setting FACTIBLE_{variable.upper()} is no cron expression: write five "
                'fields, such as "0 2 * * *" for every night at two.'
            )
    recheck = dg.define_asset_job(
        RECHECK_JOB,
        selection=dg.AssetSelection.assets(*RECHECK_ASSETS),
        description=(
            "Check a video again from the search onward. Claims stay, and so do queries, except "
            "those that a service failed to write; everything after them is renewed."
        ),
        config=run_config_for(recheck_config(), RECHECK_ASSETS),
    )
    ticks = dg.DefaultScheduleStatus
    status = ticks.RUNNING if settings.recheck_schedule == "on" else ticks.STOPPED

    @dg.schedule(
        name=SCHEDULE,
        job=recheck,
        cron_schedule=settings.recheck_cron,
        execution_timezone=settings.recheck_timezone,
        default_status=status,
        description=(
            "Checks again, one run per video: what is incomplete first, then what has low "
            "confidence, then what was not checked for longest. The view recheck_plan shows the "
            "next night's list."
        ),
    )
    def nightly_recheck(
        context: dg.ScheduleEvaluationContext,
    ) -> Sequence[dg.RunRequest] | dg.SkipReason:
        """Launch the night's list."""
        if not settings.warehouse.exists():
            return dg.SkipReason("Nothing was checked yet, so there is nothing to check again.")
        tick = context.scheduled_execution_time.astimezone(UTC)
        store = Warehouse(settings.warehouse)
        launches = launches_for(store, context.instance, settings, tick)
        for launch in launches:
            context.log.info("%d. %s: %s", launch.position, launch.video_id, launch.reason)
        return list(run_requests(launches)) or dg.SkipReason(
            "No video is due; the view recheck_plan says why."
        )

    weekly = dg.ScheduleDefinition(
        name=RETENTION_SCHEDULE,
        job=retention,
        cron_schedule=settings.retention_cron,
        execution_timezone=settings.recheck_timezone,
        default_status=status,
        description="Removes what is old, once a week.",
    )
    return Nightly((recheck, retention), (nightly_recheck, weekly), _notifications(settings))


def launches_for(
    store: Warehouse, instance: dg.DagsterInstance, settings: Settings, tick: datetime
) -> list[Launch]:
    """Decide what the schedule launches at a tick; the same for a tick that is repeated."""
    limits, following = recheck_limits(settings), next_tick(settings, tick)
    end_dead_runs(instance)
    listed = [each.video_id for each in read_plan(store, limits, tick)]
    held = held_videos(instance, listed)
    launches = plan_night(store, limits, tick, held=held, next_tick=following)
    # A partition that was removed since a first attempt at this tick would fail all others.
    partitions = set(instance.get_dynamic_partitions("videos"))
    return [launch for launch in launches if launch.video_id in partitions]


def run_requests(launches: Sequence[Launch]) -> Iterator[dg.RunRequest]:
    """Return a run request per video. Its key makes sure that a tick launches nothing twice."""
    for launch in launches:
        assets = recheck_assets(with_queries=launch.with_queries)
        yield dg.RunRequest(
            run_key=f"{launch.planned_at:%Y-%m-%dT%H:%MZ} {launch.video_id}",
            partition_key=launch.video_id,
            asset_selection=[dg.AssetKey(name) for name in assets],
            run_config=run_config_for(recheck_config(), assets),
            tags={
                **run_tags(launch.video_id, launch.corpus, LAUNCHED_BY),
                "reason": launch.reason[:200],
            },
        )


# --- Notifications ------------------------------------------------------------------------------


def _notifications(settings: Settings) -> tuple[dg.SensorDefinition, ...]:
    looks = dg.DefaultSensorStatus
    status = looks.STOPPED if settings.notify_url is None else looks.RUNNING

    def deliver(message: Message, log: Any) -> None:
        """Send a message, or log why not: a sensor that failed for it would be stuck at it."""
        if settings.notify_url is None:
            log.info("FACTIBLE_NOTIFY_URL is not set, so nobody is told: %s", message["text"])
            return
        problem = asyncio.run(send(settings.notify_url.get_secret_value(), message))
        if problem is not None:
            log.error("%s Not told: %s", problem, message["text"])

    @dg.run_status_sensor(
        name="notify_flips",
        run_status=dg.DagsterRunStatus.SUCCESS,
        minimum_interval_seconds=30,
        default_status=status,
        description="Tells the webhook in FACTIBLE_NOTIFY_URL when a run turned verdicts.",
    )
    def notify_flips(context: dg.RunStatusSensorContext) -> None:
        """Tell of flips."""
        run = context.dagster_run
        video_id = run.tags.get(PARTITION_TAG)
        if video_id is None or not settings.warehouse.exists():
            return
        store = Warehouse(settings.warehouse)
        flips = read_changes(store, video_id, run.run_id).flips
        if flips:
            videos = store.read_current(Video, video_id)
            title = videos[0].title if videos else None
            deliver(flips_message(video_id, title, run.run_id, flips), context.log)

    @dg.run_failure_sensor(
        name="notify_failures",
        minimum_interval_seconds=30,
        default_status=status,
        description="Tells the webhook in FACTIBLE_NOTIFY_URL when a run failed.",
    )
    def notify_failures(context: dg.RunFailureSensorContext) -> None:
        """Tell of a failed run."""
        run = context.dagster_run
        video_id = run.tags.get(PARTITION_TAG)
        why = " ".join(failures_of_run(context.instance, run.run_id)[0].split())[:500]
        deliver(failure_message(video_id, run.job_name, run.run_id, why), context.log)

    return notify_flips, notify_failures


_SHOWN = 10
_REFUSED = 300

Message = Mapping[str, Any]


def flips_message(
    video_id: str, title: str | None, run_id: str, flips: Sequence[VerdictChange]
) -> Message:
    """Return what is told of the verdicts that a run turned."""
    name = title or video_id
    count = f"{len(flips)} verdict{'' if len(flips) == 1 else 's'}"
    lines = [f"{each.words}: {each.claim}" for each in flips[:_SHOWN]]
    if len(flips) > _SHOWN:
        lines.append(f"and {len(flips) - _SHOWN} more")
    return {
        "event": "verdict_flips",
        "text": "\n".join([f"{count} of {name} turned.", *lines]),
        "video_id": video_id,
        "title": title,
        "run_id": run_id,
        "flips": [
            {
                "claim_id": each.claim_id,
                "claim": each.claim,
                "previous_stance": each.previous_stance,
                "stance": each.stance,
                "confidence": each.confidence,
            }
            for each in flips
        ],
    }


def failure_message(video_id: str | None, job: str, run_id: str, reason: str) -> Message:
    """Return what is told of a run that failed."""
    of = f" of {video_id}" if video_id else ""
    return {
        "event": "run_failed",
        "text": f"The run {run_id[:8]} ({job}){of} failed: {reason}",
        "video_id": video_id,
        "job": job,
        "run_id": run_id,
        "reason": reason,
    }


async def send(url: str, message: Message) -> str | None:
    """Send a message; return why it could not be delivered, None if it was.

    The webhook may be on an own network: its address, and no other, is exempt from the guard.
    """
    from resources.http import HttpClient, HttpFailureError  # noqa: PLC0415 - only for who is told
    from resources.network_guard import NameTable, NetworkGuard  # noqa: PLC0415

    try:
        guard = NetworkGuard(names=NameTable.for_service(url))
    except ValueError:
        return "FACTIBLE_NOTIFY_URL is no address of a webhook; write it as https://HOST/PATH."
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    try:
        async with HttpClient(guard=guard) as http:
            answer = await http.post(
                url, content=body, headers={"Content-Type": "application/json"}
            )
    except HttpFailureError as failure:
        return f"The webhook in FACTIBLE_NOTIFY_URL was not reached: {failure.reason}."
    if answer.status >= _REFUSED:
        return f"The webhook in FACTIBLE_NOTIFY_URL answered with HTTP status {answer.status}."
    return None
