"""Checks after reading that a transcript holds speech, at times in which people can say it.

A reader that misunderstands a format leaves marks, numbers or the same word at the same place of
many lines, gives words an impossible pace, or shows two texts at once. Then PlacedError is raised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from resources.transcripts import base
from resources.transcripts.times import CLOCK, seconds_of

STOPS: Final = (".", "!", "?", "…", "。", "।", "؟", "\uff01", "\uff1f")
ENDED: Final = re.compile(rf"[{''.join(STOPS)}][\"'”’)\]]*$")
SENTENCE_END: Final = re.compile(rf"(?<=[{''.join(STOPS)}])\s+")
_FEW, _SEVERAL, _MANY = 3, 5, 10
_SAMPLE = 2_000  # characters of a line or word that the checks look at
_WORD_LENGTH = 6
_NO_WORD = re.compile(r"[\d=<>{}|\\/_#@$^*~+`]|\w[(\[]|\w:\w|^\W+$")  # "12", "a=b", "f(x", "--"


def folded(word: str) -> str:
    """Return the letters and digits of a word in lower case; the word if it has none."""
    return "".join(filter(str.isalnum, word.casefold())) or word


def word_count(text: str) -> float:
    """Return the number of words. Some scripts have no spaces, so six letters count as one."""
    words = text.split()
    return max(len(words), sum(map(len, words)) / _WORD_LENGTH)


def _is_code(token: str) -> bool:
    """Tell whether a token is a number or has a sign that plain words lack."""
    return _NO_WORD.search(token[:_SAMPLE]) is not None


_SIGNS = re.compile(
    r"[=<>{}|\\_@^~`]|#(?!\d)|//|^/\w|/.*/|\w[(\[]|\w:\w|\d[^\W\d_]{3}|[)}\]];|[^\W\d_]{2}\.\w{2}"
    r"|\*\w|^\W*[*]\W*$"
)
"""Signs of code in a word: "x = y", "f(x);", "os.path". In a talk on programming, 6 % have one."""
_REMAINS = re.compile(
    r"-->|</?[a-z][\w.:-]{0,30}(?:\s+[\w:-]+=[^<>]{0,200})?\s?/?>|\{[\\a-z]{1,3}[:\d&]|\{\\"
    r"|&(?:amp|lt|gt|quot|nbsp|#\d{1,6});|\\[nrt\"]|[\"']\w{1,30}[\"']\s?:"
    r"|\b(?:start|end|speaker|text|time|duration)\w{0,8}\s?[:=]\s?[\w\"']"
    r"|\d:\d\d:\d\d(?![^\[\]]{0,20}\])|^\W?\d{1,2}:\d\d|\b\d{1,2}:\d\d\W?$",
    re.IGNORECASE,
)
"""Marks of a format within words: arrows, tags, codes, escapes, names of fields, times."""
_LONG_TEXT, _MOST_CODES, _MOST_CODES_IN_LONG = 12, 0.7, 0.35  # words, and shares of them
_MOST_SIGNS, _LONGEST_WORD = 0.08, 60
_MOST_BARE, _MOST_REMAINS = 0.2, 0.1  # shares of the lines
_MOST_HOURS = 1_000_000  # times may count from 1970
_MARK = re.compile(r"\W*[A-Z]{3,}\W*")  # "NOTE", "[EVENT]"
_OPENERS: Final = frozenset("\"'“„«([¿¡-–—…♪.")  # signs at the beginning of speech
_RHYTHM = 0.6  # share of the lines
_FASTEST = 100.0  # characters a second, faster than anybody speaks
_SLOWEST, _SLOWEST_FEW = 0.8, 0.3  # of many texts, and of a few


def check_speech(texts: Sequence[str], times: Sequence[tuple[float | None, float]] = ()) -> None:
    """Refuse texts (of cues or of lines) that are not speech, or whose times cannot be theirs.

    `times`: the start and the length of each text in seconds.
    """
    lines = [text.strip() for text in texts if text.strip()]
    words = [word for line in lines for word in line.split()]
    codes, longest = sum(map(_is_code, words)), max(words, key=len, default="")
    most_codes = (_MOST_CODES_IN_LONG if len(words) > _LONG_TEXT else _MOST_CODES) * len(words)
    signs = sum(_SIGNS.search(word[:_SAMPLE]) is not None for word in words)
    if (
        (len(words) > _FEW and codes > most_codes)
        or signs >= max(_FEW, _MOST_SIGNS * word_count(" ".join(lines)))
        or 2 * signs > len(words)
        or (len(longest) > max(_LONGEST_WORD, len(words)) and longest.isascii())
    ):
        raise base.unknown_format("This holds codes or numbers, not speech")
    wordless = sum(all(map(_is_code, line[:_SAMPLE].split())) for line in lines)
    if wordless >= max(_SEVERAL, _MOST_BARE * len(lines)):
        raise base.unknown_format("Many of its lines hold numbers or codes, not words")
    remains = [match[0] for text in texts for match in _REMAINS.finditer(text[:_SAMPLE])]
    if len(remains) >= max(_FEW, _MOST_REMAINS * len(texts)):
        raise base.unknown_format(f"Its words would hold marks such as {remains[0][:60]!r}")
    _check_edges(lines, has_times=bool(times))
    hours = max(((start or 0.0) + length for start, length in times), default=0.0) / 3600
    if hours > _MOST_HOURS:
        raise base.unknown_format(f"Its times would mean {hours:,.0f} hours of speech")
    starts = zip(times, texts, strict=False)
    timed = [(start, text) for (start, _), text in starts if start is not None]
    if len(timed) > 1:
        _check_times(timed, [length for _, length in times])


def _check_edges(lines: Sequence[str], *, has_times: bool) -> None:
    """Refuse lines that begin or end in a rhythm: with numbers, one word or sign, or marks."""
    signs = [line[0] for line in lines if not line[0].isalnum() and line[0] not in _OPENERS]
    often = _RHYTHM * len(lines)
    # Hindi and French have a space before some stops.
    words_of_lines = [line.rstrip(f" {''.join(STOPS)}").split() or [line] for line in lines]
    for name, edge in (("begin", 0), ("end", -1)):
        words = Counter(line_words[edge] for line_words in words_of_lines)
        numbers = sum(count for word, count in words.items() if any(map(str.isdigit, word)))
        marks = [count for word, count in words.items() if _MARK.fullmatch(word)]
        are_marks = sum(marks) > max(_FEW, often, len(marks)) and not "".join(lines).isupper()
        are_numbers = numbers >= max(_SEVERAL, often) or _FEW <= len(lines) == numbers
        if are_marks or (are_numbers and not (edge and has_times)):
            raise base.unknown_format(
                f"Its lines {name} with numbers or marks of an unknown format"
            )
        for word, count in (words + Counter(signs)).most_common(1):
            if count >= max(_MANY, often):
                raise base.unknown_format(f"Its lines all {name} with {word[:60]!r}")


def _check_times(timed: Sequence[tuple[float, str]], lengths: Sequence[float]) -> None:
    """Refuse timed texts that repeat their times, share them, or have no human pace."""
    repeated = [
        clock[0]
        for start, text in timed
        for clock in re.finditer(CLOCK, text[:_SAMPLE])
        if int(seconds_of(clock[0]) or -1) == int(start)
    ]
    if len(repeated) >= max(_FEW, _MOST_REMAINS * len(timed)):
        raise base.unknown_format(f"Its words would hold their own times, such as {repeated[0]!r}")
    long_texts = {(start, text) for start, text in timed if len(text.split()) >= _FEW}
    by_start = Counter(start for start, _ in long_texts)
    simultaneous = sum(count for count in by_start.values() if count > 1)
    if simultaneous > max(_SEVERAL, len(timed) / 2):
        raise base.unknown_format("It holds two texts at each time, as of two languages")
    gaps = [next_start - start for (start, _), (next_start, _) in pairwise(timed)]
    have_ends = any(abs(span - gap) > 1 / _MANY for span, gap in zip(lengths, gaps, strict=False))
    spans = lengths if have_ends and any(lengths) else gaps
    paces = [len(text) / span for (_, text), span in zip(timed, spans, strict=False) if span > 0]
    if not paces:
        return
    # Of a few texts, all but one may have long pauses behind them.
    pace, slowest = median(paces), _SLOWEST
    if len(timed) < _SEVERAL:
        pace, slowest = max(paces), _SLOWEST_FEW
    if pace < slowest or (pace > _FASTEST and len(timed) >= _MANY):
        raise base.unknown_format(f"Its times would mean {pace:,.2f} characters a second")


_PAIR, _TITLE_WORDS = 2, 4
_TAG = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_PROSE_WORDS, _READ_SHARE, _MOST_LOST = 4, 0.4, 0.1


def check_prose(lines: Sequence[str]) -> None:
    """Refuse the lines of a text without times, speakers and markup that is no prose.

    In a list, most lines are a single word, or a few words that neither go on nor end a sentence.
    """
    lines = [line.strip() for line in lines if line.strip()]
    counts = ({line.count(mark) for line in lines} for mark in ";\t|,")
    if len(lines) > _PAIR and any(len(count) == 1 and max(count) > 1 for count in counts):
        raise base.unknown_format("This is a table, and its first line names no start and text")
    if any(line.startswith("```") for line in lines):
        raise base.unknown_format("This is a document with code")
    if 2 * sum(line.startswith("#") for line in lines) <= len(lines):
        lines = [line.lstrip("# ") or line for line in lines]
    check_speech(lines)
    unended = [line for line in lines if not ENDED.search(line)]
    are_open = len(unended) == len(lines)
    titles = sum(
        word_count(line) <= _TITLE_WORDS and (not line[0].islower() or ":" in line.split()[0])
        for line in unended
    )
    are_titles = titles >= _RHYTHM * len(lines)
    are_words = are_open and median(map(word_count, lines)) < _FEW
    if len(lines) >= _FEW and (are_titles or are_words):
        raise base.unknown_format("This is a list: its lines neither end a sentence nor go on")


def check_lost(lines: Sequence[str], read: base.TimedText) -> None:
    """Refuse a text of which many lines of prose did not become words of the transcript."""
    text = read.plain_text or " ".join(f"{cue.speaker or ''} {cue.text}" for cue in read.cues)
    spoken = {folded(word) for word in text.split()}
    prose = list[tuple[str, bool]]()  # lines, and whether the transcript has their words
    for line in lines:
        tokens = _TAG.sub(" ", line[:_SAMPLE]).split()
        codes = sum(map(_is_code, tokens))
        words = {folded(token) for token in tokens if not _is_code(token)}
        if len(words) >= max(_PROSE_WORDS, 2 * codes):
            prose.append((line.strip(), len(words & spoken) >= _READ_SHARE * len(words)))
    read_at = [at for at, (_, is_read) in enumerate(prose) if is_read]
    inside = prose[read_at[0] : read_at[-1]] if read_at else prose
    lost = [line for line, is_read in inside if not is_read]
    if len(lost) > 1 and sum(map(len, lost)) > _MOST_LOST * len(text):
        problem = f"{len(lost)} of its lines would be lost, such as {lost[0][:60]!r}"
        raise base.unknown_format(problem)
