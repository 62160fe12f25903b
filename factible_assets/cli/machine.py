"""`factible doctor`, `trust`, `cache`, `restore`, `retention`, `migrate`: what concerns a machine.

What belongs here: arguments and tables. What does not: asking the services (services/checkup.py),
which files ask for the user's word (settings.py), the cache (resources/cache), copying and moving
(warehouse/publication.py, moving.py), what is old (automation/retention.py).
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from factible_assets.cli.errors import EXIT_CODES, CliError
from factible_assets.cli.output import AsJson, note, print_json, print_table, stdout
from factible_assets.errors import ExitCode
from factible_assets.wording import counted, plain

if TYPE_CHECKING:
    from factible_assets.services.checkup import Finding
    from resources.cache import CachePolicy, DiskCache, KindInfo

_FULL_TABLE = 110
"""How wide a screen must be for a column each."""


def doctor(
    *,
    network: Annotated[
        bool,
        typer.Option("--network", help="Ask YouTube and a domain registry too; they need no key."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask every service that is set up one cheap question, and say what to do about the others.

    Services that are not set up are not asked; none of them is needed. Exits with 1 if a service
    that is set up does not answer. Keys are never shown.

    Example: factible doctor
    """
    import asyncio
    from dataclasses import asdict

    from factible_assets.services.checkup import examine
    from factible_assets.settings import load_settings

    settings = load_settings()
    findings = asyncio.run(examine(settings, network=network))
    broken = [finding for finding in findings if finding.is_broken]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print_findings(findings)
    if broken:
        names = ", ".join(finding.service for finding in broken)
        note(f"Set up, and not working: {names}.")
        raise typer.Exit(ExitCode.FAILED)
    note("Everything that is set up works.")


def _print_findings(findings: list[Finding]) -> None:
    from rich.table import Table

    console = stdout()
    is_narrow = console.width < _FULL_TABLE
    table = Table(show_lines=is_narrow)
    table.add_column("service", no_wrap=True)
    if is_narrow:
        table.add_column("state", no_wrap=True)
        table.add_column("finding, and what to do", overflow="fold")
    else:
        table.add_column("configured", no_wrap=True)
        table.add_column("answers", no_wrap=True)
        table.add_column("finding", ratio=3, overflow="fold")
        table.add_column("what to do", ratio=3, overflow="fold")
    for finding in findings:
        said, remedy = plain(finding.sentence), plain(finding.remedy)
        configured = "yes" if finding.configured else "no"
        answers = {True: "yes", False: "no", None: "–"}[finding.answers]
        if is_narrow:
            words = "\n".join(part for part in (said, remedy) if part)
            state = {True: "answers", False: "fails", None: "set up"}[finding.answers]
            table.add_row(finding.service, state if finding.configured else "not set up", words)
        else:
            table.add_row(finding.service, configured, answers, said, remedy)
    console.print(table)


def trust(as_json: AsJson = False) -> None:
    """Allow what files in the working folder say of endpoints, programs and who is let in.

    Asked for once per content: a changed endpoint asks again. Keys need no word, and keys of the
    environment are never sent to an endpoint that only such a file names.

    Example: factible trust
    """
    from factible_assets.settings import allow, default_home, folder_files, read_words

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
    if as_json:
        print_json([{"file": str(path), "allowed": what} for path, what in allowed])
        return
    for path, what in allowed:
        print(f"{plain(str(path))}: {what}")
    if not allowed:
        note("Nothing in this folder needs to be allowed.")


cache_app = typer.Typer(
    name="cache",
    no_args_is_help=True,
    help="Answers kept between runs: searches, pages, model calls, ages of domains.",
)
migrate_app = typer.Typer(
    name="migrate", no_args_is_help=True, help="Move what is kept to another place."
)

_KiB = 1024


@cache_app.command("info", epilog=EXIT_CODES)
def cache_info(as_json: AsJson = False) -> None:
    """Show what is kept, how much room it takes, and how long it counts.

    Example: factible cache info
    """
    kept = _open_cache()
    kinds = kept.info()
    kept.close()
    if as_json:
        print_json(
            [
                {
                    **asdict(kind),
                    "oldest_use": _moment(kind.oldest_use) if kind.oldest_use else None,
                    "days": _days(kind, kept.policy),
                }
                for kind in kinds
            ]
        )
        return
    headings = ("kind", "answers", "on disk", "at most", "counts for", "oldest use")
    print_table(
        headings,
        (
            (
                kind.kind,
                f"{kind.entries:,}",
                in_bytes(kind.bytes_on_disk),
                in_bytes(kind.max_bytes),
                f"{_days(kind, kept.policy):g} days",
                f"{_moment(kind.oldest_use):%Y-%m-%d %H:%M}" if kind.oldest_use else "–",
            )
            for kind in kinds
        ),
        title=plain(str(kinds[0].path.parent)),
        numbers=headings[1:],
    )


@cache_app.command("clear", epilog=EXIT_CODES)
def cache_clear(
    kind: Annotated[
        Literal["search", "pages", "models", "ages", "vectors"] | None,
        typer.Option("--kind", help="Forget only this kind."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forget what is kept. It is asked for again, and paid for again, when it is needed.

    Example: factible cache clear --kind search
    """
    kept = _open_cache()
    cleared = kept.clear(kind)
    kept.close()
    if as_json:
        print_json(cleared)
        return
    for name, number in cleared.items():
        typer.echo(f"{name}: {number:,} {'answer' if number == 1 else 'answers'} forgotten")


def in_bytes(size: float) -> str:
    """Say a size in the unit that suits it."""
    for unit in ("B", "KiB", "MiB"):
        if size < _KiB:
            return f"{size:,.0f} {unit}"
        size /= _KiB
    return f"{size:,.1f} GiB"


def _open_cache() -> DiskCache:
    from factible_assets.settings import load_settings
    from resources.cache import DiskCache

    settings = load_settings()
    return DiskCache(settings.cache, settings.cache_policy)


def _days(kind: KindInfo, policy: CachePolicy) -> float:
    counts_for: timedelta = getattr(policy, kind.kind)
    return counts_for.total_seconds() / 86_400


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def restore(as_json: AsJson = False) -> None:
    """Put the published copy back in the place of a damaged or lost warehouse.

    Nothing is deleted: what is replaced is kept beside it. A warehouse that is whole and holds all
    that the copy holds stays as it is.

    Example: factible restore
    """
    from factible_assets.settings import load_settings
    from warehouse.publication import restore_copy
    from warehouse.store import Warehouse

    settings = load_settings()
    path, copy = settings.warehouse, settings.published
    if not (isinstance(path, Path) and isinstance(copy, Path)):
        raise CliError(
            f"The warehouse is a lake ({path}), of which there is no published copy.",
            "Restore it from the backups of its PostgreSQL database and of its files.",
        )
    if not copy.exists():
        raise CliError(
            f"There is no published copy at {copy} to restore from.",
            "Put a backup of the warehouse there, and run the command again.",
        )
    if path.exists() and _is_whole(path, copy):
        raise CliError(
            f"There is nothing to restore: {path} can be read and holds all that {copy} does.",
            "To replace it all the same, move it away first.",
            ExitCode.USAGE,
        )
    aside = restore_copy(copy, path, moment=datetime.now(UTC))
    videos = len(Warehouse(path).video_ids())
    if as_json:
        kept = None if aside is None else str(aside)
        print_json({"warehouse": str(path), "videos": videos, "replaced": kept})
        return
    typer.echo(f"{path} is the published copy again, with {counted(videos, 'video')}.")
    if aside is not None:
        typer.echo(f"What was there is kept as {aside}.")


def _is_whole(path: Path, copy: Path) -> bool:
    """Tell whether the warehouse can be read to its end and holds all that the copy holds."""
    from tempfile import TemporaryDirectory

    from warehouse.errors import DamagedWarehouseError, NotAWarehouseError
    from warehouse.publication import copy_database, entries_beyond
    from warehouse.store import Warehouse

    try:
        with TemporaryDirectory(dir=path.parent) as scratch, Warehouse(path).connection() as held:
            copy_database(held, Path(scratch) / path.name)
            return not entries_beyond(held, copy)
    except (DamagedWarehouseError, NotAWarehouseError):
        return False


def retention(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would go; remove nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old page texts that nothing current rests on, kept answers, and records of runs.

    Verdicts, evidence and quotes stay. FACTIBLE_RETENTION_TEXT_DAYS, FACTIBLE_RETENTION_CACHE_DAYS
    and FACTIBLE_RETENTION_RUN_DAYS say how old is old.

    Example: factible retention --dry-run
    """
    from factible_assets.automation.retention import apply_retention, retention_policy
    from factible_assets.running.launch import open_instance
    from factible_assets.settings import load_settings

    settings = load_settings()
    with open_instance(settings) as instance:
        removed = apply_retention(
            settings, retention_policy(settings), instance, now=datetime.now(UTC), dry_run=dry_run
        )
    if as_json:
        print_json(asdict(removed))
        return
    what = "would be removed" if dry_run else "removed"
    typer.echo(f"page texts {what}: {removed.texts:,} ({removed.characters:,} characters)")
    typer.echo(f"records of runs {what}: {removed.runs:,}")
    if not dry_run:
        typer.echo(f"kept answers removed: {sum(removed.answers.values()):,}")
        typer.echo(f"the warehouse is {removed.bytes_freed:,} bytes shorter")


@migrate_app.command("home", epilog=EXIT_CODES)
def migrate_home(
    target: Annotated[
        str | None,
        typer.Argument(help="The lake, as ducklake:postgres:…; FACTIBLE_WAREHOUSE if not given."),
    ] = None,
    *,
    data: Annotated[
        str | None,
        typer.Option(help="Where its files go; FACTIBLE_LAKE_DATA or lake/ in the home if not."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Move the warehouse of this home into an empty lake; the file stays as it is.

    Every table is held against its count and the hashes of its rows. All tables arrive, or none.
    Archive, cache, reports and Dagster's records stay in the home.

    Example: factible migrate home ducklake:postgres:dbname=factible --data /shared/factible
    """
    from factible_assets.settings import load_settings
    from warehouse.lake import Lake
    from warehouse.moving import move_into

    settings = load_settings()
    path = settings.home / "warehouse.duckdb"
    if not path.exists():
        raise CliError(f"There is no warehouse at {path}.", "FACTIBLE_HOME names another home.")
    place = data or settings.lake_data or settings.home / "lake"
    lake = settings.warehouse if target is None else Lake.of(target, place)
    if not isinstance(lake, Lake):
        raise CliError("No lake is named.", "Name one: factible migrate home ducklake:postgres:…")
    moved = move_into(
        path, lake, lambda each: note(f"{each.table}: {counted(each.rows, 'row')}, verified")
    )
    rows = sum(each.rows for each in moved)
    if as_json:
        print_json(
            {"lake": str(lake), "data": lake.data, "tables": [asdict(each) for each in moved]}
        )
        return
    typer.echo(f"{rows:,} rows of {len(moved)} tables are in {lake}, each table as it was.")
    typer.echo(f"{path} stays as it is. To use the lake, set from now on:")
    typer.echo(f"FACTIBLE_WAREHOUSE={lake}\nFACTIBLE_LAKE_DATA={lake.data}")
