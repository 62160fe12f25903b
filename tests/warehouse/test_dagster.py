"""The warehouse as Dagster sees it: a DuckDBResource, and an IO manager of whole sets."""

# No `from __future__ import annotations`: Dagster reads the annotations of assets as types.

import subprocess
import sys

import pytest
from dagster import (
    DagsterInstance,
    ExecuteInProcessResult,
    StaticPartitionsDefinition,
    asset,
    materialize,
)
from dagster_duckdb import DuckDBResource

from factible_assets.pipeline.warehouse import WarehouseIOManager, WarehouseResource
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, Query
from tests.warehouse.samples import asset_rows, claim, query
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

VIDEOS = StaticPartitionsDefinition(["v", "-w"])
OPEN = "import duckdb, sys; duckdb.connect(sys.argv[1]).close()"


@asset(partitions_def=VIDEOS)
def claims(context) -> AssetRows:  # type: ignore[no-untyped-def]
    return asset_rows(claim(context.partition_key), claim(context.partition_key, 2))


@asset(partitions_def=VIDEOS)
def queries(context, claims: VideoRows) -> AssetRows:  # type: ignore[no-untyped-def]
    assert [row.rank for row in claims.claims] == [1, 2]
    return asset_rows(*(query(context.partition_key, row.rank) for row in claims.claims))


def run(warehouse: Warehouse, selection: str, video_id: str) -> ExecuteInProcessResult:
    resource = WarehouseResource(database=str(warehouse.path))
    with DagsterInstance.ephemeral() as instance:
        return materialize(
            [claims, queries],
            selection=selection,
            partition_key=video_id,
            resources={"io_manager": WarehouseIOManager(warehouse=resource)},
            instance=instance,
        )


def test_an_output_is_stored_as_the_set_of_its_partition_and_loaded_by_the_next_run(
    warehouse: Warehouse,
) -> None:
    first = run(warehouse, "claims", "-w")
    (event,) = first.asset_materializations_for_node("claims")
    assert event.metadata["dagster/row_count"].value == 2
    assert run(warehouse, "queries", "-w").success
    assert warehouse.read_current(Query, "-w") == [query("-w", 1), query("-w", 2)]
    current = warehouse.current_sets("-w").get("claims")
    assert current is not None
    assert current.run_id == first.run_id
    assert warehouse.read_current(Claim, "v") == []


def test_the_resource_is_the_type_that_the_ecosystem_configures(warehouse: Warehouse) -> None:
    resource = WarehouseResource(database=str(warehouse.path))
    assert isinstance(resource, DuckDBResource)
    with resource.get_connection() as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchall() == [(0,)]
    assert resource.store().path == warehouse.path


def test_the_resource_lets_go_of_the_file_when_the_body_raises(warehouse: Warehouse) -> None:
    resource = WarehouseResource(database=str(warehouse.path))
    with pytest.raises(RuntimeError) as kept, resource.get_connection():
        raise RuntimeError
    opened = subprocess.run([sys.executable, "-c", OPEN, str(warehouse.path)], check=False)
    assert opened.returncode == 0
    assert kept.value is not None
