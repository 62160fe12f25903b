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
_FEW, _SHARE, _MANY_LINES, _RHYTHM, _SAMPLE = 3, 0.1, 5, 0.6, 2_000
_CODE_SIGNS, _CODE_ENDS = frozenset("=<>{}|\\/_#@$^&*~+`"), (";", "{", "}", "=", ",")
_MIN_SPOKEN_SHARE, _USUAL_SHARE, _MANY_TOKENS = 0.3, 0.65, 40
_SIGN_SHARE, _ENOUGH = 0.05, 80
_LONGEST_WORD, _MANY_CUES, _FASTEST, _SLOWEST = 60, 10, 100.0, 0.3
"""Characters a second that nobody speaks."""


def check_speech(texts: Sequence[str], starts: Sequence[float | None] = ()) -> None:
    """Refuse texts (of cues or of lines) that are not speech, or whose times cannot be theirs."""
    tokens = [token for text in texts for token in text.split()]
    spoken = sum(any(map(str.isalpha, each)) and not any(map(str.isdigit, each)) for each in tokens)
    longest = max(map(len, tokens), default=0)
    share = _USUAL_SHARE if len(tokens) > _MANY_TOKENS else _MIN_SPOKEN_SHARE
    if len(tokens) > _FEW and spoken < share * len(tokens):
        raise base.unknown_format("This holds codes or numbers, not speech")
    whole = "".join(tokens)
    if longest > _LONGEST_WORD and whole.isascii() and len(tokens) < longest:
        raise base.unknown_format("This holds codes, not speech")
    lines = [text.strip() for text in texts if text.strip()]
    signs = sum(map(_CODE_SIGNS.__contains__, whole))
    ends = sum(line.endswith(_CODE_ENDS) for line in lines)
    if signs > _SIGN_SHARE * max(len(whole), _ENOUGH) or ends > max(_FEW, len(lines) / 2):
        raise base.unknown_format("This has the signs of code or data, not of speech")
    for name, pattern in _REMAINS.items():
        found = [match[0] for text in texts for match in pattern.finditer(text[:_SAMPLE])]
        if len(found) >= max(_FEW, _SHARE * len(texts)):
            raise base.unknown_format(f"Its words would hold {name}, such as {found[0][:60]!r}")
    said = [line.split() for line in lines]
    for name, edge in (("begin", 0), ("end", -1)):
        digits = sum(any(map(str.isdigit, words[edge])) for words in said)
        if (edge == 0 or not starts) and digits >= max(_MANY_LINES, _RHYTHM * len(said)):
            raise base.unknown_format(f"Its lines {name} with numbers in an unknown format")
    _check_pace(texts, [start for start in starts if start is not None])


def _check_pace(texts: Sequence[str], starts: Sequence[float]) -> None:
    if len(starts) < _MANY_LINES:
        return
    pace = sum(map(len, texts[:-1])) / max(starts[-1] - starts[0], 1e-3)
    if pace < _SLOWEST or (pace > _FASTEST and len(starts) >= _MANY_CUES):
        raise base.unknown_format(f"Its times would mean {pace:,.2f} characters a second")
