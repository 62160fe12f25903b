"""A store in memory that is opened once, for tests of what is in it and not of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb


@dataclass
class HeldConnector:
    """Connections to one database in memory, each with transactions of its own."""

    connection: duckdb.DuckDBPyConnection
    path: Path = Path("in memory")
    is_new: bool = True

    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        if self.is_new:
            prepare(self.connection)
            self.is_new = False

    @contextmanager
    def connect(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        del read_only
        with self.connection.cursor() as another:
            yield another
