"""`factible restore`: the published copy in the place of a damaged or lost warehouse.

What belongs here: whether there is anything to restore, and saying what was done. What does not:
copying and moving (warehouse/publication.py).
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, print_json
from factible_assets.errors import ExitCode
from factible_assets.wording import counted


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
