"""Tables for other programs: the views of a warehouse as Parquet files, and rows as CSV.

What belongs here: one file per view, for all videos or some; cells that are no formulas. What does
not: which warehouse, which videos (cli/report.py), what the views say (warehouse/views).

Rows pass through in batches, so that a warehouse full of page texts does not have to fit into
memory, and a file takes its name only when it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import polars.selectors as cs

from resources.statements import statements

if TYPE_CHECKING:
    from warehouse.store import Warehouse

_BATCH_ROWS: Final = 5_000
_FORMULA: Final = r"(^|[;\t\r\n])([\s\x00]*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]|^[\t\r])"
"""Where one could begin, also for a spreadsheet that splits cells at semicolons (OWASP, CSV
Injection: https://owasp.org/www-community/attacks/CSV_Injection)."""


def csv_of(frame: pl.DataFrame) -> bytes:
    """Write rows as CSV: structures as JSON, durations as ISO 8601, no cell a formula."""
    in_json = partial(json.dumps, ensure_ascii=False, default=_plain)
    nested = cs.nested().map_elements(in_json, return_dtype=pl.String)
    safe = cs.string().str.replace_all(_FORMULA, "${1}'${2}")
    plain = frame.with_columns(nested, cs.duration().dt.to_string())
    return plain.with_columns(safe).write_csv().encode()


def _plain(value: Any) -> Any:
    return value.to_list() if isinstance(value, pl.Series) else str(value)


def write_tables(
    warehouse: Warehouse, folder: Path, video_ids: Collection[str] | None = None
) -> tuple[dict[Path, int], list[str]]:
    """Write every view as `folder/NAME.parquet`; return the rows of each, and what is left out.

    Files of the same names are replaced. For some videos alone, views over all videos, such as the
    scoreboard of sources, are left out: part of them would be another answer.

    Raises:
        WarehouseError: the warehouse cannot be opened.
        OSError: a file cannot be written; files that were written stay.
    """
    # Loaded here, because it takes most of a second.
    import pyarrow.parquet as pq  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    written: dict[Path, int] = {}
    left_out: list[str] = []
    chosen = {} if video_ids is None else {"video_ids": list(video_ids)}
    with warehouse.connection(read_only=True) as connection:
        ask = statements("factible_assets.exchange", "tables.sql")
        for name, by_video in connection.execute(ask["views"]).fetchall():
            if chosen and not by_video:
                left_out.append(name)
                continue
            # Identifiers take no parameters.
            view = '"{}"'.format(name.replace('"', '""'))
            question = ask["rows_of_videos" if chosen else "every_row"].format(view=view)
            batches = connection.execute(question, chosen).to_arrow_reader(_BATCH_ROWS)
            path, unfinished = folder / f"{name}.parquet", folder / f".{name}.parquet.unfinished"
            rows = 0
            try:
                with pq.ParquetWriter(unfinished, batches.schema, compression="zstd") as writer:
                    for batch in batches:
                        writer.write_batch(batch)
                        rows += batch.num_rows
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)
            written[path] = rows
    return written, left_out
