"""Finds the place of a claim in a transcript.

Factible, section 1.3.2, "Fuzzy Claim Localization": normalise the texts, slide windows of the
claim's length in words plus or minus two over the transcript, compare each with the claim by the
ratio of `difflib.SequenceMatcher`, and accept the best from 0.5. The same ratio decides here, but
few windows need it. Its matching blocks are a common subsequence, so the longest common subsequence
(LCS; rapidfuzz finds it for all places in milliseconds) bounds it from above: 2·LCS divided by both
lengths. The LCS with the largest window at a word bounds all windows there. The search tries places
in the order of their bounds until no bound exceeds the best ratio, which is then the maximum over
all windows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import Indel, LCSseq

from resources.words import UNSPACED

MIN_SCORE = 0.5
"""The least similarity of a place (Factible, section 1.3.2)."""
SLACK_WORDS = 2
"""Words by which a window may be longer or shorter than the claim (Factible, section 1.3.2)."""
_MAX_STARTS = 200
"""The most first words to try. Only if nothing resembles the claim do more bounds reach 0.5; the
search may then miss a weak match."""
_ROUNDING = 1e-9
_NOT_SPOKEN = re.compile(r"[^A-Za-z0-9]+")
_WORD = re.compile(rf"{UNSPACED.pattern}|[^\s{UNSPACED.pattern[1:]}+")


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
        wanted = claim.strip()
        verbatim = self._text.find(wanted) if wanted else -1
        if verbatim >= 0:
            return TextMatch(verbatim, verbatim + len(wanted), 1.0)
        folded = [word.folded for word in _words_of(wanted)]
        if not folded or not self._words:
            return None
        claim, length = " ".join(folded), len(folded)
        count = len(self._words)
        shortest = min(count, max(1, length - SLACK_WORDS))
        longest = length + SLACK_WORDS
        matcher = SequenceMatcher(None, "", claim, autojunk=False)
        best_score, best = MIN_SCORE, None
        for first, bound in self._most_promising(claim, shortest, longest):
            if bound < best_score:
                break
            for last in range(first + shortest, min(count, first + longest) + 1):
                window = self._window(first, last)
                if Indel.normalized_similarity(window, claim) < best_score - _ROUNDING:
                    continue
                matcher.set_seq1(window)
                score = matcher.ratio()
                earlier = best is None or (first, last) < best
                if score > best_score or (score == best_score and earlier):
                    best_score, best = score, (first, last)
        if best is None:
            return None
        first, last = best
        return TextMatch(self._words[first].start, self._words[last - 1].end, best_score)

    def _most_promising(
        self, claim: str, shortest: int, longest: int
    ) -> Iterator[tuple[int, float]]:
        """Yield first words and the bound on the ratio of their windows, highest bound first."""
        import numpy as np  # noqa: PLC0415 - few starts of a process place a claim

        firsts = range(len(self._words) - shortest + 1)
        largest = [self._window(first, first + longest) for first in firsts]
        common = process.cdist([claim], largest, scorer=LCSseq.similarity, dtype=np.int32)[0]
        sizes = np.array([len(self._window(first, first + shortest)) for first in firsts])
        bounds = 2 * common / (len(claim) + sizes)
        for first in np.argsort(-bounds, kind="stable")[:_MAX_STARTS]:
            yield int(first), float(bounds[first]) + _ROUNDING

    def _window(self, first: int, last: int) -> str:
        final = min(last, len(self._words)) - 1
        return self._folded[self._starts[first] : self._starts[final + 1] - 1]


def similarity(first: str, second: str) -> float:
    """Return difflib's ratio of two texts after normalisation, from 0 to 1."""
    one, other = (" ".join(word.folded for word in _words_of(text)) for text in (first, second))
    return float(SequenceMatcher(None, one, other, autojunk=False).ratio())


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
        return word.lower() if word.isalnum() else _NOT_SPOKEN.sub("", word).lower()
    form = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return "".join(each for each in form if each.isalnum() or unicodedata.category(each)[0] == "M")


def _without_punctuation(word: str) -> tuple[int, int]:
    speaking = [index for index, character in enumerate(word) if fold(character)]
    return speaking[0], speaking[-1] + 1
