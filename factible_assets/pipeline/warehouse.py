"""The warehouse as a Dagster resource.

The stock resource (dagster-duckdb 0.29) keeps a connection, and DuckDB's lock on the file, as long
as somebody keeps an exception of its block, which Dagster does. This one closes the connection with
the block and waits only for a lock. The assets write their rows through it, because an IO manager
would write each asset in a transaction of its own.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
from dagster_duckdb import DuckDBResource

from warehouse.connection import FileConnector, file_path
from warehouse.lake import SCHEME, Lake
from warehouse.store import Warehouse


class WarehouseResource(DuckDBResource):
    """The project's warehouse: a DuckDB file or a lake, open only within a block."""

    @classmethod
    def _is_dagster_maintained(cls) -> bool:
        return False

    def store(self) -> Warehouse:
        """Return the warehouse; its methods open it."""
        if self.database.startswith(SCHEME):
            return Warehouse(Lake.named(self.database))
        return Warehouse(
            FileConnector(path=file_path(self.database), config=self.connection_config)
        )

    @contextmanager
    def get_connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-write connection within a block.

        Keep the block short and never wait for the network in it: it locks the file.
        """
        with self.store().connection() as connection:
            yield connection
