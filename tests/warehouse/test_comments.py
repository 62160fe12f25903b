"""What describes a table without opening a warehouse says what the warehouse says."""

from __future__ import annotations

from warehouse.migrations import packaged_comments
from warehouse.store import Warehouse


def test_a_table_and_a_column_are_described_as_the_warehouse_describes_them(
    warehouse: Warehouse,
) -> None:
    tables = warehouse.query("SELECT table_name, comment FROM duckdb_tables() WHERE comment <> ''")
    columns = warehouse.query(
        "SELECT table_name || '.' || column_name, columns.comment FROM duckdb_columns() AS columns "
        "SEMI JOIN duckdb_tables() USING (table_name) WHERE columns.comment <> ''"
    )
    assert packaged_comments() == dict([*tables.rows(), *columns.rows()])
