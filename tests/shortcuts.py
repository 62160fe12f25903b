"""What most tests begin with and few are about, made once for all of them: an unused data folder.

What belongs here: copying what is the same in every new data folder (an empty warehouse, Dagster's
empty databases), and one store of vectors for all. What does not: what tests put into a folder.

In a test's own process all of this happens by itself, for the whole run (conftest.py). A folder
that is given to another process is prepared with `prepare`, unless how it begins is the point.
Nothing is imported here that the tests of a run do not import themselves.
"""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from inspect import getclosurevars
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

if TYPE_CHECKING:
    import duckdb

    from factible_assets.settings import Settings

_shared: list[Path] = []
"""The folder that all processes of a run of the tests share, if this is one."""


def share(folder: Path) -> None:
    """Share what is in a folder with all who are given it."""
    folder.mkdir(exist_ok=True)
    _shared[:] = [folder]


def prepare(home: Path) -> Path:
    """Give an unused data folder what a first run would make there, and the vectors of all."""
    if _shared:
        shutil.copytree(unused_instance(), home / "dagster")
        shutil.copyfile(_made("warehouse.duckdb", _empty_warehouse), home / "warehouse.duckdb")
        share_vectors(home)
    return home


def share_vectors(home: Path) -> None:
    """Lead an unused data folder to the vectors of all."""
    if _shared:
        (home / "cache").mkdir(parents=True)
        (home / "cache" / "vectors.sqlite").symlink_to(_shared[0] / "vectors.sqlite")


def unused_instance() -> Path:
    """Return the folder of a Dagster instance that nobody has used; for copying."""
    return _made("dagster", _unused_instance)


def apply() -> None:
    """Let what this process has imported by now begin its data folders so."""
    for name, replace in _REPLACEMENTS.items():
        module = sys.modules.get(name)
        if module is not None and name not in _replaced:
            _replaced.add(name)
            replace(module)


def _begin_warehouses_as_copies(connection: Any) -> None:
    # The method, not the name of its class: several modules have imported that.
    original = connection.FileConnector.ensure_exists

    def ensure_exists(self: Any, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        # Who begins with an older schema, to migrate it, gets that one.
        opener = getclosurevars(prepare).nonlocals.get("self")
        newest = sys.modules["warehouse.migrations"].packaged_schema()
        begins_anew = getattr(opener, "schema", None) is newest
        with suppress(OSError):  # of which the original knows what to say
            if begins_anew and not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                unfinished = self.path.with_name(f".{uuid.uuid4().hex}.new")
                shutil.copyfile(_made("warehouse.duckdb", _empty_warehouse), unfinished)
                with suppress(FileExistsError):
                    self.path.hardlink_to(unfinished)
                unfinished.unlink()
        original(self, prepare)

    connection.FileConnector.ensure_exists = ensure_exists


def _begin_instances_as_copies(launch: Any) -> None:
    original = launch.prepare_instance

    def prepare_instance(settings: Settings) -> Path:
        if not settings.dagster_home.exists() and settings.home.name != _UNUSED:
            # Several checks may begin the folder at once: whole or not at all, and once.
            copied = settings.home / f".{uuid.uuid4().hex}.new"
            shutil.copytree(unused_instance(), copied)
            with suppress(OSError):
                copied.rename(settings.dagster_home)
            shutil.rmtree(copied, ignore_errors=True)
        found: Path = original(settings)
        return found

    launch.prepare_instance = prepare_instance


def _share_vectors_of_this_process(reasoning: Any) -> None:
    from resources.cache.store import DiskCache  # noqa: PLC0415 - as the module says

    kept, original = DiskCache(_shared[0]), reasoning._embedder
    reasoning._embedder = lambda folder, _: original(folder, kept)


_replaced: set[str] = set()
_REPLACEMENTS = {
    "warehouse.connection": _begin_warehouses_as_copies,
    "factible_assets.runs.launch": _begin_instances_as_copies,
    "factible_assets.services.reasoning": _share_vectors_of_this_process,
}


# --- What is copied -----------------------------------------------------------------------------

_UNUSED = "home-of-the-unused-instance"


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """Return a file or folder that is shared; the first to ask makes it."""
    made = _shared[0] / name
    with FileLock(_shared[0] / f"{name}.lock"):
        if not made.exists():
            unfinished = _shared[0] / f"{name}.unfinished"
            make(unfinished)
            unfinished.rename(made)
    return made


def _empty_warehouse(path: Path) -> None:
    from warehouse.connection import FileConnector  # noqa: PLC0415 - as the module says
    from warehouse.migrations import packaged_schema  # noqa: PLC0415

    with FileConnector(path).connect() as connection:
        packaged_schema().apply(connection, path)


def _unused_instance(folder: Path) -> None:
    from factible_assets.runs.launch import open_instance  # noqa: PLC0415 - as the module says
    from factible_assets.settings import Settings  # noqa: PLC0415

    home = folder.with_name(_UNUSED)
    with open_instance(Settings(home=home)):
        pass
    (home / "dagster").rename(folder)
