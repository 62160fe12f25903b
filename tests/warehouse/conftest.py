"""A warehouse to each test: a file copied from one that is made once, or one in memory."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import duckdb
import pytest

from tests.warehouse.held import HeldConnector
from warehouse.store import Warehouse


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "warehouse.duckdb"
    Warehouse(path).query("SELECT 1")
    return path


@pytest.fixture
def warehouse(empty_file: Path, tmp_path: Path) -> Warehouse:
    path = tmp_path / "it's a warehouse.duckdb"
    shutil.copyfile(empty_file, path)
    return Warehouse(path)


@pytest.fixture(scope="session")
def held() -> Iterator[Warehouse]:
    # One thread, as small files have.
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        yield Warehouse(HeldConnector(connection=connection))


@pytest.fixture
def in_memory(held: Warehouse) -> Warehouse:
    with held.connection() as connection:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE estimated_size > 0 "
            "AND table_name NOT IN ('schema_version', 'recheck_settings')"
        ).fetchall()
        for (table,) in tables:
            connection.execute(f"DELETE FROM {table}")  # noqa: S608
        connection.execute("UPDATE recheck_settings SET next_tick_at = NULL")
    return held


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Other processes with the shared modules loaded once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.warehouse.workers"])
    return context
