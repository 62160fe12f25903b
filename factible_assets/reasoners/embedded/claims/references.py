"""Whom a sentence speaks of when it says "it", "they" or "this".

What belongs here: recognising a reference that stands open, and the one thing before it that it
can mean. What does not: which sentences are claims (selection.py), trimming them (wording.py).

Only what is plain is resolved (the disambiguation of Claimify, arXiv 2502.10855, abstains
likewise): the pronoun opens the sentence, and the subject of the sentence before is a short noun
phrase at its head, followed by a verb, that agrees in number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from factible_assets.reasoners.embedded.claims.clauses import (
    AUXILIARIES,
    count_clauses,
    is_plural,
    shows_tense,
)
from factible_assets.reasoners.embedded.text import (
    MONTHS,
    Word,
    content_stems,
    is_stop_word,
    stem,
    tokenise,
    word_set,
)

_SINGULAR = word_set("it its")
_PLURAL = word_set("they their these")
_PERSONAL = word_set("he she his her")
_OF_MANY = word_set("they them their theirs")
_PEOPLE = word_set("man woman person child doctor patient parent mother father president someone")
_POSSESSIVE = word_set("its their his her")
_RESOLVED = _SINGULAR | _PLURAL | _PERSONAL
_PRONOUNS = _RESOLVED | word_set("them him this that those")
"""Words that stand for something named elsewhere."""
_VERBS = {"": "", "s": " is", "re": " are", "ve": " have"}
_PERFECT = word_set("been got had become")
"""What stands behind a pronoun's apostrophe, where it is clear: "'d" is "had" or "would", and "'s"
is "has" before these."""
_DRAWN = re.compile(r"\A(it|they|he|she|we|you|i|this|that|these|those|there)'(?:s|re|ve|d|ll|m)\Z")

_NO_SUBJECT = word_set(
    """
    and but or so if when while as because since although though after before once until unless
    what who why how where which that there here in on at for from by with to of not no now then
    also well yes today i we you he she it they everyone everybody someone somebody anyone
    anybody nobody
    """
)
_OUTSIDE_SUBJECT = (_NO_SUBJECT | _PRONOUNS) - {"and", "of", "in"}
_LONGEST_SUBJECT = 6
_ADVERBS = word_set("just still never always often only really already soon")
_PERSON = re.compile(
    r"\b(?<!\bthe )(?<!\bin )(?<!\bat )(?<!\bfrom )"
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|Professor|President|Senator)\.? )?"
    r"[A-Z][a-z]+ (?:[A-Z]\. )?[A-Z][a-z]+\b"
)
_EXPLETIVE = re.compile(
    r"it(?:['\u2019]s| [\w'\u2019]+)(?: be)?(?! (?:an?|the|one|some|due|able|used|\w+ing)\b)"
    r"(?: [\w'\u2019-]+){0,3}? (?:to|that|who|when|if|how|why|time)\b|it (?:rain|snow)(?:s|ed)\b",
    re.IGNORECASE,
)
"""An "it" that stands for nothing said before: "it's important to …", "it is women who …"."""
_DEMONSTRATIVE = re.compile(
    r"\b(?:this|these|those(?! (?:in|on|at|from|with|without|under|over|of)\b)|such)\s+"
    r"(?:(?:one|two|three|new|same|other)\s+)?([a-z][\w-]+)",
    re.IGNORECASE,
)
_TIMES = word_set(
    "year years month months week weeks day days morning evening time times moment century decade"
)
_FIGURE = re.compile(r"[\d.,%$]+(?![\w])")
_NO_NOUNS = _TIMES | word_set("point way country planet is are was were can will means one")
_SHELL = re.compile(
    r"the (?:\w+ )?ones? (?!(?:hundred|thousand|million|billion|trillion)\b)"
    r"|the (?:real |main |other |first |second |next |last |only )?"
    r"(?:answer|bill|case|cause|change|compound|decision|difference|discovery|effect|event|fact"
    r"|finding|goal|group|idea|issue|law|lawsuit|legislation|method|number|paper|plan|point|problem"
    r"|process|program|project|question|reason|report|result|rule|ruling|solution|state|story"
    r"|study|system|team|technique|theory|trend|video)s? "
    r"(?!of\b|that\b|for\b|in\b|to\b|between\b|from\b|on\b|by\b|behind\b|with\b|at\b)",
    re.IGNORECASE,
)
"""A noun that takes up what was said before, and nothing that says which (Schmid, English Abstract
Nouns as Conceptual Shells, 2000, and nouns that are used alike)."""
_TIME_BEFORE = re.compile(
    r"(?:until|since|by|before|after|back) then\b|at that time\b|at the time(?=,)"
    r"|(?:just |only |about )?\w+(?: \w+)? (?:hours?|days?|nights?|weeks?|months?|years?|decades?"
    r"|centur(?:y|ies)) (?:later\b|earlier\b|before(?=,| that\b| this\b))"
    r"|(?:on |in )?the (?:next|following|previous|same) (?:year|month|week|day|night)\b"
    r"(?!'| (?:of|in|on|that|when|which)\b)"
    r"|[^\d]*?\b(?:in|of|on|by|during|until|since) that (?:same )?(?:year|month|week|day|night)\b",
    re.IGNORECASE,
)
"""A time that another sentence tells: "Until then, …", "Five days later …", "of that year"."""

_SET_BEFORE = re.compile(
    r"(?:in|on|at|by|for|from|since|during|until|with|over|within|despite|under|according to)\b"
    r"(?P<before>[^,]*,(?:[^,]*,)?) (?=(?:it|they|he|she|this|that|these)\b)",
    re.IGNORECASE,
)
"""A setting before a subject that is not named: "In 2022, according to an institute, they …"."""

_OF_THEM = re.compile(r"(?P<before>.*?)\bof (?:them|those|these)\b(?! \w+s\b| who)", re.IGNORECASE)
_AHEAD = re.compile(r"\b(?:is|are|was|were) (?:just )?(?:this|these)\W*\Z", re.IGNORECASE)
_MEMBERS = word_set("and people children women men scientists researchers experts police")


def resolve(text: str, before: str) -> str:
    """Put what a sentence's opening pronoun means in its place, in brackets.

    "They release a protein" after "Killer cells are the greatest threat" becomes "[Killer cells]
    release a protein". Returns the text as it is where nothing is open or nothing is clear.
    """
    words = tokenise(text)
    if not words or _bare(words[0]) not in _RESOLVED or _EXPLETIVE.match(text):
        return text
    pronoun, _, rest = words[0].norm.partition("'")
    if pronoun == "these" and (len(words) == 1 or words[1].norm not in AUXILIARIES):
        return text
    meant = _person(before) if pronoun in _PERSONAL else _subject(before, plural=pronoun in _PLURAL)
    if meant is None or rest not in _VERBS or set(content_stems(meant)) <= set(content_stems(text)):
        return text
    has = rest == "s" and len(words) > 1 and words[1].norm in _PERFECT
    ending = " has" if has else _VERBS[rest]
    if pronoun in _POSSESSIVE:
        ending = "'" if meant.endswith("s") else "'s"
    return f"[{meant[0].upper()}{meant[1:]}{ending}]{text[words[0].end :]}"


def is_open(text: str) -> bool:
    """Tell whether a sentence points at something that it does not name itself.

    That is a pronoun before anything is named that it can mean ("Together, they …", "In August he
    …", "Plastic makes them …"), "this", "these" or "such" with a noun that has not been said, a
    subject that only takes up what was said before ("The discovery means …", "The red ones …") or
    stands for it behind a setting ("In 2022, they …"), a time told elsewhere ("Until then …"), or a
    share of what is not named ("1 in 5 of them").
    """
    words = tokenise(text)
    if (words and words[0].norm == "here") or _SHELL.match(text) or _AHEAD.search(text):
        return True
    if _has_free_pronoun(text, words) or _TIME_BEFORE.match(text) or _sets_before(text):
        return True
    pointed = [(each[1].casefold(), each.start()) for each in _DEMONSTRATIVE.finditer(text)]
    return any(
        noun not in _NO_NOUNS and stem(noun) not in content_stems(text[:start])
        for noun, start in pointed
    )


def _bare(word: Word) -> str:
    """Return a word without the verb that is drawn to it: "they" of "they'd"."""
    return _DRAWN.sub(r"\1", word.norm)


def _sets_before(text: str) -> bool:
    """Tell whether its subject is a pronoun behind a setting, or some of what is not named."""
    setting = _SET_BEFORE.match(text)
    if setting and not _EXPLETIVE.match(text, setting.end()):
        return count_clauses(setting["before"])[0] == 0
    share = _OF_THEM.match(text)
    before = [word.norm for word in tokenise(share["before"])] if share else []
    return share is not None and not any(is_plural(each) or shows_tense(each) for each in before)


def _has_free_pronoun(text: str, words: Sequence[Word]) -> bool:
    """Tell whether a pronoun comes before anything that it can mean."""
    said = many = named = said_time = False
    for word, following in zip(words, [*words[1:], None], strict=True):
        is_time = following is not None and following.norm in _TIMES
        is_empty = said_time and _EXPLETIVE.match(text, word.start)
        if (
            (not said and _bare(word) in _PRONOUNS and not is_time and not is_empty)
            or (not many and _bare(word) in _OF_MANY)
            or (not named and _bare(word) in _PERSONAL)
        ):
            return True
        is_content = not is_stop_word(word.norm)
        said_time |= is_content
        said |= is_content and not (word.norm in _TIMES or _FIGURE.match(text, word.start))
        many |= word.norm in _MEMBERS or (is_content and is_plural(word.norm))
        is_name = text[word.start].isupper() and word.norm not in MONTHS
        named |= is_content and (is_name or word.norm in _PEOPLE)
    return False


def _subject(sentence: str, *, plural: bool) -> str | None:
    """Return the noun phrase that a sentence opens with, if a verb follows it."""
    words = tokenise(sentence)
    norms = [_bare(word) for word in words[: _LONGEST_SUBJECT + 1]]
    inside = list(takewhile(lambda norm: norm not in _OUTSIDE_SUBJECT, norms))
    if not inside or inside[0] == "and" or inside[0].endswith(("ing", "ly")):
        return None
    if _SHELL.match(sentence):  # "The answer is yes."
        return None
    # "The human produced gases are": what could be a verb is none where an auxiliary follows.
    later = range(1, len(inside))
    verbs = [place for place in later if inside[place] in AUXILIARIES] or [
        place for place in later if shows_tense(inside[place])
    ]
    if not verbs:
        return None
    last = verbs[0] - 1
    while last and norms[last] in _ADVERBS:
        last -= 1
    phrase, head = sentence[words[0].start : words[last].end], norms[last]
    many = (
        " and " in phrase
        or head in _MEMBERS
        or (is_plural(head) and not head.endswith(("us", "is")))
    )
    whole = "," not in phrase and not is_stop_word(head) and "'" not in head
    return phrase if whole and many == plural else None


def _person(sentence: str) -> str | None:
    """Return the one person whom a sentence names, None if it names several or none."""
    found = (match.group() for match in _PERSON.finditer(sentence))
    named = {name for name in found if not is_stop_word(name.split()[0].casefold())}
    return named.pop() if len(named) == 1 else None
