"""What of a page's text can be read: its sentences, apart from furniture and instructions.

What belongs here: splitting a page into sentences, and telling its own prose from its furniture
(cookie notices, menus) and from text that instructs whoever reads it. What does not: anything that
depends on a claim (passages.py, stance.py), and answers that are no page at all, such as bot walls
(resources/scraping/notices.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from factible_assets.reasoners.readers.lexicon import load_lexicon
from factible_assets.reasoners.embedded.text import NAMED_BY_LETTER, tokenise


@dataclass(frozen=True, slots=True)
class PageSentence:
    """One sentence: `text[start:end]` of the raw text that was split, without outer white space.

    `paragraph` counts the lines of the text; sentences of one line belong together.
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
_LAST_WORD = re.compile(r"([^\W\d_]+(?:\.[^\W\d_]+)*)\.$")
_LONGEST_SENTENCE = 60
"""Words after which text without a full stop (a menu, a table, raw captions) is cut."""


def page_sentences(text: str) -> list[PageSentence]:
    """List the sentences of a page in order, with exact raw offsets.

    A line break always ends a sentence, because a page's lines are its headings and paragraphs.
    Longer stretches than 60 words without a full stop are cut there.
    """
    return list(_split(text))


_PAGES_KEPT = 64
"""Pages whose sentences are kept: one page is read for many claims."""


@lru_cache(maxsize=_PAGES_KEPT)
def _split(text: str) -> tuple[PageSentence, ...]:
    sentences: list[PageSentence] = []
    for paragraph, found in enumerate(_LINE.finditer(text)):
        line, start = found.group(), found.start()
        cuts = [
            found.start() + stop.end()
            for stop in _STOP.finditer(line)
            if _OPENS_SENTENCE.match(line, stop.end()) and not _is_abbreviation(line, stop)
        ]
        for cut in [*cuts, found.end()]:
            sentences.extend(_pieces(text, start, cut, paragraph))
            start = cut
    return tuple(sentences)


def _is_abbreviation(line: str, stop: re.Match[str]) -> bool:
    """Tell whether a full stop belongs to the word before it: "Dr.", "e.g.", the J of "J. Doe".

    "No." is short for number only where one follows; else it is an answer.
    """
    if stop.group() != ".":
        return False
    found = _LAST_WORD.search(line, max(0, stop.start() - 20), stop.end())
    if found is None:
        return False
    word = found.group(1).casefold()
    if word in {"no", "nos"}:
        return line[stop.end() :].lstrip()[:1].isdigit()
    if len(word) == 1:
        before = line[: stop.start() - 1].split()
        return not (before and before[-1].casefold() in NAMED_BY_LETTER)
    return word in load_lexicon().abbreviations


def _pieces(text: str, start: int, end: int, paragraph: int) -> list[PageSentence]:
    """Trim white space off one sentence and cut it if it never ends."""
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


# --- Furniture and orders -----------------------------------------------------------------------


@lru_cache(maxsize=_PAGES_KEPT)
def readable_sentences(text: str) -> tuple[PageSentence, ...]:
    """Return the sentences of a page that are its own prose.

    Furniture is left out: menus, notices of cookies, calls to subscribe. A sentence that reports
    something about cookies or donations is none. Text that gives its reader orders is left out
    together with its block, and nothing else of the page is: what a page orders is not what it
    reports, but one line that a stranger could slip in does not silence it.
    """
    orders = _orders(text)
    return tuple(
        sentence
        for at, sentence in enumerate(_split(text))
        if at not in orders and not _is_furniture(sentence.text)
    )


_LONGEST_LABEL = 6
"""Words of a text that is a label or a button whatever ends it."""


def _is_furniture(text: str) -> bool:
    """Tell whether a sentence belongs to the website: its words do, and its shape does too.

    The shape is a label without an end, or words of the site to its visitor ("we", "your", or an
    imperative). Words alone decide nothing: "Volunteers can donate blood every 56 days."
    """
    lexicon, folded = load_lexicon(), _folded(text)
    if not lexicon.furniture.search(folded):
        return False
    words = len(tokenise(text))
    is_label = words <= _LONGEST_LABEL or (
        words <= 2 * _LONGEST_LABEL and not _STOP.search(text, len(text) - 1)
    )
    return is_label or lexicon.addresses_visitor.search(folded) is not None


_LONGEST_BLOCK = 60
"""Words after an order, on its line, that go with it."""
_LINES_BETWEEN_MARKERS = 12


@lru_cache(maxsize=_PAGES_KEPT)
def _orders(text: str) -> frozenset[int]:
    """Return the places of a page's sentences that give orders, and of what belongs to them.

    That is what follows an order on its line, for at most sixty words; after a marker that opens
    instructions also what follows until the marker that closes them.
    """
    lexicon, sentences = load_lexicon(), _split(text)
    folded = [_folded(sentence.text) for sentence in sentences]
    found: set[int] = set()
    room = 0
    for at, said in enumerate(folded):
        line = sentences[at].paragraph
        if lexicon.instructions.search(said):
            found.add(at)
            room = _LONGEST_BLOCK
        elif at and room > 0 and sentences[at - 1].paragraph == line:
            found.add(at)
            room -= len(tokenise(said))
        else:
            room = 0
        if lexicon.opens_orders.search(said):
            last = line + _LINES_BETWEEN_MARKERS
            within = [i for i in range(at + 1, len(folded)) if sentences[i].paragraph <= last]
            closing = next((i for i in within if lexicon.closes_orders.search(folded[i])), at)
            found.update(range(at, closing + 1))
    return frozenset(found)


def instructs_reader(text: str) -> bool:
    """Tell whether a page addresses whoever reads it, such as a language model, with orders."""
    return bool(_orders(text))


def _folded(text: str) -> str:
    return text.replace("’", "'").casefold()
