"""`factible status`: what is checked, incomplete, due and running, and what this data folder is.

What belongs here: the questions to the warehouse and to Dagster, the summary. What does not: asking
the services (doctor.py), which videos a re-check takes (the view recheck_plan).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.wording import plain

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from factible_assets.settings import Settings


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
    from warehouse.statements import statements
    from warehouse.store import Warehouse

    path = settings.published if settings.published.exists() else settings.warehouse
    if not path.exists():
        return {"videos": None, "claims": None, "cost": None, "due": None}
    ask = statements("factible_assets.cli", "status.sql")
    with Warehouse(path).snapshot() as now:
        found = {name: now.query(ask[name]).to_dicts()[0] for name in ("videos", "claims", "cost")}
        return found | {"due": now.query(ask["due"]).item()}


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
    from factible_assets.wording import counted, dollars

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
