"""What a stance is: of a passage, of a page, and how passages make a page's.

What belongs here: the `StanceModel` protocol and the merging of passages into a page's stance. What
does not: reading passages (scoped_rules.py, inference.py), choosing them (passages.py), verdicts
(judge.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from factible_assets.reasoners.embedded.passages import Passage
from factible_assets.records import Stance

Side = Literal["supports", "refutes"]

Ground = Literal[
    "rating",
    "assertion",
    "denial",
    "number",
    "opposite",
    "scope",
    "divided",
    "unsettled",
    "paraphrase",
    "inference",
]
"""Why a passage says what it says: a fact-checker's rating, the same statement, a denial, another
figure, the opposite, a statement about some only, findings both ways, a matter called open, the
same in other words, or an inference model's reading."""

HIGHEST = 0.95
"""Confidence that is never exceeded: wording is no proof."""


@dataclass(frozen=True, slots=True)
class PassageStance:
    """What one passage says of a claim.

    `confidence` in [0, 0.95] ranks how directly it speaks; it is not a probability. It is 0 exactly
    if the stance is unclear. `span` is the raw span of the sentences that decide, in the text that
    the passage is from, if they are known.
    """

    stance: Stance
    confidence: float
    ground: Ground | None = None
    span: tuple[int, int] | None = None

    def weakened(self, factor: float) -> PassageStance:
        """Return the same with its confidence multiplied by a factor in [0, 1]."""
        return replace(self, confidence=round(self.confidence * factor, 4))


SILENT = PassageStance("unclear", 0.0)
"""A passage that does not speak of the claim."""


@dataclass(frozen=True, slots=True)
class PageStance:
    """What a page says of a claim, and the passages (by index) that say it, strongest first."""

    stance: Stance
    confidence: float
    deciding: tuple[int, ...] = ()


class StanceModel(Protocol):
    """Reads what passages say of a claim."""

    @property
    def name(self) -> str:
        """Which model this is, for metadata."""
        ...

    def read(self, claim: str, passages: Sequence[Passage], *, title: str) -> list[PassageStance]:
        """Return one stance per passage. `title` is the page's, as context for what it omits."""
        ...


# --- From passages to a page --------------------------------------------------------------------

_BALANCED = 0.9
"""Strength of the weaker side, as a share of the stronger, from which a page is mixed."""
_AGAINST = 0.4
"""Share of the weaker side's strength that the stronger one loses."""
_AGREEING = 0.04
"""What each further passage that agrees adds."""


def merge_passages(stances: Sequence[PassageStance]) -> PageStance:
    """Merge what a page's passages say.

    A fact-checker's rating decides alone. Else the strongest statement of each side counts, a
    little more for each passage that agrees: a page on both sides about equally is mixed, and one
    side that is stronger wins, less surely. A page that calls the matter open takes no side,
    whatever else it tells; one none of whose passages speaks is unclear.
    """
    rated = [index for index, each in enumerate(stances) if each.ground == "rating"]
    if rated:
        return _strongest(stances, rated)
    order = sorted(range(len(stances)), key=lambda index: (-stances[index].confidence, index))
    sides: dict[Stance, list[int]] = {"supports": [], "refutes": [], "mixed": [], "unclear": []}
    for index in order:
        sides[stances[index].stance].append(index)
    if sides["mixed"] and stances[sides["mixed"][0]].confidence >= stances[order[0]].confidence:
        return _strongest(stances, sides["mixed"])
    is_open = any(each.ground == "unsettled" for each in stances)
    if is_open or not (sides["supports"] or sides["refutes"]):
        return PageStance("unclear", 0.0)
    return _weigh(stances, sides)


def _weigh(stances: Sequence[PassageStance], sides: dict[Stance, list[int]]) -> PageStance:
    """Hold the sides against each other; what is mixed weakens both."""
    strength = {side: _strength(stances, places) for side, places in sides.items()}
    ahead: Side = "supports" if strength["supports"] > strength["refutes"] else "refutes"
    behind: Side = "refutes" if ahead == "supports" else "supports"
    if strength[behind] >= _BALANCED * strength[ahead]:
        deciding = tuple(sides[ahead][:1] + sides[behind][:1])
        return PageStance(
            "mixed", round(_AGAINST * (strength[ahead] + strength[behind]), 4), deciding
        )
    against = max(strength[behind], strength["mixed"])
    confidence = min(HIGHEST, strength[ahead] - _AGAINST * against)
    return PageStance(ahead, round(confidence, 4), tuple(sides[ahead]))


def _strength(stances: Sequence[PassageStance], places: Sequence[int]) -> float:
    if not places:
        return 0.0
    return stances[places[0]].confidence + _AGREEING * (len(places) - 1)


def _strongest(stances: Sequence[PassageStance], places: Sequence[int]) -> PageStance:
    ordered = sorted(places, key=lambda index: (-stances[index].confidence, index))
    best = stances[ordered[0]]
    alike = tuple(index for index in ordered if stances[index].stance == best.stance)
    return PageStance(best.stance, best.confidence, alike)


def condense(stances: Sequence[PassageStance]) -> PassageStance:
    """Merge what the sentences of one passage say into the passage's stance."""
    merged = merge_passages(stances)
    if not merged.deciding:
        return next((each for each in stances if each.ground == "unsettled"), SILENT)
    decisive = stances[merged.deciding[0]]
    return replace(decisive, stance=merged.stance, confidence=merged.confidence)
