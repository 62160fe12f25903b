"""The stances that evidence and verdicts take to a claim: words, weights, columns, colours, labels.

CONTRIBUTING.md lists the places that a further stance needs besides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

Stance: TypeAlias = Literal["supports", "refutes", "mixed", "unclear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StanceLabel:
    """One stance: its words, its weight in the vote's margin, its column, colours and labels."""

    name: Stance
    word: str  # A verdict of this stance, said of the claim: "the claim is supported"
    heading: str
    weight: int | None  # 1 for the claim, -1 against it, 0 for both; None: it settles nothing
    column: str  # The column of `verdicts` that counts the sources with this stance
    glyph: str  # A mark beside the colour, for readers who do not tell the colours apart
    light: str  # The colour on light pages and in charts; its contrast is at least 4.5
    dark: str  # The colour on dark pages
    style: str  # The colour in a terminal
    sources: str  # The predicate of "The sources …"
    source: str  # The predicate of "One source …"
    seems: str  # The same where the embedded engine read the source
    read: str  # The end of "the vote counts two sources, one …"
    page: str  # The predicate of a page, in a reviewer's correction
    legend: str  # The explanation of a verdict of this stance
    averitec: str  # The label of AVeriTeC
    fever: str  # The label of FEVER

    @property
    def leaning(self) -> str:
        """The word for a verdict by no large language model."""
        return self.word if self.weight is None else f"leaning {self.word}"


STANCES: Final[Mapping[Stance, StanceLabel]] = {
    label.name: label
    for label in (
        StanceLabel(
            name="supports", word="supported", heading="For the claim", column="supporting",
            weight=1, glyph="✓", light="#17614a", dark="#69c6a1", style="green",
            sources="support the claim", source="bears the claim out",
            seems="seems to bear the claim out", read="for it", page="supports the claim",
            legend="Reliable sources say the same as the claim.",
            averitec="Supported", fever="SUPPORTS",
        ),
        StanceLabel(
            name="refutes", word="refuted", heading="Against the claim", column="refuting",
            weight=-1, glyph="✕", light="#9c2a35", dark="#f2959d", style="red",
            sources="refute the claim", source="contradicts the claim",
            seems="seems to contradict the claim", read="against it", page="contradicts the claim",
            legend="Reliable sources say the contrary.",
            averitec="Refuted", fever="REFUTES",
        ),
        StanceLabel(
            name="mixed", word="mixed", heading="Says both", column="mixed",
            weight=0, glyph="≈", light="#7a5007", dark="#e3b35c", style="yellow",
            sources="speak for the claim and against it", source="speaks both for and against it",
            seems="seems to speak both for and against it", read="both ways", page="says both",
            legend="Part of the claim holds, or reliable sources differ.",
            averitec="Conflicting Evidence/Cherrypicking", fever="DISPUTED",
        ),
        StanceLabel(
            name="unclear", word="unclear", heading="Takes no clear side", column="unclear",
            weight=None, glyph="?", light="#4f5a63", dark="#aab5be", style="default",
            sources="do not settle the claim", source="comes closest",
            seems="comes closest", read="without settling it", page="takes no side",
            legend="The sources do not settle it. This does not mean that the claim is false.",
            averitec="Not Enough Evidence", fever="NOT ENOUGH INFO",
        ),
    )
}  # fmt: skip
"""Every stance by its name, in the order of tables and summaries."""
SIDES: Final[frozenset[Stance]] = frozenset(name for name, label in STANCES.items() if label.weight)
"""The stances that take one side."""
DEFINITE: Final[frozenset[Stance]] = frozenset(
    name for name, label in STANCES.items() if label.weight is not None
)
"""The stances that say something ("actionable" in Factible, table 5)."""
LEANINGS: Final[frozenset[str | None]] = frozenset({"embedded", "labels"})
"""The bases (records/tables.py) whose verdicts are automatic leanings."""
_FIELD: Final = re.compile("{(" + "|".join(field.name for field in fields(StanceLabel)) + ")}")
_LINE: Final = re.compile(rf"^.*{_FIELD.pattern}.*\n", re.MULTILINE)
_LISTS: Final[Mapping[str, str]] = {
    "{stances}": ", ".join(f"'{name}'" for name in STANCES),
    "{any stance}": " or ".join(", ".join(STANCES).rsplit(", ", 1)),
    "{verdicts}": ", ".join(label.word for label in STANCES.values()),
}


def with_stances(text: str) -> str:
    """Fill the stances into SQL or CSS.

    A line that names a field of a stance, such as {name} or {column}, stands for a line for each
    stance. {stances} stands for the names as literals of SQL, {any stance} and {verdicts} for
    enumerations in comments.
    """
    for place, words in _LISTS.items():
        text = text.replace(place, words)
    every = STANCES.values()
    return _LINE.sub(lambda line: "".join(_filled(line[0], label) for label in every), text)


def _filled(line: str, stance: StanceLabel) -> str:
    return _FIELD.sub(lambda at: str(getattr(stance, at[1])), line)
