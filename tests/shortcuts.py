"""Copies the files that every unused data folder has, instead of making them again per test.

These are an empty warehouse, Dagster's empty databases, and one shared store of vectors. Besides,
Dagster's databases do not wait for the disk, and keep their compiled statements. In the tests' own
processes this happens automatically (conftest.py). For a folder of another process call `prepare`,
unless the test is about creating it. This module imports nothing that the tests of a run do not
import anyway.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from inspect import getclosurevars
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

if TYPE_CHECKING:
    import duckdb

    from factible_assets.settings import Settings

_shared: list[Path] = []
"""The folder shared by all processes of a test run, if this is one."""


def share(folder: Path) -> None:
    """Use a folder as the shared one of this test run."""
    folder.mkdir(exist_ok=True)
    _shared[:] = [folder]


def prepare(home: Path) -> Path:
    """Create the files of a first run in an unused data folder, with the shared vectors."""
    if _shared:
        shutil.copytree(unused_instance(), home / "dagster")
        shutil.copyfile(_made("warehouse.duckdb", _empty_warehouse), home / "warehouse.duckdb")
        share_vectors(home)
    return home


def share_vectors(home: Path) -> None:
    """Copy the vectors that this test run has computed so far into an unused data folder."""
    if _shared and (kept := _shared[0] / "answers.sqlite").exists():
        (home / "cache").mkdir(parents=True, mode=0o700)
        (copy := home / "cache" / "answers.sqlite").touch(mode=0o600)
        with closing(sqlite3.connect(kept)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)


def unused_instance() -> Path:
    """Return a new Dagster instance's folder, for copying."""
    return _made("dagster", _unused_instance)


def apply() -> None:
    """Make this process's modules start their data folders this way."""
    for name, replace in _REPLACEMENTS.items():
        module = sys.modules.get(name)
        if module is not None and name not in _replaced:
            _replaced.add(name)
            replace(module)


def _begin_warehouses_as_copies(connection: Any) -> None:
    # Patch the method and not the class: several modules have imported the class.
    original = connection.FileConnector.ensure_exists

    def ensure_exists(self: Any, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        # A test of migrations starts with an older schema; give it that one.
        opener = getclosurevars(prepare).nonlocals.get("self")
        newest = sys.modules["warehouse.versions"].packaged_schema()
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


def _begin_instances_as_copies(instance: Any) -> None:
    original = instance.prepare_instance

    def prepare_instance(settings: Settings) -> Path:
        if not settings.dagster_home.exists() and settings.home.name != _UNUSED:
            # Several checks may create the folder at once: complete or not at all, and once.
            copied = settings.home / f".{uuid.uuid4().hex}.new"
            shutil.copytree(unused_instance(), copied)
            with suppress(OSError):
                copied.rename(settings.dagster_home)
            shutil.rmtree(copied, ignore_errors=True)
        found: Path = original(settings)
        return found

    instance.prepare_instance = prepare_instance


def _share_vectors_of_this_process(embedder: Any) -> None:
    from resources.storage.answers import DiskCache  # noqa: PLC0415 - as the module says

    kept, original = DiskCache(_shared[0]), embedder.OnnxEmbedder.keeping
    embedder.OnnxEmbedder.keeping = lambda self, _: original(self, kept)


def _keep_engines(storage: Any) -> None:
    """Dagster makes an engine for each connection, and so compiles each statement each time."""
    made: dict[str, Any] = {}
    create = storage.create_engine

    def create_once(address: str, **options: Any) -> Any:
        if address not in made:
            made[address] = create(address, **options)
        return made[address]

    storage.create_engine = create_once


def _keep_migrations(script: Any) -> None:
    """Dagster loads all its migrations whenever it opens an instance, to learn the newest one."""
    made: dict[str, Any] = {}
    create = script.ScriptDirectory.from_config

    def create_once(config: Any) -> Any:
        place = config.get_main_option("script_location")
        if place not in made:
            made[place] = create(config)
        return made[place]

    script.ScriptDirectory.from_config = create_once


def _read_pages_of_the_demo_once(miniature_web: Any) -> None:
    """Each check serves the miniature web anew, and its first search indexes 90 pages."""
    miniature_web._page = cache(miniature_web._page)


def _wait_for_no_disk(engine: Any) -> None:
    from sqlalchemy import event  # noqa: PLC0415 - as the module says

    @event.listens_for(engine.Engine, "connect")
    def connected(connection: Any, _: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous = OFF")


_SQLITE = (
    "event_log.sqlite.sqlite_event_log",
    "runs.sqlite.sqlite_run_storage",
    "schedules.sqlite.sqlite_schedule_storage",
)
_replaced: set[str] = set()
_REPLACEMENTS = {
    "sqlalchemy.engine": _wait_for_no_disk,
    "alembic.script": _keep_migrations,
    **{f"dagster._core.storage.{each}": _keep_engines for each in _SQLITE},
    "resources.miniature_web": _read_pages_of_the_demo_once,
    "warehouse.connection": _begin_warehouses_as_copies,
    "factible_assets.runs.instance": _begin_instances_as_copies,
    "factible_assets.reasoners.embedded.embedder": _share_vectors_of_this_process,
}


# --- What is copied -----------------------------------------------------------------------------

_UNUSED = "home-of-the-unused-instance"


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """Return a shared file or folder; the first caller makes it."""
    made = _shared[0] / name
    with FileLock(_shared[0] / f"{name}.lock"):
        if not made.exists():
            unfinished = _shared[0] / f"{name}.unfinished"
            make(unfinished)
            unfinished.rename(made)
    return made


def _empty_warehouse(path: Path) -> None:
    from warehouse.connection import FileConnector  # noqa: PLC0415 - as the module says
    from warehouse.versions import packaged_schema  # noqa: PLC0415

    with FileConnector(path).connect() as connection:
        packaged_schema().apply(connection, path)


def _unused_instance(folder: Path) -> None:
    from factible_assets.runs.instance import open_instance  # noqa: PLC0415 - as the module says
    from factible_assets.settings import Settings  # noqa: PLC0415

    home = folder.with_name(_UNUSED)
    with open_instance(Settings(home=home)):
        pass
    (home / "dagster").rename(folder)
