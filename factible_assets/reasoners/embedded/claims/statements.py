"""Parts of compound sentences that can be claims by themselves."""

from __future__ import annotations

import re

from factible_assets.reasoners.embedded.claims.claim_text import span_of
from factible_assets.reasoners.embedded.claims.sentences import Sentence
from factible_assets.reasoners.embedded.text import NEGATIONS, tokenise, word_set

_GOVERNS = NEGATIONS | word_set(
    "wrong false untrue myth lie nonsense hoax i we if say says said claim claims claimed tell"
    " tells told argue argues think thought believe believed assume assumed suppose guess imagine"
)
"""Words of a denial, a condition, a report, or a belief."""

_JOINT = re.compile(
    r"(?:;|:(?!\d)|\s[\u2013\u2014-]{1,2}(?=\s)|\u2014|,\s(?:so|but|yet|because|which means)\b)\s*",
    re.IGNORECASE,
)
_FEWEST_IN_PART = 4
_NO_SUBJECT = word_set(
    "that which who whose if when while as although to of not in on at for from by with into than"
    " or and even also such especially like is are was were has have had can could will would"
)
"""First words of a part that depends on the words before it."""


def independent_parts(raw: str, sentence: Sentence) -> list[Sentence]:
    """Return the parts of a compound sentence that may be claims by themselves.

    A sentence splits at a colon, a semicolon, a dash, and at a comma before "so", "but", "yet",
    "because" or "which means". Parts after a denial, a condition or a report are dropped, because
    they may depend on it.
    """
    joints = list(_JOINT.finditer(raw, sentence.start, sentence.end))
    found: list[Sentence] = []
    starts = [sentence.start, *(joint.end() for joint in joints)]
    ends = [*(joint.start() for joint in joints), sentence.end]
    depends = False
    for start, end in zip(starts, ends, strict=True) if joints else ():
        words = [word.norm for word in tokenise(raw[start:end])]
        if not depends and len(words) >= _FEWEST_IN_PART and words[0] not in _NO_SUBJECT:
            found.append(span_of(raw, start, end, sentence.certainty))
        depends |= not _GOVERNS.isdisjoint(words)
    return found
