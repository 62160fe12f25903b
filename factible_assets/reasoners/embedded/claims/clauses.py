"""Whether words are whole statements: subjects, verbs, clauses, and where two statements meet.

What belongs here: telling a sentence from a piece of one by its verbs, and the statements of a
compound sentence. What does not: which sentences are claims (checkworthiness.py, selection.py),
tidying their words (wording.py).

There is no parser: verbs are the commonest of English, told from nouns of the same form by the word
before. Of whole sentences one in thirty is held to lack a verb.
"""

from __future__ import annotations

import re
from itertools import pairwise

from factible_assets.reasoners.embedded.claims.sentences import Sentence
from factible_assets.reasoners.embedded.claims.wording import WORDS, spanning
from factible_assets.reasoners.embedded.text import is_stop_word, tokenise, word_set

_JOINT = re.compile(
    r"(?:,| [\u2013\u2014-]{1,2}(?= )|\u2014)\s*"
    r"(?:(?:and|or)|(?P<turn>but|so|yet|which means))\s+"
    r"(?:that\s+(?=(?:the|an?|it|they|we|there|i|you|he|she|these|those|this|in)\b))?"
    r"|(?P<heard>\s(?:and|but)\s+)"
    r"(?=(?:there|i|we|you|he|she|it|they|this|that|these|the|an?|his|her|its|their)\b)"
    r"|(?P<stop>;|:(?!\d)|(?P<reason>(?<!\bnot),?\s+because\s))\s*",
    re.IGNORECASE,
)
_GOVERNS = re.compile(
    r"\b(?:that|as|than|like|so|if|when|while|because|since|although|though|until|before|after"
    r"|whether|how|why|what|(?:say|said|claim|argue|believe|think|thought|den(?:y|ie)|doubt|suggest|insist|show|prove|find"
    r"|found|know|knew|imagine|suppose|hope|fear|pretend|assume|tell|told|report|warn|predict|expect"
    r"|alleg|swear|swore|refus|disput|wish|dream|depict|accord|mean|make|made|let|watch|see|saw|hear)\w*|myth|false|wrong|untrue|hoax|lie|theory|idea|would"
    r"|without|unless|not|no|never)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""What may hold of the words behind an "and", too, where no comma parts them: "It is a myth that
vaccines cause autism and the state hides it"."""

_DENIES_ALL = re.compile(
    r"\b(?:myths?|lies?|hoax|false|untrue|nonsense|misconceptions?|not true)\b", re.IGNORECASE
)
_GRANTED = re.compile(r"\b(?:may|(?<!\b[Tt]he )might)\b.*\b(?:but|yet)\s+\Z", re.DOTALL)
"""What a sentence grants before it says what it says: "It may be cold, but it is dry"."""
_NEGATED = re.compile(r"\b(?:not|no|never|nobody|nothing)\b|n['\u2019]t\b", re.IGNORECASE)
_LONGEST = 1000
"""Characters from which a sentence is too long to be a claim, or to be taken apart."""

_REPORTED = re.compile(
    r",\s+(?:the (?:narrative|story|argument|theory|thinking|idea|claim|logic) goes"
    r"|(?:they|critics|some|many|people|experts|others) (?:say|claim|argue|tell us|insist)"
    r"|we(?:'re| are|\u2019re) (?:always )?told)\b",
    re.IGNORECASE,
)
"""Others say it, in a remark that holds for all of the sentence."""

_HALF = re.compile(r"\bnot (?:only|just|merely)\b(?!.*\bbut\b)", re.IGNORECASE)
_FEWEST_IN_PART = 4
_NO_SUBJECT = word_set(
    """
    if when while as because since although though once unless after before whether not of in on at
    for from by with to into than which who whom whose that is are was were has have had can could
    will would may might must does do did and or but so also even including such especially like
    what how why where
    """
)
_SUBORDINATE = word_set(
    "who which what whose where when if because while although since until whether how why unless"
)
AUXILIARIES = word_set(
    """
    is are was were am has have had do does did can could will would may might must shall should
    cannot isn't aren't wasn't weren't hasn't haven't hadn't can't couldn't won't wouldn't
    doesn't don't didn't shouldn't it's that's there's here's what's he's she's they're we're
    you're i'm i've you've we've they've i'd you'd we'd they'd he'd she'd i'll you'll we'll
    they'll he'll she'll it'll let's
    """
)
_PAST = word_set(WORDS["past"])
_BASE = word_set(WORDS["verbs"])


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


_THIRD_PERSON = frozenset(map(_third_person, _BASE))
_BEFORE_NOUNS = word_set(
    """
    the a an this these those my our your its their his her some any no of in on at for from by with
    into or more most
    """
)
_SUBJECTS = word_set("i we you they people children men women who which that")
_RELATIVE = word_set("who which that")
_QUANTIFIERS = word_set("many some all most few several")
_OF_SOMEONE = word_set("its his her their our your my it them him us")
_AFTER_IS = word_set("a an the this not been just like at in on up down")
"""What stands behind "is" and not behind a possessor: "the mantle's not …"."""
_LIKE_VERBS = word_set(
    "times besides always perhaps sometimes towards years days weeks months hours"
)
_LONG = 4
_SUBORDINATE_OPENERS = word_set(
    "until although though while whereas because despite unless from for nor"
)
_TIME_FIRST = re.compile(
    r"for (?:about |some |nearly |over )?\d+ (?:years|months|weeks|days|hours|minutes)"
    r"(?! (?:after|before|since)\b)|from this\b",
    re.IGNORECASE,
)
"""When something was, before the main clause."""


def count_clauses(text: str) -> tuple[int, int]:
    """Count the finite verbs of a text, and the words that open a subordinate clause."""
    verbs = subordinate = 0
    before, in_verb, many, opened = "", False, False, 0
    for word, after in pairwise([*(each.norm for each in tokenise(text)), ""]):
        is_verb = (
            word in AUXILIARIES
            or (word.endswith("'s") and after in _AFTER_IS)
            or (
                before != ""
                and before not in _BEFORE_NOUNS
                and (
                    shows_tense(word)
                    or (word in _BASE and many)
                    or (is_plural(word) and _looks_singular(before, word, after))
                )
            )
        )
        verbs += is_verb and not (in_verb and before in AUXILIARIES)
        opened += bool(before) and (
            word in _SUBORDINATE or (word == "that" and not is_stop_word(before))
        )
        if is_verb:  # "Since 1971" alone opens no clause.
            subordinate, opened = subordinate + opened, 0
        many = not is_verb and (many or word in _SUBJECTS or is_plural(word))
        before, in_verb = word, is_verb
    return verbs, subordinate + (opened > 0 and before in _SUBORDINATE)


def _looks_singular(before: str, word: str, after: str) -> bool:
    """Tell whether a word in "s" is a verb by its neighbours: "lights its …", "that breathes"."""
    if before in _RELATIVE:
        return after not in AUXILIARIES and not shows_tense(after)
    return before not in _QUANTIFIERS and word not in _LIKE_VERBS and after in _OF_SOMEONE


def shows_tense(word: str) -> bool:
    """Tell whether a word can be a finite verb by its form; nouns such as "changes" can, too."""
    return word in _PAST or word in _THIRD_PERSON or (word.endswith("ed") and len(word) > _LONG)


def is_plural(word: str) -> bool:
    """Tell whether a noun looks like many things."""
    return word.endswith("s") and not word.endswith("ss")


def is_fragment(text: str) -> bool:
    """Tell whether a sentence has no main clause of its own.

    It has no verb but those of its subordinate clauses, or it opens with a word that subordinates
    it and has no comma after which a main clause could stand.
    """
    verbs, subordinate = count_clauses(text)
    first, *later = text.casefold().split()[:2] or [""]
    opening = "because" if [first, *later] == ["just", "as"] else first.strip(",.")
    if opening in _SUBORDINATE_OPENERS and not _TIME_FIRST.match(text):
        return "," not in text
    if opening in _SUBORDINATE and "," not in text and not text.endswith("?"):
        return verbs <= subordinate + 1
    return verbs <= min(subordinate, 1)


def statements(raw: str, sentence: Sentence) -> tuple[list[Sentence], bool]:
    """Return the parts of a sentence that can stand alone, and whether it is several statements.

    Parts meet at a stop, a dash or a comma with a conjunction, where both sides have a subject and
    a verb: a list does not come apart. Without a comma they meet before what opens a subject,
    unless the first part has a clause or a denial that may go on. What follows "because" can stand
    alone, but a statement with its reason is one. What a remark gives to others stays with it.
    """
    if sentence.end - sentence.start > _LONGEST or _REPORTED.search(
        raw, sentence.start, sentence.end
    ):
        return [], False
    joints: list[re.Match[str]] = []
    for each in _JOINT.finditer(raw, sentence.start, sentence.end):
        begun = joints[-1].end() if joints else sentence.start
        if (
            (each["heard"] and _GOVERNS.search(raw, begun, each.start()))
            or (each["reason"] and _NEGATED.search(raw, begun, each.start()))
            or _GRANTED.search(raw, begun, each.end())
            or _DENIES_ALL.search(raw, begun, each.start())
        ):
            continue
        if _stands_alone(raw[each.end() : sentence.end]) and (
            each["stop"]
            or _stands_alone(raw[begun : each.start()], needs_verb=each["turn"] is None)
        ):
            joints.append(each)
    edges = [sentence.start, *(each.end() for each in joints)]
    ends = [*(each.start() for each in joints), sentence.end]
    parts = [
        spanning(raw, start, end, sentence.certainty)
        for place, (start, end) in enumerate(zip(edges, ends, strict=True))
        if joints
        and _stands_alone(
            raw[start:end], needs_verb=place == len(joints) or joints[place]["turn"] is None
        )
    ]
    return parts, any(not each["reason"] for each in joints)


def _stands_alone(text: str, *, needs_verb: bool = True) -> bool:
    """Tell whether a part of a sentence has a subject and after it a verb of its own.

    Verbs that do not show as such are taken for granted in a part that another clause turns upon.
    """
    words = [word.norm for word in tokenise(text)]
    if len(words) < _FEWEST_IN_PART or words[0] in _NO_SUBJECT or _HALF.search(text):
        return False
    verbs, subordinate = count_clauses(text)
    return not needs_verb or verbs > subordinate
