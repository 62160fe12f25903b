"""Turns a span of the transcript into the text of a claim.

It removes words only at the edges, and sounds of hesitation ("um") anywhere, so that no claim says
more or less than its speaker.
"""

from __future__ import annotations

import re

from factible_assets.reasoners.embedded.claims.sentences import Sentence, reading_text
from factible_assets.reasoners.embedded.text import fold, tokenise, word_set

_LEAD_IN = re.compile(
    r"""
    (?: (?:and|but|u[hm]+|okay|ok|yeah|you[ ]know|i[ ]mean|also|basically|actually|anyway
          |of[ ]course|in[ ]fact|for[ ]example|for[ ]instance|by[ ]the[ ]way),?
      | so(?![ ](?:that|far|many|much|few|little|long|called)[ ]),?
      | (?:look|listen|instead|then|in[ ](?:other[ ]words|addition|summary|actual[ ]fact)),
      | (?:or|well|now|yes|oh|you[ ]see|however|therefore|finally|first|second|third)
        (?:,|(?=[ ](?:the|an?|this|that|these|those|there|it|i|we|you|he|she|they|in|on|if|when
                     |what|here|my|our|your|his|her|its|their)(?:'\w+)?[ ]))
      | (?:it[ ])?turns[ ]out(?:[ ]that)?(?=[ ](?:the|an?|there|it|they|we|in)[ ])
      | did[ ]you[ ]know(?:[ ]that)?
      | (?:(?:number|step|reason|fact|tip|point)[ ])?(?:one|two|three|four|five|six|\d{1,2})[:.)]
    )\ +
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words without content at the beginning of a sentence. Ambiguous words count only before a comma
or a word that opens a clause: "Well known facts" and "So few people" stay whole."""

_LOOK = 200
"""Characters searched for a lead-in and for the words after it."""
_PRESUPPOSES = re.compile(r"\bdid you know(?: that)?\s+\Z", re.IGNORECASE)
"""A question that states its answer."""

_TAG = re.compile(
    r",\ +(?:right|ok(?:ay)?|you[ ]know|huh|by[ ]the[ ]way|of[ ]course"
    r"|(?:he|she)[ ](?:(?:would|used[ ]to)[ ])?(?:says?|said))[\s.?!,]*\Z",
    re.VERBOSE | re.IGNORECASE,
)
_HESITATION = word_set("um umm uh uhm erm")
_OUTER_MARKS = " \t\r\n\"'\u201c\u201d\u2018\u2019([{<-\u2013\u2014\u2022*,;:.\u2026"
_CLOSING_MARKS = "\"'\u201d\u2019)]"
_TRAILING_MARKS = " \t\r\n\u201c\u2018([{<-\u2013\u2014*,;:.\u2026"
_QUOTES = str.maketrans("", "", '"\u201c\u201d')
_BRACKETS = re.compile(r"(?<!\w)\[|\]")  # two words would become one without "["
_FEWEST_LEFT = 4


def trim(raw: str, sentence: Sentence) -> Sentence:
    """Move the start of a sentence past its introduction ("so, you know, …").

    At least four words remain; otherwise the sentence stays unchanged.
    """
    start = _skip_marks(raw, sentence.start, sentence.end)
    while lead_in := _LEAD_IN.match(
        raw[start : min(start + _LOOK, sentence.end)].replace("\u2019", "'")
    ):
        following = _skip_marks(raw, start + lead_in.end(), sentence.end)
        if len(tokenise(raw[following : min(following + _LOOK, sentence.end)])) < _FEWEST_LEFT:
            break
        start = following
    return span_of(raw, start, sentence.end, sentence.certainty)


def write_claim(raw: str, span: Sentence) -> str:
    """Write a span as a claim: with a capital and a full stop, without hesitation."""
    words = _BRACKETS.sub("", reading_text(raw[span.start : span.end])).split(" ")
    text = " ".join(word for word in words if fold(word).strip(".,") not in _HESITATION)
    text = _TAG.sub("", text.rstrip(_TRAILING_MARKS)).rstrip(_TRAILING_MARKS).lstrip(_OUTER_MARKS)
    if text.count("\u201c") != text.count("\u201d") or text.count('"') % 2:
        text = text.translate(_QUOTES)
    if text.endswith("?") and _PRESUPPOSES.search(raw, max(0, span.start - _LOOK), span.start):
        text = text[:-1]
    if not text:
        return text
    if text.endswith("U.S") or re.search(r"\b[A-Z]\.[A-Z]\Z", text):
        text += "."
    text = text[0].upper() + text[1:]
    return text if text.rstrip(_CLOSING_MARKS)[-1:] in {"?", "!", "."} else text + "."


def span_of(raw: str, start: int, end: int, certainty: float) -> Sentence:
    """Return a span of the transcript, without white space at its end, as a sentence."""
    while end > start and raw[end - 1].isspace():
        end -= 1
    return Sentence(reading_text(raw[start:end]), start, end, certainty)


def _skip_marks(raw: str, start: int, end: int) -> int:
    while start < end and raw[start] in _OUTER_MARKS:
        start += 1
    return start
