"""`factible status` and `factible runs`: the state of the data folder, and the newest runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text
from typer import Argument, Option

from factible_assets.cli.output import grid, note, output_mode, result, table
from factible_assets.corpora.reading import load_corpora
from factible_assets.corpora.writing import bare_id
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.runs.active import runs_under_way
from factible_assets.runs.targets import open_store
from factible_assets.settings import Settings, SettingsError, load_settings
from factible_assets.wording import counted, dollars, in_bytes, plain
from resources.statements import statements

_SQL = statements("factible_assets.cli", "status.sql")
_NOTHING = dict.fromkeys(("videos", "claims", "cost", "due"))
_LOCK_SECONDS = 3.0
_STATUSES = ("queued", "starting", "started", "success", "failure", "canceling", "canceled")
_UNDER_WAY = ("queued", "starting", "started", "canceling")
_RUN_STYLES = {"success": "green", "failure": "red", "canceled": "yellow", "started": "cyan"}


def said(text: Annotated[str, Argument(help="A sentence, such as a claim.")]) -> None:
    """Find the claims of checked videos that say the same as a text, or the contrary.

    The relation `similar` means that the rules cannot tell whether they agree. In SQL, the view
    said_before has such pairs of claims.

    Example: factible said "Mount Everest is 8,849 metres tall"
    """
    from factible_assets.runs.said_before import said_before

    rows = said_before(open_store(load_settings()), text)
    lines = [
        [
            row["relation"],
            row["verdict"],
            plain(row["claim"]),
            plain(", ".join(filter(None, (row["speaker"], row["channel"], row["video_title"])))),
            str(row["published_on"] or "–"),
            row["link"] or row["video_id"],
        ]
        for row in rows
    ]
    shown = table(["relation", "verdict", "claim", "said by, in", "published", "link"], lines)
    result(rows, shown if rows else "No claim of a checked video speaks of that.")


def status() -> None:
    """Show what is checked, incomplete, due and running, and the contents of the data folder.

    If the warehouse is damaged, the exit code is 5 and the numbers come from the published copy.

    Example: factible status
    """
    settings = load_settings()
    reading = load_corpora(settings.corpus_folders)
    places = ("warehouse", "published", "archive", "cache", "dagster", "reports")
    running, unknown = None, ""
    try:
        running = runs_under_way(settings)
        if running is None:
            running = read_runs(settings, limit=50, statuses=_UNDER_WAY)
    except SettingsError as error:
        unknown = str(error)
    damage = _damage(settings)
    found = {
        "home": str(settings.home),
        "warehouse": str(settings.warehouse),
        "damage": damage,
        **_services(settings),
        "listed": {
            "videos": sum(1 for _ in reading.videos()),
            "problems": [str(each) for each in reading.problems],
        },
        **(stored(settings) if damage is None or settings.published.exists() else _NOTHING),
        "running": running,
        "sizes_bytes": {
            name: _size(Path(str(getattr(settings, "dagster_home" if name == "dagster" else name))))
            for name in places
        },
    }
    sizes = (f"{name} {in_bytes(size)}" for name, size in found["sizes_bytes"].items() if size)
    told = (f"{run['video'] or '–'} ({run['status']}, {run['id']})" for run in running or ())
    rows = [("home", found["home"])]
    if ":" in found["warehouse"]:
        rows.append(("warehouse", found["warehouse"]))
    rows += [
        ("web", found["web"]),
        ("reasoner", found["reasoner"]),
        ("listed", counted(found["listed"]["videos"], "video")),
    ]
    if found["videos"] is not None:
        videos, claims, cost = found["videos"], found["claims"], found["cost"]
        checked = (
            f"{videos['checked']:,} checked, {videos['incomplete']:,} incomplete, "
            f"{videos['without_verdicts']:,} without verdicts"
        )
        judged = (
            f"{claims['claims']:,}, of which {claims['verdicts']:,} have a verdict and "
            f"{claims['incomplete']:,} are incomplete because services failed"
        )
        unpriced = f" ({cost['unpriced']:,} without a listed price)" if cost["unpriced"] else ""
        calls = counted(cost["calls"], "model call")
        spent = f"{dollars(cost['usd'])} for {calls}{unpriced}, all runs"
        last = claims["last_checked_at"]
        rows += [
            ("videos", checked),
            ("claims", judged),
            ("last check", f"{last:%Y-%m-%d %H:%M} UTC" if last else "–"),
            ("cost", spent),
            ("due", f"{counted(found['due'], 'video')} tonight: factible sql 'from recheck_plan'"),
        ]
    rows.append(("running", "not known" if unknown else ", ".join(told) or "nothing"))
    rows.append(("on disk", ", ".join(sizes) or "nothing"))
    result(found, grid((name, plain(words)) for name, words in rows))
    for problem in reading.problems:
        note(f"A corpus is not readable: {plain(str(problem))}")
    if unknown:
        note(f"The running checks are unknown: {plain(unknown)}")
    if damage is not None:
        raise FactibleError(damage, code=ExitCode.ENVIRONMENT)
    if found["videos"] is None:
        note("Nothing is checked yet. Start with: factible demo")


def _damage(settings: Settings) -> str | None:
    """Return a sentence on damage of the warehouse; None if it is whole or busy."""
    from warehouse.errors import NotAWarehouseError, WarehouseBusyError

    if not settings.warehouse.exists():
        return None
    try:
        settings.warehouse.waiting(_LOCK_SECONDS).refuse_damage()
    except NotAWarehouseError as error:
        return str(error)
    except WarehouseBusyError:
        pass
    return None


def _services(settings: Settings) -> dict[str, str]:
    from factible_assets.config import Reasoners
    from factible_assets.services.models import plan_models
    from factible_assets.services.reasoning import choose_reasoners
    from factible_assets.services.search import search_names
    from resources.errors import SetupError

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


def stored(settings: Settings) -> dict[str, Any]:
    """Return the counts of videos, claims, costs and due videos, from the published copy."""
    path = settings.read_from()
    if not path.exists():
        return dict(_NOTHING)
    from warehouse.store import Warehouse

    return Warehouse(path).rows(_SQL["stored"])[0]


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


def runs(
    *,
    video: Annotated[str | None, Option(help="Only runs of this video.")] = None,
    job: Annotated[str | None, Option(help="Only runs of this job.")] = None,
    status: Annotated[
        list[str] | None, Option(help=f"Only runs with this status: {', '.join(_STATUSES)}.")
    ] = None,
    limit: Annotated[int, Option("--limit", "-n", min=1, max=1000, help="At most so many.")] = 20,
) -> None:
    """List the newest runs of the command line, the UI and the schedules.

    Example: factible runs --status failure --limit 5
    """
    unknown = sorted({*(status or [])} - {*_STATUSES})
    if unknown:
        raise UsageError(f"There is no status {unknown[0]!r}.", f"Use {', '.join(_STATUSES)}.")
    found = read_runs(
        load_settings(),
        video=bare_id(video) if video else None,
        job=job,
        statuses=status or (),
        limit=limit,
    )
    if not (found or output_mode.json):
        note("There are no such runs." if video or job or status else "There are no runs yet.")
        return
    *headings, last = ("run", "started (UTC)", "job", "status", "took", "cost", "video")
    rows = (
        (
            *(row["id"], f"{row['started_at'] or row['created_at']:%m-%d %H:%M}", row["job"]),
            Text(row["status"], style=_RUN_STYLES.get(row["status"], "")),
            None if row["seconds"] is None else f"{row['seconds']:.0f} s",
            None if row["cost_usd"] is None else dollars(row["cost_usd"]),
            row["video"],
        )
        for row in found
    )
    failures = [(row["id"], plain(failure)) for row in found for failure in row["failures"]]
    result(
        found,
        table((*headings, last), rows, numbers=headings[-2:], whole=("run", "status"), bare=True),
        # Below the table, because a column of sentences is too wide.
        *(Text(f"{run}  {failure}", style="red") for run, failure in failures),
    )


def read_runs(
    settings: Settings,
    *,
    video: str | None = None,
    job: str | None = None,
    statuses: Sequence[str] = (),
    limit: int = 20,
) -> list[dict[str, Any]]:
    """Return the newest runs of the data folder's Dagster instance. The first call is slow."""
    if not (settings.dagster_home / "dagster.yaml").exists():
        return []
    from factible_assets.pipeline.run_records import failures_of_run, newest_runs
    from factible_assets.runs.launch import open_instance
    from warehouse.store import Warehouse

    with open_instance(settings) as instance:
        found = newest_runs(instance, limit=limit, video=video, job=job, statuses=statuses)
        failures = {
            run["run_id"]: list(failures_of_run(instance, run["run_id"]))
            for run in found
            if run["status"] == "failure"
        }
    ids, path = [run["run_id"] for run in found], settings.read_from()
    costs: dict[str, float] = {}
    if ids and path.exists():
        rows = Warehouse(path).rows(_SQL["costs_of_runs"], {"runs": ids})
        costs = {row["run_id"]: row["usd"] for row in rows}
    rows = []
    for run in found:
        name, started, ended = run["run_id"], run["started_at"], run["ended_at"]
        more = {
            "id": name[:8],
            "video": run.pop("video_id"),
            "launched_by": run["launched_by"] or "dagster",
            "seconds": (ended - started).total_seconds() if started and ended else None,
            "cost_usd": costs.get(name),
            "failures": failures.get(name, []),
        }
        rows.append(run | more)
    return rows
