"""Writes web searches for evidence for and against a claim, from the claim's own words.

The query types are those of Factible (section 1.3.3, table 4). Words of the claim's field ("WHO CDC
study") bring queries no nearer to those of a language model (docs/tried.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    find_numbers,
    fold,
    stem,
    tokenise,
    word_set,
)
from factible_assets.records.tables import Claim, Video
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import QueryDraft
from resources.words import STOP_WORDS

_DIRECT, _SUBJECT, _SHORT = 10, 6, 4
"""Words of the claim in its own query, and in the queries that add other words."""
_FEW = 3
"""Terms of a claim below which its queries also have words of the video's title."""
_QUOTATION_MARKS = re.compile('["\u201c\u201d()\\[\\]]')
_TELLING = NEGATIONS | word_set(
    "more most less least fewer than only every all before after since until during between"
    " against without always almost already still ever now ago"
)
"""Function words that change the meaning of a claim, and words of time: kept in queries."""


@dataclass(frozen=True, slots=True)
class _Term:
    """A word of a claim, or a number with its unit ("4 million people").

    `thing` is the text without the number.
    """

    text: str
    thing: str

    @property
    def is_figure(self) -> bool:
        return any(map(str.isdigit, self.text))


def write_queries(
    claim: Claim, *, embedder: Embedder, video: Video | None = None, max_queries: int
) -> tuple[QueryDraft, ...]:
    """Write 1 to `max_queries` searches for a claim, with ascending priorities from 1 to 5.

    The first query has the figures of the claim and the words most similar to the whole claim, at
    most ten. The second seeks the opposite, the third official figures. Looser queries follow.

    Raises SetupError if the embedding model cannot be loaded.
    """
    text = " ".join((_QUOTATION_MARKS.sub("", claim.text).strip() or claim.text).split())
    terms = _terms(text)
    if len(terms) < _FEW and video is not None:
        terms += _terms(video.title)
    ranked = _by_similarity(text, terms, embedder)
    things = [(place, replace(term, text=term.thing)) for place, term in ranked]
    subject, short = _joined(things, _SUBJECT), _joined(things, _SHORT)
    drafts = (
        QueryDraft(_joined(ranked, _DIRECT) or text, "direct", 1),
        QueryDraft(f"{subject} false fact check", "alternative", 2, seeks_opposite=True),
        QueryDraft(f"{subject} official data report", "source", 2),
        QueryDraft(f"{short} background explained", "context", 3),
        QueryDraft(f"criticism of {short}", "context", 4, seeks_opposite=True),
        QueryDraft(text.rstrip("."), "direct", 5),
    )
    distinct: dict[str, QueryDraft] = {}
    for draft in drafts:
        if draft.text.strip():
            distinct.setdefault(normalise_text(draft.text), draft)
    return tuple(distinct.values())[:max_queries]


def _terms(text: str) -> list[_Term]:
    """List the possible terms of a query, in order."""
    words = tokenise(text)
    numbers = {number.start: number for number in find_numbers(text)}
    terms: list[_Term] = []
    position = 0
    while position < len(words):
        first = last = position
        number = numbers.get(words[first].start)
        if number is not None:
            while last + 1 < len(words) and words[last + 1].start < number.end:
                last += 1
            last += number.unit is not None and number.kind != "year"
        start, end, norm = words[first].start, words[last].end, words[first].norm
        if number is not None:
            terms.append(_Term(text[start:end], text[number.end : end].strip()))
        elif norm in _TELLING or norm.isdigit() or (len(norm) > 1 and norm not in STOP_WORDS):
            terms.append(_Term(text[start:end], text[start:end]))
        position = last + 1
    return terms


def _by_similarity(
    text: str, terms: Sequence[_Term], embedder: Embedder
) -> list[tuple[int, _Term]]:
    """Return the terms with their places: figures first, then by similarity to the whole claim.

    The similarity of a term is the mean of its own and that of its better pair with a neighbour, so
    that "green cards" stays together.
    """
    if not terms:
        return []
    pairs = [f"{left.text} {right.text}" for left, right in pairwise(terms)]
    vectors = embedder.embed([text, *(term.text for term in terms), *pairs])
    cosines = vectors[1:] @ vectors[0]
    alone, paired = cosines[: len(terms)], cosines[len(terms) :]
    best = np.maximum(np.append(paired, -1.0), np.insert(paired, 0, -1.0)) if pairs else alone
    weights = (alone + best) / 2 + np.array([term.is_figure for term in terms])
    return [(place, terms[place]) for place in np.argsort(-weights, kind="stable").tolist()]


def _joined(ranked: Sequence[tuple[int, _Term]], count: int) -> str:
    """Join the first terms, at most `count` words, in the order of the claim.

    No word is repeated, but figures stay whole.
    """
    used: set[str] = set()
    chosen: dict[int, str] = {}
    for place, term in ranked:
        words = term.text.split()
        roots = [stem(fold(word)) for word in words]
        new = [word for word, root in zip(words, roots, strict=True) if root not in used]
        kept = words if new and term.is_figure else new
        if kept and len(kept) <= count:
            chosen[place] = " ".join(kept)
            count -= len(kept)
            used.update(roots)
    return " ".join(chosen[place] for place in sorted(chosen))
