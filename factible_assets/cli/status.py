"""`factible status`: what is checked, incomplete, due and running, and what this data folder is.

What belongs here: the questions to the warehouse and to Dagster, the summary. What does not: asking
the services (doctor.py), which videos a re-check takes (the view recheck_plan).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from factible_assets.cli.output import AsJson, note, plain, print_json, stdout

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from factible_assets.settings import Settings

_VIDEOS = """
    SELECT
        count(*) FILTER (verdicts > 0 AND incomplete = 0) AS checked,
        count(*) FILTER (incomplete > 0) AS incomplete,
        count(*) FILTER (verdicts = 0) AS without_verdicts
    FROM (
        SELECT
            videos.video_id,
            count(verdicts.claim_id) AS verdicts,
            count(*) FILTER (verdicts.latest_status = 'incomplete') AS incomplete
        FROM current_videos AS videos LEFT JOIN current_verdicts AS verdicts USING (video_id)
        GROUP BY videos.video_id
    )
"""
_VERDICTS = """
    SELECT
        (SELECT count(*) FROM current_claims) AS claims,
        count(*) FILTER (status = 'complete') AS verdicts,
        count(*) FILTER (latest_status = 'incomplete') AS incomplete,
        max(checked_at) AS last_checked_at
    FROM current_verdicts
"""
_COST = (
    "SELECT coalesce(sum(cost_usd), 0) AS usd, coalesce(sum(calls), 0) AS calls FROM costs_by_stage"
)
_PLAN = "SELECT 1 FROM duckdb_views() WHERE view_name = 'recheck_plan'"


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
    from factible_assets.services.setup import SetupError

    try:
        if choose_reasoner("auto", settings).kind == "embedded":
            return "embedded engine (automatic leanings)"
        plan = plan_models(settings)
    except SetupError as error:
        return f"not usable: {error}"
    return ", ".join(f"{model.provider}/{model.name}" for model in plan.models)


def _listed(settings: Settings) -> dict[str, Any]:
    from factible_assets.cli.targets import read_corpora

    reading = read_corpora(settings)
    return {
        "videos": sum(1 for _ in reading.videos()),
        "problems": [str(each) for each in reading.problems],
    }


def _stored(settings: Settings) -> dict[str, Any]:
    from warehouse.store import Warehouse

    path = settings.published if settings.published.exists() else settings.warehouse
    if not path.exists():
        return {"videos": None, "claims": None, "cost": None, "due": None}
    store = Warehouse(path)
    is_planned = bool(store.query(_PLAN).height)
    due = (
        store.query("SELECT count(*) AS n FROM recheck_plan WHERE decision = 'planned'").item()
        if is_planned
        else None
    )
    return {
        "videos": store.query(_VIDEOS).to_dicts()[0],
        "claims": store.query(_VERDICTS).to_dicts()[0],
        "cost": store.query(_COST).to_dicts()[0],
        "due": due,
    }


def _running(settings: Settings) -> list[dict[str, Any]]:
    if not (settings.dagster_home / "dagster.yaml").exists():
        return []
    from factible_assets.cli.runs import read_runs

    return read_runs(settings, limit=50, statuses=("queued", "starting", "started", "canceling"))


def _size(path: Path) -> int | None:
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
    from factible_assets.cli.cache import in_bytes
    from factible_assets.cli.output import counted, dollars

    sizes = ", ".join(
        f"{name} {in_bytes(size)}" for name, size in found["sizes_bytes"].items() if size
    )
    rows = [
        ("home", found["home"]),
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
