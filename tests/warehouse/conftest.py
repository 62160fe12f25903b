"""A warehouse to each test: a file copied from one that is made once, or one in memory."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import duckdb
import pytest

from factible_assets.records.tables import ALL_RECORDS
from tests.warehouse.held import HeldConnector
from warehouse.store import Warehouse

BESIDE_THE_SETS = ("materializations", "review_actions", "review_applications", "carried_claims")


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
        for table in (*BESIDE_THE_SETS, *(record.table for record in ALL_RECORDS)):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608
    return held


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Other processes with the shared modules loaded once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.warehouse.workers"])
    return context
