"""The warehouse in Dagster: the resource, and the IO manager by which outputs become sets.

What belongs here: the translation between Dagster and the store; of this package only this module
imports Dagster. What does not: anything that works without it.

The resource is configured and asked for connections like the stock one (dagster-duckdb 0.29), whose
connections live, with DuckDB's lock on the file, as long as someone keeps the exception that their
block raised, which Dagster does. Here a connection is closed with its block, only a lock is waited
for, and an older file is migrated.

An asset is stored under the last part of its key, a video under its partition key. The stock IO
manager deletes a partition and inserts it again in two transactions, so that a failed insert loses
the old rows; here a set is written in one, and older sets stay as history.

The UI shows docstrings of resources: theirs are one line.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import duckdb
from dagster import ConfigurableIOManager, InputContext, OutputContext
from dagster_duckdb import DuckDBResource

from factible_assets.rows import VideoRows
from warehouse.connection import FileConnector, file_path
from warehouse.errors import WarehouseError
from warehouse.lake import SCHEME, Lake
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse


class WarehouseResource(DuckDBResource):
    """The project's warehouse: a DuckDB file or a lake, opened late, closed with its block."""

    @classmethod
    def _is_dagster_maintained(cls) -> bool:
        return False

    def store(self) -> Warehouse:
        """Return the warehouse. Nothing is opened until one of its methods is called."""
        if self.database.startswith(SCHEME):
            return Warehouse(Lake.named(self.database))
        return Warehouse(
            FileConnector(path=file_path(self.database), config=self.connection_config)
        )

    @contextmanager
    def get_connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-write connection to the warehouse, and close it with the block.

        Keep the block short, and never wait for the network in it: nobody else can open the file.
        """
        with self.store().connection() as connection:
            yield connection


class WarehouseIOManager(ConfigurableIOManager):
    """Stores what an asset returns as a set; loads the current set for whoever takes it in."""

    warehouse: WarehouseResource

    def handle_output(self, context: OutputContext, obj: AssetRows) -> None:
        """Write the rows of one asset and video, in one transaction.

        Raises WarehouseError: The output is no `AssetRows`, or the store refuses it.
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
        tables = Counter(row.table for row in obj.rows)
        # Of a single table the row count says as much.
        by_table = {f"rows/{table}": count for table, count in sorted(tables.items())}
        context.add_output_metadata(
            {"dagster/row_count": written[0].row_count} | (by_table if len(by_table) > 1 else {})
        )

    def load_input(self, context: InputContext) -> VideoRows:
        """Return the current records of an upstream asset for the video of this partition.

        Raises NotMaterializedError: The upstream asset was never materialized for the video.
        """
        return self.warehouse.store().read_asset(
            context.asset_key.path[-1], context.asset_partition_key
        )
