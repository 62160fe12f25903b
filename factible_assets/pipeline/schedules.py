"""Nightly re-checks, weekly retention, and webhook messages about verdicts and failures.

A re-check keeps the claims and the queries of a video, so that verdicts stay comparable over time.
It rewrites only queries that a service failed to write: without them, a verdict would stay
incomplete. A message is JSON with a `text` for chat services and facts for programs. The address of
a webhook is a secret, so no log or error shows it.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

import dagster as dg
from pydantic import ValidationError

from factible_assets.config import FactCheckConfig, placed
from factible_assets.pipeline.checks.verdict_changes import read_changes
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.pipeline.liveness import end_dead_runs
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from factible_assets.pipeline.resources import FactCheckServices
from factible_assets.pipeline.run_records import delete_runs, failures_of_run, options_of_run
from factible_assets.records.rows import VerdictChange
from factible_assets.records.tables import Video
from factible_assets.settings import Settings, SettingsError
from factible_assets.wording import counted
from resources.statements import statements
from resources.storage.answers import DiskCache
from warehouse.rechecks import Launch, RecheckLimits, plan_night
from warehouse.store import Warehouse
from warehouse.upkeep import compact, trim_texts

RECHECK_JOB = "recheck"
SCHEDULE = LAUNCHED_BY = "nightly_recheck"
_BY_TIME = "%Y%m%d_%H%M%S"

RENEWED = ("search_hits", "reliability_ratings", "evidence", "verdicts")
RECHECK_ASSETS = ("queries", *RENEWED)
"""The assets of a re-check with missing queries. Other re-checks materialize RENEWED."""

IN_FLIGHT = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""Runs in these states may still write, so no other run of their video is launched."""

OPTIONS_UNKNOWN = (
    "The options of the last check are unknown, or invalid in this version or with the options "
    "given now. The defaults apply, which alone may change verdicts."
)


# --- Re-checks ----------------------------------------------------------------------------------


def recheck_config(
    last: Mapping[str, Any] | None,
    given: Mapping[str, object] | None = None,
    *,
    say: Callable[[str], object],
) -> FactCheckConfig:
    """Return the options of a re-check: the `last` ones, those `given` by name, and `renew`.

    Another web, strategy or date limit would change verdicts although the world did not change.
    `last` is JSON, or None if unknown; then `say` gets a warning, and the defaults apply.
    """
    if last is not None:
        with suppress(ValidationError):
            return FactCheckConfig.model_validate({**placed(given or {}, last), "renew": True})
    say(OPTIONS_UNKNOWN)
    return FactCheckConfig.model_validate({**placed(given or {}), "renew": True})


def last_options(
    store: Warehouse, instance: dg.DagsterInstance, video_id: str
) -> dict[str, Any] | None:
    """Return the options of the run that made the current verdicts; None if unknown."""
    judged = store.current_sets(video_id).get("verdicts")
    return options_of_run(instance, judged.run_id if judged else None)


def recheck_limits(settings: Settings) -> RecheckLimits:
    return RecheckLimits(
        videos=settings.recheck_videos,
        cost_usd=settings.recheck_cost_usd,
        minimum_age_days=settings.recheck_min_age_days,
    )


def next_tick(settings: Settings, after: datetime) -> datetime:
    """Return the next tick of the nightly schedule after a moment, in UTC."""
    ticks = dg.TimeWindowPartitionsDefinition(
        start=after, fmt="%Y-%m-%d-%H:%M", cron_schedule=settings.recheck_cron
    )
    window = ticks.get_next_partition_window(after + timedelta(seconds=1), respect_bounds=False)
    return cast("dg.TimeWindow", window).start.astimezone(UTC)


def in_flight(instance: dg.DagsterInstance) -> set[str]:
    """Return the videos with a running or queued run."""
    busy: set[str] = set()
    for record in instance.get_run_records(dg.RunsFilter(statuses=IN_FLIGHT)):
        tags = record.dagster_run.tags
        busy |= {tags[name] for name in (PARTITION_TAG, "video") if name in tags}
    return busy


def run_tags(video_id: str, corpus: str | None, launched_by: str) -> dict[str, str]:
    tags = {"video": video_id, "launched_by": launched_by}
    return {**tags, "corpus": corpus} if corpus else tags


def launches_for(
    store: Warehouse,
    instance: dg.DagsterInstance,
    settings: Settings,
    tick: datetime,
    *,
    preview: bool = False,
) -> list[Launch]:
    """Return the launches of a tick; a retried tick gets the same ones. A preview records none."""
    limits, following = recheck_limits(settings), next_tick(settings, tick)
    end_dead_runs(instance)
    partitions = set(instance.get_dynamic_partitions(str(videos.name)))
    held = in_flight(instance) | (set(store.video_ids()) - partitions)
    launches = plan_night(store, limits, tick, held=held, next_tick=following, remember=not preview)
    # One deleted partition would fail all launches of the tick.
    there = set(instance.get_dynamic_partitions(str(videos.name)))
    return [launch for launch in launches if launch.video_id in there]


def run_requests(
    launches: Sequence[Launch],
    options_of: Callable[[str], Mapping[str, Any] | None],
    say: Callable[[str], object],
) -> Iterator[dg.RunRequest]:
    """Yield a run request per video, with the options of its last check.

    The run key prevents a second launch in the same tick.
    """
    for launch in launches:
        assets = RECHECK_ASSETS if launch.with_queries else RENEWED

        def warn(sentence: str, video_id: str = launch.video_id) -> None:
            say(f"{video_id}: {sentence}")

        options = recheck_config(options_of(launch.video_id), say=warn)
        yield dg.RunRequest(
            run_key=f"{launch.planned_at:%Y-%m-%dT%H:%MZ} {launch.video_id}",
            partition_key=launch.video_id,
            asset_selection=[dg.AssetKey(name) for name in assets],
            run_config=run_config_for(options, assets),
            tags={
                **run_tags(launch.video_id, launch.corpus, LAUNCHED_BY),
                "reason": launch.reason[:200],
            },
        )


# --- Retention ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Removed:
    """The number of removed items; of a `dry_run`, of items to remove.

    Page texts with their length in code points, cached answers by kind (not in a dry run), and
    Dagster's runs.
    """

    texts: int
    characters: int
    answers: dict[str, int]
    bytes_freed: int
    dry_run: bool
    runs: int = 0


def apply_retention(
    settings: Settings, instance: dg.DagsterInstance, *, now: datetime, dry_run: bool = False
) -> Removed:
    """Remove old page texts, cached answers and runs, and publish the warehouse.

    Runs that made the newest set of an asset stay, because Dagster knows the set through them.

    Raises WarehouseError: The warehouse cannot be opened or written.
    """
    texts = characters = freed = 0
    answers: dict[str, int] = {}
    if settings.warehouse.exists():
        store = Warehouse(settings.warehouse)
        before = now - timedelta(days=settings.retention_days)
        texts, characters = trim_texts(store, before=before, now=now, dry_run=dry_run)
        # A lake also merges its small files.
        if (texts or settings.warehouse.is_shared) and not dry_run:
            freed = compact(store)
            store.publish(settings.published)
    if settings.cache.exists() and not dry_run:
        unused = timedelta(days=_UNUSED_ANSWER_DAYS)
        removed = DiskCache(settings.cache, settings.cache_policy).trim(unused)
        answers = {str(kind): count for kind, count in removed.items()}
    statuses = [getattr(dg.DagsterRunStatus, each) for each in ("SUCCESS", "FAILURE", "CANCELED")]
    old = now - timedelta(days=min(settings.retention_days, _KEPT_RUN_DAYS))
    runs = instance.get_runs(dg.RunsFilter(statuses=statuses, created_before=old))
    newest = (instance.get_latest_materialization_event(key) for key in instance.get_asset_keys())
    kept = {event.run_id for event in newest if event is not None}
    if runs and settings.warehouse.exists():
        sql = statements("factible_assets.pipeline", "retention.sql")["runs_of_newest_sets"]
        kept |= set(Warehouse(settings.warehouse).query(sql)["run_id"])
    ended = [run.run_id for run in runs if run.run_id not in kept]
    delete_runs(instance, () if dry_run else ended)
    return Removed(texts, characters, answers, freed, dry_run, len(ended))


_RETENTION_CRON = "30 4 * * 0"
"""Sundays at half past four, after the night's re-checks."""

_KEPT_RUN_DAYS = 90
"""Dagster's UI slows down with the number of runs, and nobody looks up older ones."""

_UNUSED_ANSWER_DAYS = 90
"""Longer than the time between two re-checks; the size of the cache has its own limit."""

_DRY_RUN = dg.Field(bool, default_value=False, description="Count old items without removing them.")


@dg.op(config_schema={"dry_run": _DRY_RUN})
def remove_old_items(context: dg.OpExecutionContext, services: FactCheckServices) -> None:
    removed = apply_retention(
        services.settings(), context.instance, now=datetime.now(UTC), **context.op_config
    )
    context.add_output_metadata(
        {
            "dry run": removed.dry_run,
            "texts": removed.texts,
            "characters": removed.characters,
            "cached answers": sum(removed.answers.values()),
            "runs": removed.runs,
            "bytes freed": removed.bytes_freed,
        }
    )


@dg.job
def retention() -> None:
    """Remove old page texts, cached answers, and Dagster's records of runs.

    Verdicts, evidence and quotes stay, and so do the texts behind current verdicts.
    """
    remove_old_items()


# --- In Dagster ---------------------------------------------------------------------------------


def nightly(
    settings: Settings,
) -> tuple[list[Any], list[dg.ScheduleDefinition], list[dg.SensorDefinition]]:
    """Return the jobs, schedules and sensors of this module.

    Raises SettingsError: The cron expression in the settings is invalid.
    """
    try:
        dg.ScheduleDefinition(job_name="any", cron_schedule=settings.recheck_cron)
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(
            "The setting FACTIBLE_RECHECK_SCHEDULE is no cron expression: write off, on, or five "
            'fields, such as "0 2 * * *" for every night at two (UTC).'
        ) from error
    recheck = dg.define_asset_job(
        RECHECK_JOB,
        selection=dg.AssetSelection.assets(*RECHECK_ASSETS),
        description=(
            "Check a video again from the search onward. Claims and queries stay, except queries "
            "that a service failed to write. The launchpad sets the options; the schedule and "
            "`factible recheck` use those of the last check."
        ),
        config=run_config_for(FactCheckConfig(renew=True), RECHECK_ASSETS),
    )
    ticks = dg.DefaultScheduleStatus
    status = ticks.STOPPED if settings.recheck_schedule == "off" else ticks.RUNNING

    @dg.schedule(
        name=SCHEDULE,
        job=recheck,
        cron_schedule=settings.recheck_cron,
        execution_timezone="UTC",
        default_status=status,
        description=(
            "Checks videos again, one run each: first incomplete verdicts, then low confidence, "
            "then the longest time since the last check. The view recheck_plan lists the next "
            "night."
        ),
    )
    def nightly_recheck(
        context: dg.ScheduleEvaluationContext,
    ) -> Sequence[dg.RunRequest] | dg.SkipReason:
        if not settings.warehouse.exists():
            return dg.SkipReason("No video was checked yet.")
        tick = context.scheduled_execution_time.astimezone(UTC)
        store = Warehouse(settings.warehouse)
        # The UI previews a tick under its time; the daemon's ticks have numbers.
        preview = (context.log_key or ("",))[-1] == f"{context.scheduled_execution_time:{_BY_TIME}}"
        launches = launches_for(store, context.instance, settings, tick, preview=preview)
        for place, launch in enumerate(launches, start=1):
            context.log.info("%d. %s: %s", place, launch.video_id, launch.reason)
        known = partial(last_options, store, context.instance)
        return list(run_requests(launches, known, context.log.warning)) or dg.SkipReason(
            "No video is due; the view recheck_plan has the reasons."
        )

    weekly = dg.ScheduleDefinition(
        name="weekly_retention",
        job=retention,
        cron_schedule=_RETENTION_CRON,
        execution_timezone="UTC",
        default_status=status,
        description="Removes old items once a week.",
    )
    return [recheck, retention], [nightly_recheck, weekly], _notifications(settings)


# --- Notifications ------------------------------------------------------------------------------

_SHOWN = 10
_REFUSED = 300
_WEBHOOK_SECONDS = 8.0
"""A sensor has one minute for the runs of a tick, which are five at most."""

Message = Mapping[str, Any]


def _notifications(settings: Settings) -> list[dg.SensorDefinition]:
    looks = dg.DefaultSensorStatus
    status = looks.STOPPED if settings.notify_url is None else looks.RUNNING

    def deliver(message: Message, log: Any) -> None:
        """Send a message, or log the problem: a failed sensor would send it again for ever."""
        if settings.notify_url is None:
            log.info("Not sent, as FACTIBLE_NOTIFY_URL is not set: %s", message["text"])
            return
        problem = asyncio.run(send(settings.notify_url, message))
        if problem is not None:
            log.error("%s Not sent: %s", problem, message["text"])

    @dg.run_status_sensor(
        name="notify_flips",
        # Runs of the command line and of the HTTP service belong to no code location.
        monitor_all_code_locations=True,
        run_status=dg.DagsterRunStatus.SUCCESS,
        minimum_interval_seconds=30,
        default_status=status,
        description="Tells the webhook in FACTIBLE_NOTIFY_URL about verdicts that a run changed.",
    )
    def notify_flips(context: dg.RunStatusSensorContext) -> None:
        run = context.dagster_run
        video_id = run.tags.get(PARTITION_TAG)
        if video_id is None or not settings.warehouse.exists():
            return
        with Warehouse(settings.warehouse).snapshot() as now:
            flips = read_changes(now, video_id, run.run_id).flips
            titles = [video.title for video in now.read_current(Video, video_id)]
        if flips:
            title = next(iter(titles), None)
            deliver(flips_message(video_id, title, run.run_id, flips), context.log)

    @dg.run_failure_sensor(
        name="notify_failures",
        monitor_all_code_locations=True,
        minimum_interval_seconds=30,
        default_status=status,
        description="Tells the webhook in FACTIBLE_NOTIFY_URL about failed runs.",
    )
    def notify_failures(context: dg.RunFailureSensorContext) -> None:
        run = context.dagster_run
        video_id = run.tags.get(PARTITION_TAG)
        why = " ".join(failures_of_run(context.instance, run.run_id)[0].split())[:500]
        deliver(failure_message(video_id, run.job_name, run.run_id, why), context.log)

    return [notify_flips, notify_failures]


def flips_message(
    video_id: str, title: str | None, run_id: str, flips: Sequence[VerdictChange]
) -> Message:
    lines = [f"{counted(len(flips), 'verdict')} of {title or video_id} turned."]
    lines += [f"{each.words}: {each.claim}" for each in flips[:_SHOWN]]
    if len(flips) > _SHOWN:
        lines.append(f"and {len(flips) - _SHOWN} more")
    shown = ("claim_id", "claim", "previous_stance", "stance", "confidence")
    return {
        "event": "verdict_flips",
        "text": "\n".join(lines),
        "video_id": video_id,
        "title": title,
        "run_id": run_id,
        "flips": [{name: getattr(each, name) for name in shown} for each in flips],
    }


def failure_message(video_id: str | None, job: str, run_id: str, reason: str) -> Message:
    of = f" of {video_id}" if video_id else ""
    text = f"The run {run_id[:8]} ({job}){of} failed: {reason}"
    facts = {"video_id": video_id, "job": job, "run_id": run_id, "reason": reason}
    return {"event": "run_failed", "text": text, **facts}


async def send(url: str, message: Message) -> str | None:
    """Send a message, and return the problem, or None.

    It does not retry: a late webhook may have the message, and a sensor has one minute. The webhook
    may be on a private network, so the network guard exempts its address.
    """
    from resources.http import HttpClient, HttpFailureError, RetryPolicy
    from resources.network_guard import NameTable, NetworkGuard

    try:
        guard = NetworkGuard(names=NameTable.for_service(url))
    except ValueError:
        return "FACTIBLE_NOTIFY_URL is no web address; write it as https://HOST/PATH."
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json"}
    try:
        async with (
            asyncio.timeout(_WEBHOOK_SECONDS),
            HttpClient(guard=guard, retry=RetryPolicy(attempts=1)) as http,
        ):
            answer = await http.post(url, content=body, headers=headers)
    except TimeoutError:
        return f"The webhook in FACTIBLE_NOTIFY_URL did not answer in {_WEBHOOK_SECONDS:g} seconds."
    except HttpFailureError as failure:
        return f"The webhook in FACTIBLE_NOTIFY_URL was not reached: {failure.reason}."
    if answer.status >= _REFUSED:
        return f"The webhook in FACTIBLE_NOTIFY_URL answered with HTTP status {answer.status}."
    return None
