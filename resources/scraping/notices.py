"""Recognises answers that come as a success and are not the page: notices, walls, damaged text.

What belongs here: telling from the words and the shape of a page's text that it is a notice of
failure or maintenance, of a page that is gone, of a domain for sale, a wall for robots, a consent
wall, or text whose characters were lost. What does not: the words themselves (notices.yaml), markup
(extract.py), bytes and content types (reading.py).

Whatever speaks so is short: from a certain number of words on, a page that holds the same words is
an article about them, and so is one that says who said it. A notice says so in its heading, or in a
few words without one.

An obstacle that may be gone another time is passing: such a page counts as missing, like one whose
server did not answer. The others stand for what the site offers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import yaml

_WORDS = yaml.safe_load(Path(__file__).with_name("notices.yaml").read_text("utf-8"))

Obstacle: TypeAlias = str
"""Why a page has no text to read: a key of OBSTACLES."""

OBSTACLES: dict[Obstacle, str] = _WORDS.pop("obstacles")
"""The reason that each obstacle is given as."""

PASSING: frozenset[Obstacle] = frozenset({"broken", "busy", "garbled", "textless"})
"""Obstacles that may be gone another time."""

_HEADED_WORDS = 220  # Words up to which a page whose heading is a notice is one.
_PLAIN_WORDS = 70
"""Words up to which a page is a notice for one phrase in its text; twice as many for two."""
_LOCKED_WORDS = 35  # Likewise for the words of a lock, behind which a page may show how it begins.
_SURE_WORDS = 600
"""Words up to which it is one for its heading and a phrase together, and may be a consent wall."""
_WALL_TEXT = 2_000  # Characters up to which a page may be a wall.
_OWN_WORDS = 30  # Words of other sentences from which a page is none that speaks to its visitors.
_SPOKEN_WORDS = 6  # Words that must be spoken to them.
_WORDS_OF_A_MARK = 10  # Words of a sentence of which each that is of pages tells.
_HEADLINE_WORDS = 15
_ENDS = re.compile("[.!?…。\uff01\uff1f][\"'”’)\\]]*\\s*$")
_MENU_LINES, _LINE_WORDS, _TELLING_SHARE = 8, 9, 0.1
"""Lines from which a page may be but its menus; words up to which a line without figures that ends
no sentence may be an entry; share of other lines from which it says something. Of 258 recorded
pages, each has a third or more."""
_TELLS = re.compile("\\d|[.!?:;…。\uff01\uff1f][\"'”’)\\]]*\\s*$")


_PATTERNS: dict[str, dict[str, re.Pattern[str]]] = {
    kind: {
        name: re.compile("|".join(re.sub(r"\n +", "", lines).splitlines()))
        for name, lines in patterns.items()
    }
    for kind, patterns in _WORDS.items()
}
_FRAME = re.compile(r"\s*(?:at [\w.$<>/]+\(|#\d+ |file \"?[/\w])", re.IGNORECASE)
"""A line of what a program leaves that failed."""
_MARKS = re.compile(r"[{}()=<>\\/_$|&*^~]")
_MARKS_SHARE = 0.1
"""Share of characters that programs are made of; real pages have at most a fiftieth."""

_SEPARATOR = re.compile(r"\s+[|–—·•»:-]+\s+|\s*[|»]\s*|:\s+")
_WORD = re.compile(r"\w+")
# Writing without spaces: two characters are about a word.
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}")


def is_wall(headings: Iterable[str], seen: str) -> bool:
    """Tell whether what a visitor without scripts sees is a wall for robots."""
    walls, said = _PATTERNS["walls"], _straightened(seen)
    return (
        len(seen) <= _WALL_TEXT
        and not _PATTERNS["reports"]["tells"].search(said)
        and (
            walls["phrases"].search(said) is not None
            or any(walls["headings"].match(_straightened(head)) for head in headings)
        )
    )


def notice_in(headings: Sequence[str], text: str) -> Obstacle | None:
    """Name the notice that a text, in lines, is; None for a page that can be read.

    `headings` are the page's title and main headings, if any.
    """
    sample = text[:_SAMPLE]
    lines = sample.split("\n")
    frames = sum(_FRAME.match(line) is not None for line in lines)
    marks = len(_MARKS.findall(sample))
    if is_garbled(text):
        return "garbled"
    # What a program is written in, or leaves when it fails.
    if marks > _MARKS_SHARE * max(len(sample), 200) or frames > max(2, len(lines) / 2):
        return "broken"
    if any(_PATTERNS["always"]["listing"].match(_straightened(head)) for head in headings):
        return "listing"
    words = _count_words(text, limit=_SURE_WORDS)
    return _short_notice(headings, text, words) if words <= _SURE_WORDS else None


def _short_notice(headings: Sequence[str], text: str, words: int) -> Obstacle | None:
    folded = _straightened(text)
    lines = text.split("\n", 3)[:3]
    wholes = {_straightened(head) for head in (*headings, *lines)}
    # A heading, and what it is beside the name of its site: "Maintenance | The Site".
    parts = {part.strip(" .!…") for whole in wholes for part in (whole, *_SEPARATOR.split(whole))}
    sentences = set(re.split(r"(?<=[.!?])\s+|\n", text))
    # Without the headlines of other pages, which are short and end without a stop.
    prose = [
        each
        for each in sentences
        if _ENDS.search(each) or _count_words(each, limit=_HEADLINE_WORDS) > _HEADLINE_WORDS
    ]
    is_report = _PATTERNS["reports"]["tells"].search(_straightened("\n".join(prose or [text])))
    notices = {} if is_report else _PATTERNS["phrases"]
    for obstacle, pattern in notices.items():
        found = len({match.group() for match in pattern.finditer(folded)})
        heading = _PATTERNS["headings"].get(obstacle)
        if heading is not None and any(heading.fullmatch(part) for part in parts if part):
            most = _SURE_WORDS if found else _HEADED_WORDS
        else:
            most = (_LOCKED_WORDS if obstacle == "locked" else _PLAIN_WORDS) * min(found, 2)
        if words <= most:
            return obstacle
    spoken = None if is_report else _spoken_of(prose)
    if spoken is not None:
        return spoken
    lines = [line for line in text.split("\n") if line.strip()]
    telling = sum(
        _TELLS.search(line) is not None or _count_words(line, limit=_LINE_WORDS) > _LINE_WORDS
        for line in lines
    )
    return "menu" if len(lines) >= _MENU_LINES and telling < _TELLING_SHARE * len(lines) else None


def _spoken_of(sentences: Sequence[str]) -> Obstacle | None:
    """Name what is spoken of where little is said but to visitors, of the page they asked for.

    In whatever wording: an article, however short, has sentences of its own.
    """
    folded = _straightened(" ".join(sentences))
    if _PATTERNS["visitors"]["addressed"].search(folded) is None:
        return None
    about = own = 0
    for sentence in map(_straightened, sentences):
        words = _count_words(sentence, limit=_SURE_WORDS)
        marks = sum(len(spoken.findall(sentence)) for spoken in _PATTERNS["speaks of"].values())
        about += min(words, marks * _WORDS_OF_A_MARK)
        own += max(0, words - marks * _WORDS_OF_A_MARK)
    said = {
        obstacle: len({match.group() for match in spoken.finditer(folded)})
        for obstacle, spoken in _PATTERNS["speaks of"].items()
    }
    is_notice = sum(said.values()) > 1 and about >= _SPOKEN_WORDS and own < _OWN_WORDS
    return max(said, key=lambda each: said[each]) if is_notice and own * 3 <= about * 2 else None


def _count_words(text: str, *, limit: int) -> int:
    """Count words up to a limit, so that a long page costs no more than a short one."""
    count = 0
    for word in _WORD.finditer(text):
        count += max(1, len(_DENSE.findall(word.group())))
        if count > limit:
            break
    return count


def _straightened(text: str) -> str:
    return " ".join(text.replace("\u2019", "'").casefold().split())


# --- Characters ---------------------------------------------------------------------------------

_SAMPLE = 20_000
_LOST_SHARE = 0.02
"""Share of characters that no text has, from which a text is garbled: U+FFFD, controls, private
use, unassigned."""
_QUESTIONED = re.compile(r"[^\W\d_]\?(?=[^\W\d_])|\?{4}")
"""What is left of letters where a character set had none for them."""
_ACCENTED_SHARE = 0.5
"""Share of Latin letters that are not of the basic alphabet. Vietnamese, the most accented of
languages, has a quarter."""
_CAPITALS_SHARE = 0.8
"""Share of capitals from which Cyrillic was read as another of its charsets, which swaps them."""
_LEAST_LETTERS = 40


def is_garbled(text: str) -> bool:
    """Tell whether a text was read in another character set than it was written in, or is none.

    Of a text's beginning: characters that no text has, endless words, and letters that are mostly
    accented, or mostly capitals.
    """
    sample = text[:_SAMPLE]
    lost = sum(
        each not in "\t\n\r\x85"
        and (each == "\ufffd" or unicodedata.category(each) in {"Cc", "Co", "Cn", "Cs"})
        for each in sample
    )
    lost += len(_QUESTIONED.findall(sample))
    endless = sum(len(word) for word in re.findall(r"[\w+/=-]{60,}", sample))
    if lost > max(3, _LOST_SHARE * len(sample)) or endless > len(sample) / 2:
        return True
    letters = [each for each in sample if each.isalpha()]
    if sample.isascii() or len(letters) < _LEAST_LETTERS:
        return False
    latin = [each for each in letters if each < "\u0250"]
    accented = sum(each > "\u007f" for each in latin)
    cyrillic = [each for each in letters if "\u0410" <= each <= "\u044f"]
    capitals = sum(map(str.isupper, cyrillic))
    if len(latin) > len(letters) / 2 and accented > _ACCENTED_SHARE * len(latin):
        return True
    return len(cyrillic) > len(letters) / 2 and capitals > _CAPITALS_SHARE * len(cyrillic)
