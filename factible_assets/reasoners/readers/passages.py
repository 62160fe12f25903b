"""The passages of a page that may speak of a claim, and how relevant the page is.

What belongs here: cutting a page into windows, ranking them, the relevance score and the choice of
sentences to quote. What does not: whether a passage is for or against the claim (stance.py).

Recipe: windows of 25 to 60 words on sentence boundaries, the best five by BM25 (Robertson and
Zaragoza, 2009, with k1 = 1.5 and b = 0.75), of these the best three by BM25 and embedding together,
plus the search result's snippet. It follows the two-stage retrieval of Chen et al. (2023), who rank
spans of a page by BM25 before a model reads them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from factible_assets.reasoners.readers.lexicon import load_lexicon
from factible_assets.reasoners.readers.page_text import PageSentence, readable_sentences
from factible_assets.reasoners.embedded.text import content_stems, fold, tokenise

if TYPE_CHECKING:  # loads arrays, which who weighs words alone needs not
    from factible_assets.reasoners.embedded.embedder import Embedder

SHORTEST_WINDOW = 25
LONGEST_WINDOW = 60
"""Words of a window: long enough for a sentence and its context, short enough for one thought."""

_BM25_KEPT = 5
_KEPT = 3
"""Of eight and four, which cost more than half as much again, no figure is better."""
_K1, _B = 1.5, 0.75
_SHARED, _NEAREST = 0.4, 0.6
"""Shares of shared words and of the nearest passage's embedding in the relevance: of .2 to .5 and
.8 to .5 little differs; of .75 and .25 three times as many pages on the topic alone are kept with
as many that speak of the claim."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive sentences of a page, `page[start:end]`, or the snippet of a search hit.

    `in_page` is False for a snippet, whose offsets index the snippet itself and which is never
    quoted.
    """

    sentences: tuple[PageSentence, ...]
    in_page: bool = True

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
    """The passages of one page that may speak of a claim, best first, and how much they do.

    `shared` is how much of the claim's words they have, `nearest` the cosine of the page's nearest
    window with the claim; both are in [0, 1], and 0 for a page that shares no content word with it.
    """

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
def _candidates(text: str) -> tuple[list[Passage], list[list[str]], Passage | None]:
    """Return the windows of a page, their stems, and the question it opens with with its answer.

    Kept, as one page is read for many claims.
    """
    sentences = readable_sentences(text)
    found = windows(sentences)
    asked = sentences[0].text if sentences else ""
    answers = (each for each in sentences[2:] if load_lexicon().ruling.search(fold(each.text)))
    answer = next(answers, None) if asked.endswith("?") and " or " not in asked else None
    answered = None if answer is None else Passage((sentences[0], answer))
    return found, [content_stems(passage.text) for passage in found], answered


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


def select_passages(claim: str, text: str, snippet: str, embedder: Embedder) -> Selection:
    """Choose the passages of a page, and its snippet, that may speak of a claim.

    Sentences that are furniture or instructions are never chosen.

    Raises:
        EmbedderUnavailableError: The embedder's model cannot be loaded.
    """
    candidates, stems, answered = _candidates(text)
    query = content_stems(claim)
    scores = bm25_scores(query, stems)
    first = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:_BM25_KEPT]
    first = [index for index in first if scores[index] > 0]
    similar: list[float] = []
    if first:
        vectors = embedder.embed([claim, *(candidates[index].text for index in first)])
        similar = [float(value) for value in vectors[1:] @ vectors[0]]
    highest = max((scores[index] for index in first), default=1.0)
    mixed = {
        index: scores[index] / highest + max(0.0, cosine)
        for index, cosine in zip(first, similar, strict=True)
    }
    best = sorted(first, key=lambda index: (-mixed[index], index))[:_KEPT]
    passages = [candidates[index] for index in best]
    if answered is not None and not frozenset(query).isdisjoint(content_stems(answered.text)):
        passages.append(answered)
    # A snippet's sentences stand one by one: it is cut together from anywhere.
    told = [Passage((each,), in_page=False) for each in readable_sentences(snippet)]
    return Selection(
        passages=(*passages, *told),
        shared=_shared(query, [stems[index] for index in best]),
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
