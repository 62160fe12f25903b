"""The warehouse in Dagster: the resource, and the IO manager that stores outputs as sets.

The stock resource (dagster-duckdb 0.29) keeps a connection, and DuckDB's lock on the file, as long
as somebody keeps an exception of its block, which Dagster does. This one closes the connection with
the block and waits only for a lock. The stock IO manager deletes and
inserts a partition in two transactions, so a failed insert loses the old rows. This one writes a
set in one transaction and keeps older sets as history. The asset is the last part of its key, the
video is the partition key. The UI shows the docstrings of resources, so these have one line.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import duckdb
from dagster import ConfigurableIOManager, InputContext, OutputContext
from dagster_duckdb import DuckDBResource

from factible_assets.records.rows import VideoRows
from warehouse.connection import FileConnector, file_path
from warehouse.errors import WarehouseError
from warehouse.lake import SCHEME, Lake
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
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


class WarehouseIOManager(ConfigurableIOManager):
    """Stores the rows of an asset as a set, and loads the current set of an upstream asset."""

    warehouse: WarehouseResource

    def handle_output(self, context: OutputContext, obj: AssetRows) -> None:
        """Write the rows of one asset and video, in one transaction.

        Raises WarehouseError: The output is not `AssetRows`, or the store refuses it.
        """
        asset = context.asset_key.path[-1]
        if not isinstance(obj, AssetRows):
            raise WarehouseError(
                f"The asset {asset} returned a {type(obj).__name__}: only AssetRows are stored."
            )
        stamp = Stamp(run_id=context.run_id, checked_at=datetime.now(UTC))
        written = self.warehouse.store().write_assets(
            context.partition_key, {asset: obj}, stamp=stamp
        )
        context.add_output_metadata({"dagster/row_count": written[0].row_count})

    def load_input(self, context: InputContext) -> VideoRows:
        """Return the current records of an upstream asset for the video of this partition.

        Raises NotMaterializedError: The upstream asset was never materialized for the video.
        """
        return self.warehouse.store().read_asset(
            context.asset_key.path[-1], context.asset_partition_key
        )
