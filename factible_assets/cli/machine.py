"""`factible doctor`, `trust`, `cache`, `restore`, `retention`, `migrate`: what concerns a machine.

What belongs here: arguments and tables. What does not: asking the services (services/checkup.py),
which files ask for the user's word (settings.py), the cache (resources/cache), copying and moving
(warehouse/publication.py, upkeep.py), what is old (automation/nightly.py).
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from typer import Argument, Exit, Option, Typer

from factible_assets.cli.output import NARROW, note, result, stdout, table
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.settings import allow, default_home, folder_files, load_settings, read_words
from factible_assets.wording import counted, in_bytes, plain
from resources.cache import DiskCache
from warehouse.errors import DamagedWarehouseError, NotAWarehouseError
from warehouse.lake import Lake
from warehouse.publication import copy_database, entries_beyond, restore_copy
from warehouse.store import Warehouse
from warehouse.upkeep import move_into

cache_app = Typer()
migrate_app = Typer()


def doctor(
    *,
    network: Annotated[
        bool, Option("--network", help="Ask YouTube and a domain registry too; they need no key.")
    ] = False,
) -> None:
    """Ask every service that is set up one cheap question, and say what to do about the others.

    Services that are not set up are not asked; none of them is needed. Exits with 1 if a service
    that is set up does not answer. Keys are never shown.

    Example: factible doctor
    """
    from factible_assets.services.checkup import examine

    findings = asyncio.run(examine(load_settings(), network=network))
    narrow = stdout().width < NARROW
    rows: list[tuple[str, ...]] = []
    for each in findings:
        said, remedy = plain(each.sentence), plain(each.remedy)
        answers = {True: "yes", False: "no", None: "–"}[each.answers]
        state = {True: "answers", False: "fails", None: "set up"}[each.answers]
        if narrow:
            words = "\n".join(filter(None, (said, remedy)))
            rows.append((each.service, state if each.configured else "not set up", words))
        else:
            rows.append((each.service, "yes" if each.configured else "no", answers, said, remedy))
    wide = ("service", "configured", "answers", "finding", "what to do")
    headings = ("service", "state", "finding, and what to do") if narrow else wide
    result(findings, table(headings, rows, whole=headings[: 2 if narrow else 3], lines=narrow))
    broken = [each.service for each in findings if each.is_broken]
    if broken:
        note(f"Set up, and not working: {', '.join(broken)}.")
        raise Exit(ExitCode.FAILED)
    note("Everything that is set up works.")


def trust() -> None:
    """Allow what files in the working folder say of endpoints, programs and who is let in.

    Asked for once per content: a changed endpoint asks again. Keys need no word, and keys of the
    environment are never sent to an endpoint that only such a file names.

    Example: factible trust
    """
    allowed = []
    for file in folder_files():
        if file.speaking:
            allow(file.path, file.content)
            allowed.append((file.path, ", ".join(file.variables)))
    home = default_home()
    for path in (home / "models.yaml", home / "dagster" / "dagster.yaml"):
        if path.is_file():
            allow(path, read_words(path))
            allowed.append((path, "the whole file"))
    result(
        [{"file": path, "allowed": what} for path, what in allowed],
        *(f"{plain(str(path))}: {what}" for path, what in allowed),
    )
    if not allowed:
        note("Nothing in this folder needs to be allowed.")


def _open_cache() -> DiskCache:
    settings = load_settings()
    return DiskCache(settings.cache, settings.cache_policy)


@cache_app.command("info")
def cache_info() -> None:
    """Show what is kept, how much room it takes, and how long it counts.

    Example: factible cache info
    """
    kept = _open_cache()
    kinds = kept.info()
    kept.close()
    documents: list[dict[str, Any]] = [
        {
            **asdict(kind),
            "oldest_use": datetime.fromtimestamp(kind.oldest_use, UTC) if kind.oldest_use else None,
            "days": getattr(kept.policy, kind.kind).total_seconds() / 86_400,
        }
        for kind in kinds
    ]
    headings = ("kind", "answers", "on disk", "at most", "counts for", "oldest use")
    rows = (
        (
            each["kind"],
            f"{each['entries']:,}",
            in_bytes(each["bytes_on_disk"]),
            in_bytes(each["max_bytes"]),
            f"{each['days']:g} days",
            f"{each['oldest_use']:%Y-%m-%d %H:%M}" if each["oldest_use"] else "–",
        )
        for each in documents
    )
    title = plain(str(kinds[0].path.parent))
    result(documents, table(headings, rows, title=title, numbers=headings[1:]))


@cache_app.command("clear")
def cache_clear(
    kind: Annotated[
        Literal["search", "pages", "models", "ages", "vectors"] | None,
        Option("--kind", help="Forget only this kind."),
    ] = None,
) -> None:
    """Forget what is kept. It is asked for again, and paid for again, when it is needed.

    Example: factible cache clear --kind search
    """
    kept = _open_cache()
    cleared = kept.clear(kind)
    kept.close()
    lines = (f"{name}: {counted(number, 'answer')} forgotten" for name, number in cleared.items())
    result(cleared, *lines)


def restore() -> None:
    """Put the published copy back in the place of a damaged or lost warehouse.

    Nothing is deleted: what is replaced is kept beside it. A warehouse that is whole and holds all
    that the copy holds stays as it is.

    Example: factible restore
    """
    settings = load_settings()
    path, copy = settings.warehouse, settings.published
    if not (isinstance(path, Path) and isinstance(copy, Path)):
        raise FactibleError(
            f"The warehouse is a lake ({path}), of which there is no published copy.",
            "Restore it from the backups of its PostgreSQL database and of its files.",
        )
    if not copy.exists():
        raise FactibleError(
            f"There is no published copy at {copy} to restore from.",
            "Put a backup of the warehouse there, and run the command again.",
        )
    if path.exists() and _is_whole(path, copy):
        raise FactibleError(
            f"There is nothing to restore: {path} can be read and holds all that {copy} does.",
            "To replace it all the same, move it away first.",
            ExitCode.USAGE,
        )
    aside = restore_copy(copy, path, moment=datetime.now(UTC))
    videos = len(Warehouse(path).video_ids())
    result(
        {"warehouse": path, "videos": videos, "replaced": aside},
        f"{path} is the published copy again, with {counted(videos, 'video')}.",
        *([f"What was there is kept as {aside}."] if aside else []),
    )


def _is_whole(path: Path, copy: Path) -> bool:
    """Tell whether the warehouse can be read to its end and holds all that the copy holds."""
    try:
        with TemporaryDirectory(dir=path.parent) as scratch, Warehouse(path).connection() as held:
            copy_database(held, Path(scratch) / path.name)
            return not entries_beyond(held, copy)
    except (DamagedWarehouseError, NotAWarehouseError):
        return False


def retention(
    *, dry_run: Annotated[bool, Option("--dry-run", help="Count what would go alone.")] = False
) -> None:
    """Remove old page texts that nothing current rests on, kept answers, and records of runs.

    Verdicts, evidence and quotes stay. FACTIBLE_RETENTION_TEXT_DAYS, FACTIBLE_RETENTION_CACHE_DAYS
    and FACTIBLE_RETENTION_RUN_DAYS say how old is old.

    Example: factible retention --dry-run
    """
    from factible_assets.automation.nightly import apply_retention
    from factible_assets.running.launch import open_instance

    settings = load_settings()
    with open_instance(settings) as instance:
        removed = apply_retention(settings, instance, now=datetime.now(UTC), dry_run=dry_run)
    what = "would be removed" if dry_run else "removed"
    lines = [
        f"page texts {what}: {removed.texts:,} ({removed.characters:,} characters)",
        f"records of runs {what}: {removed.runs:,}",
    ]
    if not dry_run:
        lines.append(f"kept answers removed: {sum(removed.answers.values()):,}")
        lines.append(f"the warehouse is {removed.bytes_freed:,} bytes shorter")
    result(removed, *lines)


@migrate_app.command("home")
def migrate_home(
    target: Annotated[
        str | None,
        Argument(help="The lake, as ducklake:postgres:…; FACTIBLE_WAREHOUSE if not given."),
    ] = None,
    *,
    data: Annotated[
        str | None,
        Option(help="Where its files go; FACTIBLE_LAKE_DATA or lake/ in the home if not."),
    ] = None,
) -> None:
    """Move the warehouse of this home into an empty lake; the file stays as it is.

    Every table is held against its count and the hashes of its rows. All tables arrive, or none.
    Archive, cache, reports and Dagster's records stay in the home.

    Example: factible migrate home ducklake:postgres:dbname=factible --data /shared/factible
    """
    settings = load_settings()
    path = settings.home / "warehouse.duckdb"
    if not path.exists():
        raise FactibleError(
            f"There is no warehouse at {path}.", "FACTIBLE_HOME names another home."
        )
    place = data or settings.lake_data or settings.home / "lake"
    lake = settings.warehouse if target is None else Lake.of(target, place)
    if not isinstance(lake, Lake):
        raise FactibleError(
            "No lake is named.", "Name one: factible migrate home ducklake:postgres:…"
        )
    moved = move_into(
        path, lake, lambda each: note(f"{each.table}: {counted(each.rows, 'row')}, verified")
    )
    rows = sum(each.rows for each in moved)
    result(
        {"lake": str(lake), "data": lake.data, "tables": moved},
        f"{rows:,} rows of {len(moved)} tables are in {lake}, each table as it was.",
        f"{path} stays as it is. To use the lake, set from now on:",
        f"FACTIBLE_WAREHOUSE={lake}\nFACTIBLE_LAKE_DATA={lake.data}",
    )
