"""What single statements of a page say of a claim: the same, its denial, another number, opposite.

What belongs here: cutting a page's sentences into statements, and when one of them is about the
claim. What does not: taking denials out (denials.py), comparing numbers (quantities.py), what a
page says by its tone (stance.py).

A statement is about the claim if, both without their denials, their embeddings are near and the
statement names what the claim names. It then supports if both assert or both deny, and refutes if
one does. Sentence embeddings see neither denials nor numbers nor opposites, so these are compared
beside them. Statements that ask, report or wonder say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import dropwhile, groupby, pairwise, permutations
from typing import Literal

import numpy as np

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.lexicon import load_lexicon
from factible_assets.reasoners.embedded.page_text import PageSentence
from factible_assets.reasoners.embedded.reading.denials import fold_evenly, without_denials
from factible_assets.reasoners.embedded.reading.passages import Passage
from factible_assets.reasoners.embedded.reading.quantities import (
    Quantity,
    compare_quantities,
    find_quantities,
    is_met,
)
from factible_assets.reasoners.embedded.text import (
    NAMED_BY_LETTER,
    Word,
    content_stems,
    fold,
    is_stop_word,
    stem,
    tokenise,
    word_set,
)

Says = Literal["asserts", "denies", "divided", "open"]

# Cosines.
NEAR_TURNED = 0.68
"""From which a statement is heard at all; a number or an opposite lowers it."""
_NEAR_SAID = 0.5
"""The same of one that means most of a claim's words: what else a page tells beside a date or a
rank takes it far from the claim."""
_ABOUT = 0.86
"""From which a statement and a claim, both without denials, are about the same, whatever their
words; words that they share count towards it."""
_SHORT, _NEAR_DENIAL, _ABOUT_DENIED = 6, 0.56, 0.7
"""Content words up to which a claim is one plain proposition, and the same two cosines of what
denies such a one: a denial that near a longer claim is mostly of something else. From .56 to .62,
and from four to six words, little differs (benchmarks/quality.py)."""
_ANSWERED = 0.62
"""From which a question that is answered by "no" is one about the claim: whoever asks and answers
means what is claimed."""
_AGAINST: dict[Says, float] = {"denies": 0.5, "divided": 0.6}
"""From which a statement that is not on the claim's side keeps tone from speaking for it."""
_NOT_COMPARED = 0.75
"""The same of one that does not compare where the claim does."""

# Shares of a claim's words.
_WORDS: dict[Says, float] = {"asserts": 0.16, "denies": 0.2, "divided": 0.11}
"""What a claim's words are worth that stand in a statement, all of them, beside a cosine."""
_WORDS_AGAINST = 0.06
"""The same of what asserts all that a claim denies: from .04 to .08 nothing differs."""
_LEAST_SAID = 0.7
"""Share without which no statement asserts a claim, less near than `_ABOUT`, or turns it by one
number or opposite."""
_LEAST_SHARED, _LEAST_WORDS = 0.3, 0.25
"""Share from which a statement is held against the claim at all, and the same of at most four
words. Without this rule half as much again has to be embedded, and nothing is read better."""

_SHORTEST = 3
"""Words of the shortest clause that states something."""
_KEPT = 4096

Ground = Literal[
    "assertion", "denial", "number", "opposite", "another", "divided", "tone", "inference"
]
"""Why a page says what it says: the same statement, its denial, another figure, the opposite, the
same of another, findings both ways, the leaning of its passages, an inference model."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause of a page: what it speaks of, without denials, and what it says of that.

    `raw` is the clause, `sentence` the whole one, with the years of the one before it in its
    paragraph if it names none: a story goes on. `span` the raw span of the words that say so,
    `focus` the words that a plain "not" or "no" denies. `answers`: a question or a heading with
    what is said to it, yes or no.
    """

    about: str
    says: Says
    raw: str
    sentence: str
    span: tuple[int, int]
    focus: frozenset[str]
    answers: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """A statement that takes a side; `passage` is the index of its passage."""

    side: Literal["supports", "refutes", "mixed"]
    ground: Ground
    nearness: float
    statement: Statement
    passage: int = 0


# --- Statements ---------------------------------------------------------------------------------

_VERB_AFTER_AND = (
    r"\s+and\s+(?=(?:do|does|did|is|are|was|were|can|could|cannot|will|would|has|have|had)\b)"
)
_BARE_DENIAL = (
    r",\s+(?=(?:the )?(?:\w+ )?\w+ (?:(?:is|are|was|were|do|does|did|has|have|can|could|will)"
    r"(?: not|n['\u2019]t)|cannot)\W*$)"
)
"""Before what is denied of another in its fewest words: "Iron is magnetic, copper is not"."""
JOINT = re.compile(
    r";\s+|:\s+|\s[\u2013\u2014]\s"
    r"|,?\s+(?:but|so that|although|though|whereas|while|unless|because|since)\s+(?!of\b)"
    r"|,\s+(?:and(?!\s+not\b(?! one\b))|so|or|yet|which|who|where|as|making|with)\s+|"
    f"{_BARE_DENIAL}|{_VERB_AFTER_AND}",
    re.IGNORECASE,
)
"""Where one clause of a sentence ends and the next begins."""
_CONCEDED = re.compile(r"^\W*(?:even )?(?:although|though|while)\b[^,]{3,100}, ", re.IGNORECASE)
"""What a sentence grants before it says what it says: "Although many think …, ..."."""
_COORDINATED = re.compile(
    r";\s|,\s+(?:and(?!\s+not\b(?! one\b))|or|so)\s|\s(?:but|whereas|while|yet(?! to\b))\s|"
    f"{_BARE_DENIAL}|{_VERB_AFTER_AND}",
    re.IGNORECASE,
)
"""Where a sentence goes on to another statement, which is not about the same."""
STATED = re.compile(r"[.!:;][\"'\u201d\u2019)\]]*(\[\d+\])*\s*$")
"""How a statement ends. A heading or a list item names a claim more often than it makes it."""
_BEFORE_NOT = re.compile(r", (?:which|who) [^,;]+(?=, (?:and )?not\b)")
"""A remark that stands between a statement and what it says it is not."""
_LABEL = re.compile(
    r"\W*(?:(?:our|the) )?(?:rating|verdict|ruling|fact[- ]?check)\W*$", re.IGNORECASE
)
"""A line that only says that a rating follows."""
_MYTH = re.compile(
    r"\W*(?:\w+ ){,2}(?:myth|misconception|fallacy)(?: (?:no\. ?)?\d+)?\s*[:\u2013\u2014]"
)
_CONTRACTED = re.compile(r"\b(that|this|it|there)'s\b")
_POINTS_BACK = re.compile(
    r"[^.,;!]*\b(?:(?:this|that|the) (?P<checked>claim|statement)|this|that|it|these|those)\b",
    re.IGNORECASE,
)
_MYTHS = re.compile(r"\b(?:myths|misconceptions|fallacies)\b", re.IGNORECASE)
"""A title or heading of what lists them: what is asserted there is repeated, and not meant."""
_CONTRARY: dict[Says, Says] = {"asserts": "denies", "denies": "asserts"}
_BARE = re.compile(
    r"\b(?:this|that|it|these|those|they)(?: claim| statement)?"
    r"(?:'s|\W*$| (?:is|are|was|were|has|have|to|turn|prov|do|does|did|can|could)\w*)",
    re.IGNORECASE,
)
"""A pronoun that stands for what was said: not that of "that bats are blind is untrue"."""
_COMMENT_WORDS = 4
"""Content words up to which a sentence that is said of another says nothing else."""
_LINES_TO_COMMENT = 3
"""Lines after which what answers a heading is quoted without it."""


@lru_cache(maxsize=_KEPT)
def statements(
    passage: Passage, *, whole: bool = False, contrasts: bool = False
) -> tuple[Statement, ...]:
    """List what a passage states, clause by clause.

    `whole` adds sentences of several clauses, `contrasts` also those that hold two against each
    other.

    Kept, as one page is read for many claims.
    """
    found: list[Statement] = []
    when, paragraph = "", -1
    for place, sentence in enumerate(passage.sentences):
        rest = (each for each in passage.sentences[place + 1 :] if not _LABEL.match(each.text))
        years = [q for q in quantities_in(sentence.text) if q.dimension == "year"]
        if years or sentence.paragraph != paragraph:
            when = " ".join(sentence.text[year.start : year.end] for year in years)
        paragraph = sentence.paragraph
        dated = sentence.text if years or not when else f"{sentence.text} {when}"
        is_whole = whole and (contrasts or not _CONTRASTS.search(sentence.text))
        stated = _of_sentence(sentence, next(rest, None), whole=is_whole)
        found += [replace(each, sentence=dated) for each in stated]
    return tuple(found)


def _of_sentence(
    sentence: PageSentence, following: PageSentence | None, *, whole: bool
) -> Iterator[Statement]:
    lexicon = load_lexicon()
    folded = fold_evenly(sentence.text)
    asks, is_stated = folded.endswith("?"), STATED.search(folded) is not None
    start, end = sentence.start, sentence.end
    is_myth = _MYTH.match(folded) is not None
    comment = "denies" if is_myth else _said_before(following.text if following else "")
    back = _POINTS_BACK.match(following.text) if following and not is_myth else None
    if following is not None and comment is not None:
        is_far = following.paragraph - sentence.paragraph > _LINES_TO_COMMENT
        start, end = following.start if is_far else start, following.end
    leaves_open = lexicon.labels.search(folded) or (asks and not folded.startswith("why "))
    plain = _CONCEDED.sub("", sentence.text)
    clauses = (sentence.text.removesuffix(plain), *JOINT.split(_BEFORE_NOT.sub("", plain)))
    parts = [part.strip() for part in clauses if len(tokenise(part)) >= _SHORTEST]
    is_one = (whole or not _COORDINATED.search(sentence.text)) and not (
        without_denials(sentence.text).denials
    )
    said_of = {part: _said_before(after) for part, after in pairwise(parts)}
    for part in dict.fromkeys(parts if len(parts) > 1 and not is_one else [sentence.text, *parts]):
        label = _MYTH.match(fold_evenly(part))
        clause = _CLEFT.sub(r"\1 ", part[label.end() :].strip() if label else part)
        found = without_denials(clause)
        is_long = len(tokenise(found.text)) >= _SHORTEST
        words = lexicon.not_denials.sub(" ", fold_evenly(clause))
        says: Says = "denies" if found.is_denied else "asserts"
        if len(parts) == 1 and _is_comment(part):
            continue
        said = said_of.get(part) or comment
        told = _as_told(said, back) if found.is_denied else said
        if said == "divided" or lexicon.divided.search(folded):
            says = "divided"
        elif leaves_open or (not found.denials and lexicon.reports.search(words)):
            says = told or "open"
        elif folded.endswith(("...", "\u2026")) or lexicon.unknown.search(fold_evenly(clause)):
            says = "open"
        # A heading names a claim, and a list item; one that denies means it.
        elif not (is_stated or said or asks or (found.is_denied and is_long)):
            continue
        elif said == "denies":
            says = told or says
        answers = comment is not None and (asks or not is_stated)
        yield Statement(found.text, says, clause, sentence.text, (start, end), found.focus, answers)


def _as_told(said: Says | None, back: re.Match[str] | None) -> Says | None:
    """Return what a denial says that something is said of, which may point `back` at it.

    Whoever answers it with no asserts. "This is a myth" may mean what it denies, and "this claim"
    is that which the page checks.
    """
    if said == "denies" and back is not None:
        return None if back["checked"] else "open"
    return _CONTRARY.get(said, said) if said else None


def _is_comment(text: str) -> bool:
    """Tell whether a sentence is said of another one alone: "This is false."."""
    return (
        _BARE.search(text) is not None
        and _said_before(text) is not None
        and len(content_words(text)) <= _COMMENT_WORDS
    )


def _said_before(text: str) -> Says | None:
    """Read what a text says of the one before it: "No.", "That is a myth."."""
    said = fold_evenly(text).lstrip("-*\u2022\u25cf|> ")
    said = _CONTRACTED.sub(r"\1 is", said).replace("n't", " not")
    lexicon = load_lexicon()
    heard: dict[Says, re.Pattern[str]] = {
        "divided": lexicon.divides_previous_sentence,
        "denies": lexicon.denies_previous_sentence,
        "asserts": lexicon.affirms_previous_sentence,
    }
    return next((says for says, pattern in heard.items() if pattern.search(said)), None)


# --- What holds of one alone ----------------------------------------------------------------------

_ROLE = re.compile(
    r"(?:\bthe |['\u2019]s )(?:\w+ )?(?:(?!(?:for|inter|r|w|gu|requ|harv|cont|prot|ch|n|hon|mod|t"
    r"|p|qu|gr|tw|f|y|manif|conqu|temp|midw|northw|southw|b|great|lat)est\b)[a-z]+est|most [a-z]+"
    r"|least [a-z]+|first|last|only|sole|capital|inventor|author|founder|discoverer|winner"
    r"|currency|symbol|(?:official|national) \w+)\b",
    re.IGNORECASE,
)
_IS = re.compile(
    r"\b(?:(is|are|remains|has been|have been|(?:overtook|surpassed|replaced) [^.,;]+ as(?= the ))"
    r"|(?:was|were) \w+(?: in (?:the )?\d+s?)? as(?= the )|was|were|became)\s+"
)
_HOLDS = re.compile(rf"{_IS.pattern}|\b(?:(has|have)|had)\s+(?=the )")
_ROLE_ENDS = re.compile(
    r"[,;:(\u2013\u2014]|\s(?:(?:and|but|with|that|which|who|after|before|as)\s|from (?=\d)"
    r"|of any (?:country|nation)\b)"
)
_BESIDE_ROLE = re.compile(
    r" and (?:most [a-z]+|[a-z]+est)\b|(?:national|federal) (?=capital\b)"
    r"|(?<=\bwas )an? [^.,;]+ who (?:served as|was|became) (?=the )"
)
"""Beside a role: "the capital (and largest) city", "was (a general who became) the first …"."""
_ALIAS = re.compile(r"(?:\w+ ){0,3}\w+, or $")
_NOBODY = re.compile(r"(?:an?|often|also|now|so|still|known|found|said|made|built|[a-z]+ed)\b")
_ROLE_LESS = word_set(
    "the a an of in on by is are was were to city person man woman human living known world earth"
    " ever official solar system universe history far area"
)
_IN_MANY_NAMES = frozenset(
    map(
        stem,
        word_set(
            "mount lake river cape saint san new sir king queen sea ocean desert bay gulf empire"
            " islands mountains"
        ),
    )
)
_PLACE_OF_ONE = re.compile(
    r"(?:\b(?:is|are|was|were|lies?|stands?|hangs?)(?: located| situated)?(?: \w+ly)?"
    r" (?:in|from|part of|native to)"
    r"|\bbelong(?:s|ed)? to|\b(?:comes?|came)(?: originally)? from|\boriginat(?:es?|ed) in"
    r"|\b(?:(?:is|are|was|were) (?!located|situated)|(?=born|died))(?P<verb>\w+[dtn])"
    r"(?: \w+ly)? (?:in|from|by))(?: the)? $"
)
_IS_SOMEWHERE = (
    "is|are|was|were|been|lies?|stands?|hangs?|sits?|rises?|located|situated|found|belong(?:s|ed)?"
    "|comes?|came|originate[sd]?|on (?:show|display)|housed"
)
_LAST_NAME = re.compile(r"(?:[A-Z][\w\u2019'-]* ?)+$")
_AT_LAST = re.compile(r"(?: (?:in|around|on(?: [A-Z]\w+)? \d+,?) (?:[A-Z]\w+ )?\d{3,4})?\W*\Z")
"""What may follow the last name: when it was."""
_DEED_OF_ONE = re.compile(
    r" (?:first )?"
    r"(?P<verb>invented|discovered|founded|wrote|painted|composed|designed|built|developed|created"
    r"|directed|won the)\b"
)
"""What stands before the name of the one, and after it, with its verb if it has one of its own."""
_WORKS = (
    "wrote|written|author|novel|book|play|tragedy|comedy|poem",
    "painted|painter|painting|portrait|fresco",
    "composed|composer|opera|symphony|concerto|ballet",
    "designed|architect|designer",
    "invented|inventor",
    "discovered|discoverer",
    "founded|founder",
    "directed|director",
    "held|took place",
)
"""Verbs that make, with what is made and who makes it: "an opera by Mozart", "its author was"."""


@dataclass(frozen=True, slots=True)
class Role:
    """What one alone is ("the highest mountain in Africa"), and who."""

    words: frozenset[str]
    holder: frozenset[str]
    is_past: bool


def role_in(text: str) -> Role | None:
    """Find in a statement without denials who has a role that one alone has, None if none."""
    text = _BESIDE_ROLE.sub("", text)
    link = _HOLDS.search(text)
    if link is None:
        return None
    before, after = text[: link.start()].strip(" ,"), text[link.end() :]
    role, holder = _ROLE_ENDS.split(after)[0], before
    if _ROLE.search(before) is not None:
        role, holder = before, re.split(r"[,;:(]", after)[0]
    # "By area the largest …", "is therefore the largest …"
    if (named := _ROLE.search(role)) is not None and named[0].lower().startswith("the "):
        role = role[named.start() :]
    role = _ROLE_ENDS.split(role)[0]
    # What it is "a" or "often" names nobody: "The largest planet is a gas giant."
    if _ROLE.search(role) is None or _PRONOUN.search(holder) or _NOBODY.match(holder):
        return None
    words = frozenset(stem(word.norm) for word in tokenise(role) if word.norm not in _ROLE_LESS)
    held = content_words(holder) - words - _IN_MANY_NAMES
    if len(words) < _SHORTEST - 1 or not held:
        return None
    return Role(words, held, not (link[1] or link[2]))


# --- A claim --------------------------------------------------------------------------------------

_REMARKS = re.compile(
    r"(?<=[^\W\d_]{3})[.!?;:]\s+|\s[-\u2013\u2014]\s|,?\s+because\s+(?!of\b)|,\s+(?:as|so|which|since)\s+",
    re.IGNORECASE,
)
"""Where a claim goes on to say why, or who says so."""
_OTHER = re.compile(r", (?:and |but )?not (?!only\b|just\b)(?:[\w-]+ ){0,3}[\w-]+(?=[.!?]?$)")
"""What a claim says it is not: "…, not Sydney". It denies that of the other, and nothing else."""
_WITHOUT = re.compile(
    r"\b(?:without|(?:lack|absence|shortage|deficiency) (?:of|in)|too little|not enough)"
    r" (?:\w+ing\b|(?:any )?\w+)",
    re.IGNORECASE,
)
"""What a claim says is not: who denies that agrees."""
_CONTRASTS = re.compile(r"\b(?:but|while|whereas|although|though|yet)\b", re.IGNORECASE)
"""Where a claim holds two things against each other, of which a statement may tell one."""
_CLEFT = re.compile(
    r"^[Ii]t(?: is| was|['\u2019]s)(?: actually| really)? ([A-Z][\w.'\u2019-]*(?: [\w.-]+){0,4}?)"
    r" (?:who|that) (?=\w)"
)
"""What is said of one who is held out: "It was Mozart who wrote …" is "Mozart wrote …"."""
_SCALES = word_set("celsius fahrenheit")
"""Names that a page may spare: 78 °C."""


@dataclass(frozen=True, slots=True)
class ClaimWords:
    """A claim as statements are held against it.

    `text` is the whole claim, `about` what it says first, without denials, `stems` its content
    words, `names` the stems of its names, `subject` the first of its content words, `denied` the
    words that only those of its clauses have that deny, where others do not.
    """

    text: str
    about: str
    is_denied: bool
    is_compound: bool
    subject: str
    stems: tuple[str, ...]
    subject_stems: frozenset[str]
    names: frozenset[str]
    quantities: tuple[Quantity, ...]
    role: Role | None
    denied: frozenset[str] = frozenset()

    def as_told_by(self, statement: Statement) -> ClaimWords:
        """Return the claim as a statement speaks of it: perhaps not of what the claim denies."""
        of_denied = not self.denied.isdisjoint(content_words(statement.about))
        # What denies none of the other words may well mean what the claim denies.
        of_rest = statement.says != "denies" or bool(_met(self, statement.focus))
        return replace(self, is_denied=False) if self.denied and of_rest and not of_denied else self

    @property
    def contrasts(self) -> bool:
        """Tell whether it holds two things against each other."""
        return _CONTRASTS.search(self.text) is not None

    @property
    def is_plain(self) -> bool:
        """Tell whether it asserts one short proposition."""
        return not self.is_denied and len(self.stems) <= _SHORT

    @property
    def is_of_one(self) -> bool:
        """Tell whether it says what holds of one alone: a role, a place, a deed."""
        return (
            self.role is not None
            or _DEED_OF_ONE.search(self.about) is not None
            or _PLACE_OF_ONE.search(_LAST_NAME.sub("", _AT_LAST.sub("", self.about))) is not None
        )


@lru_cache(maxsize=256)
def read_claim(claim: str) -> ClaimWords:
    """Take a claim apart: what it says first, without the reasons and remarks that follow."""
    text = claim
    parts = [part for part in _REMARKS.split(claim) if len(content_words(part)) >= _SHORTEST]
    claim = _CLEFT.sub(r"\1 ", _OTHER.sub("", parts[0] if parts else claim))
    found = without_denials(claim)
    quantities = quantities_in(claim)
    counted = {
        word.norm for q in quantities for word in tokenise(fold_evenly(claim)[q.start : q.end])
    }
    words = [
        (word, stem(word.norm), found.text[word.start].isupper())
        for word in tokenise(found.text)
        if not is_stop_word(word.norm) and word.norm not in counted and not word.norm.isdigit()
    ]
    stems = dict.fromkeys(each for _, each, _ in words)
    # "People lose most of their heat …": whoever says "we" or "humans" speaks of the rest of it.
    telling = [each for each in words if each[1] not in load_lexicon().light] or words
    end = telling[0][0].end if telling else 0
    for word, _, is_capital in telling[1:]:
        if not is_capital or found.text[end : word.start] != " ":
            break
        end = word.end
    subject = found.text[:end]
    # "… and do not drink" alone would be an order.
    first, *further = _COORDINATED.split(claim)
    clauses = [without_denials(each) for each in (first, *(f"{subject} {x}" for x in further))]
    of_denied, of_others = (
        content_words(" ".join(each.text for each in clauses if each.is_denied is denied))
        for denied in (True, False)
    )
    return ClaimWords(
        text,
        found.text,
        any(each.is_denied for each in clauses) if further else found.is_denied,
        _COORDINATED.search(claim) is not None or " and " in claim,
        subject,
        tuple(stems),
        content_words(subject) & stems.keys(),
        frozenset(
            each for word, each, name in words if name and word.start and word.norm not in _SCALES
        ),
        quantities,
        role_in(found.text),
        of_denied - of_others - content_words(subject) if of_others else frozenset(),
    )


# --- Against a claim ------------------------------------------------------------------------------

_PRONOUN = re.compile(
    r"\b(?:it|they|he|him|she|her|them|this|these|those|(?P<owner>its|their|his))\b", re.IGNORECASE
)
"""Words by which a statement refers to what was named before."""
SUBJECT = re.compile(
    r"(?:^|(?<=, )|(?<=\d ))(?:it|he|she|they)\b|(?<= )(?:it|he|she)(?= (?:is|was) the )",
    re.IGNORECASE,
)
"""A pronoun that a statement is about: what the page's title names."""
_OWNER = re.compile(r"^(?:its|his|her|their) ", re.IGNORECASE)
_GOES_ON = re.compile(r"(?:do|does|did|is|are|was|were|can|could|will|would|has|have|had)\b")
"""How a clause begins that goes on with what is said of the one before."""
_NOT_ELSE = re.compile(r"(?:,\s+|\band |\bbut |\bthough |\()not\b|\bnot\b[^,.;]*\bbut\b")
"""Before what a statement is set against: "mammals, not fish", "not at London but at Hastings"."""
_FORMER = re.compile(
    r"\b(?:until (?!now\b|today\b)|used to |former(?:ly)?\b|previously\b|in the past\b"
    r"|once (?!every\b|per\b|in\b|the\b|it\b|they\b)|before (?:it|he|she|they) (?:was|were)\b"
    r"|(?:ceased|lost) (?:to be|its|their))",
    re.IGNORECASE,
)
"""What was, and says nothing of what is: "Lagos was the capital until 1991"."""
_PAST = re.compile(
    r"\b(?:was|were|had|did|once|used|former\w*|until|been|\w{3,}ed)\b", re.IGNORECASE
)
_RANK = re.compile(
    r"(?:\b(second|third|fourth|fifth|sixth|\d+(?:nd|rd|th))[- ])?\b(?:most|\w{2,}est)\b",
    re.IGNORECASE,
)
"""A superlative, behind its rank if it has one: K2 is the second highest, not the highest."""
_MOST = re.compile(r"\b(\w{2,}est|(?:most|least) \w+) (\w{3,})", re.IGNORECASE)
"""A superlative and its noun: the largest hot desert may not be the largest desert."""
_WHOLLY = re.compile(
    r"\b(?:(?<!at )all|every\w*|always|entirely|completely|fully|totally|wholly|alone|only|sole"
    r"|just|merely|simply|evenly|uniform\w*|equally|alike|until|without)\b",
    re.IGNORECASE,
)
_PARTLY = re.compile(rf"(?:not|n['\u2019]t)\b[^.,;]*?{_WHOLLY.pattern}", re.IGNORECASE)
"""A denial that all is so, or so alone, until or without something: it leaves open what is."""
_IS_NOT = re.compile(r"\b(?:is|are|was|were)(?: not|n['\u2019]t)\b")
_LETTERED = re.compile(rf"\b({'|'.join(sorted(NAMED_BY_LETTER))}) ([A-Z]\d*)\b")
SWEEPING = re.compile(
    r"\b(?:always|(?<!of )(?<!at )(?<!than )(?:all(?! (?:over|around|kinds|sorts)\b)|any)|entirely"
    r"|completely|whole)\b",
    re.IGNORECASE,
)
"""Words for the whole of something, of which a part is told in nearly the same words."""
_OF_NAME = re.compile(
    r"\b([a-z]+) of (?:the )?(?:(?:\w+ ){,2}of )?([A-Z][\w\u2019'-]*(?: [A-Z][\w\u2019'-]*)*)"
)
"""What something is of a name: the capital of the province of Ontario is not that of Canada."""
_THAN = re.compile(r"\b(?:than|(?:times|twice|half) as)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a page's statements say of a claim.

    `decisions` take a side, the nearest first. `leaves_room` tells whether the page has the claim's
    names, and none of its statements that are roughly about the claim is against it.
    """

    decisions: tuple[Decision, ...] = ()
    leaves_room: bool = False


def read_statements(
    claim: ClaimWords, passages: Sequence[Passage], title: str, embedder: Embedder
) -> Heard:
    """Hold the statements of a page's passages against a claim.

    Raises:
        EmbedderUnavailableError: The embedder's model cannot be loaded.
    """
    topic = content_words(title)
    # "Oil money …": what the page writes small is no name.
    small = {word for each in passages for word in re.findall(r"\b[a-z]\w*", each.text)}
    title = re.sub(
        r"\w+", lambda word: low if (low := word[0].lower()) in small else word[0], title
    )
    sentences = [each.text for passage in passages for each in passage.sentences]
    context = topic.union(*map(content_words, sentences))
    named = {name for name in claim.names if any(is_same_name(name, word) for word in context)}
    is_told = bool(claim.stems) and claim.names == named
    headings = [title, *(each for each in sentences if not STATED.search(each))]
    lists_myths = any(map(_MYTHS.search, headings))
    found, shares = _held_against(
        claim, passages, topic, is_half_named=2 * len(named) >= len(claim.names)
    )
    if not found or not claim.stems:
        return Heard(leaves_room=is_told)
    texts = [statement.about for _, statement in found]
    # "It", on a page on the moonlight on a lake, is not Lake Baikal.
    own = claim.subject_stems & claim.names or claim.subject_stems
    is_there = not own.isdisjoint(_met(claim, context))
    resolved = [
        _with_subject(claim, statement, topic) if is_there or not topic else statement.about
        for _, statement in found
    ]
    is_named = claim.names == named and is_there
    vectors = embedder.embed([claim.about, claim.text, *texts, *resolved])
    alone = vectors[2 : 2 + len(texts)] @ vectors[:2].T
    nearness = np.maximum(alone[:, 0], vectors[2 + len(texts) :] @ vectors[0])
    nearest = np.maximum(nearness, alone[:, 1])
    has_all_numbers = numbers_stated(claim, passages, reported=False) == len(claim.quantities)
    heard = [statement for _, statement in found]
    elsewhere = _said_of_others(claim, heard, resolved, nearness.tolist(), topic, embedder)
    for place in _told_otherwise(claim, heard, resolved, topic, embedder):
        elsewhere[place] = (float(nearness[place]), True, True)
    # Another clause of a sentence that says so of another does not assert it either.
    of_others = {heard[place].span for place in elsewhere}
    decisions, against = [], False
    for (number, statement), shared, near, roughly in zip(
        found, shares, nearness.tolist(), nearest.tolist(), strict=True
    ):
        is_answer = statement.answers and statement.says == "denies"
        denies_short = claim.is_plain and statement.says == "denies"
        unsaid = _NEAR_DENIAL if denies_short else NEAR_TURNED
        least = _NEAR_SAID if shared >= _LEAST_SAID else unsaid
        speaks = is_named or statement.says == "denies"
        is_heard = (speaks and near >= least) or (is_answer and near >= _ANSWERED)
        meant = claim.as_told_by(statement)
        decided = _decide(meant, statement, title, shared, near, is_heard=is_heard)
        is_repeated = lists_myths and statement.says == "asserts"
        if decided is not None and not (
            (decided.side != "refutes" and (is_repeated or statement.span in of_others))
            or (decided.ground == "number" and has_all_numbers)
        ):
            decisions.append(replace(decided, passage=number))
        against = against or is_repeated or _is_against(meant, statement, title, near, roughly)
    is_stated = any(each.side == "supports" for each in decisions)
    for place, (near, is_of_one, excludes) in elsewhere.items():
        against = against or is_of_one
        if excludes and not is_stated:
            number, statement = found[place]
            decisions.append(Decision("refutes", "another", near, statement, number))
    decisions.sort(key=lambda each: -each.nearness)
    return Heard(tuple(decisions), leaves_room=is_told and not against)


def _held_against(
    claim: ClaimWords, passages: Sequence[Passage], topic: frozenset[str], *, is_half_named: bool
) -> tuple[list[tuple[int, Statement]], list[float]]:
    """Return the statements that speak of a claim, with their passages, and its share in each.

    Without its names only an answer speaks of a claim, what names another in their place, what is
    said of the title, or what denies it of all ("no link between vaccines and autism").
    """
    is_open = is_half_named or claim.is_of_one or claim.subject_stems <= topic
    told = [
        (each.start, content_words(each.text)) for passage in passages for each in passage.sentences
    ]
    found, shares = [], []
    for number, passage in enumerate(passages):
        for statement in statements(passage, whole=claim.is_compound, contrasts=claim.contrasts):
            # A pronoun means what was named before it; a snippet is cut together from anywhere.
            before = topic.union(
                *(said for at, said in told if at <= statement.span[0] or not passage.in_page)
            )
            shared, is_held = _share(claim, statement, topic, before)
            named_too = content_words(" ".join(names_in(statement.raw)))
            is_general = statement.says == "denies" and named_too.issubset(claim.stems)
            if statement.answers or (is_held and (is_open or is_general)):
                found.append((number, statement))
                shares.append(shared)
    return found, shares


def _with_subject(claim: ClaimWords, statement: Statement, topic: frozenset[str]) -> str:
    """Put a claim's subject in the place of a statement's first pronoun, or before what means it.

    What the title names is meant without being said, but not by who says where another is. What
    begins with its verb is said of what its sentence begins with: "…, and are not insects".
    """
    text = statement.about
    if _GOES_ON.match(text):
        begun = content_stems(statement.sentence.partition(statement.raw)[0])
        if claim.subject_stems.intersection(begun[: len(claim.subject_stems)]):
            return f"{claim.subject} {text}"
    if _PRONOUN.search(text):
        return _for_pronoun(claim, text)
    is_meant = claim.subject_stems <= topic and not claim.is_of_one
    is_said = not claim.subject_stems.isdisjoint(content_words(text))
    return f"{claim.subject}: {text}" if is_meant and not is_said else text


def with_opening_subject(claim: ClaimWords, text: str) -> str:
    """Put a claim's subject in the place of the pronoun that a text opens with, if it does."""
    opens = SUBJECT.match(text) or _OWNER.match(text)
    return text if opens is None else _for_pronoun(claim, text)


def _for_pronoun(claim: ClaimWords, text: str) -> str:
    return _PRONOUN.sub(lambda word: claim.subject + ("'s" if word["owner"] else ""), text, count=1)


def _share(
    claim: ClaimWords, statement: Statement, topic: frozenset[str], before: frozenset[str]
) -> tuple[float, bool]:
    """Return the share of a claim's words that a statement means, and if it is held against it.

    The subject need not be said again where the title has it; where the statement refers to
    something or goes on with a sentence, neither the subject nor a name that was named before. With
    another name in the place of one of the claim's it asserts nothing. Its reasons count too: what
    denies them keeps tone silent.
    """
    words, whole = content_words(statement.about), content_words(claim.text)
    said, in_title = _met(claim, words), _met(claim, topic)
    meant = said | (claim.subject_stems & in_title)
    if statement.about[:1].islower() or _PRONOUN.search(statement.about):
        meant |= _met(claim, before) & (claim.names | claim.subject_stems)
    least = _LEAST_WORDS if len(claim.stems) <= 1 / _LEAST_WORDS else _LEAST_SHARED
    weight = _weight(claim, meant)
    held = weight if statement.says == "denies" else _weight(claim, said)
    is_held = held >= least or len(whole & words) >= _LEAST_SHARED * len(whole)
    # "They belong to the mammals", on a page on dolphins.
    is_named = SUBJECT.search(statement.about) or _OWNER.match(statement.about)
    is_held |= claim.is_plain and is_named is not None and claim.subject_stems <= topic
    # What neither has the claim's first word nor may mean it is on another subject, and asserts
    # nothing of this one; what is denied of "vaccines" is denied of "the MMR vaccine".
    is_other = statement.says != "denies" and meant.isdisjoint(claim.subject_stems)
    # What lacks a name of the claim and has another in its place asserts it of that one.
    if not claim.names <= meant | in_title and any(
        content_words(name).isdisjoint(whole) for name in names_in(statement.raw)
    ):
        weight = min(weight, _LEAST_SAID - 0.01)
    return (0.0 if is_other else weight), is_held


def _decide(
    claim: ClaimWords,
    statement: Statement,
    title: str,
    shared: float,
    nearness: float,
    *,
    is_heard: bool,
) -> Decision | None:
    other = _other_role(claim, statement, title)
    if other is not None or _is_of_another_kind(claim, statement, title):
        # Bonn was the capital: who is, it leaves open.
        was = other is not None and claim.role is not None and other.is_past != claim.role.is_past
        return None if was else Decision("refutes", "another", nearness, statement)
    says_no = statement.says == "denies"
    is_answer = statement.answers and says_no and not claim.is_denied
    # What is denied stands for a word that the statement lacks, or for none of the claim's.
    denies_else = says_no and statement.focus and not _met(claim, statement.focus)
    # "A flightless bird" denies that it flies, and nothing else of it.
    lacks = any(f"{each}less" in statement.raw for each in statement.focus)
    if denies_else and (lacks or (shared == 1 and _NOT_ELSE.search(statement.raw))):
        says_no = denies_else = False
    lacking = content_words(" ".join(_WITHOUT.findall(claim.about)))
    says_no = says_no and statement.focus.isdisjoint(lacking)
    if (
        not is_heard
        or (says_no and _PARTLY.search(statement.raw) and not _WHOLLY.search(claim.text))
        or (
            says_no
            and _AT_MOST.search(fold_evenly(statement.raw))
            and not _BOUND.search(claim.text)
        )
        or statement.says == "open"
        or (shared == 0 and not says_no)
        or (denies_else and shared == 1)
        # "X is faster than Y. That is false": X may still be fast.
        or (
            says_no
            and not statement.focus
            and _THAN.search(_BOUND.sub("", statement.raw))
            and not _THAN.search(claim.text)
        )
        # What "is not Z" may be Y.
        or (denies_else and _IS.search(claim.about) and _IS_NOT.search(statement.raw))
    ):
        return None
    denies = says_no != claim.is_denied
    # A denial of the general covers the particular less surely: "has not been uniform".
    against = claim.is_denied and denies
    words = _WORDS_AGAINST if against else _WORDS["divided" if denies_else else statement.says]
    compares = denies or (
        _is_alike(claim, statement) and (bool(claim.quantities) or _compares(claim, statement))
    )
    is_about = compares and (
        nearness >= (_ANSWERED if is_answer else _ABOUT)
        or (
            nearness + words * shared >= (_ABOUT_DENIED if says_no and claim.is_plain else _ABOUT)
            and (says_no or shared >= _LEAST_SAID)
        )
    )
    if statement.says == "divided":
        return Decision("mixed", "divided", nearness, statement) if is_about else None
    raw, sentence = (_SET_AGAINST.sub("", each) for each in (statement.raw, statement.sentence))
    agreement = compare_quantities(claim.quantities, quantities_in(raw))
    if agreement == "silent":
        in_all = compare_quantities(claim.quantities, quantities_in(sentence))
        agreement = "agrees" if in_all == "agrees" else agreement
    ground: Ground = "denial" if says_no else "assertion"
    turns, differs = _turns(claim, statement), agreement == "conflicts"
    if turns or (differs and not denies):
        # The opposite, of another figure's matter, is no contradiction.
        is_two = claim.contrasts or (turns and differs)
        if shared < _LEAST_SAID or says_no or is_two:
            return None
        ground = "number" if differs else "opposite"
        denies = not denies
    elif not is_about or differs or (agreement == "silent" and not denies):
        return None
    return Decision("refutes" if denies else "supports", ground, nearness, statement)


def _is_against(
    claim: ClaimWords, statement: Statement, title: str, near: float, roughly: float
) -> bool:
    """Tell whether a statement keeps tone from speaking for a claim."""
    is_own = statement.says == ("denies" if claim.is_denied else "asserts")
    return (
        (
            roughly >= _AGAINST.get(statement.says, NEAR_TURNED)
            and (not is_own or _turns(claim, statement))
        )
        or (
            near >= _NOT_COMPARED
            and not (_is_alike(claim, statement) and _compares(claim, statement))
        )
        or _other_role(claim, statement, title) is not None
    )


_SET_AGAINST = re.compile(r", (?:and |but )?not [^,.;]*")
_UNLIKE = re.compile(r"\bunlike [^,.;]*(?:, (?:which|who) [^,.;]*)?", re.IGNORECASE)
"""What is set against another: "unlike insects, which have six"."""


def numbers_stated(claim: ClaimWords, passages: Sequence[Passage], *, reported: bool = True) -> int:
    """Return how many of a claim's numbers a page has in sentences on the same matter.

    With or without those that it only reports.
    """
    told = [
        said
        for passage in passages
        for sentence in passage.sentences
        if not sentence.text.endswith("?")
        and (reported or not load_lexicon().reports.search(fold_evenly(sentence.text)))
        and not content_words(sentence.text).isdisjoint(claim.stems)
        for said in quantities_in(_UNLIKE.sub("", sentence.text))
    ]
    return sum(is_met(each, told) for each in claim.quantities)


# --- The same said of another ---------------------------------------------------------------------

_NAME_RUN = re.compile(
    # "Founded in 1668, …" names nothing.
    r"(?!\A(?:\w+(?:ed|ing)|Born|Built) (?:in|by|on|at|from|as|to)\b)[A-Z][\w\u2019'-]*"
    r"(?:\s+(?:(?:of|de|van|von|da|du|la|le|the)\s+)?[A-Z][\w\u2019'-]*)*"
)
_BE = r"\b(?:is|are|was|were|been)\b"
_LEAST_NEAR, _IN_PLACE, _GAIN = 0.4, 0.65, 0.25
"""Cosines of a statement with the claim, and with the claim when another name stands in it; and the
share of the distance between them that this takes away."""


def _other_role(claim: ClaimWords, statement: Statement, title: str) -> Role | None:
    """Return the very role that a claim gives to one where a statement gives it to another."""
    if claim.role is None or claim.is_denied or statement.says != "asserts":
        return None
    before = statement.sentence.partition(statement.raw)[0]
    # "The femur, or thigh bone, is the longest …" gives it to the femur.
    if _ALIAS.match(before) and content_words(before) & claim.role.holder:
        return None
    refers = SUBJECT.search(statement.about) or _OWNER.match(statement.about)
    topics = (names_in(title) if refers else []) or [""]
    if refers and any(content_words(topic) & claim.role.holder for topic in topics):
        return None  # "It is the highest mountain", on a page on the one that the claim names
    for topic in topics:
        about = SUBJECT.sub(topic, statement.about) if topic else statement.about
        role = role_in(_OWNER.sub(f"{topic}'s ", about) if topic else about)
        if (
            role is not None
            and len(role.words) > 1
            and all(any(is_same_name(one, each) for each in claim.role.words) for one in role.words)
            # "Nitrogen is the most abundant gas", on a page on air.
            and all(
                any(is_same_name(one, each) for each in role.words | content_words(title))
                for one in claim.role.words
            )
            and role.holder.isdisjoint(claim.role.holder)
        ):
            return role
    return None


_KIND = re.compile(
    r"^(.*?)\b(?:is|are|was|were|belongs?(?= to\b))\b([^,;:(]*?)"
    r"(?=\W*$|[,;:(]| (?:that|which|who|like|of|in|with|from|and|on|by|at|for)\b)"
)
"""Who is said to be what: "The blue whale is a marine mammal"."""


def _is_of_another_kind(claim: ClaimWords, statement: Statement, title: str) -> bool:
    """Tell whether a statement calls a claim's subject what excludes what the claim calls it."""
    ours, theirs = (_KIND.search(each.about) for each in (claim, statement))
    if ours is None or theirs is None or claim.is_denied:
        return False
    # "An amphibian with no tail" denies the tail alone.
    is_said = statement.says == "asserts" or (statement.says == "denies" and statement.focus)
    whose, named = (
        content_stems(title if SUBJECT.search(each) else each) for each in (ours[1], theirs[1])
    )
    known = frozenset().union(*load_lexicon().kinds)
    told = [[stem(word.norm) for word in tokenise(each[2])] for each in (ours, theirs)]
    kinds = {next((one for one in reversed(each) if one in known), "") for each in told}
    return (
        bool(is_said and whose)
        # A whale shark is no whale.
        and named[-1:] == whose[-1:]
        and {*whose} <= {*named}
        and kinds.isdisjoint({*named} | statement.focus)
        and len(kinds) > 1
        and any(kinds <= each for each in load_lexicon().kinds)
    )


def names_in(text: str) -> list[str]:
    """List the names of a text: runs of capitalised words, without the "The" before them."""
    runs = (run.split() for run in _NAME_RUN.findall(text))
    cut = ([*dropwhile(lambda word: is_stop_word(word.lower()), run)] for run in runs)
    names = [" ".join(run) for run in cut if run]
    return list(dict.fromkeys([*names, *(name.rpartition(" of ")[2] for name in names)]))


def _own_words(name: str) -> frozenset[str]:
    """Return the words of a name that not every other has: the Caspian Sea is not the Black Sea."""
    words = content_words(name)
    return words - _IN_MANY_NAMES or words


def _said_of_others(
    claim: ClaimWords,
    heard: Sequence[Statement],
    resolved: Sequence[str],
    near: Sequence[float],
    topic: frozenset[str],
    embedder: Embedder,
) -> dict[int, tuple[float, bool, bool]]:
    """Find the statements that say of another name what a claim says of one.

    Such a statement lacks one name of the claim, and comes nearer to the claim when a name that it
    has itself stands in that place. Returns by place how near, whether what is claimed holds of one
    alone, and whether the statement says so of another and none has the claim's name.
    """
    about, own = claim.about, content_words(claim.about)
    raw = [content_words(statement.raw) for statement in heard]
    lacking = {}
    for name in names_in(about):
        deed = _DEED_OF_ONE.match(about[len(name) :]) if about.startswith(name) else None
        if deed or not content_words(name).isdisjoint(claim.names):
            # "B won, beating A" tells nothing that A did; "won by A" does.
            does = re.compile(rf"((?:(?!{_BE}).)+)\b{deed['verb']}\b" if deed else r"(.*)")
            doers = [does.match(statement.raw) for statement in heard]
            told = [
                content_words(each[1]) if each else words
                for each, words in zip(doers, raw, strict=True)
            ]
            parts = _own_words(name)
            # "It goes round the Sun …" is said of what the title names.
            begins = re.match(rf"(?:The )?(?:\w+ of )?{re.escape(name)}\b", about)
            of_topic = parts <= topic and begins is not None
            lacking[name] = {
                place
                for place, words in enumerate(told)
                if not any(is_same_name(part, word) for part in parts for word in words)
                and not (
                    of_topic
                    and (SUBJECT.search(heard[place].about) or _OWNER.match(heard[place].about))
                )
            }
    trials = [
        (place, name, other)
        for name, places in lacking.items()
        for place in sorted(places)
        if heard[place].says == "asserts" and near[place] >= _LEAST_NEAR
        if sum(place in others for others in lacking.values()) == 1
        for other in names_in(heard[place].raw)
        if own.isdisjoint(_own_words(other))
    ]
    if not trials or claim.is_denied:
        return {}
    texts = [(resolved[place], about.replace(name, other)) for place, name, other in trials]
    said, replaced = (embedder.embed(list(each)) for each in zip(*texts, strict=True))
    found: dict[int, tuple[float, bool, bool]] = {}
    for (place, name, other), nearer in zip(
        trials, (said * replaced).sum(axis=1).tolist(), strict=True
    ):
        before, _, after = about.partition(name)
        deed = None if before else _DEED_OF_ONE.match(after)
        link = deed or (_PLACE_OF_ONE.search(before) if _AT_LAST.match(after) else None)
        # Who says where the neighbour of something is does not say so of it.
        subject = content_words(after[deed.end() :] if deed else before)
        excludes = (
            link is not None
            and _is_said_of(other, name, link, heard[place].raw)
            and compare_quantities(claim.quantities, quantities_in(heard[place].raw)) != "conflicts"
            and all(each in lacking[name] or not subject <= words for each, words in enumerate(raw))
        )
        gain = 0.0 if excludes else _GAIN * (1 - near[place])
        if nearer >= max(_IN_PLACE, near[place] + gain) and not (
            place in found and found[place][2]
        ):
            found[place] = (nearer, link is not None, excludes)
    return found


def _is_said_of(other: str, name: str, link: re.Match[str], raw: str) -> bool:
    """Tell whether words say of another, with the very verb, what a claim says of one.

    Who played Hamlet did not write it, and who is in Paris may be in France, but not in Berlin.
    """
    deed, who = link["verb"] or _IS_SOMEWHERE, re.escape(other)
    verb = next((each for each in _WORKS if deed in each.split("|")), deed)
    # "in Paris, France", "in southern France", "in the north of France"
    place = rf"(?: the)?(?:(?: [A-Z]\w+)+,(?: in)?| \w+ern| [\w-]+ of(?: the)?)? {who}\b"
    said = rf"\b(?:{verb})\b(?:(?! and | than )[^.,;])* (?:in|of|to|from|by|at){place}"
    if link.re is _DEED_OF_ONE or " by " in link[0]:
        said += rf"|\b(?:is|was) by{place}|\b{who} (?:\w+ ){{1,3}}credited with {deed[:-2]}ing\b"
        said += rf"|\b(?:{verb}) (?:is|was) {who}\b"
        said += rf"|\b{who}(?: \w+)? (?:{verb})\b|\b(?:{verb})\b[^.,;]* by(?: \w+){{1,3}} {who}\b"
    elif not any({fold(name), fold(other)} <= places for places in load_lexicon().places):
        return False
    return re.search(said, raw) is not None


# Behind which of a claim's words its places stand, where names have several at once ("in France, in
# Paris"), and what may stand between.
_LINKS = word_set("from of by in with for as into to on at under through between and called named")
_MANY_HAVE = word_set("in at from by")
_ARTICLES = word_set("the a an its his her their")
_ADVERB = r"very|also|now|still|\w+ly"
_GAP = rf"(?: (?:{'|'.join(sorted(_ARTICLES))}|{_ADVERB}))*"
_TOLD = (
    r" (?P<told>[^\W\d][^,;:(]{0,80}?)"
    r"(?= (?:and|but|which|that|where|who|while|whereas) |[,;:(]|\W?$)"
)
_PLACE_WORDS, _NO_SYNONYM = 3, 0.6
"""Content words that one place of a claim has at most, and the cosine from which what a statement
has there instead may mean the same."""


def _told_otherwise(
    claim: ClaimWords,
    heard: Sequence[Statement],
    resolved: Sequence[str],
    topic: frozenset[str],
    embedder: Embedder,
) -> list[int]:
    """Return the places of the statements that differ from a claim in one of its places alone."""
    if claim.is_denied:
        return []
    told = {
        place: pair
        for place, (statement, text) in enumerate(zip(heard, resolved, strict=True))
        if statement.says == "asserts" and (pair := _told_instead(claim, text, topic))
    }
    if not told:
        return []
    claimed, other = (embedder.embed(list(each)) for each in zip(*told.values(), strict=True))
    likeness = (claimed * other).sum(axis=1).tolist()
    return [place for place, like in zip(told, likeness, strict=True) if like < _NO_SYNONYM]


def _told_instead(claim: ClaimWords, text: str, topic: frozenset[str]) -> tuple[str, str] | None:
    """Return what a claim has in one place and what a text has there instead; None if nothing.

    All other words of the claim are there, and that place stands behind the same words: "measured
    in ohms", "an alloy of copper and zinc". Who is in Paris may be in France, and what is known as
    one thing is known as others.
    """
    about, words = re.sub(r"\b(called|named) ", r"\1 a ", claim.about), content_words(text)
    tokens = [word for word in tokenise(about) if not re.fullmatch(_ADVERB, word.norm)]
    runs = [[*run] for _, run in groupby(tokens, lambda word: is_stop_word(word.norm))]
    for before, link, end in zip(runs, runs[1:], runs[2:], strict=False):
        linked = [word.norm for word in link if word.norm not in _ARTICLES]
        claimed = about[end[0].start : end[-1].end]
        stems = content_words(claimed)
        rest = set(claim.stems) - stems
        is_name = claimed != claimed.lower()
        if (
            not stems
            or _LINKS.isdisjoint({before[-1].norm, *linked})
            or (before[-1].norm, *linked) == ("known", "as")
            or len(end) > _PLACE_WORDS
            or not stems.isdisjoint(claim.subject_stems)
            or (is_name and not _MANY_HAVE.isdisjoint(linked))
            or not rest <= _met(claim, words | (topic & claim.subject_stems))
            or all(any(is_same_name(one, each) for each in words) for one in stems)
        ):
            continue
        heads = {before[-1].norm}
        if stem(before[-1].norm) in claim.subject_stems:
            heads = {word.norm for word in tokenise(claim.subject)}
        behind = "".join(f" {re.escape(each)}{_GAP}" for each in linked)
        pattern = rf"\b(?:{'|'.join(map(re.escape, heads))})\b{_GAP}{behind}{_TOLD}"
        if (found := re.search(pattern, text, re.IGNORECASE)) is None:
            continue
        words_told = [word for word in tokenise(found["told"]) if not is_stop_word(word.norm)]
        other = " ".join(found["told"][word.start : word.end] for word in words_told[:_PLACE_WORDS])
        if other and other[0].isupper() == is_name and not content_words(other) <= rest:
            return claimed, other
    return None


# --- Words ----------------------------------------------------------------------------------------

_NAME, _ENDING = 5, 3  # letters


@lru_cache(maxsize=_KEPT)
def quantities_in(text: str) -> tuple[Quantity, ...]:
    """List the quantities of a raw text."""
    return tuple(find_quantities(fold_evenly(text)))


@lru_cache(maxsize=2 * _KEPT)
def content_words(text: str) -> frozenset[str]:
    """Return the stems of a text's content words."""
    return frozenset(content_stems(text))


def is_same_name(name: str, word: str) -> bool:
    """Tell whether two stems name the same: "Italy" and "Italian", "Second" and "II"."""
    short, long = sorted((name, word), key=len)
    return (
        short == long
        or long in load_lexicon().synonyms.get(short, ())
        or (
            len(short) >= _NAME
            and len(long) - len(short) <= _ENDING
            and long.startswith(short[:-1])
        )
    )


def _weight(claim: ClaimWords, met: set[str]) -> float:
    """Return the share of a claim's words that some of them make up."""
    light = load_lexicon().light  # words of little topic count half
    whole = len(claim.stems) - 0.5 * len(light.intersection(claim.stems))
    return (len(met) - 0.5 * len(light & met)) / whole if whole else 0.0


def _met(claim: ClaimWords, words: Set[str]) -> set[str]:
    """Return those of a claim's stems that words meet: the same, a related one, an opposite."""
    lexicon = load_lexicon()
    listed = (lexicon.synonyms, lexicon.opposites)
    return {
        term
        for term in claim.stems
        if term in words or any(not words.isdisjoint(each.get(term, ())) for each in listed)
    }


_UNREAL = re.compile(
    r"\b(?:(?:promis|offer|agree|threaten|plan|intend|want|hop|tr(?:y|i)|attempt|order|ask|urg|refus"
    r"|declin|hesitat)(?:e?[sd]|es|ed|y|ing)? (?:\w+ ){0,2}?to(?: be)?|should|ought to"
    r"|too \w+ to(?: be)?|(?:almost|nearly)(?! (?:all|every|half|twice|always|as|the)\b)"
    r"|(?:avoid(?:s|ed)?|without) (?=\w+ing)"
    r"|(?:say|says|said|deny|denies|denied) (?:that )?(?:it|he|she|they))\b",
    re.IGNORECASE,
)
"""Before what is wanted, tried, nearly so, left undone, or only said of oneself."""
_EXCEPT = re.compile(
    r"\b(?:except|excluding|apart from|(?:all|every) (?:\w+ ){0,3}but) (?:for )?"
    r"([^,.;]+?)(?=\W*$|[,;]| (?:is|are|was|were|has|have|had|do|does|did|can)\b)",
    re.IGNORECASE,
)
_NONE_MORE = re.compile(r"\W*(?:no|nothing|nobody|none)\b[^,.;]* than\b", re.IGNORECASE)
_NEAR = re.compile(
    r"\b(?:near|outside|close to|opposite|beyond|far from|(?:north|south|east|west) of)"
    r" (?:the )?([A-Z]\w+)"
)
_DOER = re.compile(
    r"\b\w+(?:ed|en|t|ght|und|own)(?: off)? by (?:the )?"
    r"((?:[A-Z][\w.'\u2019-]*(?: |\b))+)(?:[a-z]+ ?)?"
    r"(?=\W*$|[,;.(]|(?:and|in|on|at|as|who|from|to|before|after|during|with)\b)"
)
"""By whom something was made, found, led, written …"""


def _compares(claim: ClaimWords, statement: Statement) -> bool:
    """Tell whether a statement compares if the claim does: "faster than", not "as fast as"."""
    return _THAN.search(claim.text) is None or _THAN.search(statement.raw) is not None


def _is_alike(claim: ClaimWords, statement: Statement) -> bool:
    """Tell whether a statement speaks of the very thing that a claim does.

    It may not speak of vitamin C alone if the claim does of vitamin A, of the second highest for
    the highest, of the largest hot desert for the largest, of some for all, of what was for what
    is, of what is near a place for what is in it, or of what another did.
    """
    for names in (_LETTERED, _RANK):
        ours, theirs = (set(names.findall(each)) for each in (claim.text, statement.raw))
        if ours and theirs and ours.isdisjoint(theirs):
            return False
    if _FORMER.search(statement.raw) and not _PAST.search(claim.text):
        return False
    if most := _MOST.search(claim.text):
        narrower = rf"\b{most[1]} (?!{most[2]})[\w-]+ {most[2]}"
        if re.search(narrower, statement.raw, re.IGNORECASE):
            return False
    if SWEEPING.search(claim.text) and not SWEEPING.search(statement.raw):
        return False
    whose = _OF_NAME.findall(statement.about)
    for noun, name in _OF_NAME.findall(claim.about):
        if any(each == noun for each, _ in whose) and not any(
            is_same_name(one, other)
            for each, named in whose
            if each == noun
            for one in content_words(name)
            for other in content_words(named)
        ):
            return False
    return not _is_of_others(claim, statement)


def _is_of_others(claim: ClaimWords, statement: Statement) -> bool:
    """Tell whether a statement is of another place, doer or exception, or of what never was so.

    And whether it says that none is more than what a claim compares.
    """
    text, said = claim.text, statement.raw
    doers, others = ([content_words(one) for one in _DOER.findall(each)] for each in (text, said))
    is_by_others = doers and others and not any(one & other for one in doers for other in others)
    wanted = {
        each for found in _UNREAL.finditer(said) for each in content_stems(said[found.end() :])[:2]
    }
    return (
        bool(is_by_others)
        or (not _UNREAL.search(text) and not wanted.isdisjoint(content_words(text)))
        or (_THAN.search(text) is not None and _NONE_MORE.match(said) is not None)
        or any(f" in {place}" in text for place in _NEAR.findall(said))
        or any(content_words(each) & claim.subject_stems for each in _EXCEPT.findall(said))
    )


_TURNING = re.compile(r" (?:than|around|orbits?|before|after|(?:north|south|east|west) of) ")
_LESS = re.compile(r"\bless (\w{3,})\w")
_LINK = re.compile(r"\W*(?:only |\w+ly )?(of|to|from|in|with|by|against|for|as|on|at)\b")
_MUTUAL = frozenset(
    map(
        stem,
        word_set(
            "related similar equal equals border borders differ differs different meet met married"
            " marry neighbour neighbor resemble near close linked link associated association same"
            " connected correlated opposite adjacent cousin brother sister sibling twin friend"
            " partner ally share interact compete mixed joined combined together fought played"
        ),
    )
)
"""What holds of two whoever is named first."""
_BOUND = re.compile(
    r"\b(?:more|less|fewer) than (?=\d|half\b|an? (?:dozen|hundred|thousand|\w+illion|third)\b"
    r"|(?:once|twice|two|three|four|five|six|seven|eight|nine|ten|twenty)\b)"
)
_AT_MOST = re.compile(
    r"\b(?:no|not|never|nobody|none|cannot|\w+n['\u2019]t)\b[^,.;]{0,80}?(?<!but )" + _BOUND.pattern
)
"""A denial that it is more: it leaves open what it is."""
_REWORDED = (
    (_BOUND, ""),
    (
        re.compile(r"(?:more than |less than )?\b(\w+ times|twice) as\b(.*?) as "),
        r"\1 more\2 than ",
    ),
    (re.compile(r"\bprotect(?:s|ed|ing)?(?: \w+)? against\b"), "prevents"),
    (re.compile(r"\bfrom (\w+) to\b"), r"\1 than"),
)
"""What compares, prevents or has a direction in other words, and the words that are looked for."""


def _turns(claim: ClaimWords, statement: Statement) -> bool:
    """Tell whether a statement says the opposite, by one of the claim's words or by its order.

    "B is more than A" and "B circles A" turn a claim; "B is less than A" is its own words.
    """
    ours, theirs = claim.about, statement.about
    for pattern, instead in _REWORDED:
        ours, theirs = (pattern.sub(instead, each) for each in (ours, theirs))
    more, less, their_more, their_less = (
        content_words(part) for text in (ours, theirs) for part in [*_TURNING.split(text), ""][:2]
    )
    first, second = more - less, less - more
    is_exchanged = bool(first & their_less and second & their_more and not second & their_less)
    is_exchanged = is_exchanged or _is_reversed(claim.about, statement.about)
    return is_exchanged != _has_opposite(ours, theirs)


def _is_reversed(ours: str, theirs: str) -> bool:
    """Tell whether who does and to whom it is done change places: "A beat B", "B beat A".

    They do around one word that both have, where those beside it are exchanged and the voice is the
    same, or where they are not and it is another: "A bought B", "A was bought by B".
    """
    told = tokenise(theirs)
    for word in tokenise(ours):
        same = [each for each in told if stem(each.norm) == stem(word.norm)]
        is_verb = not (is_stop_word(word.norm) or ours[word.start].isupper())
        if len(same) != 1 or not is_verb or stem(word.norm) in _MUTUAL:
            continue
        if same[0].norm.endswith(("er", "or")) != word.norm.endswith(("er", "or")):
            continue
        doer, done, link = _beside(ours, word)
        *theirs_beside, their_link = _beside(theirs, same[0])
        links = {link, their_link} - {"by", ""}
        is_same_voice = (link == "by") == (their_link == "by")
        reversed_so = [done, doer] if is_same_voice else [doer, done]
        is_told = doer and done and doer != done and (link == their_link or not links)
        if is_told and theirs_beside == reversed_so:
            return True
    return False


def _beside(text: str, word: Word) -> tuple[str, str, str]:
    """Return the content words beside a word, and the preposition behind it; empty if none."""
    before, after = content_stems(text[: word.start]), content_stems(text[word.end :])
    link = _LINK.match(text, word.end)
    return (before or [""])[-1], (after or [""])[0], "" if link is None else link[1]


def _has_opposite(about: str, said_about: str) -> bool:
    """Tell whether a text has a word's opposite, of the same thing or with that word nowhere."""
    for one, other in permutations((about, said_about)):
        if any(re.search(rf"\b{word}\w?er than\b", one) for word in _LESS.findall(other)):
            return True
    lexicon = load_lexicon()
    ours, theirs = _content(about), _content(said_about)
    said = {term for term, _ in ours}  # "As big as a small car" has both itself.
    for term, thing in ours:
        opposites = [
            each for each in theirs if each[0] in lexicon.opposites.get(term, frozenset()) - said
        ]
        turned = any(after == thing for _, after in opposites if after)
        is_said = any(word in {term, *lexicon.synonyms.get(term, ())} for word, _ in theirs)
        if (turned and (term, thing) not in theirs) or (opposites and not is_said):
            return True
    return False


@lru_cache(maxsize=_KEPT)
def _content(text: str) -> list[tuple[str, str]]:
    """List the stems of a text's content words, each with the one right after it, if any."""
    turning = load_lexicon().opposites
    stems = [
        each if (each := stem(word.norm)) in turning or not is_stop_word(word.norm) else ""
        for word in tokenise(text)
    ]
    return [(each, after) for each, after in zip(stems, [*stems, ""][1:], strict=True) if each]
