"""The warehouse as a Dagster IO manager: outputs become sets, inputs are current records.

What belongs here: the translation between Dagster's contexts and the store. What does not: anything
else. Of this package only this module and resource.py import Dagster.

An asset is stored under the last part of its key, a video under its partition key. The stock DuckDB
IO manager deletes a partition and inserts it again in two transactions, so that a failed insert
loses the old rows; here a set is written in one, and older sets stay as history.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

from collections import Counter
from datetime import UTC, datetime

from dagster import ConfigurableIOManager, Failure, InputContext, OutputContext

from factible_assets.rows import VideoRows
from warehouse.errors import NotMaterializedError, WarehouseError
from warehouse.resource import WarehouseResource
from warehouse.rows import Stamp
from warehouse.sets import AssetRows


class WarehouseIOManager(ConfigurableIOManager):
    """Stores what an asset returns as a set; loads the current set for whoever takes it in."""

    warehouse: WarehouseResource

    def handle_output(self, context: OutputContext, obj: AssetRows) -> None:
        """Write the rows of one asset and video, in one transaction.

        Raises:
            WarehouseError: The output is no `AssetRows`, or the store refuses it.
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
        context.add_output_metadata(
            {
                "dagster/row_count": written[0].row_count,
                **{f"rows/{table}": count for table, count in sorted(tables.items())},
            }
        )

    def load_input(self, context: InputContext) -> VideoRows:
        """Return the current records of an upstream asset for the video of this partition.

        Raises:
            Failure: The upstream asset was never materialized for the video, or the run is of no
                video; not to be retried.
        """
        asset = context.asset_key.path[-1]
        if not context.has_partition_key:
            # Dagster's UI starts checks alone without asking for a partition.
            raise Failure(
                description=f"The {asset} of which video? Checks are made whenever a video is "
                "materialized: choose its partition and materialize it.",
                allow_retries=False,
            )
        try:
            return self.warehouse.store().read_asset(asset, context.asset_partition_key)
        except NotMaterializedError as missing:
            raise Failure(description=str(missing), allow_retries=False) from missing
