"""What goes into the archive beside pages and hits, and what is told of an import.

What belongs here: the archive's own values. What does not: files (sources.py), SQL
(statements.sql), the protocols of the pipeline (doors.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from resources.search.base import SearchHit


@dataclass(frozen=True, slots=True)
class NewSearch:
    """A query that was once asked, and what came back."""

    query: str
    searched_on: date | None
    hits: tuple[SearchHit, ...]


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something in a source that cannot be stored, and why: a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. A second import of the same files finds everything `unchanged`."""

    added: int = 0
    """Pages whose text is new."""
    updated: int = 0
    """Pages whose text was replaced by a newer or longer one."""
    unchanged: int = 0
    searches: int = 0
    hits: int = 0
    unusable: int = 0
    """Entries without a usable address, files without text."""
    remarks: tuple[str, ...] = ()
    """A sentence for each of the first unusable ones."""
