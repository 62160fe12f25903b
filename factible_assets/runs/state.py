"""The state of a data folder: what is checked, due and running, and the newest runs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from factible_assets.config import FactCheckConfig, Reasoners, StrategyName
from factible_assets.corpora.reading import load_corpora
from factible_assets.settings import Settings, SettingsError
from resources.errors import SetupError
from resources.statements import statements
from warehouse.errors import NotAWarehouseError, WarehouseBusyError
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs", "state.sql")
_NOTHING: dict[str, Any] = dict.fromkeys(("videos", "claims", "cost", "due"))
_LOCK_SECONDS = 3.0
_UNDER_WAY = ("queued", "starting", "started", "canceling")


def state_of(settings: Settings) -> dict[str, Any]:
    """Return the state of the data folder as a document; the numbers are those of the copy.

    Without a check, `videos`, `claims`, `cost` and `due` are None. `running` is None if it is
    unknown, and `running_unknown` says why.
    """
    reading = load_corpora(settings.corpus_folders)
    damage = _damage(settings)
    is_readable = damage is None or settings.published.exists()
    running, unknown = None, ""
    try:
        running = list_runs(settings, limit=50, statuses=_UNDER_WAY)
    except SettingsError as error:
        unknown = str(error)
    places = {
        "warehouse": Path(str(settings.warehouse)),
        "published": Path(str(settings.published)),
        "archive": settings.archive,
        "cache": settings.cache,
        "dagster": settings.dagster_home,
        "reports": settings.reports,
    }
    return {
        "home": str(settings.home),
        "warehouse": str(settings.warehouse),
        "damage": damage,
        **_services(settings),
        "listed": {
            "videos": sum(1 for _ in reading.videos()),
            "problems": [str(problem) for problem in reading.problems],
        },
        **(counts_of(settings) if is_readable else _NOTHING),
        "running": running,
        "running_unknown": unknown or None,
        "sizes_bytes": {name: _size(place) for name, place in places.items()},
    }


def counts_of(settings: Settings) -> dict[str, Any]:
    """Return the counts of videos, claims, costs and due videos, from the copy for readers."""
    path = settings.read_from()
    return Warehouse(path).rows(_SQL["stored"])[0] if path.exists() else _NOTHING


def _damage(settings: Settings) -> str | None:
    """Return a sentence on damage of the warehouse; None if it is whole or busy."""
    try:
        if settings.warehouse.exists():
            settings.warehouse.waiting(_LOCK_SECONDS).refuse_damage()
    except NotAWarehouseError as error:
        return str(error)
    except WarehouseBusyError:
        pass
    return None


def _services(settings: Settings) -> dict[str, str]:
    # They load slowly, and `factible runs` needs none.
    from factible_assets.services.models import plan_models  # noqa: PLC0415
    from factible_assets.services.reasoning import choose_reasoners  # noqa: PLC0415
    from factible_assets.services.search import search_names  # noqa: PLC0415

    names = search_names(settings)
    live = f"live ({', '.join(names)})" if names else "archive (no search provider is set up)"
    try:
        choices = choose_reasoners(Reasoners(), settings)
        reasoner = choices.words
        if choices.asks_llm:
            models = plan_models(settings).models
            reasoner += f" ({', '.join(f'{model.provider}/{model.name}' for model in models)})"
    except SetupError as error:
        reasoner = f"not usable: {error}"
    return {"web": live if settings.web == "auto" else settings.web, "reasoner": reasoner}


def possible_strategies(settings: Settings) -> dict[str, str]:
    """Return the strategies that this machine has the models for, each with its description."""
    from factible_assets.services.reasoning import fitting_strategy  # noqa: PLC0415 - loads slowly
    from factible_assets.strategies import described  # noqa: PLC0415

    descriptions = {}
    for name in get_args(StrategyName):
        with suppress(SetupError):
            fitting_strategy(name, FactCheckConfig(strategy=name), settings)
            descriptions[name] = described(name)
    return dict(sorted(descriptions.items(), key=lambda each: each[0] != "standard"))


def _size(path: Path) -> int | None:
    """Return the bytes of a file or folder; None for a lake, or if it does not exist."""
    if not path.exists():
        return None
    total = 0
    walked = os.walk(path)  # it tolerates folders that a running check removes
    for file in (path, *(Path(folder, name) for folder, _, names in walked for name in names)):
        with suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def list_runs(
    settings: Settings, *, limit: int = 20, details: bool = True, **filters: Any
) -> list[dict[str, Any]]:
    """Return the newest runs of the data folder's Dagster instance. The first call is slow.

    `newest_runs` describes the rows and the filters. With `details`, a row also has its failures,
    seconds and cost, and short names.
    """
    if not (settings.dagster_home / "dagster.yaml").exists():
        return []
    from factible_assets.pipeline.run_records import failures_of_run, newest_runs  # noqa: PLC0415 - loads Dagster
    from factible_assets.runs.instance import open_instance  # noqa: PLC0415

    with open_instance(settings) as instance:
        runs = newest_runs(instance, limit=limit, **filters)
        if not details:
            return runs
        for run in runs:
            failed = run["status"] == "failure"
            run["failures"] = list(failures_of_run(instance, run["run_id"])) if failed else []
    ids, path = [run["run_id"] for run in runs], settings.read_from()
    costs: dict[str, float] = {}
    if ids and path.exists():
        rows = Warehouse(path).rows(_SQL["costs_of_runs"], {"runs": ids})
        costs = {row["run_id"]: row["usd"] for row in rows}
    for run in runs:
        started, ended = run["started_at"], run["ended_at"]
        run["id"] = run["run_id"][:8]
        run["video"] = run.pop("video_id")
        run["launched_by"] = run["launched_by"] or "dagster"
        run["seconds"] = (ended - started).total_seconds() if started and ended else None
        run["cost_usd"] = costs.get(run["run_id"])
    return runs
