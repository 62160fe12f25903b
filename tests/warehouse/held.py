"""A store in memory for tests of rows. It is opened once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.connection import FileConnector


@dataclass(frozen=True)
class HeldConnector(FileConnector):
    """Connections to one database in memory, each with its own transactions."""

    path: Path = Path("in memory")
    connection: duckdb.DuckDBPyConnection = field(kw_only=True)

    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        if not self.connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchall():
            prepare(self.connection)

    @contextmanager
    def connect(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        del read_only
        with self.connection.cursor() as another:
            yield another
