"""`factible status` and `factible runs`: what is checked, due and running, and the newest runs.

What belongs here: the questions to the warehouse and to Dagster, filters, what is printed. What
does not: asking the services (machine.py), which videos a re-check takes (the view
recheck_plan), starting runs (running/).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.errors import ExitCode
from factible_assets.wording import dollars, plain

if TYPE_CHECKING:
    from dagster import RunRecord

    from factible_assets.settings import Settings
    from warehouse.lake import Lake


def status(as_json: AsJson = False) -> None:
    """Show what is checked, incomplete, due and running, and what this data folder holds.

    Example: factible status
    """
    from factible_assets.settings import load_settings

    found = look(load_settings())
    if as_json:
        print_json(found)
        return
    _print(found)


def look(settings: Settings) -> dict[str, Any]:
    """Gather the state of a data folder; nothing is created where nothing is."""
    return {
        "home": str(settings.home),
        "warehouse": str(settings.warehouse),
        "web": _web(settings),
        "reasoner": _reasoner(settings),
        "listed": _listed(settings),
        **_stored(settings),
        "running": _running(settings),
        "sizes_bytes": {
            name: _size(path)
            for name, path in (
                ("warehouse", settings.warehouse),
                ("published", settings.published),
                ("archive", settings.archive),
                ("cache", settings.cache),
                ("dagster", settings.dagster_home),
                ("reports", settings.reports),
            )
        },
    }


def _web(settings: Settings) -> str:
    from factible_assets.services.search import search_names

    names = search_names(settings)
    if settings.web != "auto":
        return settings.web
    return f"live ({', '.join(names)})" if names else "archive (no search provider is set up)"


def _reasoner(settings: Settings) -> str:
    from factible_assets.services.reasoning import choose_reasoner, plan_models
    from factible_assets.settings import SetupError

    try:
        if choose_reasoner("auto", settings).kind == "embedded":
            return "embedded engine (automatic leanings)"
        plan = plan_models(settings)
    except SetupError as error:
        return f"not usable: {error}"
    return ", ".join(f"{model.provider}/{model.name}" for model in plan.models)


def _listed(settings: Settings) -> dict[str, Any]:
    from factible_assets.corpora import load_corpora

    reading = load_corpora(settings.corpus_folders)
    return {
        "videos": sum(1 for _ in reading.videos()),
        "problems": [str(each) for each in reading.problems],
    }


def _stored(settings: Settings) -> dict[str, Any]:
    from resources.statements import statements
    from warehouse.store import Warehouse

    path = settings.published if settings.published.exists() else settings.warehouse
    if not path.exists():
        return {"videos": None, "claims": None, "cost": None, "due": None}
    ask = statements("factible_assets.cli", "status.sql")
    with Warehouse(path).snapshot() as now:
        stands, cost = (now.query(ask[name]).to_dicts()[0] for name in ("verdicts", "cost"))
        due = now.query(ask["due"]).item()
    return {
        "videos": {
            "checked": stands["checked_videos"],
            "incomplete": stands["incomplete_videos"],
            "without_verdicts": stands["without_verdicts"],
        },
        "claims": {
            "claims": stands["claims"],
            "verdicts": stands["verdicts"],
            "incomplete": stands["incomplete_claims"],
            "last_checked_at": stands["last_checked_at"],
        },
        "cost": cost,
        "due": due,
    }


def _running(settings: Settings) -> list[dict[str, Any]]:
    if not (settings.dagster_home / "dagster.yaml").exists():
        return []

    return read_runs(settings, limit=50, statuses=("queued", "starting", "started", "canceling"))


def _size(path: Path | Lake) -> int | None:
    """Return the bytes of a file or a folder; None where nothing is, or where none is at hand."""
    if not isinstance(path, Path):
        return None
    if path.is_file():
        return path.stat().st_size
    if not path.is_dir():
        return None
    total = 0
    for file in path.rglob("*"):
        # A running check may remove a file meanwhile.
        with suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def _print(found: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, words in _rows(found):
        table.add_row(name, plain(words))
    stdout().print(table)
    for problem in found["listed"]["problems"]:
        note(f"Not every corpus could be read: {plain(problem)}")
    if found["videos"] is None:
        note("Nothing is checked yet; start with: factible demo")


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    from factible_assets.cli.machine import in_bytes
    from factible_assets.wording import counted, dollars

    sizes = ", ".join(
        f"{name} {in_bytes(size)}" for name, size in found["sizes_bytes"].items() if size
    )
    rows = [
        ("home", found["home"]),
        *([("warehouse", found["warehouse"])] if ":" in found["warehouse"] else []),
        ("web", found["web"]),
        ("reasoner", found["reasoner"]),
        ("listed", counted(found["listed"]["videos"], "video")),
    ]
    if found["videos"] is not None:
        videos, claims, cost = found["videos"], found["claims"], found["cost"]
        rows += [
            (
                "videos",
                (
                    f"{videos['checked']:,} checked, {videos['incomplete']:,} incomplete, "
                    f"{videos['without_verdicts']:,} without verdicts"
                ),
            ),
            (
                "claims",
                (
                    f"{claims['claims']:,}, of which {claims['verdicts']:,} have a verdict and "
                    f"{claims['incomplete']:,} wait for services that failed"
                ),
            ),
            ("last check", _minute(claims["last_checked_at"])),
            (
                "cost",
                f"{dollars(cost['usd'])} for {counted(cost['calls'], 'model call')}, all runs",
            ),
        ]
    if found["due"] is not None:
        rows.append(
            ("due", f"{counted(found['due'], 'video')} tonight: factible sql 'from recheck_plan'")
        )
    running = [f"{run['video'] or '–'} ({run['status']}, {run['id']})" for run in found["running"]]
    return [*rows, ("running", ", ".join(running) or "nothing"), ("on disk", sizes or "nothing")]


def _minute(moment: datetime | None) -> str:
    return "–" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


STATUSES = ("queued", "starting", "started", "success", "failure", "canceling", "canceled")

_RUN_STYLES = {"success": "green", "failure": "red", "canceled": "yellow", "started": "cyan"}
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
    from factible_assets.corpora.adding import bare_id
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
        _print_runs(found)
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

    from factible_assets.partitions import PARTITION_TAG
    from factible_assets.running.launch import failures_of_run, open_instance

    wanted = dg.RunsFilter(
        job_name=job,
        statuses=[dg.DagsterRunStatus[each.upper()] for each in statuses],
        tags={PARTITION_TAG: video} if video else {},
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
    started, ended = (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        for seconds in (record.start_time, record.end_time)
    )
    return {
        "id": run.run_id[:_ID_DIGITS],
        "run_id": run.run_id,
        "video": run.tags.get("dagster/partition"),
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


def _costs(settings: Settings, run_ids: list[str]) -> dict[str, float]:
    from resources.statements import statements
    from warehouse.store import Warehouse

    path = settings.published if settings.published.exists() else settings.warehouse
    if not run_ids or not path.exists():
        return {}
    ask = statements("factible_assets.cli", "status.sql")
    return dict(Warehouse(path).query(ask["costs_of_runs"], {"runs": run_ids}).iter_rows())


def _print_runs(found: list[dict[str, Any]]) -> None:
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
            Text(row["status"], style=_RUN_STYLES.get(row["status"], "")),
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
