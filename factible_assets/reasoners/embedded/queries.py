"""Web searches for evidence for and against a claim, in its own words.

The query types are those of Factible (section 1.3.3, table 4). Words of the claim's field ("WHO CDC
study") bring queries no nearer to those of a language model or to their results
(benchmarks/queries.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    STOP_WORDS,
    Number,
    Word,
    content_stems,
    find_numbers,
    fold,
    tokenise,
    word_set,
)
from factible_assets.records.tables import Claim, QueryType, Video
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import QueryDraft

_MOST = 10
_CORE = 6
_FEW = 4
_TOO_FEW = 3
_LARGE = 13
_LONGEST_NAME = 3
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d(?:s\b|\b)")
_QUOTATION_MARKS = re.compile('["\u201c\u201d()\\[\\]]')

# Function words that change the meaning of a claim, and words of time: kept in queries.
_TELLING = NEGATIONS | word_set(
    "more most less least fewer than only every all before after since until during between"
    " against without always almost already still ever now ago"
)

_NAMING = frozenset({"year", "word"})
"""Kinds of terms that name the subject of a claim."""

_MEASURES = word_set(
    """
    second seconds minute minutes hour hours day days week weeks month months year years decades
    centuries percent times degrees inch inches feet miles metres meters km kilometres kilometers
    grams kg pounds tons tonnes ounces litres liters gallons calories dollars euros
    """
)
_CONTRADICTION, _AUTHORITIES = "false fact check", "official data report"

_BACKGROUND = {
    "statistical": "historical data trend",
    "historical": "history background",
    "comparative": "comparison over time",
}
"""Queries for the context of a claim, by its category."""
_TURN: dict[str, QueryType] = {"historical": "context", "comparative": "context"}
"""The type of the third query, by category; "source" for all others."""


_Kind = Literal["year", "figure", "count", "telling", "word"]


@dataclass(frozen=True, slots=True)
class _Term:
    """Words that stay together in a query: "35%", "4 million people"."""

    text: str
    kind: _Kind
    place: int


def write_queries(
    claim: Claim, *, embedder: Embedder, video: Video | None = None, max_queries: int
) -> tuple[QueryDraft, ...]:
    """Word 1 to `max_queries` searches for a claim, with ascending priorities from 1 to 5.

    The first query holds the most telling words of the claim, at most ten: years and figures with
    their units, then the words most similar to the whole claim. The second seeks the opposite. The
    third asks for official figures, or for background if the claim is historical or comparative.
    Looser queries follow. Years are last; a year from the context is added. A claim with few words
    borrows from the title of the video.

    Raises SetupError if the embedding model cannot be loaded.
    """
    title = video.title if video is not None else ""
    unique: dict[str, QueryDraft] = {}
    for draft in _drafts(claim, title, embedder):
        if draft.text.strip():
            unique.setdefault(normalise_text(draft.text), draft)
    return tuple(unique.values())[:max_queries]


def _drafts(claim: Claim, title: str, embedder: Embedder) -> Iterator[QueryDraft]:
    text = " ".join((_QUOTATION_MARKS.sub("", claim.text).strip() or claim.text).split())
    terms = _terms(text)
    years = [] if any(term.kind == "year" for term in terms) else _YEAR.findall(claim.context or "")
    terms += [_Term(year, "year", len(text)) for year in years[:1]]
    if len([term for term in terms if term.kind == "word"]) < _TOO_FEW:
        terms += _terms(title)
    ranked = _ranked(text, _distinct(terms), embedder)
    yield QueryDraft(_joined(ranked, _MOST) or text, "direct", 1)
    core = [term for term in map(_without_number, ranked) if term.kind in _NAMING] or ranked
    subject, short = _joined(core, _CORE), _joined(core, _FEW)
    yield QueryDraft(f"{subject} {_CONTRADICTION}", "alternative", 2, seeks_opposite=True)
    background = _BACKGROUND.get(claim.category or "", "background explained")
    in_turn: dict[QueryType, str] = {
        "source": f"{subject} {_AUTHORITIES}",
        "context": f"{short} {background}",
    }
    first = _TURN.get(claim.category or "", "source")
    yield QueryDraft(in_turn.pop(first), first, 2)
    for query_type, query in in_turn.items():
        yield QueryDraft(query, query_type, 3)
    yield QueryDraft(f"criticism of {short}", "context", 4, seeks_opposite=True)
    yield QueryDraft(text.rstrip("."), "direct", 5)


# --- The most telling words ---------------------------------------------------------------------


def _terms(text: str) -> list[_Term]:
    """List the possible terms of a query, in order."""
    words = tokenise(text)
    numbers = {number.start: number for number in find_numbers(text)}
    terms: list[_Term] = []
    position = 0
    while position < len(words):
        last = position
        number = numbers.get(words[position].start)
        if number is not None:
            while last + 1 < len(words) and words[last + 1].start < number.end:
                last += 1
            last += number.unit is not None and number.kind != "year"
        else:
            last = _last_of_name(text, words, position)
        term = " ".join(text[word.start : word.end] for word in words[position : last + 1])
        if last > position or _is_keyword(words, position):
            terms.append(_Term(term, _kind(term, number), position))
        position = last + 1
    return terms


def _last_of_name(text: str, words: Sequence[Word], position: int) -> int:
    """Return the position of the last word of a name; "New York City" is one term."""
    last = position
    while (
        last + 1 < min(len(words), position + _LONGEST_NAME)
        and text[words[last].start].isupper()
        and text[words[last + 1].start].isupper()
        and text[words[last].end : words[last + 1].start] == " "
        and _is_keyword(words, last)
        and _is_keyword(words, last + 1)
    ):
        last += 1
    return last


def _kind(term: str, number: Number | None) -> _Kind:
    if _YEAR.fullmatch(term):
        return "year"
    if number is not None and (number.value >= _LARGE or any(each.isdigit() for each in term)):
        return "figure"
    if number is not None:
        return "count"
    return "telling" if fold(term) in _TELLING else "word"


def _is_keyword(words: Sequence[Word], position: int) -> bool:
    if position >= len(words):
        return False
    norm = words[position].norm
    if norm in _TELLING or any(letter.isdigit() for letter in norm):
        return True
    return len(norm) > 1 and norm not in STOP_WORDS


def _without_number(term: _Term) -> _Term:
    """Return the counted things: "immigrants" of "one million immigrants"."""
    counted = term.text[max((each.end for each in find_numbers(term.text)), default=0) :].strip()
    if term.kind not in {"figure", "count"} or not counted or fold(counted) in _MEASURES:
        return term
    return replace(term, text=counted, kind="word")


def _distinct(terms: Sequence[_Term]) -> list[_Term]:
    """Drop repeated words; figures stay whole."""
    seen: set[str] = set()
    kept = []
    for term in terms:
        # A word without content stands for itself.
        stems = {
            word: content_stems(word) or [fold(word)] for word in (term.text, *term.text.split())
        }
        new = [word for word in term.text.split() if not seen.issuperset(stems[word])]
        if new:
            whole = term.kind in {"year", "figure"}
            kept.append(term if whole else replace(term, text=" ".join(new)))
        seen.update(stems[term.text])
    return kept


def _ranked(text: str, terms: Sequence[_Term], embedder: Embedder) -> list[_Term]:
    """Order terms: years, figures, then by similarity to the whole claim.

    The similarity of a term is the mean of its own and of its better pair with a neighbour, so that
    "green cards" stays together.
    """
    if not terms:
        return []
    pairs = [f"{left.text} {right.text}" for left, right in pairwise(terms)]
    vectors = embedder.embed([text, *(term.text for term in terms), *pairs])
    likeness = vectors[1:] @ vectors[0]
    alone, paired = likeness[: len(terms)], likeness[len(terms) :]
    best = np.maximum(np.append(paired, -1.0), np.insert(paired, 0, -1.0)) if pairs else alone
    added = {"year": 2.0, "figure": 1.0}
    weights = (alone + best) / 2 + np.array([added.get(term.kind, 0.0) for term in terms])
    return [terms[index] for index in np.argsort(-weights, kind="stable")]


def _joined(ranked: Sequence[_Term], count: int) -> str:
    """Join the first terms, at most `count` words, in the order of the claim; years last."""
    chosen: list[_Term] = []
    for term in ranked:
        length = len(term.text.split())
        if length <= count:
            chosen.append(term)
            count -= length
    ordered = sorted(chosen, key=lambda term: (term.kind == "year", term.place))
    return " ".join(term.text for term in ordered)
