"""A store of another schema version is refused, and an older one can be upgraded."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from factible_assets.records.tables import Claim
from tests.warehouse.older import SCHEMA_31, assert_is_upgraded
from tests.warehouse.samples import stamp, write_asset
from warehouse import upkeep
from warehouse.errors import WarehouseError, WarehouseTooNewError, WarehouseTooOldError
from warehouse.store import Warehouse
from warehouse.upkeep import MovedTable, upgrade
from warehouse.versions import packaged_comments, packaged_schema


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    monkeypatch.setattr(upkeep, "_GRACE_SECONDS", 0.0)  # Nobody else has the file open.
    path = tmp_path / "it's old.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(SCHEMA_31)
    return Warehouse(path)


def test_an_older_file_is_refused_and_the_message_names_the_command(old: Warehouse) -> None:
    with pytest.raises(WarehouseTooOldError, match=r"version 31.* Run: factible upgrade"):
        old.query("SELECT 1")


def test_an_upgrade_keeps_all_rows_and_the_old_file(old: Warehouse) -> None:
    heard: list[MovedTable] = []
    kept = upgrade(old, heard.append)
    assert {each.table: each.rows for each in heard}["claims"] == 1
    assert_is_upgraded(old)
    assert kept is not None
    with duckdb.connect(kept) as connection:
        assert connection.execute("SELECT text FROM claims").fetchall() == [("Bees sleep.",)]
    assert upgrade(old, heard.append) is None


def test_an_upgrade_carries_the_verdicts_over_to_the_table_of_today(old: Warehouse) -> None:
    table = packaged_schema().tables.partition("CREATE TABLE verdict_history (")[2]
    with duckdb.connect(old.path) as connection:
        connection.execute(f"CREATE TABLE verdicts ({table.partition(');')[0]})")
        connection.execute(
            "INSERT INTO verdicts BY NAME SELECT 'c' AS claim_id, 'v' AS video_id, 1 AS rank, "
            "'incomplete' AS status, 'infra_error' AS evidence_status, 'It was down.' AS reason, "
            "'' AS summary, false AS disagreement, 0 AS evidence_quality, 0 AS supporting, "
            "0 AS refuting, 0 AS mixed, 0 AS unclear, 0 AS independent_origins, 1 AS missing, "
            "'llm' AS basis, 'r' AS run_id, now() AS checked_at"
        )
    upgrade(old, lambda _: None)
    assert old.query("SELECT claim_id, reason FROM verdict_history").rows() == [
        ("c", "It was down.")
    ]


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(old: Warehouse) -> None:
    with duckdb.connect(old.path) as connection:
        connection.execute("UPDATE claims SET importance = 2")
    with pytest.raises((WarehouseError, duckdb.ConstraintException)):
        upgrade(old, lambda _: None)
    with pytest.raises(WarehouseTooOldError):
        old.query("SELECT 1")
    assert [each.name for each in old.path.parent.iterdir()] == [old.path.name]


def test_a_newer_file_is_refused_and_left_alone(warehouse: Warehouse) -> None:
    with duckdb.connect(warehouse.path) as connection:
        connection.execute("UPDATE schema_version SET version = version + 1")
    with pytest.raises(WarehouseTooNewError, match="Install the newer version"):
        warehouse.query("SELECT 1")
    with pytest.raises(WarehouseTooNewError):
        write_asset(warehouse, "claims", "v", [], stamp=stamp(1), code_version="1")
    with pytest.raises(WarehouseTooNewError):
        upgrade(warehouse, lambda _: None)


def test_changed_views_are_replaced_even_if_the_process_is_killed(warehouse: Warehouse) -> None:
    warehouse.query("SELECT 1")
    # It ends before the file is closed: DuckDB has to replay its log.
    killed = (
        "import os, sys\n"
        "from dataclasses import replace\n"
        "from warehouse.versions import Schema, packaged_schema\n"
        "from warehouse.store import Warehouse\n"
        "apply = Schema.apply\n"
        "Schema.apply = lambda *given: (apply(*given), os._exit(9))\n"
        "whole = packaged_schema()\n"
        'view = "CREATE OR REPLACE VIEW failures AS SELECT 1 AS one"\n'
        "changed = replace(whole, views=(*whole.views, view))\n"
        "Warehouse(sys.argv[1], schema=changed).query('SELECT 1')"
    )
    done = subprocess.run([sys.executable, "-c", killed, str(warehouse.path)], check=False)
    assert done.returncode == 9
    with duckdb.connect(warehouse.path, read_only=True) as connection:
        assert connection.execute("FROM failures").fetchall() == [(1,)]
    assert warehouse.query("SELECT asset FROM failures").is_empty()


def test_new_views_replace_those_of_the_project_and_keep_those_of_a_person(
    warehouse: Warehouse,
) -> None:
    whole = packaged_schema()
    view = "CREATE VIEW gone AS SELECT 1 AS one; COMMENT ON VIEW gone IS 'One.'"
    Warehouse(warehouse.path, schema=replace(whole, views=(*whole.views, view))).query("FROM gone")
    with duckdb.connect(warehouse.path) as connection:
        connection.execute("CREATE VIEW mine AS FROM claims")
    warehouse.query("FROM mine")
    with pytest.raises(duckdb.CatalogException):
        warehouse.query("FROM gone")


def test_a_schema_that_fails_leaves_no_half_made_file(tmp_path: Path) -> None:
    broken = replace(packaged_schema(), tables="CREATE TABLE half (id INTEGER); FROM missing")
    path = tmp_path / "warehouse.duckdb"
    with pytest.raises(duckdb.CatalogException):
        Warehouse(path, schema=broken).query("SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_up_to_date_is_not_written_to(warehouse: Warehouse) -> None:
    before = warehouse.path.stat()
    warehouse.query("SELECT 1")
    warehouse.read_current(Claim, "v")
    after = warehouse.path.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)


def test_the_comments_that_are_read_from_the_sql_are_those_of_the_warehouse(
    warehouse: Warehouse,
) -> None:
    tables = warehouse.query("SELECT table_name, comment FROM duckdb_tables() WHERE comment <> ''")
    columns = warehouse.query(
        "SELECT table_name || '.' || column_name, columns.comment FROM duckdb_columns() AS columns "
        "SEMI JOIN duckdb_tables() USING (table_name) WHERE columns.comment <> ''"
    )
    assert packaged_comments() == dict([*tables.rows(), *columns.rows()])
