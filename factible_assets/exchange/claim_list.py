"""A list of claims as a table: one claim a row, without a video.

What belongs here: the columns of such a table and what becomes of them, in and out. What does not:
what every format of stated claims has in common (claims.py), checking (running/check.py).

The columns, in any order and case: `claim`; and where known `date` (2026-01-31: sources from that
day on are left out), `label` (of any scale of methods/scales.py), `speaker`, `language` and `id`.
Others are passed over.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from factible_assets.corpora.format import ClaimEntry
from factible_assets.exchange.claims import StatedClaim, StatedClaims
from factible_assets.methods.scales import stance_of_any
from resources.lines import FileProblem, PlacedError

COLUMNS: Final = ("claim", "date", "label", "speaker", "language", "id")
_SIGNS: Final = r"=+\-@\uff1d\uff0b\uff0d\uff20"
_FORMULA: Final = re.compile(rf"(?:^|(?<=[;\t\r\n]))(?=[\s\0]*[{_SIGNS}]|^[\t\r])")
"""Where a formula could begin, also for a spreadsheet that splits cells at semicolons."""


def read_claim_list(text: str, file: Path) -> StatedClaims:
    """Read a table of claims. A row that cannot be used is a problem with its line.

    Raises:
        PlacedError: There is no column `claim`.
    """
    delimiter = max((",", ";", "\t"), key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter)
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
        label = told["label"]
        try:
            entry = ClaimEntry.model_validate(
                {
                    "text": told["claim"] or "",
                    "said_on": told["date"],
                    "label": label,
                    "stance": stance_of_any(label) if label else None,
                    "speaker": told["speaker"],
                }
            )
            claims.append(StatedClaim(entry, line, told["id"], told["language"]))
        except ValidationError as error:
            sentence = "There is no claim in this row. Word it, or take the row out."
            if error.errors(include_url=False)[0]["loc"] == ("said_on",):
                sentence = f"The date is {told['date']!r}. Write it as 2026-01-31, or leave it out."
            problems.append(FileProblem(file, line, sentence))
        except ValueError as error:
            problems.append(FileProblem(file, line, str(error)))
    return StatedClaims(tuple(claims), tuple(problems))


def table_of(rows: Iterable[Mapping[str, object]]) -> str:
    """Write rows as CSV; no cell begins with what a spreadsheet takes for a formula."""
    listed = list(rows)
    written = io.StringIO()
    writer = csv.DictWriter(written, list(listed[0]) if listed else ["claim"])
    writer.writeheader()
    for row in listed:
        writer.writerow(
            {
                name: _FORMULA.sub("'", value) if isinstance(value, str) else value
                for name, value in row.items()
            }
        )
    return written.getvalue()
