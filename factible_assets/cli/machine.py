"""Commands that test and maintain this machine and its data folder, such as `factible doctor`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from shlex import quote
from typing import Annotated, Any, Literal

from rich.text import Text
from typer import Argument, Exit, Option, Typer

from factible_assets.cli.output import Columns, note, result, show_rows
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.settings import load_settings
from factible_assets.wording import counted, in_bytes, plain
from resources.storage.answers import DiskCache
from warehouse.lake import Lake
from warehouse.store import Warehouse
from warehouse.upkeep import holds_all_of, move_into, restore_copy
from warehouse.upkeep import upgrade as upgrade_warehouse

cache_app = Typer()
migrate_app = Typer()


def doctor(
    *,
    network: Annotated[
        bool, Option("--network", help="Test YouTube and a domain registry too, without a key.")
    ] = False,
) -> None:
    """Test every service that is set up with one cheap request, and say how to set up the others.

    No service is required. The exit code is 1 if a service that is set up does not answer. The
    command never shows keys.

    Example: factible doctor
    """
    from factible_assets.services.checkup import examine

    findings = asyncio.run(examine(load_settings(), network=network))
    columns: Columns = (
        *("service", "state"),
        (
            "finding and remedy",
            lambda each: Text(
                "\n".join(plain(sentence) for sentence in (each.sentence, each.remedy) if sentence)
            ),
        ),
    )
    show_rows(findings, columns, lines=True)
    broken = [finding.service for finding in findings if finding.state == "fails"]
    if broken:
        note(f"Set up but not working: {', '.join(broken)}.")
        raise Exit(ExitCode.FAILED)
    note("Every service that is set up works.")


@cache_app.command("info")
def cache_info() -> None:
    """Show the cached answers, their size and their lifetime.

    Example: factible cache info
    """
    settings = load_settings()
    cache = DiskCache(settings.cache, settings.cache_policy)
    documents: list[dict[str, Any]] = [
        {
            **asdict(kind),
            "oldest_use": datetime.fromtimestamp(kind.oldest_use, UTC) if kind.oldest_use else None,
            "days": getattr(cache.policy, kind.kind).total_seconds() / 86_400,
        }
        for kind in cache.info()
    ]
    columns: Columns = (
        *("kind", "answers: entries"),
        ("size", lambda each: in_bytes(each["bytes"])),
        ("at most", lambda each: in_bytes(each["max_bytes"])),
        ("lifetime", lambda each: counted(round(each["days"]), "day")),
        "oldest use: oldest_use",
    )
    show_rows(documents, columns, title=str(settings.cache))


@cache_app.command("clear")
def cache_clear(
    kind: Annotated[
        Literal["search", "pages", "models", "ages", "vectors"] | None,
        Option("--kind", help="Clear only this kind."),
    ] = None,
) -> None:
    """Delete cached answers. A later check asks again, and pays again.

    Example: factible cache clear --kind search
    """
    settings = load_settings()
    cleared = DiskCache(settings.cache, settings.cache_policy).clear(kind)
    if cleared is None:
        raise FactibleError(
            f"The cache {settings.cache} could not be cleared.",
            "Check its permissions, and close other programs that use it.",
            ExitCode.ENVIRONMENT,
        )
    result(cleared, *(f"{name}: {counted(n, 'answer')} deleted" for name, n in cleared.items()))


def restore() -> None:
    """Replace a damaged or lost warehouse with its published copy.

    The command deletes nothing: the replaced file stays beside the new one. A readable warehouse
    with everything that the copy holds stays as it is.

    Example: factible restore
    """
    settings = load_settings()
    path, copy = settings.warehouse.path, settings.published.path
    if settings.warehouse.is_shared:
        raise FactibleError(
            f"The warehouse is a lake ({path}), which has no published copy.",
            "Restore the backups of its PostgreSQL database and of its files.",
        )
    if not copy.exists():
        raise FactibleError(
            f"There is no published copy at {copy} to restore from.",
            "Put a backup of the warehouse there and run the command again.",
        )
    if path.exists() and holds_all_of(path, copy):
        raise UsageError(
            f"There is nothing to restore: {path} is readable and has everything that {copy} has.",
            "To replace it anyway, move it away first.",
        )
    aside = restore_copy(copy, path)
    videos = len(Warehouse(path).video_ids())
    result(
        {"warehouse": path, "videos": videos, "replaced": aside},
        f"{path} is the published copy again, with {counted(videos, 'video')}.",
        *([f"The replaced file is now {aside}."] if aside else []),
    )


def retention(*, dry_run: Annotated[bool, Option("--dry-run", help="Only count.")] = False) -> None:
    """Remove old page texts that no current verdict uses, cached answers, and records of runs.

    Verdicts, evidence and quotes stay. FACTIBLE_RETENTION_DAYS sets the age; Dagster's records of
    runs, and cached answers without use, go after 90 days at the latest.

    Example: factible retention --dry-run
    """
    from factible_assets.pipeline.retention import apply_retention
    from factible_assets.runs.instance import open_instance

    settings = load_settings()
    with open_instance(settings) as instance:
        removed = apply_retention(settings, instance, now=datetime.now(UTC), dry_run=dry_run)
    verb = "would be removed" if dry_run else "removed"
    lines = [
        f"page texts {verb}: {removed.texts:,} ({removed.characters:,} characters)",
        f"records of runs {verb}: {removed.runs:,}",
    ]
    if not dry_run:
        lines.append(f"cached answers removed: {sum(removed.answers.values()):,}")
        lines.append(f"the warehouse is {removed.bytes_freed:,} bytes smaller")
    result(removed, *lines)


def upgrade() -> None:
    """Copy the warehouse, and those of experiments, into the schema of this version.

    The command compares every table with its copy, and keeps the old files beside the new ones. It
    deletes files of cached answers that this version does not read.

    Example: factible upgrade
    """
    settings = load_settings()
    stores = [Warehouse(settings.warehouse)] if settings.warehouse.exists() else []
    stores += map(Warehouse, sorted(settings.experiments.glob("*.duckdb")))
    upgraded = []
    for store in stores:
        note(f"{store.path}")
        old_file = upgrade_warehouse(
            store, lambda each: note(f"  {each.table}: {counted(each.rows, 'row')}, verified")
        )
        upgraded.append({"warehouse": store.path, "kept": old_file})
    if settings.warehouse.exists():
        stores[0].publish(settings.published)
    if not upgraded:
        note(f"There is no warehouse at {settings.warehouse} yet, so there is nothing to upgrade.")
    DiskCache(settings.cache).delete_former_files()
    result(
        upgraded,
        *(f"{upgrade['warehouse']} has the schema of this version." for upgrade in upgraded),
        *(f"The old file is kept as {upgrade['kept']}." for upgrade in upgraded if upgrade["kept"]),
    )


@migrate_app.command("home")
def migrate_home(
    target: Annotated[
        str | None, Argument(help="The lake, as ducklake:postgres:… (default: FACTIBLE_WAREHOUSE).")
    ] = None,
) -> None:
    """Copy the warehouse of this data folder into an empty lake; the file stays.

    The lake's files go to FACTIBLE_LAKE_DATA, or to lake/ in the data folder. The command compares
    the row counts and row hashes of every table, and copies all tables or none. Archive, cache,
    reports and Dagster's records stay in the data folder.

    Example: factible migrate home ducklake:postgres:dbname=factible
    """
    settings = load_settings()
    path = settings.home / "warehouse.duckdb"
    if not path.exists():
        raise FactibleError(
            f"There is no warehouse at {path}.", "Set FACTIBLE_HOME to another data folder."
        )
    lake_folder = settings.lake_data or settings.home / "lake"
    lake = settings.warehouse if target is None else Lake.of(target, lake_folder)
    if not isinstance(lake, Lake):
        raise FactibleError("Name a lake: factible migrate home ducklake:postgres:…")
    moved = move_into(
        path, lake, lambda each: note(f"{each.table}: {counted(each.rows, 'row')}, verified")
    )
    rows = sum(table.rows for table in moved)
    result(
        {"lake": str(lake), "data": lake.data, "tables": moved},
        f"{lake} has {counted(rows, 'row')} of {counted(len(moved), 'table')}, all verified.",
        f"{path} stays as it is. To use the lake, set:",
        f"FACTIBLE_WAREHOUSE={quote(str(lake))}\nFACTIBLE_LAKE_DATA={quote(lake.data)}",
        *(["Put a password into PGPASSWORD or ~/.pgpass."] if "postgres" in str(lake) else []),
    )
