"""The tables agree with the record classes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import duckdb
import polars as pl
import pytest
from pydantic.fields import FieldInfo

from factible_assets.records.tables import ALL_RECORDS, Record
from tests.warehouse.samples import asset_rows, fact_check, media_finding, stamp
from warehouse.rows import columns_of
from warehouse.sets import KEYS
from warehouse.store import Warehouse

BOOKKEEPING = {
    *KEYS,
    "materializations",
    "metrics",
    "recheck_settings",
    "schema_version",
    "trimmed_texts",
}
STAMP = [("run_id", "VARCHAR", False), ("checked_at", "TIMESTAMP WITH TIME ZONE", False)]


@pytest.fixture(scope="module")
def columns(empty_file: Path) -> pl.DataFrame:
    return Warehouse(empty_file).query(
        "SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns() "
        "WHERE NOT internal ORDER BY table_name, column_index"
    )


@pytest.fixture(scope="module")
def checks(empty_file: Path) -> pl.DataFrame:
    return Warehouse(empty_file).query(
        "SELECT table_name, constraint_text FROM duckdb_constraints() "
        "WHERE constraint_type = 'CHECK'"
    )


@pytest.mark.parametrize("record", ALL_RECORDS, ids=lambda record: record.table)
def test_a_table_has_the_columns_types_and_nulls_of_its_record(
    columns: pl.DataFrame, record: type[Record]
) -> None:
    found = columns.filter(pl.col("table_name") == record.table)
    expected = [(column.name, column.sql_type, column.nullable) for column in columns_of(record)]
    rows = found.select("column_name", "data_type", "is_nullable").rows()
    assert rows == expected + STAMP


def test_there_is_a_table_for_every_record_and_no_other(warehouse: Warehouse) -> None:
    tables = set(warehouse.query("SELECT table_name FROM duckdb_tables()")["table_name"])
    assert tables == {record.table for record in ALL_RECORDS} | BOOKKEEPING


def test_every_table_has_a_current_view_that_starts_with_its_columns(columns: pl.DataFrame) -> None:
    named = {
        table: list(rows["column_name"])
        for (table,), rows in columns.group_by(["table_name"], maintain_order=True)
    }
    for record in ALL_RECORDS:
        table, view = named[record.table], named[record.view]
        assert view[: len(table)] == table


def test_every_table_view_and_column_is_commented(
    warehouse: Warehouse, columns: pl.DataFrame
) -> None:
    bare = warehouse.query(
        "SELECT table_name FROM duckdb_tables() WHERE comment IS NULL UNION ALL "
        "SELECT view_name FROM duckdb_views() WHERE comment IS NULL AND NOT internal"
    )
    assert bare.rows() == []
    assert columns.filter(pl.col("comment").is_null()).rows() == []


def _vocabularies() -> Iterator[tuple[str, str, set[str]]]:
    for record in ALL_RECORDS:
        for name, field in record.model_fields.items():
            values = _literals(field.annotation)
            if values:
                yield record.table, name, values


def _literals(annotation: Any) -> set[str]:
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return {value for part in get_args(annotation) for value in _literals(part)}


@pytest.mark.parametrize(("table", "column", "values"), list(_vocabularies()))
def test_a_vocabulary_in_sql_is_that_of_the_record(
    checks: pl.DataFrame, table: str, column: str, values: set[str]
) -> None:
    listed = [
        set(re.findall(r"'([^']*)'", text))
        for text in checks.filter(pl.col("table_name") == table)["constraint_text"]
        if re.match(rf"CHECK\(\({column} IN \(", text)
    ]
    assert listed == [values]


def _violations() -> Iterator[tuple[str, str, Any]]:
    for record in ALL_RECORDS:
        for name, field in record.model_fields.items():
            yield from ((record.table, name, value) for value in _outside(field))


def _outside(field: FieldInfo) -> Iterator[Any]:
    bounds = _bounds(field)
    is_float = float in _parts(field.annotation)
    step: float = 0.001 if is_float else 1
    if "ge" in bounds:
        yield bounds["ge"] - step
    if "le" in bounds:
        yield bounds["le"] + step
    if is_float:
        yield from (math.inf, math.nan)
    if "min_length" in bounds:
        yield ""
    if "max_length" in bounds:
        yield "x" * (int(bounds["max_length"]) + 1)


def _parts(annotation: Any) -> set[Any]:
    return {annotation} | {part for arg in get_args(annotation) for part in _parts(arg)}


def _bounds(field: FieldInfo) -> dict[str, float]:
    found: dict[str, float] = {}
    nested = [part for part in _parts(field.annotation) if isinstance(part, FieldInfo)]
    for info in [field, *nested]:
        for rule in info.metadata:
            for name in ("ge", "le", "min_length", "max_length"):
                if hasattr(rule, name):
                    found[name] = getattr(rule, name)
    return found


def _accepted(warehouse: Warehouse, changes: Iterable[tuple[str, Sequence[Any]]]) -> list[Any]:
    """The changes that no CHECK stands against, of those that are tried on a whole fact-check."""
    sets = {**fact_check("v"), "media": asset_rows(media_finding("v"))}
    warehouse.write_assets("v", sets, stamp=stamp(1))
    refusals = []
    with warehouse.connection() as connection:
        for change, values in changes:
            try:
                connection.execute(change, values)
                refusals.append((change, values, "accepted"))
            except duckdb.ConstraintException as refusal:
                refusals.append((change, values, str(refusal)))
    return [one for one in refusals if "CHECK constraint failed" not in one[2]]


def test_the_database_refuses_what_a_record_refuses(warehouse: Warehouse) -> None:
    cases = [
        (f"UPDATE {table} SET {column} = ?", [value])  # noqa: S608
        for table, column, value in _violations()
    ]
    assert len(cases) > 100
    assert _accepted(warehouse, cases) == []


def test_the_database_keeps_the_rules_between_columns(warehouse: Warehouse) -> None:
    changes = [
        "UPDATE evidence SET stance = NULL",
        "UPDATE evidence SET status = 'infra_error', reason = 'x'",
        "UPDATE evidence SET status = 'no_evidence', stance = NULL",
        "UPDATE evidence SET quote_start = NULL",
        "UPDATE evidence SET quote = NULL",
        "UPDATE verdict_history SET stance = NULL",
        "UPDATE verdict_history SET confidence = NULL",
        "UPDATE verdict_history SET status = 'incomplete', reason = 'x'",
        "UPDATE verdict_history SET status = 'incomplete', stance = NULL, confidence = NULL",
        "UPDATE pages SET content_hash = NULL",
        "UPDATE pages SET status = 'infra_error'",
        "UPDATE claims SET char_end = char_start",
        "UPDATE claims SET match_score = NULL",
        "UPDATE claims SET char_start = NULL, char_end = NULL, match_score = NULL",
        "UPDATE transcript_segments SET char_start = char_end + 1",
    ]
    assert _accepted(warehouse, [(change, []) for change in changes]) == []
