"""The warehouse as a Dagster resource.

What belongs here: the resource that users configure. What does not: anything that works without
Dagster. Of this package only this module and io_manager.py import Dagster.

The resource is configured and asked for connections like the stock one, so that whatever takes one
takes this one. It differs where the stock resource (dagster-duckdb 0.29) would lose work:

- `get_connection` there has no try/finally: when the body raises, the connection, and with it
  DuckDB's lock on the file, lives as long as someone keeps the exception, which Dagster does. Here
  a connection is closed with its block, however that is left.
- It retries every IOException, a missing directory as patiently as a held lock, without jitter and
  for about 100 seconds. Here only a lock is waited for, with jitter, up to `lock_timeout_seconds`;
  everything else is said at once, with the path and a remedy.
- A connection here is at the newest schema: an older file is migrated, a newer one refused.

The UI shows docstrings of resources: theirs are one line.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
from dagster_duckdb import DuckDBResource
from pydantic import Field

from warehouse.connection import DEFAULT_LOCK_TIMEOUT_SECONDS, FileConnector, file_path
from warehouse.lake import SCHEME, Lake
from warehouse.store import Warehouse


class WarehouseResource(DuckDBResource):
    """The project's warehouse: a DuckDB file or a lake, opened late, closed with its block."""

    lock_timeout_seconds: float = Field(
        default=DEFAULT_LOCK_TIMEOUT_SECONDS,
        gt=0,
        description="How long to wait while another process has the file open, in seconds.",
    )

    @classmethod
    def _is_dagster_maintained(cls) -> bool:
        return False

    def store(self) -> Warehouse:
        """Return the warehouse. Nothing is opened until one of its methods is called."""
        if self.database.startswith(SCHEME):
            return Warehouse(Lake.told(self.database))
        return Warehouse(
            FileConnector(
                path=file_path(self.database),
                lock_timeout_seconds=self.lock_timeout_seconds,
                config=self.connection_config,
            )
        )

    @contextmanager
    def get_connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-write connection to the warehouse, and close it with the block.

        Keep the block short, and never wait for the network in it: nobody else can open the file.
        """
        with self.store().connection() as connection:
            yield connection
