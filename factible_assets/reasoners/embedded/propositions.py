"""A claim from speech taken apart into what it asserts.

What belongs here: where one assertion ends and the next begins, which of them is the main one, and
what is said about who says it. What does not: comparing an assertion with a page (claim_frame.py).

Claims are spans of speech: "X causes Y, she would say. And with dinner …", "X, because Y", "A: B".
Held against a page as one bag of words, such a claim is never met. So sentences, semicolons, colons
and coordinated main clauses are propositions of their own; reasons and relative clauses are
secondary, for a claim with a wrong reason can still be right; and who says so is dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from factible_assets.reasoners.embedded.lexicon import load_lexicon
from factible_assets.reasoners.embedded.page_text import page_sentences
from factible_assets.reasoners.embedded.text import (
    is_stop_word,
    stem,
    tokenise,
    word_set,
)

Role = Literal["main", "beside", "reason"]
"""`beside`: asserted as much as the main proposition. `reason`: what explains or follows it."""


@dataclass(frozen=True, slots=True)
class Proposition:
    """One assertion of a claim, in the claim's own words."""

    text: str
    role: Role


_CLAUSE = re.compile(
    r"(?P<beside>;\s+|:\s+|\s[\u2013\u2014]\s|,\s+(?:and|but|while|whereas)\s+)"
    r"|(?P<manner>,\s+(?=(?:measured|based|compared|depending|meaning|thanks|due)\b))"
    r"|(?P<reason>,?\s+because\s+(?!of\b)|,\s+(?:since|so that|so|which|although|though|as)\s+)",
    re.IGNORECASE,
)
_SAYING = (
    r"(?:says?|said|saying|tells?|told|claims?|claimed|argues?|argued|explains?|explained|reports?"
    r"|reported|insists?|insisted|puts? it|knows?|knew|thinks?|thought|believes?|believed)"
)
_TAIL = re.compile(
    rf",\s+(?:(?:as|or so|at least)\s+)?(?:[\w'\u2019]+\s+){{1,4}}{_SAYING}\b[^,;:.\d]{{0,40}}$"
    r"|,\s+according to\s[^,;:.\d]{1,60}$",
    re.IGNORECASE,
)
_HEAD = re.compile(
    r"^(?:(?:we|i|you)\s(?:\w+\s)?(?:know|knew|think|believe|say|said|see|find|found)\s+that\s+"
    rf"|(?:people|they|many|everyone|everybody|some|experts|scientists|researchers|doctors)"
    rf"\s(?:\w+\s)?{_SAYING}\s+(?:that\s+)?"
    rf"|(?:my|the|our|a|one)\s\w+\s(?:\w+\s)?{_SAYING}\s+that\s+)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r",\s+(?:which|who|whose)\s[^,;:]{3,80},(?=\s+[a-z])")
"""A relative clause in the middle of a sentence, whose main clause goes on behind it."""
_LEAD_IN = re.compile(
    r"^[^:]{0,160}\b(?:why|this|thing|true|clear|simple|point|fact|truth|says?|said):\s+(?=(?:\S+\s+){2})",
    re.IGNORECASE,
)
"""Words before a colon that only announce what follows: "every parent knows why: …"."""
_OPENING = re.compile(r"^(?:and|but|so|or|then|well|now|also)\s+(?!far\b)", re.IGNORECASE)
_QUOTATION = re.compile(r"[\"\u201c][^\"\u201d]{20,}[\"\u201d]")
_ASKING = re.compile(
    r"\?$|\b(?:know|understand|explain|see|look|ask|wonder|tell|show)s?\s+(?:you\s|us\s)?"
    r"(?:why|how|whether|what)\b",
    re.IGNORECASE,
)
"""A question, or knowledge of which the claim says only that there is some."""
_OUTER = " \t\"'\u201c\u201d\u2018\u2019-\u2013\u2014,;:"
_PERSONAL = word_set("i me my we us our you your she he myself herself himself")
_PRONOUNS = word_set("it they this that these those")
_SHORTEST_CLAUSE = 4
"""Words from which a part can be a clause of its own."""
_LONGEST_SUBJECT = 5
_FINITE = re.compile(
    r"\b(?:it|they|there|he|she|we|you|this|that|these|those)\b"
    r"|\b(?:is|are|was|were|be|has|have|had|do|does|did|can|could|will|would|may|might|must|should"
    r"|cannot|\w+n't)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def read_propositions(claim: str) -> tuple[Proposition, ...]:
    """List what a claim asserts, the main proposition first.

    Never empty: a claim in which nothing is told apart is its own main proposition. Questions and
    remarks about the speaker are left out where anything else is left. A claim that quotes somebody
    is about the words as they stand, and is not cut.
    """
    if _QUOTATION.search(claim):
        return (Proposition(claim, "main"),)
    parts = [part for sentence in _sentences(claim) for part in _clauses(sentence)]
    kept = [(text, reason) for text, reason in parts if _says_something(text)]
    assertions = [each for each in kept if _ASKING.search(each[0]) is None] or kept
    if not assertions:
        return (Proposition(claim, "main"),)
    main = assertions[0][0]
    found = [Proposition(main, "main")]
    for text, reason in assertions[1:]:
        resolved = None if _is_personal(text) else _with_subject(text, main)
        if resolved is not None:
            found.append(Proposition(resolved, "reason" if reason else "beside"))
    return tuple(found)


def _sentences(claim: str) -> list[str]:
    return [sentence.text for sentence in page_sentences(re.sub(r"\s+", " ", claim))]


def _clauses(sentence: str) -> list[tuple[str, bool]]:
    """Cut a sentence into clauses, each with whether it gives a reason."""
    bare = _ASIDE.sub(" ", _without_speaker(sentence))
    parts: list[tuple[str, bool]] = []
    start, is_reason = 0, False
    for cut in _CLAUSE.finditer(bare):
        if _is_clause_end(bare[start : cut.start()], bare[cut.end() :], cut.group()):
            parts.append((_tidy(bare[start : cut.start()]), is_reason))
            start, is_reason = cut.end(), is_reason or cut["beside"] is None
    return [*parts, (_tidy(bare[start:]), is_reason)]


def _is_clause_end(before: str, after: str, joint: str) -> bool:
    """Tell whether a joint separates clauses, and not the members of a list or an apposition."""
    following = tokenise(after)
    if joint[0] in ":;":
        return len(following) >= _SHORTEST_CLAUSE
    if "because" in joint.lower() or joint.strip() == ",":
        return len(following) > 1
    if min(len(tokenise(before)), len(following)) < _SHORTEST_CLAUSE:
        return False
    has_predicate = "," not in before or _FINITE.search(before) is not None
    shares_subject = following[0].norm in load_lexicon().auxiliaries and "which" not in joint
    return has_predicate and not shares_subject and _FINITE.search(after) is not None


def _without_speaker(sentence: str) -> str:
    """Drop who says so: "people say that …", "…, she would say."."""
    bare = sentence.rstrip(" .!")
    for _ in range(2):
        bare = _TAIL.sub("", bare)
    bare = _OPENING.sub("", _LEAD_IN.sub("", bare))
    return _HEAD.sub("", bare)


def _tidy(part: str) -> str:
    return _OPENING.sub("", _TAIL.sub("", part).strip(_OUTER))


def _says_something(part: str) -> bool:
    """Tell whether a part holds two words of topic: "or take mountains" says nothing."""
    stems = {
        stem(word.norm)
        for word in tokenise(part)
        if not is_stop_word(word.norm) and word.norm not in _EMPTY
    }
    return len(stems - load_lexicon().light) > 1


_EMPTY = word_set("listen remember imagine true fact")
"""Words that call for attention and name no topic."""


def _is_personal(part: str) -> bool:
    return any(word.norm in _PERSONAL for word in tokenise(part))


def _with_subject(part: str, main: str) -> str | None:
    """Put the main proposition's subject in place of a pronoun; None if it is not known."""
    words = tokenise(part)
    if words[0].norm not in _PRONOUNS:
        return part
    subject = _subject(main)
    return None if subject is None else f"{subject} {part[words[0].end :].lstrip()}"


def _subject(main: str) -> str | None:
    auxiliaries = load_lexicon().auxiliaries
    for index, word in enumerate(tokenise(main)[: _LONGEST_SUBJECT + 1]):
        if index and (word.norm in auxiliaries or stem(word.norm) in load_lexicon().relations):
            return main[: word.start].rstrip()
    return None
