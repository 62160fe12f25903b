"""Finds the place of a claim in a transcript (Factible, section 1.3.2).

It slides windows as many words long as the claim, ± 2, over the transcript, compares each with the
claim by the ratio of `difflib.SequenceMatcher`, and accepts the best from 0.5. The similarity by
the longest common subsequence, which rapidfuzz computes for all windows in milliseconds, is never
lower than that ratio and tells which windows to try.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import Indel

from resources.words import UNSPACED

MIN_SCORE = 0.5
"""The least similarity of a place (Factible, section 1.3.2)."""
SLACK_WORDS = 2
"""Words by which a window may be longer or shorter than the claim (Factible, section 1.3.2)."""
_MAX_WINDOWS = 1_000
"""The most windows to try. More windows have a bound from 0.5 only if nothing resembles the claim;
the search may then miss a weak match."""
_ROUNDING = 1e-6
"""The error of rapidfuzz's 32-bit floats: added, it keeps each bound an upper bound."""
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]+")
_WORD = re.compile(rf"{UNSPACED.pattern}|(?:(?!{UNSPACED.pattern})\S)+")


class TextMatch(NamedTuple):
    """A span of the raw text, and its similarity to the claim, from 0.5 to 1."""

    char_start: int
    char_end: int
    score: float

    @property
    def middle(self) -> int:
        return (self.char_start + self.char_end) // 2


class _Word(NamedTuple):
    folded: str
    start: int
    end: int


class Localiser:
    """Finds claims in one text; it prepares the text once, at the first claim that needs it."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _words(self) -> list[_Word]:
        return _words_of(self._text)

    @cached_property
    def _folded(self) -> str:
        return " ".join(word.folded for word in self._words)

    @cached_property
    def _starts(self) -> list[int]:
        lengths = (len(word.folded) + 1 for word in self._words)
        return list(accumulate(lengths, initial=0))

    def locate(self, claim: str) -> TextMatch | None:
        """Return the place most similar to a claim, the earliest of equal ones; None below 0.5.

        Verbatim words score 1. Any other place runs from the first to the last letter or digit of
        the window's words.
        """
        claim = claim.strip()
        verbatim = self._text.find(claim) if claim else -1
        if verbatim >= 0:
            return TextMatch(verbatim, verbatim + len(claim), 1.0)
        words = [word.folded for word in _words_of(claim)]
        if not words or not self._words:
            return None
        import numpy as np  # noqa: PLC0415 - slow to import, and few processes locate claims

        text, length, count = " ".join(words), len(words), len(self._words)
        sizes = range(
            min(count, max(1, length - SLACK_WORDS)), min(count, length + SLACK_WORDS) + 1
        )
        spans = [(first, first + size) for size in sizes for first in range(count - size + 1)]
        windows = [self._window(*span) for span in spans]
        bounds = process.cdist([text], windows, scorer=Indel.normalized_similarity)[0] + _ROUNDING
        matcher = SequenceMatcher(None, "", text, autojunk=False)
        best_score, best = MIN_SCORE, None
        for at in np.argsort(-bounds, kind="stable")[:_MAX_WINDOWS].tolist():
            if bounds[at] < best_score:
                break
            matcher.set_seq1(windows[at])
            score = matcher.ratio()
            is_earlier = best is None or spans[at] < best
            if score > best_score or (score == best_score and is_earlier):
                best_score, best = score, spans[at]
        if best is None:
            return None
        first, last = best
        return TextMatch(self._words[first].start, self._words[last - 1].end, best_score)

    def _window(self, first: int, last: int) -> str:
        return self._folded[self._starts[first] : self._starts[last] - 1]


def similarity(first: str, second: str) -> float:
    """Return difflib's ratio of two texts after normalisation, from 0 to 1.

    It depends on the order. `Localiser` scores the place first, then the claim.
    """
    left, right = (" ".join(word.folded for word in _words_of(text)) for text in (first, second))
    return float(SequenceMatcher(None, left, right, autojunk=False).ratio())


def _words_of(text: str) -> list[_Word]:
    """Split a text into folded words with raw offsets; scripts without spaces letter by letter."""
    words = []
    for match in _WORD.finditer(text):
        if folded := fold(match[0]):
            start, end = _without_punctuation(match[0])
            words.append(_Word(folded, match.start() + start, match.start() + end))
    return words


def fold(word: str) -> str:
    """Return the letters and digits of a word in one case and one Unicode form."""
    if word.isascii():
        return word.lower() if word.isalnum() else _NOT_ALPHANUMERIC.sub("", word).lower()
    form = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return "".join(char for char in form if char.isalnum() or unicodedata.category(char)[0] == "M")


def _without_punctuation(word: str) -> tuple[int, int]:
    letters = [index for index, character in enumerate(word) if fold(character)]
    return letters[0], letters[-1] + 1
