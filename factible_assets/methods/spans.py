"""The second stage of retrieval: the parts of long documents that bear on a claim.

What belongs here: spans, their ranking, widening and merging (Raw Evidence, section 3.3; parameters
of section 4). What does not: fetching documents, summaries of what is selected (summaries.py).

The paper leaves open whether spans are ranked per question. Here all questions are one query over
the spans of all documents of a claim, which agrees with its table 8: ten spans of 330 words leave
2,710 words of 7.7 documents after merging.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from factible_assets.reasoners.embedded.reading.passages import bm25_scores
from factible_assets.reasoners.embedded.text import content_stems

SPAN_WORDS: Final = 30
"""k1: words of a span; the next begins half as many further on."""
WIDENING: Final = 150
"""k2: words of context on either side of a span that is kept."""
KEPT_SPANS: Final = 10
"""K1: spans that are kept of all documents of a claim."""
KEPT_DOCUMENTS: Final = 4
"""K2: documents that are kept, by their best span."""
GAP: Final = "\n[…]\n"
"""Stands between two parts of a document that do not touch."""

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Selected:
    """The parts of one document that bear on a claim.

    Attributes:
        key: The document, as it was named.
        score: BM25 of its best span.
        places: Raw offsets of the parts, ordered and apart.
        text: The parts, "[…]" between them.
    """

    key: str
    score: float
    places: tuple[tuple[int, int], ...]
    text: str


def spans(words: int, size: int = SPAN_WORDS) -> list[tuple[int, int]]:
    """Cut so many words into spans of `size` at half stride, as half-open ranges of words.

    The last one ends with the text, and none lies inside another.
    """
    stride = max(1, size // 2)
    return [
        (start, min(start + size, words))
        for start in range(0, words, stride)
        if start == 0 or start + size - stride < words
    ]


def merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def select(queries: Sequence[str], documents: Mapping[str, str]) -> tuple[Selected, ...]:
    """Return the documents that bear most on some questions, best first, cut to what does.

    A document that shares no content word with the questions is never kept, so there can be fewer
    than `KEPT_DOCUMENTS`, or none.

    Args:
        queries: The sub-questions of a claim, or the claim.
        documents: Texts by their keys.
    """
    words = {key: list(_WORD.finditer(text)) for key, text in documents.items()}
    places = [(key, *span) for key, found in words.items() for span in spans(len(found))]
    stems = [
        content_stems(documents[key][words[key][start].start() : words[key][end - 1].end()])
        for key, start, end in places
    ]
    scores = bm25_scores([term for query in queries for term in content_stems(query)], stems)
    best = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:KEPT_SPANS]
    found: dict[str, list[tuple[float, int, int]]] = {}
    for at in best:
        if scores[at] > 0:
            key, start, end = places[at]
            found.setdefault(key, []).append((scores[at], start, end))
    # Best spans come first, so that documents stand in the order of their best.
    return tuple(
        _cut(key, documents[key], words[key], ranked)
        for key, ranked in list(found.items())[:KEPT_DOCUMENTS]
    )


def _cut(
    key: str,
    text: str,
    words: Sequence[re.Match[str]],
    ranked: Sequence[tuple[float, int, int]],
) -> Selected:
    widened = [
        (max(0, start - WIDENING), min(len(words), end + WIDENING)) for _, start, end in ranked
    ]
    places = tuple((words[start].start(), words[end - 1].end()) for start, end in merged(widened))
    return Selected(key, ranked[0][0], places, GAP.join(text[slice(*each)] for each in places))
