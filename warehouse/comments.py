"""What the tables and columns of the warehouse mean, in the words of their migrations.

What belongs here: reading the comments from `schema/*.sql`, for whoever describes a table without
opening a warehouse. What does not: the comments themselves; they stand beside the columns.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

_COMMENT = re.compile(
    r"^COMMENT ON (?:TABLE (?P<table>\w+)|COLUMN (?P<owner>\w+)\.(?P<column>\w+))"
    r" IS '(?P<words>(?:[^']|'')*)';",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of all migrations; a later one takes the place of an earlier one."""

    tables: Mapping[str, str]
    columns: Mapping[tuple[str, str], str]

    def table(self, table: str) -> str | None:
        """Return what stands in a table, None if no migration says so."""
        return self.tables.get(table)

    def column(self, table: str, column: str) -> str | None:
        """Return what a column means, None if no migration says so."""
        return self.columns.get((table, column))


def comments_of(*migrations: str) -> Comments:
    """Read the comments from the texts of migrations, in their order."""
    tables: dict[str, str] = {}
    columns: dict[tuple[str, str], str] = {}
    for found in (each for sql in migrations for each in _COMMENT.finditer(sql)):
        words = found["words"].replace("''", "'")
        if found["table"]:
            tables[found["table"]] = words
        else:
            columns[found["owner"], found["column"]] = words
    return Comments(tables, columns)


@functools.cache
def packaged_comments() -> Comments:
    """Return the comments of the schema that this project ships."""
    folder = files("warehouse").joinpath("schema")
    sources = sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=str)
    return comments_of(*(each.read_text(encoding="utf-8") for each in sources))
