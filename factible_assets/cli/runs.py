"""`factible runs`: the newest runs of Dagster, whoever started them, with what they cost.

What belongs here: reading runs from the instance, filters, the table. What does not: starting runs
(launch.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.errors import ExitCode
from factible_assets.wording import dollars, plain

if TYPE_CHECKING:
    from dagster import RunRecord

    from factible_assets.settings import Settings

STATUSES = ("queued", "starting", "started", "success", "failure", "canceling", "canceled")

_STYLES = {"success": "green", "failure": "red", "canceled": "yellow", "started": "cyan"}
_COSTS = """
    SELECT run_id, sum(cost_usd) AS usd FROM costs_by_stage
    WHERE run_id IN (SELECT unnest($runs)) GROUP BY run_id
"""
_PARTITION_TAG = "dagster/partition"
_ID_DIGITS = 8


def runs(
    *,
    video: Annotated[
        str | None, typer.Option("--video", help="Only runs of this video (id or YouTube URL).")
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="Only runs of this job.")] = None,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", help=f"Only runs with this status: {', '.join(STATUSES)}."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many, newest first.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest runs, of the command line, the UI and schedules alike.

    Example: factible runs --status failure --limit 5
    """
    from factible_assets.cli.targets import bare_id
    from factible_assets.settings import load_settings

    unknown = sorted({*(status or [])} - {*STATUSES})
    if unknown:
        raise CliError(
            f"There is no status {unknown[0]!r}.", f"Use {', '.join(STATUSES)}.", ExitCode.USAGE
        )
    settings = load_settings()
    found = (
        read_runs(
            settings,
            video=bare_id(video) if video else None,
            job=job,
            statuses=tuple(status or ()),
            limit=limit,
        )
        if (settings.dagster_home / "dagster.yaml").exists()
        else []
    )
    if as_json:
        print_json(found)
    elif found:
        _print(found)
    else:
        note("There are no such runs." if video or job or status else "There are no runs yet.")


def read_runs(
    settings: Settings,
    *,
    video: str | None = None,
    job: str | None = None,
    statuses: Sequence[str] = (),
    limit: int = 20,
) -> list[dict[str, Any]]:
    """Return the newest runs of the data folder's instance, as JSON has them."""
    import dagster as dg

    from factible_assets.running.launch import failures_of_run, open_instance

    wanted = dg.RunsFilter(
        job_name=job,
        statuses=[dg.DagsterRunStatus[each.upper()] for each in statuses],
        tags={_PARTITION_TAG: video} if video else {},
    )
    with open_instance(settings) as instance:
        records = instance.get_run_records(wanted, limit=limit)
        failures = {
            record.dagster_run.run_id: failures_of_run(instance, record.dagster_run.run_id)
            for record in records
            if record.dagster_run.status is dg.DagsterRunStatus.FAILURE
        }
    costs = _costs(settings, [record.dagster_run.run_id for record in records])
    return [_row(record, costs, failures) for record in records]


def _row(
    record: RunRecord, costs: dict[str, float], failures: dict[str, tuple[str, ...]]
) -> dict[str, Any]:
    run = record.dagster_run
    started, ended = (_moment(each) for each in (record.start_time, record.end_time))
    return {
        "id": run.run_id[:_ID_DIGITS],
        "run_id": run.run_id,
        "video": run.tags.get(_PARTITION_TAG),
        "job": run.job_name,
        "status": run.status.value.lower(),
        "launched_by": run.tags.get("launched_by", "dagster"),
        "created_at": record.create_timestamp.replace(tzinfo=UTC),
        "started_at": started,
        "ended_at": ended,
        "seconds": (ended - started).total_seconds() if started and ended else None,
        "cost_usd": costs.get(run.run_id),
        "failures": list(failures.get(run.run_id, ())),
    }


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _costs(settings: Settings, run_ids: list[str]) -> dict[str, float]:
    from warehouse.store import Warehouse

    path = settings.published if settings.published.exists() else settings.warehouse
    if not run_ids or not path.exists():
        return {}
    return dict(Warehouse(path).query(_COSTS, {"runs": run_ids}).iter_rows())


def _print(found: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("run", "started (UTC)", "job", "status"):
        table.add_column(heading, no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("video", overflow="fold")
    for row in found:
        seconds, cost = row["seconds"], row["cost_usd"]
        table.add_row(
            row["id"],
            f"{row['started_at'] or row['created_at']:%m-%d %H:%M}",
            row["job"],
            Text(row["status"], style=_STYLES.get(row["status"], "")),
            "–" if seconds is None else f"{seconds:.0f} s",
            "–" if cost is None else dollars(cost),
            plain(row["video"] or "–"),
        )
    console = stdout()
    console.print(table)
    # Below the table, for a column of sentences leaves no room on a narrow screen.
    for row in found:
        for failure in row["failures"]:
            console.print(f"{row['id']}  {plain(failure)}", style="red")
