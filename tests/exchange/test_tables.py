from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

from factible_assets.exchange.tables import write_tables
from tests.cli.stored import VIDEO_ID, store_sample
from warehouse.store import Warehouse


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return store_sample(tmp_path_factory.mktemp("home"))


def test_every_view_is_a_file_that_duckdb_and_polars_read_alike(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    done = write_tables(warehouse, tmp_path)
    views = warehouse.query("select view_name from duckdb_views() where not internal")
    assert [table.name for table in done.written] == sorted(views["view_name"].to_list())
    assert done.left_out == ()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{table.name}.parquet" for table in done.written}
    for table in done.written:
        frame = pl.read_parquet(table.path)
        assert frame.height == table.rows
        relation = duckdb.from_parquet(str(table.path))
        assert relation.columns == frame.columns
        assert len(relation.fetchall()) == table.rows
    verdicts = pl.read_parquet(tmp_path / "current_verdicts.parquet")
    stored = warehouse.query("from current_verdicts")
    assert verdicts.sort("claim_id").equals(stored.sort("claim_id"))


def test_a_choice_of_videos_keeps_their_rows_and_leaves_out_what_is_over_all(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    chosen = write_tables(warehouse, tmp_path / "chosen", [VIDEO_ID])
    assert {table.name: table.rows for table in chosen.written}["current_verdicts"] == 5
    assert "source_scoreboard" in chosen.left_out
    other = write_tables(warehouse, tmp_path / "other", ["another'; drop table claims"])
    assert {table.rows for table in other.written} == {0}


def test_writing_again_replaces_the_files_and_leaves_nothing_beside_them(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    first = write_tables(warehouse, tmp_path)
    (tmp_path / "current_claims.parquet").write_bytes(b"broken")
    assert write_tables(warehouse, tmp_path) == first
    assert pl.read_parquet(tmp_path / "current_claims.parquet").height == 5
    assert not list(tmp_path.glob(".*"))
