"""What the rules of integrity look at, and what they find.

What belongs here: the rows of one video side by side, violations, and what several rules share.
What does not: the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import TypeVar

from factible_assets.records import Record
from factible_assets.rows import VideoRows

Row = TypeVar("Row", bound=Record)


@dataclass(frozen=True, slots=True)
class Limits:
    """The dates that a run set; None where it set none. Pages of the day itself are too new."""

    published_before: date | None = None
    published_after: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows(VideoRows):
    """The rows of one video. Assets that are not judged are there to be referred to.

    Rows of claims that the video no longer makes may be among those that are referred to; they are
    looked up and never judged.
    """

    limits: Limits = field(default_factory=Limits)

    @property
    def claim_ids(self) -> frozenset[str]:
        """The ids of the video's claims."""
        return frozenset(claim.claim_id for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that breaks a rule: which, and how."""

    row: str
    problem: str

    def __str__(self) -> str:
        """Say both in one line."""
        return f"{self.row}: {self.problem}"


def repeated(
    rows: Iterable[Row], key: Callable[[Row], Hashable], name: Callable[[Row], str]
) -> Iterator[Violation]:
    """Yield a violation for every row whose key another row had before."""
    seen: set[Hashable] = set()
    for row in rows:
        if key(row) in seen:
            yield Violation(name(row), "its id stands here twice")
        seen.add(key(row))


def unlike(name: str, what: str, found: object, derived: object) -> Iterator[Violation]:
    """Yield a violation if something is not what it is derived to be."""
    if found != derived:
        yield Violation(name, f"{what} is {found!r}, and derived from the row it is {derived!r}")


def missing(name: str, what: str, key: Hashable, known: Iterable[Hashable]) -> Iterator[Violation]:
    """Yield a violation if a row refers to what is not there."""
    if key not in known:
        yield Violation(name, f"it refers to the {what} {key}, which is not there")


def ranks_of(rows: Iterable[tuple[str, int]], what: str) -> Iterator[Violation]:
    """Yield violations unless ranks count from 1 without a gap. Rows are (name, rank)."""
    for expected, (name, rank) in enumerate(sorted(rows, key=lambda row: row[1]), start=1):
        if rank != expected:
            yield Violation(name, f"its rank is {rank}; {what} count from 1 without a gap")
            return
