"""Splits pages into sentences with exact raw offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from factible_assets.reasoners.embedded.text import is_abbreviation, tokenise


@dataclass(frozen=True, slots=True)
class PageSentence:
    """One sentence: `page[start:end]`, without outer white space.

    `paragraph` is the number of its line; sentences of one line belong together.
    """

    text: str
    start: int
    end: int
    paragraph: int


_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
_STOP = re.compile(
    r"[。\uff01\uff1f]+[”’」』\uff09]*|"
    r"[.!?…]+[\"'”’)\]»]*(?:\[\d+\])*(?=\s|$)|;\s(?=[A-Z])"
)
_OPENS_SENTENCE = re.compile(r"\s*[\"'\u201c\u2018(\[«—–-]*\s*[^\sa-z]")
_LAST_WORDS = re.compile(r"(?:(?P<before>\w+) )?(?<![\d\w])(?P<word>[^\W\d_]+(?:\.[^\W\d_]+)*)\.$")
_LONGEST_WORD = 20
"""Characters before a full stop that may form an abbreviation."""
_STATEMENT = re.compile(r"[.!:;][\"'\u201d\u2019)\]]{0,3}(?:\[\d{1,4}\]){0,5}\s{0,3}$")
_LONGEST_SENTENCE = 60
"""Words after which text without a full stop (a menu, a table, raw captions) is cut."""


def page_sentences(text: str) -> list[PageSentence]:
    """List the sentences of a page in order.

    A line break ends a sentence, and so do 60 words without a full stop.
    """
    return list(_split(text))


@lru_cache(maxsize=64)  # one page is read for many claims
def _split(text: str) -> tuple[PageSentence, ...]:
    sentences: list[PageSentence] = []
    for paragraph, matched in enumerate(_LINE.finditer(text)):
        line, start = matched.group(), matched.start()
        cuts = [
            matched.start() + stop.end()
            for stop in _STOP.finditer(line)
            if _OPENS_SENTENCE.match(line, stop.end()) and not _is_abbreviated(line, stop)
        ]
        for cut in [*cuts, matched.end()]:
            sentences.extend(_pieces(text, start, cut, paragraph))
            start = cut
    return tuple(sentences)


def _is_abbreviated(line: str, stop: re.Match[str]) -> bool:
    """Whether the full stop belongs to the word before it."""
    last = _LAST_WORDS.search(line, max(0, stop.start() - _LONGEST_WORD), stop.end())
    if stop.group() != "." or last is None:
        return False
    return is_abbreviation(last["word"], last["before"] or "", line[stop.end() :].lstrip())


def _pieces(text: str, start: int, end: int, paragraph: int) -> list[PageSentence]:
    """Strip one sentence, and cut it if it is too long."""
    words = tokenise(text[start:end])
    if not words:
        return []
    cuts = [start + word.start for word in words[_LONGEST_SENTENCE::_LONGEST_SENTENCE]]
    pieces = []
    for first, last in pairwise([start, *cuts, end]):
        raw = text[first:last]
        begin = first + len(raw) - len(raw.lstrip())
        piece = raw.strip()
        pieces.append(PageSentence(piece, begin, begin + len(piece), paragraph))
    return pieces


def is_statement(text: str) -> bool:
    """Whether a sentence ends like a statement; headings and questions do not."""
    return _STATEMENT.search(text, max(0, len(text) - 2 * _LONGEST_WORD)) is not None
