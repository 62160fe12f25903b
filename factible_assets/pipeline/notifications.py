"""Webhook messages about verdicts and failures.

A message is JSON with a `text` for chat services and facts for programs. In the text, words of a
video can mention nobody. The address of a webhook is a secret, so no log or error shows it.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

import asyncio
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from factible_assets.pipeline.checks.verdict_changes import read_changes
from factible_assets.pipeline.partitions import PARTITION_TAG
from factible_assets.pipeline.run_records import failures_of_run
from factible_assets.records.rows import VerdictChange
from factible_assets.records.tables import Video
from factible_assets.settings import Settings
from factible_assets.wording import counted
from warehouse.store import Warehouse

_SHOWN_FLIPS = 10
_FIRST_FAILED_STATUS = 300
"""The lowest HTTP status that counts as a failure."""
_WEBHOOK_SECONDS = 8.0
"""A tick of a sensor has one minute, for at most five runs."""

Message = Mapping[str, Any]


def notifications(settings: Settings) -> list[dg.SensorDefinition]:
    """Return the sensors that tell a webhook about verdicts and failures."""
    is_set = settings.notify_url is not None
    status = dg.DefaultSensorStatus.RUNNING if is_set else dg.DefaultSensorStatus.STOPPED

    def deliver(message: Message, log: Any) -> None:
        """Send a message. Log a problem and raise nothing: a failed sensor repeats for ever."""
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
    lines = [f"{counted(len(flips), 'verdict')} of {title or video_id} flipped."]
    lines += [f"{flip.words}: {flip.claim}" for flip in flips[:_SHOWN_FLIPS]]
    if len(flips) > _SHOWN_FLIPS:
        lines.append(f"and {len(flips) - _SHOWN_FLIPS} more")
    fields = ("claim_id", "claim", "previous_stance", "stance", "confidence")
    return {
        "event": "verdict_flips",
        "text": _without_mentions("\n".join(lines)),
        "video_id": video_id,
        "title": title,
        "run_id": run_id,
        "flips": [{name: getattr(flip, name) for name in fields} for flip in flips],
    }


def failure_message(video_id: str | None, job: str, run_id: str, reason: str) -> Message:
    of_video = f" of {video_id}" if video_id else ""
    text = f"The run {run_id[:8]} ({job}){of_video} failed: {reason}"
    facts = {"video_id": video_id, "job": job, "run_id": run_id, "reason": reason}
    return {"event": "run_failed", "text": _without_mentions(text), **facts}


def _without_mentions(text: str) -> str:
    """Keep words from calling people: Slack reads `<!channel>`, others read `@channel`."""
    return html.escape(text, quote=False).replace("@", "@\u200b")


async def send(url: str, message: Message) -> str | None:
    """Send a message once. Return a sentence about the problem, or None.

    There is no retry: a webhook that answers too late may have the message already. The network
    guard exempts the webhook's address, which may be on a private network.
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
    if answer.status >= _FIRST_FAILED_STATUS:
        return f"The webhook in FACTIBLE_NOTIFY_URL answered with HTTP status {answer.status}."
    return None
