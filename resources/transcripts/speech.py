"""The promises of every transcript, checked after reading: words of people, at times they need.

A reader that misunderstands a format breaks one of them: it leaves marks, numbers or the same word
at the same place of many lines, gives words a pace that nobody speaks, or shows two texts at once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from resources.transcripts import base
from resources.transcripts.times import CLOCK, seconds_of

STOPS: Final = (".", "!", "?", "…", "。", "\uff01", "\uff1f")
_REMAINS: Final = {
    "arrows between times": re.compile(r"-->"),
    "tags": re.compile(r"</?[a-z][\w.:-]{0,30}(?:\s+[\w:-]+=[^<>]{0,200})?\s?/?>", re.IGNORECASE),
    "codes in braces": re.compile(r"\{[\\a-zA-Z]{1,3}[:\d&]|\{\\"),
    "escaped characters": re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d{1,6});|\\[nNrt\"]"),
    "names of fields": re.compile(
        r"[\"']\w{1,30}[\"']\s?:|\b(?:start|end|speaker|text|time|duration)\w{0,8}\s?[:=]\s?[\w\"']",
        re.IGNORECASE,
    ),
    "times": re.compile(r"\d:\d\d:\d\d(?![^\[\]]{0,20}\])|^\W?\d{1,2}:\d\d|\b\d{1,2}:\d\d\W?$"),
}
_FEW, _SHARE, _MANY_LINES, _BARE, _RHYTHM, _SAME, _SAMPLE = 3, 0.1, 5, 0.2, 0.6, 10, 2_000
_NO_WORD = re.compile(r"[\d=<>{}|\\/_#@$^*~+`]|\w[(\[]|\w:\w|^\W+$")
_MOST_CODES, _USUAL_CODES, _MANY_TOKENS, _LONGEST_WORD = 0.7, 0.35, 12, 60
_OPENERS: Final = frozenset("\"'“„«([¿¡-–—…♪.")
_FASTEST, _SLOWEST = 100.0, (1.0, 0.3)
"""Characters a second that nobody speaks."""
_TAG = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_MOST_LOST, _PROSE_WORDS, _KNOWN_SHARE = 0.1, 4, 0.4


def folded(word: str) -> str:
    """Return the letters and digits of a word in lower case; the word if it has none."""
    return "".join(filter(str.isalnum, word.casefold())) or word


def _is_code(token: str) -> bool:
    return _NO_WORD.search(token[:_SAMPLE]) is not None


def check_speech(
    texts: Sequence[str], starts: Sequence[float | None] = (), *, have_ends: bool = False
) -> None:
    """Refuse texts (of cues or of lines) that are not speech, or whose times cannot be theirs.

    `have_ends`: the texts have ends of their own, so there may be long pauses between them.
    """
    lines = [text.strip() for text in texts if text.strip()]
    tokens = [token for text in lines for token in text.split()]
    most = _USUAL_CODES if len(tokens) > _MANY_TOKENS else _MOST_CODES
    codes, longest = sum(map(_is_code, tokens)), max(tokens, key=len, default="")
    is_blob = len(longest) > max(_LONGEST_WORD, len(tokens)) and longest.isascii()
    if (len(tokens) > _FEW and codes > most * len(tokens)) or is_blob:
        raise base.unknown_format("This holds codes or numbers, not speech")
    bare = sum(all(map(_is_code, line[:_SAMPLE].split())) for line in lines)
    if bare >= max(_MANY_LINES, _BARE * len(lines)):
        raise base.unknown_format("Many of its lines hold numbers or codes, not words")
    for name, pattern in _REMAINS.items():
        found = [match[0] for text in texts for match in pattern.finditer(text[:_SAMPLE])]
        if len(found) >= max(_FEW, _SHARE * len(texts)):
            raise base.unknown_format(f"Its words would hold {name}, such as {found[0][:60]!r}")
    for name, edge in (("begin", 0), ("end", -1)):
        words = [line.split()[edge] for line in lines]
        numbers = sum(any(map(str.isdigit, each)) for each in words)
        if (edge == 0 or not starts) and numbers >= max(_MANY_LINES, _RHYTHM * len(lines)):
            raise base.unknown_format(f"Its lines {name} with numbers in an unknown format")
        signs = [line[0] for line in lines if not line[0].isalnum() and line[0] not in _OPENERS]
        for word, count in Counter(words + signs).most_common(1):
            if count >= max(_SAME, _RHYTHM * len(lines)):
                raise base.unknown_format(f"Its lines all {name} with {word[:60]!r}")
    timed = [(at, text) for at, text in zip(starts, texts, strict=False) if at is not None]
    if len(timed) >= _FEW:
        _check_times(timed, _SLOWEST[have_ends])


def _check_times(timed: Sequence[tuple[float, str]], slowest: float) -> None:
    own = [
        clock[0]
        for at, text in timed
        for clock in re.finditer(CLOCK, text[:_SAMPLE])
        if int(seconds_of(clock[0]) or -1) == int(at)
    ]
    if len(own) >= max(_FEW, _SHARE * len(timed)):
        raise base.unknown_format(f"Its words would hold their own times, such as {own[0]!r}")
    together = defaultdict[float, set[str]](set)
    for at, text in timed:
        together[at] |= {text} if len(text.split()) >= _FEW else set()
    several = sum(len(each) for each in together.values() if len(each) > 1)
    if several > max(_MANY_LINES, len(timed) / 2):
        raise base.unknown_format("It holds two texts at each time, as of two languages")
    paces = [len(text) / (after - at) for (at, text), (after, _) in pairwise(timed) if after > at]
    pace = median(paces) if len(timed) >= _MANY_LINES and paces else slowest
    if pace < slowest or (pace > _FASTEST and len(timed) >= _SAME):
        raise base.unknown_format(f"Its times would mean {pace:,.2f} characters a second")


def check_lost(lines: Sequence[str], read: base.TimedText) -> None:
    """Refuse a text of which many lines of prose did not become words of the transcript."""
    said = read.plain_text or " ".join(f"{cue.speaker or ''} {cue.text}" for cue in read.cues)
    known = {folded(token) for token in said.split()}
    prose = list[tuple[str, bool]]()
    for line in lines:
        tokens = _TAG.sub(" ", line[:_SAMPLE]).split()
        words = {folded(token) for token in tokens if not _is_code(token)}
        if len(words) >= max(_PROSE_WORDS, 2 * sum(map(_is_code, tokens))):
            prose.append((line.strip(), len(words & known) >= _KNOWN_SHARE * len(words)))
    read_at = [at for at, (_, is_read) in enumerate(prose) if is_read]
    inside = prose[read_at[0] : read_at[-1]] if read_at else prose
    lost = [line for line, is_read in inside if not is_read]
    if len(lost) > 1 and sum(map(len, lost)) > _MOST_LOST * len(said):
        problem = f"{len(lost)} of its lines would be lost, such as {lost[0][:60]!r}"
        raise base.unknown_format(problem)
