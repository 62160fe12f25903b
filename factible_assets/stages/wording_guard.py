"""The guard before a model's words join a verdict: do they speak for its stance and no other?

It recognises English only; words in which it recognises no side do not pass.
"""

from __future__ import annotations

import re
from typing import Literal

from factible_assets.records.tables import Stance

Side = Literal["for", "against", "not for", "not against", "both", "open"]

_OPEN = re.compile(
    r"\b(?:unclear|unsettled|unproven|unverified|inconclusive|insufficient|undecided|uncertain"
    r"|(?:not|n't|never|cannot) (?:yet )?(?:be )?(?:settle\w*|decide\w*|determine\w*|enough)"
    r"|leaves? (?:it|this|that|the claim) open|too little|lacks?"
    r"|no (?:verdict|conclusion|answer))\b",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"\b(?:mixed|both (?:ways|sides)|partly|partially|in part|half|divided|disagree with each other"
    r"|for (?:it|the claim) and against|only (?:if|when|under|in some))\b",
    re.IGNORECASE,
)
_BE = r"(?:is|are|was|were|be|been|being|as|holds?|stays?|remains?|proves?|proved|to be) (?:\w+ )?"
_FOR = re.compile(
    r"\b(?:support\w*|confirm\w*|corroborat\w*|verif\w*|affirm\w*|substantiat\w*|endors\w*"
    r"|prov(?:e|es|ed|en|ing)|proof|agree\w*|back(?:s|ed|ing)?|bears? \w+(?: \w+)? out|borne out"
    r"|uphold\w*|upheld"
    rf"|{_BE}(?:true|correct|accurate|right|factual|so|the case|well-founded)|for (?:it|the claim)"
    r"|in favou?r|truth)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:refut\w*|contradict\w*|disprov\w*|debunk\w*|den(?:y|ies|ied)|reject\w*|disput\w*"
    r"|disagree\w*|rebut\w*|invalidat\w*|discredit\w*|false\w*|wrong\w*|incorrect\w*|inaccura\w*"
    r"|untrue|unfounded|baseless|unsupported|misleading|myths?|hoax\w*|fabricat\w*"
    r"|against (?:it|the claim)|no (?:evidence|proof|support|truth))\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no|not|none|nothing|nobody|never|neither|nor|hardly|without|cannot|fail\w*|few|\w+n't)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:!?,]|\b(?:but|while|whereas|although|though|however|yet|and)\b")
_FITS: dict[Stance, tuple[frozenset[Side], frozenset[Side]]] = {
    "supports": (frozenset({"for", "not against"}), frozenset({"for", "not against"})),
    "refutes": (frozenset({"against", "not for"}), frozenset({"against", "not for"})),
    "mixed": (
        frozenset({"both"}),
        frozenset({"both", "for", "against", "not for", "not against", "open"}),
    ),
    "unclear": (frozenset({"open"}), frozenset({"open", "not for", "not against"})),
}
"""By stance: the sides of which the words must take one, and all sides that they may take."""


def sides_of(words: str) -> set[Side]:
    """Return the sides that English words on a claim take; a negation turns the words after it."""
    found: set[Side] = set()
    for clause in _CLAUSE.split(words.replace("\u2019", "'")):
        if _OPEN.search(clause):
            found.add("open")
            continue
        if _BOTH.search(clause):
            found.add("both")
            continue
        for match in _AGAINST.finditer(clause):
            found.add("not against" if _is_turned(clause[: match.start()]) else "against")
        # "No evidence for it" is against the claim, so its "for it" must not count.
        rest = _AGAINST.sub(lambda match: " " * len(match[0]), clause)
        for match in _FOR.finditer(rest):
            found.add("not for" if _is_turned(clause[: match.end()]) else "for")
    if {"for", "against"} <= found:
        found.add("both")
    return found


def _is_turned(words: str) -> bool:
    return len(_NEGATION.findall(words)) % 2 == 1


def speaks_for(words: str, stance: Stance) -> bool:
    """Whether words recognisably speak for a stance, and for no other."""
    needed, allowed = _FITS[stance]
    found = sides_of(words)
    return bool(found & needed) and found <= allowed
