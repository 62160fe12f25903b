"""Finds the parts of compound sentences that can be claims, and statements that are withdrawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, pairwise

from factible_assets.reasoners.embedded.claims.claim_text import span_of
from factible_assets.reasoners.embedded.claims.sentences import Sentence, changes_speaker
from factible_assets.reasoners.embedded.text import NEGATIONS, is_stop_word, tokenise, word_set

_CONJUNCTIONS = word_set("and but so or well now actually")
_BELIEVE = word_set("think thought believe believed assume assumed expect suppose guess imagine")
_UNTRUE = word_set("wrong false untrue myth myths lie lies nonsense hoax misconception fiction")
_TRUE = word_set("true truth case right correct")
_GOVERNS = (
    NEGATIONS
    | _UNTRUE
    | word_set("i we you if say says said claim claims claimed tell tells told argue argues")
)
"""Words of a denial, a condition, a report, or a belief."""
_REFERS_BACK = word_set("it that this these those they he she")
_LONGEST_DENIAL = 8
"""Words of the longest bare denial ("That is not true")."""

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
    parts: list[Sentence] = []
    starts = [sentence.start, *(joint.end() for joint in joints)]
    ends = [*(joint.start() for joint in joints), sentence.end]
    is_governed = False
    for start, end in zip(starts, ends, strict=True) if joints else ():
        words = [word.norm for word in tokenise(raw[start:end])]
        if not is_governed and len(words) >= _FEWEST_IN_PART and words[0] not in _NO_SUBJECT:
            parts.append(span_of(raw, start, end, sentence.certainty))
        is_governed |= not _GOVERNS.isdisjoint(words) or _is_supposition(words)
    return parts


def withdrawn(raw: str, sentences: Sequence[Sentence]) -> list[bool]:
    """Return for each sentence of a transcript whether its speaker withdraws it.

    True for a belief of the listener ("You might think …"), and for a statement before a bare
    denial ("But no.", "That is not true.") of the same speaker.
    """
    clauses = [_without_conjunctions(sentence) for sentence in sentences]
    are_withdrawn = [_is_supposition(words) for words in clauses]
    for at, (said, answer) in enumerate(pairwise(sentences)):
        if not changes_speaker(raw, said.end, answer.start):
            are_withdrawn[at] |= _is_bare_denial(answer.text, clauses[at + 1], clauses[at])
    return are_withdrawn


def _is_supposition(words: Sequence[str]) -> bool:
    """Whether a sentence opens like "You might think …"."""
    opening = words[:5]
    return opening[:1] in (["you"], ["you'd"]) and not _BELIEVE.isdisjoint(opening)


def _without_conjunctions(sentence: Sentence) -> list[str]:
    norms = (word.norm for word in tokenise(sentence.text))
    return list(dropwhile(lambda norm: norm in _CONJUNCTIONS, norms))


def _is_bare_denial(text: str, words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether a sentence denies the one before it without further content.

    If what was said itself denies, "No" and "It does not" confirm it.
    """
    confirms = _denies(said)
    is_no = bool(words) and words[0] in {"no", "nope", "wrong"}
    if is_no and (len(words) == 1 or text.casefold().partition(words[0])[2][:1] in {",", ".", "!"}):
        if not confirms or words[0] == "wrong":
            return True
        words = words[1:]
    content = [word for word in words if not is_stop_word(word) and word not in NEGATIONS]
    is_short = 0 < len(words) <= _LONGEST_DENIAL
    if not is_short or text.endswith("?") or not {*content} <= _UNTRUE | _TRUE:
        return False
    ends_in_denial = words[-1] in NEGATIONS and words[0].partition("'")[0] in _REFERS_BACK
    return _denies(words) and bool(content or (ends_in_denial and not confirms))


def _denies(words: Sequence[str]) -> bool:
    """Whether the number of denials among words is odd: two cancel out."""
    return sum(word in NEGATIONS or word in _UNTRUE for word in words) % 2 == 1
