"""The warehouse as Dagster sees it: a DuckDBResource."""

import subprocess
import sys

import pytest
from dagster_duckdb import DuckDBResource

from factible_assets.pipeline.warehouse import WarehouseResource
from warehouse.store import Warehouse

OPEN = "import duckdb, sys; duckdb.connect(sys.argv[1]).close()"


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
