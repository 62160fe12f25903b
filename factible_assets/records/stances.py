"""The four stances that evidence and verdicts take to a claim: words, weights, columns, colours.

CONTRIBUTING.md lists the places that a further stance needs besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Stance: TypeAlias = Literal["supports", "refutes", "mixed", "unclear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StanceLabel:
    """One stance: its words, its weight in the vote's margin, its column and its colours."""

    name: Stance
    word: str
    """A verdict of this stance, said of the claim: "the claim is supported"."""
    heading: str
    weight: int | None
    """1 for the claim, -1 against it, 0 for both; None: the stance settles nothing."""
    column: str
    """The column of `verdicts` that counts the sources with this stance."""
    glyph: str
    """A mark beside the colour, for readers who do not tell the colours apart."""
    colour: str | None
    """In charts, in hexadecimal; None: no colour of its own."""
    style: str
    """The colour in a terminal."""
    sources: str
    """The predicate of "The sources …"."""
    source: str
    """The predicate of "One source …"."""
    seems: str
    """The same where the embedded engine read the source."""
    read: str
    """The end of "two sources were read …"."""


STANCES: Final[Mapping[Stance, StanceLabel]] = {
    each.name: each
    for each in (
        StanceLabel(
            name="supports",
            word="supported",
            heading="For the claim",
            weight=1,
            column="supporting",
            glyph="✓",
            colour="#287d3c",
            style="green",
            sources="support the claim",
            source="bears the claim out",
            seems="seems to bear the claim out",
            read="for it",
        ),
        StanceLabel(
            name="refutes",
            word="refuted",
            heading="Against the claim",
            weight=-1,
            column="refuting",
            glyph="✕",
            colour="#b3261e",
            style="red",
            sources="refute the claim",
            source="contradicts the claim",
            seems="seems to contradict the claim",
            read="against it",
        ),
        StanceLabel(
            name="mixed",
            word="mixed",
            heading="Says both",
            weight=0,
            column="mixed",
            glyph="≈",
            colour="#b26a00",
            style="yellow",
            sources="speak for the claim and against it",
            source="speaks both for and against it",
            seems="seems to speak both for and against it",
            read="both ways",
        ),
        StanceLabel(
            name="unclear",
            word="unclear",
            heading="Takes no clear side",
            weight=None,
            column="unclear",
            glyph="?",
            colour=None,
            style="default",
            sources="do not settle the claim",
            source="comes closest",
            seems="comes closest",
            read="without settling it",
        ),
    )
}
"""Every stance by its name, in the order of tables and summaries."""
SIDES: Final[frozenset[Stance]] = frozenset(name for name, each in STANCES.items() if each.weight)
"""The stances that take one side."""
DEFINITE: Final[frozenset[Stance]] = frozenset(
    name for name, each in STANCES.items() if each.weight is not None
)
"""The stances that say something ("actionable" in Factible, table 5)."""
