"""The check that every reading must pass: are these words speech, or the remains of a format?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from resources.transcripts import base

_REMAINS: Final = {
    "arrows between times": re.compile(r"-->"),
    "tags": re.compile(r"</?[a-z][\w.:-]{0,30}(?:\s+[\w:-]+=[^<>]{0,200})?\s?/?>", re.IGNORECASE),
    "codes in braces": re.compile(r"\{[\\a-zA-Z]{1,3}[:\d&]|\{\\"),
    "escaped characters": re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d{1,6});|\\[nNrt\"]"),
    "names of fields": re.compile(
        r"[\"']\w{1,30}[\"']\s?:|\b(?:start|end|speaker|text|time|duration)\w{0,8}\s?[:=]\s?[\w\"']",
        re.IGNORECASE,
    ),
    "marks of emphasis": re.compile(r"\*\*|__"),
    "times": re.compile(r"\d:\d\d:\d\d|^\W?\d{1,2}:\d\d\b|\b\d{1,2}:\d\d\W?$"),
    "identifiers": re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f-]{12,}\b|\w+://"),
}
_FEW, _SHARE, _MANY_LINES, _RHYTHM = 3, 0.1, 5, 0.8
_MIN_SPOKEN_SHARE, _MIN_LETTER_SHARE, _ENOUGH = 0.3, 0.6, 200
_LONGEST_WORD, _MANY_CUES, _FASTEST, _SLOWEST = 60, 10, 100.0, 0.02
"""Characters a second that nobody speaks."""


def check_speech(texts: Sequence[str], starts: Sequence[float | None] = ()) -> None:
    """Refuse texts (of cues or of lines) that are not speech, or whose times cannot be theirs."""
    tokens = [token for text in texts for token in text.split()]
    spoken = sum(any(map(str.isalpha, each)) and not any(map(str.isdigit, each)) for each in tokens)
    longest = max(map(len, tokens), default=0)
    if len(tokens) > _FEW and spoken < _MIN_SPOKEN_SHARE * len(tokens):
        raise base.unknown_format("This holds codes or numbers, not speech")
    whole = "".join(tokens)
    if longest > _LONGEST_WORD and whole.isascii() and len(tokens) < longest:
        raise base.unknown_format("This holds codes, not speech")
    signs = sum(each.isascii() and not each.isalnum() for each in whole)
    if len(whole) > _ENOUGH and signs > (1 - _MIN_LETTER_SHARE) * len(whole) / 3:
        raise base.unknown_format("This has too many signs for speech")
    for name, pattern in _REMAINS.items():
        found = [text for text in texts if pattern.search(text[:2_000])]
        if len(found) >= max(_FEW, _SHARE * len(texts)):
            raise base.unknown_format(f"Its words would hold {name}, as in {found[0][:60]!r}")
    said = [text.split() for text in texts if text.strip()]
    for name, edge in (("begin", 0), ("end", -1)):
        digits = sum(any(map(str.isdigit, words[edge])) for words in said)
        if not starts and digits >= max(_MANY_LINES, _RHYTHM * len(said)):
            raise base.unknown_format(f"Its lines {name} with numbers in an unknown format")
    _check_pace(texts, [start for start in starts if start is not None])


def _check_pace(texts: Sequence[str], starts: Sequence[float]) -> None:
    if len(starts) < _MANY_CUES:
        return
    pace = sum(map(len, texts)) / max(starts[-1] - starts[0], 1e-3)
    if not _SLOWEST < pace < _FASTEST:
        raise base.unknown_format(f"Its times would mean {pace:,.2f} characters a second")
