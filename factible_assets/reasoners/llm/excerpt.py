"""What of a page a model is given: all of a short one, of a long one what speaks of the claim.

What belongs here: choosing sentences within a limit of characters, and marking what was left out.
What does not: what a sentence says of a claim, the fence around the excerpt (prompts.py).

Nothing is withheld for its words: with a fence around it, a model may read what a page says of
cookies, and what it orders. Only lines that stand on the page already are left out.

Sentences are ranked by their words in common with the claim (character n-grams by BM25, alone and
with their neighbours, so that inflected forms, cognates and languages without spaces count) and by
nearness to the excerpt that the search showed: the choice of whoever saw more pages. Where the room
ends, embeddings decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.page_text import PageSentence, page_sentences, wall_in
from factible_assets.reasoners.embedded.reading.passages import bm25_scores
from factible_assets.reasoners.embedded.text import STOP_WORDS
from factible_assets.reasoners.llm.prompts import OMISSION

Scores = npt.NDArray[np.float64]

_GRAM = 4
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_GAP = f" {OMISSION} "
_SURE, _MOST_EMBEDDED = 0.6, 14
"""The share of the room that goes to the first sentences by their words alone, and how many of the
next are embedded, to choose what fills the rest. From a half to .8 and from 10 to 16 as many
recorded quotes are kept as with all sentences embedded (`benchmarks.tokens`)."""
_LONGEST_NOTICE = 400
"""Characters of the longest page that is nothing but a wall; of a longer one the model is judge."""
_LEAST_COMPARED = 40
_SHORT, _LONG = 6, 35
"""Words of a sentence that says little, and of one that takes the room of two."""
_SHOWN_BY_SEARCH = 90.0
"""Partial ratio, of 100, from which the search's excerpt holds a sentence."""


def excerpt(
    claim: str, text: str, *, limit: int, snippet: str = "", embedder: Embedder | None = None
) -> str | None:
    """Return what a model is given of a page, None if there is nothing to read (a bot wall, …).

    Args:
        claim: The claim that the page is read for.
        text: The page's whole text.
        limit: Characters, without the marks of omission.
        snippet: What the search showed of the page.
        embedder: Similarities of sentences, its vectors comparable across calls; words alone decide
            if None.

    Raises:
        EmbedderUnavailableError: The embedder's model cannot be loaded.
    """
    if len(text) < _LONGEST_NOTICE and wall_in(text):
        return None
    sentences = _once(page_sentences(text))
    if sum(len(sentence.text) + 1 for sentence in sentences) > limit:
        scores = _relevance(claim, snippet, sentences)
        sure = _fitting(sentences, scores, int(_SURE * limit) if embedder else limit)
        if embedder is not None:
            order = np.argsort(-scores, kind="stable")
            unsure = np.sort([at for at in order if at not in sure][:_MOST_EMBEDDED])
            scores[[*sure]] = np.inf
            if unsure.size:
                wants = embedder.embed([claim, snippet])
                vectors = embedder.embed([sentences[at].text for at in unsure])
                scores[unsure] += 2 * (vectors @ wants[0]) + 0.3 * (vectors @ wants[1])
            sure = _fitting(sentences, scores, limit)
        sentences = [sentences[at] for at in sorted(sure)]
    return _joined(text, sentences)


def _once(sentences: Sequence[PageSentence]) -> list[PageSentence]:
    """Leave out lines that repeat an earlier one, such as menus and captions."""
    lines: dict[int, list[PageSentence]] = {}
    for sentence in sentences:
        lines.setdefault(sentence.paragraph, []).append(sentence)
    distinct: dict[str, list[PageSentence]] = {}
    for line in lines.values():
        distinct.setdefault(" ".join(each.text for each in line), line)
    return [sentence for line in distinct.values() for sentence in line]


def _fitting(sentences: Sequence[PageSentence], scores: Scores, room: int) -> set[int]:
    """Return the places of the best sentences that fit into so many characters."""
    chosen: set[int] = set()
    for at in np.argsort(-scores, kind="stable"):
        if len(sentences[at].text) < room:
            chosen.add(int(at))
            room -= len(sentences[at].text) + 1
    return chosen


def _relevance(claim: str, snippet: str, sentences: Sequence[PageSentence]) -> Scores:
    """Return how likely each sentence speaks of a claim, by its words; only the order counts."""
    grams = [_grams(sentence.text) for sentence in sentences]
    around = [list(chain(*grams[max(0, at - 1) : at + 2])) for at in range(len(grams))]
    wanted = _grams(claim)
    words = 0.5 * _scaled(bm25_scores(wanted, grams)) + 0.5 * _scaled(bm25_scores(wanted, around))
    shown = 0.2 * _scaled(bm25_scores(_grams(snippet), grams))
    for at, sentence in enumerate(sentences):
        beginning = sentence.text[:160]
        if len(beginning) > _LEAST_COMPARED and (
            fuzz.partial_ratio(beginning, snippet) > _SHOWN_BY_SEARCH
        ):
            shown[at] += 0.5
    lengths = np.array([len(sentence.text.split()) for sentence in sentences])
    unhandy = (lengths < _SHORT) | (lengths > _LONG)
    scores: Scores = words + shown - 0.5 * unhandy
    return scores


def _scaled(scores: Sequence[float]) -> Scores:
    found = np.array(scores, dtype=np.float64)
    return found / (found.max(initial=0.0) or 1.0)


def _grams(text: str) -> list[str]:
    """Return the pieces of a text's words: four letters each, two where words are not spaced."""
    pieces = []
    for word in _WORD.findall(text.casefold()):
        if word in STOP_WORDS:
            continue
        size, marked = (2, word) if _UNSPACED.search(word) else (_GRAM, f" {word} ")
        pieces += [marked[at : at + size] for at in range(max(1, len(marked) - size + 1))]
    return pieces


def _joined(text: str, sentences: Sequence[PageSentence]) -> str | None:
    """Join sentences in the text's order: as they stand where nothing was left out between."""
    parts: list[str] = []
    start, end = 0, 0
    for sentence in sentences:
        if text[end : sentence.start].strip():
            parts += [text[start:end], _GAP]
            start = sentence.start
        end = sentence.end
    parts.append(text[start:end])
    if text[end:].strip():
        parts.append(_GAP)
    return "".join(parts).strip() or None
