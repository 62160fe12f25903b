"""Words the argument of a verdict: the best source of each side, and how the sides compare."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from factible_assets.records.stances import DEFINITE, LEANINGS, SIDES, STANCES
from factible_assets.records.tables import Evidence, Stance
from factible_assets.stages.verdict import by_stance, weight
from factible_assets.wording import counted, publisher, source_words

_QUOTED_CHARACTERS = 400
"""The argument cuts a longer quote; the list of sources shows it whole."""
_BEARS_ON = 0.44
"""Relevance from which the argument names a source without a side: .78 of the pages on a statement
of 36 written talks reach it, and 4 in 1,000 of the pages on other statements of the same talk."""
_LEADS: Mapping[tuple[str, Stance], str] = {
    ("supports", "refutes"): "Against that,",
    ("supports", "mixed"): "Less plainly,",
    ("refutes", "supports"): "Against that,",
    ("refutes", "mixed"): "Less plainly,",
    ("mixed", "supports"): "On the one hand,",
    ("mixed", "refutes"): "On the other hand,",
    ("unclear", "unclear"): "Of what was read,",
}
"""The words before a source, by outcome and the source's side."""
_INNER = str.maketrans('\u201c\u201d"', "\u2018\u2019'")
"""Quotation marks inside others."""
_CITED = re.compile(r"\[\d+\]")
_UNFIT = re.compile(
    r"<[^>]{0,200}>|[*_`#<>\[\]{}|\\]|[^\S ]|[\u0000-\u001f\u007f-\u009f]"
    "|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Markup, control characters and invisible characters: a summary cites no quote with them."""
_TAKE: Mapping[Stance, str] = {"supports": "bear{s} it out", "refutes": "contradict{s} it"}
_UNOPPOSED: Mapping[Stance, str] = {
    "supports": "none was read as contradicting it",
    "refutes": "none was read as bearing it out",
}


@dataclass(frozen=True, slots=True)
class KeySource:
    """The strongest source of one side: `{lead} {source} {says}: {words}`.

    `words` are its quote (`is_quote`), else its summary.
    """

    side: Stance
    lead: str
    evidence: Evidence
    says: str
    words: str
    is_quote: bool

    def sentence(self, *, quoted: bool = True) -> str:
        """Return the sentence in plain text, with the source's words or without."""
        named = f"{publisher(self.evidence)} ({source_words(self.evidence)})"
        head = f"{self.lead} {named} {self.says}".strip()
        if not (quoted and self.words):
            return f"{head}."
        words = f"“{self.words.translate(_INNER)}”" if self.is_quote else self.words
        return f"{head}: {words}"


@dataclass(frozen=True, slots=True)
class Argument:
    """The strongest sources, the verdict's own side first, and how the sides compare."""

    key_sources: tuple[KeySource, ...] = ()
    balance: str | None = None


def argue(outcome: str, evidence: Iterable[Evidence]) -> Argument:
    """Return the argument for an outcome of the vote; empty if the outcome is no stance.

    `evidence` are the rows of one claim, the most reliable first. The source of a side is the one
    with the largest product of weight and relevance. A quote beats a paraphrase, a published fact
    check beats any other source, and of equal sources a statement beats a question.
    """
    by_side = by_stance(row for row in evidence if row.status == "ok")
    sides = {
        side: rows
        for side, rows in by_side.items()
        if rows and outcome in STANCES and (side in DEFINITE or outcome not in DEFINITE)
    }
    is_divided = sides.keys() >= SIDES
    # The deciding side comes first. Unclear sources count only if there are no others.
    shown_sides = [side for side in sides if side in DEFINITE] or list(sides)
    shown_sides.sort(key=lambda side: side != outcome)
    if is_divided and outcome == "mixed":
        shown_sides = [side for side in shown_sides if side != "mixed"]

    def strength(row: Evidence) -> tuple[bool, bool, float, bool, float]:
        asks = (row.quote or "").rstrip().endswith("?")
        relevance = row.relevance or 0.0
        # An unclear source has no weight, so the most relevant one counts.
        factor = 1 if row.stance == "unclear" else weight(row)
        is_check = row.source_class == "fact_checker"
        return row.quote is not None, is_check, factor * relevance, not asks, relevance

    key_sources = []
    for side in shown_sides:
        row = max(sides[side], key=strength)
        if side == "unclear" and (row.relevance or 0.0) < _BEARS_ON:
            continue
        words = " ".join(_CITED.sub("", row.quote or row.summary or "").split())
        if len(words) > _QUOTED_CHARACTERS:
            words = f"{words[:_QUOTED_CHARACTERS].rsplit(maxsplit=1)[0]} …"
        lead = "" if outcome == "mixed" and not is_divided else _LEADS.get((outcome, side), "")
        says = STANCES[side].seems if _only_seems(row) else STANCES[side].source
        key_sources.append(KeySource(side, lead, row, says, words, row.quote is not None))
    return Argument(tuple(key_sources), _balance(outcome, sides))


def in_sentences(outcome: str, evidence: Iterable[Evidence]) -> str:
    """Return the argument as the words of a verdict; see `argue` for the arguments."""
    rows = tuple(evidence)
    argument = argue(outcome, rows)
    sentences = [
        key.sentence(quoted=_UNFIT.search(key.words) is None) for key in argument.key_sources
    ]
    by_model = any(row.basis == "llm" for row in rows)
    remark = None if by_model else "Judged automatically, by the wording of the sources."
    return " ".join(filter(None, (*sentences, argument.balance, remark)))


def _only_seems(row: Evidence) -> bool:
    return row.basis in LEANINGS and row.machine_stance is None


def _balance(outcome: str, sides: Mapping[Stance, Collection[Evidence]]) -> str | None:
    """Return the number of independent sources on each side, or why they settle nothing."""
    if outcome == "unclear" and sides:
        if not sides.keys() - {"unclear"}:
            silent = len(sides["unclear"])
            several = f"None of the {silent} sources on its subject was read as taking a side."
            single = "The one source on its subject was not read as taking a side."
            return several if silent > 1 else single
        is_divided = sides.keys() >= SIDES
        weight = "The two sides weigh too much alike" if is_divided else "That weighs too little"
        return f"{weight} to settle it."
    side: Stance = "supports" if outcome == "supports" else "refutes"
    other: Stance = "refutes" if side == "supports" else "supports"
    if outcome != side or side not in sides:
        return None
    if other in sides:
        both = f"In all, {_take(side, sides[side])}, and {_take(other, sides[other])}"
        is_outnumbered = _origins(sides[other]) >= _origins(sides[side])
        return f"{both}{'; the more reliable decide' if is_outnumbered else ''}."
    if _origins(sides[side]) > 1:
        return f"In all, {_take(side, sides[side])}, and {_UNOPPOSED[side]}."
    return None if "mixed" in sides else "No other independent source takes a side."


def _take(side: Stance, rows: Collection[Evidence]) -> str:
    origins = _origins(rows)
    s = "s" if origins == 1 else ""
    verb = _TAKE[side].format(s=s)
    if any(map(_only_seems, rows)):
        verb = f"seem{s} to {_TAKE[side].format(s='')}"
    return f"{counted(origins, 'independent source')} {verb}"


def _origins(rows: Collection[Evidence]) -> int:
    return len({row.origin or row.domain for row in rows})
