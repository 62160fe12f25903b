"""Exports the views of a warehouse as Parquet and CSV files, and rows as CSV.

Rows pass through in batches, because the page texts of a warehouse may not fit into memory. A file
gets its name only when it is complete.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import date, time, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic_core import to_jsonable_python

from resources.statements import statements

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.store import Warehouse

_BATCH_ROWS: Final = 5_000
_START: Final = re.compile(r"((?:^|[;\t\r\n])[\s\x00;]*+)([=+\-@\uff1d\uff0b\uff0d\uff20]?)")
"""The start of a cell, also for a spreadsheet that splits cells at semicolons, and the sign of a
formula there. It matches without a sign too, to read a long run of spaces only once.

Source: OWASP, CSV Injection, https://owasp.org/www-community/attacks/CSV_Injection.
"""


def csv_of(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Write rows as CSV: structures as JSON, times and durations as ISO 8601, no cell a formula."""
    lines: list[str] = []
    # The csv module quotes a cell with either character only if both are the line end.
    to_lines = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n")))
    writer = csv.writer(to_lines, lineterminator="\r\n")
    writer.writerow(map(_without_formula, names))
    writer.writerows(map(_cell, row) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _without_formula(text: str) -> str:
    text = _START.sub(lambda start: f"{start[1]}'{start[2]}" if start[2] else start[0], text)
    return f"'{text}" if text.startswith(("\t", "\r")) else text


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return _without_formula(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple | dict):
        return json.dumps(with_text_keys(value), ensure_ascii=False, default=str)
    if isinstance(value, timedelta):
        return to_jsonable_python(value)
    return value.isoformat() if isinstance(value, date | time) else value


def with_text_keys(value: Any) -> Any:
    """Return a value of DuckDB for JSON, which allows only text as keys of a map."""
    if isinstance(value, dict):
        return {str(key): with_text_keys(item) for key, item in value.items()}
    return [with_text_keys(item) for item in value] if isinstance(value, list | tuple) else value


TableFormat: TypeAlias = Literal["parquet", "csv"]


def write_tables(
    warehouse: Warehouse,
    folder: Path,
    video_ids: Collection[str] | None = None,
    form: TableFormat = "parquet",
) -> tuple[dict[Path, int], list[str]]:
    """Write every view with rows as `folder/NAME.FORM`; return the rows, and the omitted views.

    Existing files are replaced; those of views without rows are deleted. For a selection of videos
    it omits views over all videos, such as the scoreboard of sources, because a part of them would
    be misleading.

    Raises:
        WarehouseError: the warehouse cannot be opened.
        OSError: a file cannot be written; files already written stay.
    """
    write = _write_parquet if form == "parquet" else _write_csv
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[Path, int] = {}
    left_out: list[str] = []
    selection = {} if video_ids is None else {"video_ids": list(video_ids)}
    with warehouse.connection(read_only=True) as connection:
        sql = statements("factible_assets.exchange", "tables.sql")
        for name, has_video in connection.execute(sql["views"]).fetchall():
            if selection and not has_video:
                left_out.append(name)
                continue
            # Identifiers cannot be parameters.
            view = '"{}"'.format(name.replace('"', '""'))
            query = sql["rows_of_videos" if selection else "every_row"].format(view=view)
            batches = connection.execute(query, selection).to_arrow_reader(_BATCH_ROWS)
            path, unfinished = folder / f"{name}.{form}", folder / f".{name}.{form}.unfinished"
            try:
                if rows := write(batches, unfinished):
                    unfinished.replace(path)
                    written[path] = rows
                else:
                    path.unlink(missing_ok=True)
            finally:
                unfinished.unlink(missing_ok=True)
    return written, left_out


def _write_parquet(batches: pa.RecordBatchReader, path: Path) -> int:
    # Loaded here, because it takes most of a second.
    import pyarrow.parquet as pq  # noqa: PLC0415

    rows = 0
    with pq.ParquetWriter(path, batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_csv(batches: pa.RecordBatchReader, path: Path) -> int:
    names, rows = batches.schema.names, 0
    heading = csv_of(names, ())
    with path.open("wb") as file:
        file.write(heading)
        for batch in batches:
            cells = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            file.write(csv_of(names, cells)[len(heading) :])
            rows += batch.num_rows
    return rows
