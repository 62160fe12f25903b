"""Chooses the sentences of a page that a language model sees, and the quotes on the claim.

A model sees a short page whole, and of a long page the sentences that resemble the claim. They are
ranked by words shared with the claim (character n-grams by BM25, alone and with their neighbours,
so that inflected forms, cognates and languages without spaces count), by words shared with the
search snippet, and by position. Sentence embeddings find no more of the quotes, but they recognise
pages that say nothing of the claim. Those pages cost no call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.text import is_english
from factible_assets.reasoners.llm.prompts import Data, Piece, title_line
from factible_assets.reasoners.readers.page_text import PageSentence, page_sentences
from factible_assets.reasoners.readers.passages import bm25_scores
from factible_assets.records.tables import Claim
from factible_assets.stages.ports import PageExcerpt
from resources.words import STOP_WORDS, UNSPACED

Scores = npt.NDArray[np.float64]

CONTEXT_CHARACTERS = 300
"""Characters before a quote that may name its subject."""
_MOST_QUOTES = 3
_UNRELATED = 0.25
"""Cosine of MiniLM's vectors below which a quote says nothing of its claim: none of 214 recorded
quotes, and 80 % of them against claims of other videos (`benchmarks.tokens`)."""
_SILENT = 0.38
"""Cosine below which no sentence of a page concerns the claim, chosen on half of the recordings.
In all of them, 24 of 43 readings without a finding lie below it, and 2 of 281 findings."""
_CANDIDATES = 6
"""Sentences, nearest to the claim by words, whose cosine is computed."""
_GRAM = 4
_WORD = re.compile(r"\w+")
_AROUND = 2
"""Neighbours on each side whose words count for a sentence too: of 200 recorded quotes
(`benchmarks.tokens`) 1 to 6 more stay than with one, at each limit."""
_SNIPPET, _LEAD = 0.3, 0.2
"""Score for the words of the search snippet, and of the first sentence of a page above the last,
because pages begin with their main point."""
_SHORT, _LONG = 6, 35
"""Words of a sentence that says little, and of one that takes the room of two."""
_TOO_SHORT, _TOO_LONG = 0.5, 0.3
"""The deduction from the score of such sentences."""
_SHORT_PAGE = 600
"""Characters up to which the model sees the whole page."""
_LEAST_SHARE = 0.4
"""Share of the best sentence's score that a sentence needs. It, the weights above and the limit in
`ReadingLimits` were chosen on every second recorded video, where .94 of 138 quotes stay. Of the
other 76 .88 stay, as many as with an earlier choice that showed the model a quarter more."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """The sentences of a page that the model sees, by number; numbers count from 1."""

    page: PageExcerpt
    sentences: Mapping[int, PageSentence]

    def pieces(self, source: int = 1, first: int = 0) -> list[Piece]:
        """Return the page for a prompt. `first` is added to the number of each sentence."""
        day = self.page.published_on.isoformat() if self.page.published_on else "unknown date"
        lines = [f"Title: {title_line(self.page.title) or '(none)'}"]
        lines += [" ".join(sentence.text.split()) for sentence in self.sentences.values()]
        marks = ("", *(str(first + number) for number in self.sentences))
        words = Data(f"source {source}", "\n".join(lines), trimmable=True, marks=marks)
        return [f"Source {source}, of {day}:\n", words]

    def quotes(self, numbers: Sequence[int]) -> list[str]:
        """Return the passages of these sentences in the given order; neighbours become one quote.

        An unknown number becomes a quote that the page does not hold ("sentence 77"), so that the
        stage rejects and counts it.
        """
        runs: list[list[int]] = []
        for number in dict.fromkeys(numbers):
            adjacent = next((run for run in runs if self._continues(run, number)), None)
            if adjacent is None:
                runs.append([number])
            else:
                adjacent.append(number)
        return [self._passage(run) for run in runs[:_MOST_QUOTES]]

    def _continues(self, run: list[int], number: int) -> bool:
        """Whether the run and the sentence together form one passage of the page."""
        numbers = sorted((*run, number))
        if not self.sentences.keys() >= {*numbers} or numbers[-1] - numbers[0] >= len(numbers):
            return False
        neighbours = pairwise(self.sentences[number] for number in numbers)
        return not any(
            self.page.text[block.end : next_.start].strip() for block, next_ in neighbours
        )

    def _passage(self, run: list[int]) -> str:
        cited = [self.sentences[number] for number in sorted(run) if number in self.sentences]
        return self.page.text[cited[0].start : cited[-1].end] if cited else f"sentence {run[0]}"


def show_page(claim: Claim, page: PageExcerpt, limit: int, query: str = "") -> ShownPage | None:
    """Choose at most `limit` characters of a page; None if no sentence concerns the claim.

    On an English page, the words of the search that found it replace those of a claim in another
    language. Blocking: the first call loads the embedding model.
    """
    question = " ".join(filter(None, (claim.text, page.sought)))
    is_foreign = is_english(page.text) and not is_english(claim.text)
    words = f"{question} {query}" if is_foreign else question
    sentences = chosen_sentences(words, page.text, limit=limit, snippet=page.snippet)
    if not sentences or _is_silent(question, page, list(sentences.values())):
        return None
    return ShownPage(page, sentences)


def _is_silent(claim: str, page: PageExcerpt, sentences: Sequence[PageSentence]) -> bool:
    """Whether no sentence concerns the claim; always False unless both are in English."""
    if not (is_english(claim) and is_english(page.text)):
        return False
    order = np.argsort(-_relevance(claim, page.snippet, sentences), kind="stable")
    nearest = [sentences[at].text for at in order[:_CANDIDATES]]
    sought, *vectors = minilm().embed([claim, *nearest])
    return max(float(vector @ sought) for vector in vectors) < _SILENT


def related_quotes(claim: str, quotes: Sequence[str], text: str, spoken: str) -> list[str]:
    """Return the quotes of a page that concern a claim; all of them unless both are in English.

    The text before a quote counts too: "There is no evidence for that." `spoken` is the language
    code of the video, "" if unknown.
    """
    if not (quotes and is_english(claim, spoken) and is_english(text)):
        return [*quotes]
    places = [text.find(quote) for quote in quotes]
    before = [text[max(0, at - CONTEXT_CHARACTERS) : at] for at in places]
    sought, *vectors = minilm().embed([claim, *quotes, *map(str.__add__, before, quotes)])
    cosines = [float(vector @ sought) for vector in vectors]
    best = map(max, cosines[: len(quotes)], cosines[len(quotes) :])
    return [quote for quote, cosine in zip(quotes, best, strict=True) if cosine >= _UNRELATED]


def chosen_sentences(
    claim: str, text: str, *, limit: int, snippet: str = ""
) -> dict[int, PageSentence]:
    """Choose the sentences of a page for the model, by number, in the order of the page.

    Numbers count all sentences of the page from 1, so a gap shows an omission. Of a long page at
    most `limit` characters are chosen; after the first 600, only sentences with a high score.
    """
    sentences = dict(enumerate(_without_repetitions(page_sentences(text)), start=1))
    if sum(len(sentence.text) + 1 for sentence in sentences.values()) <= _SHORT_PAGE:
        return sentences
    values = _relevance(claim, snippet, list(sentences.values()))
    scores = dict(zip(sentences, values.tolist(), strict=True))
    least, length, chosen = _LEAST_SHARE * max(scores.values()), 0, set[int]()
    for number in sorted(sentences, key=lambda number: (-scores[number], number)):
        if length >= _SHORT_PAGE and scores[number] < least:
            break
        size = len(sentences[number].text) + 1
        if length + size <= limit:
            chosen.add(number)
            length += size
    return {number: sentences[number] for number in sentences if number in chosen}


def _without_repetitions(sentences: Sequence[PageSentence]) -> list[PageSentence]:
    """Drop lines that repeat an earlier line, such as menus and captions."""
    lines: dict[int, list[PageSentence]] = {}
    for sentence in sentences:
        lines.setdefault(sentence.paragraph, []).append(sentence)
    distinct: dict[str, list[PageSentence]] = {}
    for line in lines.values():
        distinct.setdefault(" ".join(sentence.text for sentence in line), line)
    return [sentence for line in distinct.values() for sentence in line]


def _relevance(claim: str, snippet: str, sentences: Sequence[PageSentence]) -> Scores:
    """Score each sentence for the claim, by words; only the order of the scores has a meaning."""

    def scaled(query: list[str], documents: Sequence[list[str]]) -> Scores:
        scores = np.array(bm25_scores(query, documents), dtype=np.float64)
        return scores / (scores.max(initial=0.0) or 1.0)

    grams = [_grams(sentence.text) for sentence in sentences]
    around = [
        list(chain(*grams[max(0, at - _AROUND) : at + _AROUND + 1])) for at in range(len(grams))
    ]
    of_claim = _grams(claim)
    words = 0.5 * scaled(of_claim, grams) + 0.5 * scaled(of_claim, around)
    in_snippet = _SNIPPET * scaled(_grams(snippet), grams)
    lengths = np.array([len(sentence.text.split()) for sentence in sentences])
    penalty = _TOO_SHORT * (lengths < _SHORT) + _TOO_LONG * (lengths > _LONG)
    lead = _LEAD * np.linspace(1, 0, len(sentences))
    relevance: Scores = words + in_snippet + lead - penalty
    return relevance


def _grams(text: str) -> list[str]:
    """Split the words of a text into n-grams: four letters, or two in scripts without spaces."""
    pieces = []
    for word in _WORD.findall(text.casefold()):
        if word in STOP_WORDS:
            continue
        size, marked = (2, word) if UNSPACED.search(word) else (_GRAM, f" {word} ")
        pieces += [marked[at : at + size] for at in range(max(1, len(marked) - size + 1))]
    return pieces
