"""Reading the rows of sets, and the texts that they share, over an open connection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import duckdb

from factible_assets.records import tables as records
from factible_assets.records.rows import Materialization, VideoRows
from resources.statements import statements
from warehouse.rows import AnyRecord, aware, from_row, to_utc

_SQL = statements("warehouse", "reading.sql")


def read_rows(
    connection: duckdb.DuckDBPyConnection,
    question: str,
    record: type[AnyRecord],
    *,
    view: str = "",
    key: str = "",
    **values: Any,
) -> list[AnyRecord]:
    """Run a query of reading.sql with some values, and return its rows of one class."""
    sql = _SQL[question].format(
        columns=", ".join(record.model_fields),
        table=record.table,
        view=view or record.view,
        order=", ".join(record.order),
        key=key,
    )
    return [from_row(record, row) for row in connection.execute(sql, values).fetchall()]


def read_sets(
    connection: duckdb.DuckDBPyConnection, sets: dict[str, Materialization], *, current: bool
) -> VideoRows:
    """Read the rows of some sets. If they are current, a verdict may come from an older set."""
    rows: list[records.Record] = []
    calls: dict[str, list[records.LlmCall]] = {}
    for asset, written in sets.items():
        # DuckDB finds a set by its run at once.
        key = {"video_id": written.video_id, "run_id": written.run_id}
        for record in records.ASSET_RECORDS[asset]:
            if record is records.LlmCall:
                # All stages of a run share one table of model calls.
                if written.run_id not in calls:
                    of_run = read_rows(connection, "calls_of_run", records.LlmCall, **key)
                    calls[written.run_id] = of_run
                rows += (call for call in calls[written.run_id] if call.stage == asset)
            elif record is records.Verdict and current:
                rows += read_rows(connection, "current", record, video_id=written.video_id)
            elif record is not records.PageText:
                moment = to_utc(written.checked_at)
                rows += read_rows(connection, "of_run", record, checked_at=moment, **key)
    if "evidence" in sets:
        hashes = (
            row.content_hash for row in rows if isinstance(row, records.Page | records.Evidence)
        )
        texts = stored_texts(connection, filter(None, hashes))
        rows += (
            records.PageText(content_hash=key, text=text) for key, text in sorted(texts.items())
        )
    return VideoRows.of(rows, sets=sets)


def find_sets(
    connection: duckdb.DuckDBPyConnection, question: str, **values: str
) -> dict[str, Materialization]:
    """Run a query of reading.sql with some values, and return the sets that it finds, by asset."""
    columns = ", ".join(field.name for field in fields(Materialization))
    rows = connection.execute(_SQL[question].format(columns=columns), values).fetchall()
    sets = (Materialization(*map(aware, row)) for row in rows)
    return {written.asset: written for written in sets}


def has_one_run(connection: duckdb.DuckDBPyConnection, video_id: str) -> bool:
    """Return whether all sets of a video are of one run, so that its verdicts and evidence stand.

    The views that look for older ones take a quarter of the time of reading a video.
    """
    ((count,),) = connection.execute(_SQL["runs"], {"video_id": video_id}).fetchall()
    return bool(count == 1)


def stored_texts(connection: duckdb.DuckDBPyConnection, hashes: Iterable[str]) -> dict[str, str]:
    """Return the stored texts by content hash, without the hashes that have none."""
    wanted = list(dict.fromkeys(hashes))
    if not wanted:
        return {}
    # One placeholder per hash: for an unnested list, DuckDB would read every hash.
    sql = _SQL["texts"].format(places=", ".join("?" for _ in wanted))
    return dict(connection.execute(sql, wanted).fetchall())
