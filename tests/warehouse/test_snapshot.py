"""Joint reads are from one moment, also while other runs write."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from factible_assets.exchange.averitec import averitec_of_results
from factible_assets.report.data import read_report_data
from factible_assets.report.writing import publish_report
from factible_assets.runs.result import StoredVideo
from factible_assets.settings import Settings
from tests.warehouse.samples import claim, fact_check, stamp, write_asset
from warehouse.connection import FileConnector
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

Openings = Callable[[], int]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made = Warehouse(tmp_path / "warehouse.duckdb")
    made.write_assets("v", fact_check("v"), stamp=stamp(1))
    return made


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch, warehouse: Warehouse) -> Openings:
    """Count how often the file is opened; before each opening but the first another run writes."""
    connect = FileConnector.connect
    opened = 0

    @contextmanager
    def counted(self: FileConnector, *, read_only: bool = False) -> Iterator[Any]:
        nonlocal opened
        opened += 1
        if opened > 1:
            with monkeypatch.context() as plain:
                plain.setattr(FileConnector, "connect", connect)
                other = {"claims": [claim("v", 100 + opened)], "verdicts": []}
                for asset, rows in other.items():
                    write_asset(warehouse, asset, "v", rows, stamp=stamp(opened), code_version="1")
        with connect(self, read_only=read_only) as connection:
            yield connection

    monkeypatch.setattr(FileConnector, "connect", counted)
    return lambda: opened


def test_a_report_is_of_one_moment(warehouse: Warehouse, openings: Openings) -> None:
    data = read_report_data(warehouse, "v")
    assert data is not None
    assert {each.claim_id for each in data.verdicts} == {each.claim_id for each in data.claims}
    assert {each.claim_id for each in data.evidence} <= {each.claim_id for each in data.claims}
    assert data.verdicts
    assert openings() == 1


def test_a_report_and_the_index_beside_it_are_of_one_moment(
    warehouse: Warehouse, openings: Openings, tmp_path: Path
) -> None:
    assert publish_report(warehouse, tmp_path, "v") is not None
    assert openings() == 1
    assert "not judged yet" not in (tmp_path / "index.html").read_text("utf-8")


def test_the_result_of_a_check_is_of_one_moment(
    warehouse: Warehouse, openings: Openings, tmp_path: Path
) -> None:
    shown = StoredVideo("v", Settings(home=tmp_path)).result()
    assert shown is not None
    assert {each.claim_id for each in shown.data.claims_by_time} == shown.data.verdict_of.keys()
    assert openings() == 1


def test_several_answers_of_a_snapshot_are_of_one_moment(
    warehouse: Warehouse, openings: Openings
) -> None:
    with warehouse.snapshot() as now:
        count = "SELECT count(DISTINCT run_id) AS runs FROM materializations"
        before = now.query(count).item()
        data = [each for each in [read_report_data(now, "v")] if each is not None]
        assert json.loads(averitec_of_results(data).text)
        assert now.query(count).item() == before == 1
    assert openings() == 1


def test_a_snapshot_is_never_written(warehouse: Warehouse) -> None:
    with warehouse.snapshot() as now, pytest.raises(WarehouseError, match="cannot be written"):
        write_asset(now, "claims", "v", [], stamp=stamp(2), code_version="1")
    assert len(warehouse.read_video("v").claims) == 2
