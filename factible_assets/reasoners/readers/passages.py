"""The passages of a page that may speak of a claim, and how relevant the page is to it.

Cutting a page into windows, ranking them and scoring relevance belong here. Whether a passage is
for or against the claim is the readers' part.

Recipe: windows of 25 to 60 words on sentence boundaries; the best five by BM25 (Robertson and
Zaragoza, 2009, with k1 = 1.5 and b = 0.75); of these the best three by BM25 and embedding together.
It follows the two-stage retrieval of Chen et al. (2023), who rank spans of a page by BM25 before a
model reads them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from factible_assets.reasoners.embedded.text import content_stems, tokenise
from factible_assets.reasoners.readers.page_text import PageSentence, page_sentences

if TYPE_CHECKING:  # numpy is slow to import, and BM25 alone does not need it
    from factible_assets.reasoners.embedded.embedder import Embedder

SHORTEST_WINDOW = 25
LONGEST_WINDOW = 60
"""Words of a window: long enough for a sentence and its context, short enough for one thought."""

_BM25_KEPT = 5
_KEPT = 3
"""Keeping eight and four costs half as much again and improves no figure."""
_K1, _B = 1.5, 0.75
_SHARED, _NEAREST = 0.4, 0.6
"""Shares of the shared words and of the nearest passage's embedding in the relevance."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive sentences of a page: `page[start:end]`."""

    sentences: tuple[PageSentence, ...]

    @property
    def start(self) -> int:
        """Return the raw offset at which the passage begins."""
        return self.sentences[0].start

    @property
    def end(self) -> int:
        """Return the raw offset at which the passage ends."""
        return self.sentences[-1].end

    @property
    def text(self) -> str:
        """Return the passage's sentences as one text for reading."""
        return " ".join(sentence.text for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class Selection:
    """One page as the readers see it.

    `sentences` are all sentences of the page, `snippet` those of the search result's excerpt, whose
    offsets index the excerpt and which nobody quotes. `passages` are the passages of the page that
    may speak of the claim, the best first. `shared` is the share of the claim's words that they and
    the title have; `nearest` is the cosine of the nearest passage with the claim. Both are in
    [0, 1], and 0 for a page that shares no content word with the claim.
    """

    sentences: tuple[PageSentence, ...]
    snippet: tuple[PageSentence, ...]
    passages: tuple[Passage, ...]
    shared: float
    nearest: float

    @property
    def relevance(self) -> float:
        """Return how relevant the page is to the claim, in [0, 1]."""
        return _SHARED * self.shared + _NEAREST * self.nearest


def windows(sentences: Sequence[PageSentence]) -> list[Passage]:
    """Group consecutive sentences into windows of 25 to 60 words.

    A window is longer only if one sentence is (by at most the length at which page_sentences cuts).
    It is shorter at the end of a text, and where its last lines are headings or questions, which go
    with what follows them.
    """
    found: list[Passage] = []
    begin, words = 0, 0
    for index, sentence in enumerate(sentences):
        length = len(tokenise(sentence.text))
        if index > begin and (words >= SHORTEST_WINDOW or words + length > LONGEST_WINDOW):
            found.append(Passage(tuple(sentences[begin:index])))
            begin, words = index, 0
        words += length
    if begin < len(sentences):
        found.append(Passage(tuple(sentences[begin:])))
    return found


@lru_cache(maxsize=64)
def _candidates(text: str) -> tuple[list[Passage], list[list[str]]]:
    """Return the windows of a page and their stems. Cached: one page is read for many claims."""
    found = windows(page_sentences(text))
    return found, [content_stems(passage.text) for passage in found]


def bm25_scores(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """Score documents against a query by BM25, with the documents themselves as the collection.

    Terms are compared as given. The inverse document frequency is ln(1 + (N - n + .5) / (n + .5)),
    which is never negative.
    """
    if not documents:
        return []
    wanted = set(query)
    counts = [Counter(term for term in document if term in wanted) for document in documents]
    holding = Counter(term for count in counts for term in count)
    mean_length = sum(map(len, documents)) / len(documents) or 1.0
    rarity = {
        term: math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for term, n in holding.items()
    }
    return [
        sum(
            rarity[term]
            * times
            * (_K1 + 1)
            / (times + _K1 * (1 - _B + _B * len(document) / mean_length))
            for term, times in count.items()
        )
        for count, document in zip(counts, documents, strict=True)
    ]


def select_passages(
    claim: str, text: str, embedder: Embedder, *, title: str = "", snippet: str = ""
) -> Selection:
    """Choose the passages of a page that may speak of a claim.

    A passage is embedded behind the page's title, because the title often names the subject and the
    passage only says "it". A page without text is its snippet.

    Raises:
        EmbedderUnavailableError: The embedder's model cannot be loaded.
    """
    excerpt = tuple(page_sentences(snippet))
    candidates, stems = _candidates(text)
    if not candidates:
        candidates, stems = _candidates(snippet)
    query = content_stems(claim)
    scores = bm25_scores(query, stems)
    first = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:_BM25_KEPT]
    first = [index for index in first if scores[index] > 0]
    similar: list[float] = []
    if first:
        told = [f"{title}. {candidates[index].text}" for index in first]
        vectors = embedder.embed([claim, *told])
        similar = [float(value) for value in vectors[1:] @ vectors[0]]
    highest = max((scores[index] for index in first), default=1.0)
    mixed = {
        index: scores[index] / highest + max(0.0, cosine)
        for index, cosine in zip(first, similar, strict=True)
    }
    best = sorted(first, key=lambda index: (-mixed[index], index))[:_KEPT]
    named = content_stems(title)
    return Selection(
        sentences=tuple(page_sentences(text)),
        snippet=excerpt,
        passages=tuple(candidates[index] for index in best) if text.strip() else (),
        shared=_shared(query, [[*named, *stems[index]] for index in best]),
        nearest=max([0.0, *similar]),
    )


def _shared(query: Sequence[str], chosen: Sequence[Sequence[str]]) -> float:
    """Mix how much of the claim the best passage, the mean one and all together cover."""
    wanted = frozenset(query)
    if not chosen or not wanted:
        return 0.0
    shares = [len(wanted.intersection(words)) / len(wanted) for words in chosen]
    covered = len(wanted.intersection(chain(*chosen))) / len(wanted)
    return (max(shares) + sum(shares) / len(shares) + covered) / 3
