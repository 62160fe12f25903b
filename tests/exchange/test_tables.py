from __future__ import annotations

import csv
import io
from pathlib import Path

import duckdb
import polars as pl
import pytest

from factible_assets.exchange.tables import csv_of, write_tables
from tests.cli.stored import VIDEO_ID, store_sample
from warehouse.store import Warehouse


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return store_sample(tmp_path_factory.mktemp("home"))


def test_every_view_is_a_file_that_duckdb_and_polars_read_alike_and_is_replaced_as_a_whole(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    written, left_out = write_tables(warehouse, tmp_path)
    with warehouse.snapshot() as now:
        views = now.query("select view_name from duckdb_views() where not internal")["view_name"]
        filled = {each for each in views if not now.query(f"from {each} limit 1").is_empty()}
    assert {path.stem for path in written} == filled
    assert left_out == []
    assert set(tmp_path.iterdir()) == written.keys()
    for path, rows in written.items():
        frame = pl.read_parquet(path)
        assert frame.height == rows
        relation = duckdb.from_parquet(str(path))
        assert relation.columns == frame.columns
        assert len(relation.fetchall()) == rows
    verdicts = pl.read_parquet(tmp_path / "current_verdicts.parquet")
    stored = warehouse.query("from current_verdicts")
    assert verdicts.sort("claim_id").equals(stored.sort("claim_id"))

    (tmp_path / "current_claims.parquet").write_bytes(b"broken")
    assert write_tables(warehouse, tmp_path) == (written, left_out)
    assert pl.read_parquet(tmp_path / "current_claims.parquet").height == 5
    assert not list(tmp_path.glob(".*"))


def test_a_choice_of_videos_keeps_their_rows_and_leaves_out_what_is_over_all(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    chosen, left_out = write_tables(warehouse, tmp_path / "chosen", [VIDEO_ID])
    assert chosen[tmp_path / "chosen" / "current_verdicts.parquet"] == 5
    assert "source_scoreboard" in left_out
    other, _ = write_tables(warehouse, tmp_path / "other", ["another'; drop table claims"])
    assert other == {}
    assert list((tmp_path / "other").iterdir()) == []


def test_no_cell_of_a_table_is_a_formula() -> None:
    cells = ("=1", " \n+1", "a;;-1", "a\n\n \uff1d1", "\ta", "a - b", "a=b", "\n" * 100_000)
    _, row = csv.reader(io.StringIO(csv_of(["x"] * len(cells), [cells]).decode(), newline=""))
    safe = ["'=1", " \n'+1", "a;;'-1", "a\n\n '\uff1d1", "'\ta", "a - b", "a=b"]
    assert row[:-1] == safe


def test_tables_are_csv_too_without_formulas(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "said_before.csv").write_text("of an earlier export")
    written, _ = write_tables(warehouse, tmp_path, form="csv")
    with (tmp_path / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == written[tmp_path / "verdicts.csv"] == 5
    assert {row["verdict"] for row in rows} >= {"supported", "refuted", "incomplete"}
    assert not (tmp_path / "said_before.csv").exists()
