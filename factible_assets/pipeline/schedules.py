"""Nightly re-checks.

A re-check keeps the claims and the queries of a video, so that verdicts stay comparable over time.
It rewrites only queries that a service failed to write: without them, a verdict would stay
incomplete.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

import dagster as dg
from pydantic import ValidationError

from factible_assets.config import FactCheckConfig, in_sections
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.pipeline.locks import end_dead_runs
from factible_assets.pipeline.partitions import run_tags, videos
from factible_assets.pipeline.run_records import in_flight, options_of_run
from factible_assets.settings import Settings, SettingsError
from warehouse.rechecks import Launch, RecheckLimits, plan_night
from warehouse.store import Warehouse

RECHECK_JOB = "recheck"
SCHEDULE = LAUNCHED_BY = "nightly_recheck"
_BY_TIME = "%Y%m%d_%H%M%S"

RENEWED = ("search_hits", "reliability_ratings", "evidence", "verdicts")
RECHECK_ASSETS = ("queries", *RENEWED)
"""The assets of a re-check with missing queries. Other re-checks materialize RENEWED."""

OPTIONS_UNKNOWN = (
    "The options of the last check are unknown, or invalid in this version or with the options "
    "given now. The defaults apply, which alone may change verdicts."
)


def recheck_config(
    last: Mapping[str, Any] | None,
    given: Mapping[str, object] | None = None,
    *,
    say: Callable[[str], object],
    renew: bool = True,
    only_claims: Sequence[str] = (),
) -> FactCheckConfig:
    """Return the options of a re-check: the `last` ones, those `given` by name, and its own.

    Another web, strategy or date limit would change verdicts although the world did not change.
    `last` is JSON, or None if unknown; then `say` gets a warning, and the defaults apply.
    """
    of_this_run = {"renew": renew, "only_claims": tuple(only_claims)}
    if last is not None:
        with suppress(ValidationError):
            return FactCheckConfig.model_validate(in_sections(given or {}, last) | of_this_run)
    say(OPTIONS_UNKNOWN)
    return FactCheckConfig.model_validate(in_sections(given or {}) | of_this_run)


def last_options(
    store: Warehouse, instance: dg.DagsterInstance, video_id: str
) -> dict[str, Any] | None:
    """Return the options of the run that made the current verdicts; None if unknown."""
    judged = store.current_sets(video_id).get("verdicts")
    return options_of_run(instance, judged.run_id if judged else None)


def recheck_limits(settings: Settings) -> RecheckLimits:
    limits = settings.recheck_limits
    return RecheckLimits(limits.videos, limits.cost_usd, limits.min_age_days)


def next_tick(settings: Settings, after: datetime) -> datetime:
    """Return the next tick of the nightly schedule after a moment, in UTC."""
    ticks = dg.TimeWindowPartitionsDefinition(
        start=after, fmt="%Y-%m-%d-%H:%M", cron_schedule=settings.recheck_cron
    )
    window = ticks.get_next_partition_window(after + timedelta(seconds=1), respect_bounds=False)
    return cast("dg.TimeWindow", window).start.astimezone(UTC)


def schedule_status(settings: Settings) -> dg.DefaultScheduleStatus:
    """Return the default status of the nightly and the weekly schedule; users can change it."""
    is_off = settings.recheck_schedule == "off"
    return dg.DefaultScheduleStatus.STOPPED if is_off else dg.DefaultScheduleStatus.RUNNING


def launches_for(
    store: Warehouse,
    instance: dg.DagsterInstance,
    settings: Settings,
    tick: datetime,
    *,
    preview: bool = False,
) -> list[Launch]:
    """Return the launches of a tick; a retried tick gets the same ones. A preview records none."""
    end_dead_runs(instance)
    partitions = set(instance.get_dynamic_partitions(str(videos.name)))
    held = in_flight(instance) | (set(store.video_ids()) - partitions)
    limits, following = recheck_limits(settings), next_tick(settings, tick)
    launches = plan_night(store, limits, tick, held=held, next_tick=following, preview=preview)
    # A partition deleted in the meantime would fail all launches of the tick.
    partitions = set(instance.get_dynamic_partitions(str(videos.name)))
    return [launch for launch in launches if launch.video_id in partitions]


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


def nightly(settings: Settings) -> tuple[Any, dg.ScheduleDefinition]:
    """Return the job of re-checks, and its schedule.

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

    @dg.schedule(
        name=SCHEDULE,
        job=recheck,
        cron_schedule=settings.recheck_cron,
        execution_timezone="UTC",
        default_status=schedule_status(settings),
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
        for position, launch in enumerate(launches, start=1):
            context.log.info("%d. %s: %s", position, launch.video_id, launch.reason)
        options_of = partial(last_options, store, context.instance)
        return list(run_requests(launches, options_of, context.log.warning)) or dg.SkipReason(
            "No video is due; the view recheck_plan has the reasons."
        )

    return recheck, nightly_recheck
