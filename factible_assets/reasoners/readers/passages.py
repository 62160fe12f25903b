"""The passages of a page that may concern a claim, and the relevance of the page.

BM25 chooses windows of 25 to 60 words, and the embedding chooses among the best, after the
two-stage retrieval of Chen et al. (2023).
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
"""Words of a window: enough for a sentence and its context, few enough for one thought."""

_BM25_KEPT = 5
_KEPT = 3
"""Eight and four cost half as much again and improve no figure."""
_K1, _B = 1.5, 0.75
_SHARED, _NEAREST = 0.4, 0.6
"""Weights of the shared words and of the nearest passage's embedding in the relevance."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive sentences of a page: `page[start:end]`."""

    sentences: tuple[PageSentence, ...]

    @property
    def start(self) -> int:
        return self.sentences[0].start

    @property
    def end(self) -> int:
        return self.sentences[-1].end

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class Selection:
    """One page as the readers see it.

    `sentences` are all sentences of the page; `snippet` are those of the search snippet, with
    offsets into the snippet, never quoted. `passages` are the passages that may concern the claim,
    the best first. `shared` is the share of the claim's words in them and the title; `nearest` is
    the cosine of the nearest passage with the claim. Both are in [0, 1], and 0 for a page without a
    content word of the claim.
    """

    sentences: tuple[PageSentence, ...]
    snippet: tuple[PageSentence, ...]
    passages: tuple[Passage, ...]
    shared: float
    nearest: float

    @property
    def relevance(self) -> float:
        """The relevance of the page to the claim, in [0, 1]."""
        return _SHARED * self.shared + _NEAREST * self.nearest


def windows(sentences: Sequence[PageSentence]) -> list[Passage]:
    """Group consecutive sentences into windows of 25 to 60 words.

    The last window may be shorter, and so may a window before a long sentence.
    """
    passages: list[Passage] = []
    begin, words = 0, 0
    for index, sentence in enumerate(sentences):
        length = len(tokenise(sentence.text))
        if index > begin and (words >= SHORTEST_WINDOW or words + length > LONGEST_WINDOW):
            passages.append(Passage(tuple(sentences[begin:index])))
            begin, words = index, 0
        words += length
    if begin < len(sentences):
        passages.append(Passage(tuple(sentences[begin:])))
    return passages


@lru_cache(maxsize=64)  # one page is read for many claims
def _candidates(text: str) -> tuple[list[Passage], list[list[str]]]:
    """Return the windows of a page and their stems."""
    passages = windows(page_sentences(text))
    return passages, [content_stems(passage.text) for passage in passages]


def bm25_scores(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """Score documents against a query by BM25 (Robertson and Zaragoza, 2009), among themselves.

    The inverse document frequency is ln(1 + (N - n + .5) / (n + .5)), which is never negative.
    """
    if not documents:
        return []
    terms = set(query)
    counts = [Counter(term for term in document if term in terms) for document in documents]
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
    """Choose the passages of a page that may concern a claim.

    The title is embedded before each passage, because it often names the subject where the passage
    only says "it". The snippet replaces a page without text.

    Raises SetupError if the embedding model cannot be loaded.
    """
    candidates, stems = _candidates(text)
    if not candidates:
        candidates, stems = _candidates(snippet)
    query = content_stems(claim)
    scores = bm25_scores(query, stems)
    ranking = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:_BM25_KEPT]
    ranking = [index for index in ranking if scores[index] > 0]
    cosines: list[float] = []
    if ranking:
        titled = [f"{title}. {candidates[index].text}" for index in ranking]
        vectors = embedder.embed([claim, *titled])
        cosines = [float(cosine) for cosine in vectors[1:] @ vectors[0]]
    highest = max((scores[index] for index in ranking), default=1.0)
    combined = {
        index: scores[index] / highest + max(0.0, cosine)
        for index, cosine in zip(ranking, cosines, strict=True)
    }
    best = sorted(ranking, key=lambda index: (-combined[index], index))[:_KEPT]
    title_stems = content_stems(title)
    return Selection(
        sentences=tuple(page_sentences(text)),
        snippet=tuple(page_sentences(snippet)),
        passages=tuple(candidates[index] for index in best) if text.strip() else (),
        shared=_shared(query, [[*title_stems, *stems[index]] for index in best]),
        nearest=max([0.0, *cosines]),
    )


def _shared(query: Sequence[str], passages: Sequence[Sequence[str]]) -> float:
    """Average the shares of the claim in the best passage, the mean passage and all together."""
    terms = frozenset(query)
    if not passages or not terms:
        return 0.0
    shares = [len(terms.intersection(stems)) / len(terms) for stems in passages]
    covered = len(terms.intersection(chain(*passages))) / len(terms)
    return (max(shares) + sum(shares) / len(shares) + covered) / 3
