"""From a sentence as it was said to a claim as it can be read.

What belongs here: lead-ins that say nothing, limits of length, how a claim is written. What does
not: which sentences are claims (checkworthiness.py, selection.py). Everything works on spans of the
raw transcript; a claim's text is what its span says, without hesitation, tidied at its two ends.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from factible_assets.reasoners.embedded.claims.sentences import Sentence, reading_text
from factible_assets.reasoners.embedded.text import tokenise

MAX_CLAIM_WORDS = 48
"""Words that a claim has at most. Factible (section 1.3.2) says 40; whole sentences up to 48 read
better than cut ones and match annotations as well (benchmarks/claims.py)."""

WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text("utf-8"))
"""The lists of words.yaml by name, as text."""
_LEAD_IN = re.compile(WORDS["lead_in"], re.VERBOSE | re.IGNORECASE)
_KEEPS_ITS_OPENING = re.compile(
    r"(?:so|as|now|then)\s+(?:that|far|many|much|few|little|long|called)\b"
    r"|(?:no|first|second|third|right|plus|well)\s+(?!(?<=well )(?-i:[A-Z])"
    r"|(?:i|we|you|he|she|it|they|there|this|that|these|the|an?|my|our|if|when|in|what|of all)\b)"
    r"|right\s+t?here\s+(?!(?:is|are|was|were|has|have|had|will|would|can|could|may|might)\b)"
    r"|(?:like|instead)\s+(?!,)|see\s+(?!,)|look\s+(?!,|it up(?:,| and))|again\s+and|or\s+not",
    re.IGNORECASE,
)
_OUTER_MARKS = " \t\r\n\"'\u201c\u201d\u2018\u2019([{<-\u2013\u2014\u2022*,;:.\u2026"
_CLOSING_MARKS = "\"'\u201d\u2019)]"
_TRAILING_MARKS = " \t\r\n\u201c\u2018([{<-\u2013\u2014*,;:.\u2026"
_CONNECTIVE = re.compile(
    r"(?:and|but|or|so|because|which|while|whereas|although|instead|rather|meanwhile|however"
    r"|therefore|thus|hence|otherwise|then|also|in fact|in other words|that is|for example"
    r"|as a result|in turn|by contrast|on the other hand)\b",
    re.IGNORECASE,
)
_FEWEST_LEFT = 4
_FILLER = re.compile(
    r"(?:,\s*)?\b(?:u[hm]+|erm|you know(?=,)|i mean(?=,)|(?<=, )like(?=,)|actually|basically"
    r"|(?<!not )(?<!n't )(?<!n\u2019t )literally"
    r"|by the way(?! (?:the|that|in|they|we|it|he|she)\b))\b,?"
    r"|,\s*(?:you know|i mean)\b(?=[,.?!])"
    # Beside what, a claim that stands by itself does not say.
    r"|(?<=\w )also(?= )",
    re.IGNORECASE,
)
_OPENS_CLAUSE = re.compile(r"\s*(?:i|we|you|he|she|it|they|there)\b", re.IGNORECASE)
_DOUBLED = re.compile(
    r"\b(?!(?:million|billion|two|three|five|ten|hundred|thousand)\b)"
    r"(\w+(?:'\w+)?(?: \w+){0,3}),? \1\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",\s+(?:right|ok(?:ay)?|you know|i mean|you see|huh|by the way|of course"
    r"|(?:he|she|i) (?:(?:would|used to) )?(?:says?|said)|i (?:think|thought))[\s.?!,]*\Z",
    re.IGNORECASE,
)
_QUOTES = str.maketrans("", "", '"\u201c\u201d')
_I = re.compile(r"\bi(?='(?:m|ve|d|ll)\b|\s)")


def strip_lead_ins(raw: str, sentence: Sentence) -> Sentence:
    """Move a sentence's start past what only introduces it ("so, you know, it turns out that …").

    At least four words are left; otherwise the sentence stays as it is.
    """
    start = _skip_marks(raw, sentence.start, sentence.end)
    while True:
        found = _LEAD_IN.match(raw[start : sentence.end].replace("\u2019", "'"))
        if found is None or _KEEPS_ITS_OPENING.match(raw, start, sentence.end):
            break
        following = _skip_marks(raw, start + found.end(), sentence.end)
        if len(tokenise(raw[following : sentence.end])) < _FEWEST_LEFT:
            break
        start = following
    return spanning(raw, start, sentence.end, sentence.certainty)


def write_claim(raw: str, sentence: Sentence) -> str:
    """Write a span as a claim: a capital first, one full stop last, hesitation left out."""
    text = _FILLER.sub(_left_by, reading_text(raw[sentence.start : sentence.end]))
    text = " ".join(_DOUBLED.sub(r"\1", text).split()).rstrip(_TRAILING_MARKS)
    text = _TAG.sub("", text).rstrip(_TRAILING_MARKS).lstrip(_OUTER_MARKS)
    if text.count("\u201c") != text.count("\u201d") or text.count('"') % 2:
        text = text.translate(_QUOTES)
    text = _I.sub("I", text)
    if text.endswith("U.S") or re.search(r"\b[A-Z]\.[A-Z]\Z", text):
        text += "."
    if not text:
        return text
    text = text[0].upper() + text[1:]
    return text if text.rstrip(_CLOSING_MARKS)[-1:] in {"?", "!", "."} else text + "."


def _left_by(filler: re.Match[str]) -> str:
    """Return what stays of a filler: one of its two commas, where a clause follows."""
    between = filler[0].startswith(",") and filler[0].endswith(",")
    return ", " if between and _OPENS_CLAUSE.match(filler.string, filler.end()) else " "


def _skip_marks(raw: str, start: int, end: int) -> int:
    while start < end and raw[start] in _OUTER_MARKS:
        start += 1
    return start


def spanning(raw: str, start: int, end: int, certainty: float) -> Sentence:
    """Return the span of a transcript as a sentence, without white space at its end."""
    while end > start and raw[end - 1].isspace():
        end -= 1
    return Sentence(reading_text(raw[start:end]), start, end, certainty)


def leans_back(text: str) -> bool:
    """Tell whether a sentence opens with a connective that takes up the one before."""
    return _CONNECTIVE.match(text.lstrip(_OUTER_MARKS)) is not None
