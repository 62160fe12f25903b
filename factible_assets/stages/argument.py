"""The argument of a verdict, in sentences: what the best source says, and what stands against it.

What belongs here: which sources are heard, in which order, and how each is introduced. What does
not: the vote (verdict.py), whose outcome every argument follows; markup, links (report/).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from factible_assets.records import Evidence, Stance
from factible_assets.stages.verdict import by_stance, weight
from factible_assets.stances import SIDES, STANCES
from factible_assets.wording import counted, publisher, source_words

_HEARD_CHARACTERS = 400
"""A longer quote is cut in the argument; it stands whole among the sources."""
_BEARS_ON = 0.44
"""Relevance from which a source without a side is heard: .78 of the pages that settle what was said
in 36 written talks, and 4 in 1,000 of those on other statements of the same talk."""
_ORDER: Mapping[str, tuple[Stance, ...]] = {
    "supports": ("supports", "refutes", "mixed"),
    "refutes": ("refutes", "supports", "mixed"),
    "mixed": ("supports", "refutes", "mixed"),
    "unclear": ("supports", "refutes", "mixed", "unclear"),
}
"""Whose voices an argument needs, by outcome: what decided, then what stands against it."""

_LEADS: Mapping[tuple[str, Stance], str] = {
    ("supports", "refutes"): "Against that,",
    ("supports", "mixed"): "Less plainly,",
    ("refutes", "supports"): "Against that,",
    ("refutes", "mixed"): "Less plainly,",
    ("mixed", "supports"): "On the one hand,",
    ("mixed", "refutes"): "On the other hand,",
    ("unclear", "unclear"): "Of what was read,",
}
"""What goes before a source, by outcome and the source's side."""
_INNER = str.maketrans('\u201c\u201d"', "\u2018\u2019'")
"""Quotation marks inside others."""
_CITED = re.compile(r"\[\d+\]")
_TAKE: Mapping[Stance, str] = {"supports": "bear{s} it out", "refutes": "contradict{s} it"}
_UNOPPOSED: Mapping[Stance, str] = {
    "supports": "none was read as contradicting it",
    "refutes": "none was read as bearing it out",
}


@dataclass(frozen=True, slots=True)
class Voice:
    """The source that speaks loudest on one side: `{lead} {source} {says}: {words}`.

    `words` are its quote (`is_quote`), else what was read in it.
    """

    side: Stance
    lead: str
    evidence: Evidence
    says: str
    words: str
    is_quote: bool

    def sentence(self, *, quoted: bool = True) -> str:
        """Say it in plain text, with its words or without."""
        named = f"{publisher(self.evidence)} ({source_words(self.evidence)})"
        head = f"{self.lead} {named} {self.says}".strip()
        if not (quoted and self.words):
            return f"{head}."
        words = f"“{self.words.translate(_INNER)}”" if self.is_quote else self.words
        return f"{head}: {words}"


@dataclass(frozen=True, slots=True)
class Argument:
    """The voices of a verdict, its own side first, and how the sides compare; either may lack."""

    voices: tuple[Voice, ...] = ()
    balance: str | None = None


def argue(outcome: str, evidence: Iterable[Evidence]) -> Argument:
    """Return the argument for an outcome of the vote; there is none for what is no stance.

    `evidence` are the rows of one claim, the most reliable first. On each side the source speaks
    that weighs most in the vote and speaks most of the claim, rather with a quote than a
    paraphrase; of equal ones the one that rather says than asks.
    """
    told = by_stance(row for row in evidence if row.status == "ok")
    sides = {side: told[side] for side in _ORDER.get(outcome, ()) if told[side]}
    heard = list(sides)
    is_divided = sides.keys() >= SIDES
    if outcome == "mixed" and "mixed" in heard:
        heard.remove("mixed")
        heard = heard if is_divided else ["mixed", *heard]
    if "unclear" in heard[1:]:
        # What settles nothing is heard only where nothing else speaks.
        heard.remove("unclear")

    def loudness(each: Evidence) -> tuple[bool, float, bool, float]:
        asks = (each.quote or "").rstrip().endswith("?")
        relevance = each.relevance or 0.0
        # What takes no side weighs nothing: the closest is heard.
        weighs = 1 if each.stance == "unclear" else weight(each)
        return each.quote is not None, weighs * relevance, not asks, relevance

    voices = []
    for side in heard:
        row = max(sides[side], key=loudness)
        if side == "unclear" and (row.relevance or 0.0) < _BEARS_ON:
            continue
        words = " ".join(_CITED.sub("", row.quote or row.summary or "").split())
        if len(words) > _HEARD_CHARACTERS:
            words = f"{words[:_HEARD_CHARACTERS].rsplit(maxsplit=1)[0]} …"
        lead = "" if outcome == "mixed" and not is_divided else _LEADS.get((outcome, side), "")
        says = STANCES[side].seems if _only_seems(row) else STANCES[side].source
        voices.append(Voice(side, lead, row, says, words, row.quote is not None))
    return Argument(tuple(voices), _balance(outcome, sides))


def _only_seems(row: Evidence) -> bool:
    return row.basis in {"embedded", "labels"} and row.machine_stance is None


def _balance(outcome: str, sides: Mapping[Stance, Collection[Evidence]]) -> str | None:
    """Say how many independent sources stand on each side, or why they settle nothing."""
    if outcome == "unclear" and sides:
        if not sides.keys() - {"unclear"}:
            silent = len(sides["unclear"])
            many = f"None of the {silent} sources on its subject was read as taking a side."
            lone = "The one source on its subject was not read as taking a side."
            return many if silent > 1 else lone
        is_divided = sides.keys() >= SIDES
        much = "The two sides weigh too much alike" if is_divided else "That weighs too little"
        return f"{much} to settle it."
    own: Stance = "supports" if outcome == "supports" else "refutes"
    other: Stance = "refutes" if own == "supports" else "supports"
    if outcome != own or own not in sides:
        return None
    if other in sides:
        both = f"In all, {_take(own, sides[own])}, and {_take(other, sides[other])}"
        is_outnumbered = _origins(sides[other]) >= _origins(sides[own])
        return f"{both}{'; the more reliable decide' if is_outnumbered else ''}."
    if _origins(sides[own]) > 1:
        return f"In all, {_take(own, sides[own])}, and {_UNOPPOSED[own]}."
    return None if "mixed" in sides else "No other independent source takes a side."


def _take(side: Stance, rows: Collection[Evidence]) -> str:
    origins = _origins(rows)
    s = "s" if origins == 1 else ""
    does = _TAKE[side].format(s=s)
    if any(map(_only_seems, rows)):
        does = f"seem{s} to {_TAKE[side].format(s='')}"
    return f"{counted(origins, 'independent source')} {does}"


def _origins(rows: Collection[Evidence]) -> int:
    return len({row.origin or row.domain for row in rows})
