"""A list of claims as a table: one claim a row, without a video.

What belongs here: the columns of such a table and what becomes of them, in and out. What does not:
what every format of stated claims has in common (claims.py), checking (running/claim_list.py).

The columns, in any order and case: `claim`; and where known `date` (2026-01-31: sources from that
day on are left out), `label` (of any scale of methods/scales.py), `speaker`, `language` and `id`.
Others are passed over.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from factible_assets.corpora.format import ClaimEntry
from factible_assets.exchange.claims import StatedClaim, StatedClaims
from factible_assets.methods.scales import stance_of_any
from resources.lines import FileProblem, PlacedError

COLUMNS: Final = ("claim", "date", "label", "speaker", "language", "id")
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


def read_claim_list(text: str, file: Path) -> StatedClaims:
    """Read a table of claims. A row that cannot be used is a problem with its line.

    Raises:
        PlacedError: There is no column `claim`.
    """
    reader = csv.DictReader(io.StringIO(text), dialect=_dialect(text))
    names = {name.strip().casefold(): name for name in reader.fieldnames or () if name}
    if "claim" not in names:
        raise PlacedError(
            1,
            f"There is no column claim, but {', '.join(names) or 'nothing'}. Name the column of "
            "the claims so in the first line.",
        )
    claims: list[StatedClaim] = []
    problems: list[FileProblem] = []
    for row in reader:
        line = reader.line_num
        told = {
            column: (row.get(names.get(column, "")) or "").strip() or None for column in COLUMNS
        }
        try:
            claims.append(_stated(told, line))
        except ValueError as error:
            problems.append(FileProblem(file, line, _sentence(error)))
    return StatedClaims(tuple(claims), tuple(problems))


def _dialect(text: str) -> type[csv.Dialect]:
    head = text.partition("\n")[0]
    delimiter = max((",", ";", "\t"), key=head.count)

    class Found(csv.excel):
        pass

    Found.delimiter = delimiter
    return Found


def _stated(told: Mapping[str, str | None], line: int) -> StatedClaim:
    label = told["label"]
    entry = ClaimEntry.model_validate(
        {
            "text": told["claim"] or "",
            "said_on": told["date"],
            "label": label,
            "stance": stance_of_any(label) if label else None,
            "speaker": told["speaker"],
        }
    )
    return StatedClaim(entry, line=line, key=told["id"], language=told["language"])


def _sentence(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        if first["loc"] == ("said_on",):
            return f"The date is {first['input']!r}. Write it as 2026-01-31, or leave it out."
        return "There is no claim in this row. Word it, or take the row out."
    return str(error)


def table_of(rows: Iterator[Mapping[str, object]]) -> str:
    """Write rows as CSV; no cell begins with what a spreadsheet takes for a formula."""
    listed = list(rows)
    written = io.StringIO()
    writer = csv.DictWriter(written, list(listed[0]) if listed else ["claim"])
    writer.writeheader()
    for row in listed:
        writer.writerow({name: _safe(value) for name, value in row.items()})
    return written.getvalue()


def _safe(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
