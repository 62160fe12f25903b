"""A claim taken apart for comparison, and where a sentence meets it.

What belongs here: the claim's content words and names with their weights, its predicate, numbers
and narrowing words; which of them a sentence shares, in the same or a related word. What does not:
denials and their scope (denial.py), the decision (stance.py).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from factible_assets.reasoners.embedded.lexicon import Lexicon, load_lexicon
from factible_assets.reasoners.embedded.quantities import Quantity, find_quantities, is_measure
from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    Word,
    fold,
    is_stop_word,
    stem,
    tokenise,
)

_LIGHT, _PLAIN, _NAME = 0.5, 1.0, 1.5
"""Weights of a word of little topic, a content word, and a name."""


@dataclass(frozen=True, slots=True)
class Term:
    """A content word of a claim, or a name of several words ("Great Wall of China").

    `stems` are its words; a name is met when half of them are. `predicate` tells whether the term
    belongs to what the claim says of its subject.
    """

    stems: tuple[str, ...]
    weight: float
    is_name: bool
    predicate: bool


@dataclass(frozen=True, slots=True)
class Token:
    """A word of folded text, by stem. `clause` counts the clauses of its sentence."""

    stem: str
    norm: str
    start: int
    end: int
    is_content: bool
    clause: int


@dataclass(frozen=True, slots=True)
class ClaimFrame:
    """What of a claim a sentence is compared with."""

    text: str
    terms: tuple[Term, ...]
    quantities: tuple[Quantity, ...]
    directions: tuple[tuple[str, tuple[str, ...]], ...]
    narrowing: frozenset[str]
    is_universal: bool
    is_hedged: bool

    @property
    def weight(self) -> float:
        """Return the weight of all terms together."""
        return sum(term.weight for term in self.terms)


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where a sentence meets a claim.

    `places` maps the index of a claim's term to the indices of the sentence's tokens that meet it;
    `whole` are the terms of which every word is met.
    """

    tokens: tuple[Token, ...]
    places: dict[int, tuple[int, ...]] = field(default_factory=dict)
    whole: frozenset[int] = frozenset()


def fold_text(text: str) -> str:
    """Fold a whole text for matching phrases: case, apostrophes, white space."""
    return re.sub(r"\s", " ", fold(text))


_NEW_CLAUSE = re.compile(r"[;:]|[,\u2013\u2014-] (?:and|but|or|while|whereas|although|so)\b")


def read_tokens(folded: str) -> tuple[Token, ...]:
    """List the words of a folded text."""
    breaks = [match.start() for match in _NEW_CLAUSE.finditer(folded)]
    return tuple(
        Token(
            stem(w.norm),
            w.norm,
            w.start,
            w.end,
            not is_stop_word(w.norm),
            bisect_right(breaks, w.start),
        )
        for w in tokenise(folded)
    )


def read_claim(text: str) -> ClaimFrame:
    """Take a claim apart."""
    lexicon = load_lexicon()
    folded = fold_text(text)
    quantities = tuple(find_quantities(folded))
    tokens = read_tokens(folded)
    words = {token.norm for token in tokens}
    return ClaimFrame(
        text=text,
        terms=tuple(_terms(text, quantities, lexicon)),
        quantities=quantities,
        directions=tuple(_directions(tokens, lexicon)),
        narrowing=lexicon.narrowing & words,
        is_universal=not words.isdisjoint(lexicon.universal),
        is_hedged=lexicon.hedges.search(folded) is not None,
    )


# --- Terms --------------------------------------------------------------------------------------


def _terms(text: str, quantities: Sequence[Quantity], lexicon: Lexicon) -> list[Term]:
    words = tokenise(text)
    counted = [(q.start, q.end) for q in quantities]
    begins = _predicate_start(words, lexicon)
    terms: list[Term] = []
    for group in _groups(text, words):
        kept = [index for index in group if _has_topic(words, index, counted)]
        roots = [stem(words[index].norm) for index in kept]
        heavy = [root for root in roots if root not in lexicon.light]
        if roots:
            terms.append(_term(tuple(heavy or roots), group, begins, text, words, lexicon))
    return _without_repeats(terms)


def _has_topic(words: Sequence[Word], index: int, counted: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a word is no function word, negation, number or number's measure."""
    word = words[index]
    if is_stop_word(word.norm) or word.norm in NEGATIONS:
        return False
    if any(start <= word.start < end for start, end in counted):
        return False
    after_number = index > 0 and any(end == words[index - 1].end for _, end in counted)
    return not (after_number and is_measure(stem(word.norm)))


def _term(
    stems: tuple[str, ...],
    group: Sequence[int],
    predicate_start: int,
    text: str,
    words: Sequence[Word],
    lexicon: Lexicon,
) -> Term:
    is_name = len(group) > 1 or (group[0] > 0 and text[words[group[0]].start].isupper())
    is_light = all(each in lexicon.light or each in lexicon.lead_ins for each in stems)
    weight = _NAME if is_name else _PLAIN
    return Term(
        stems=stems,
        weight=_LIGHT if is_light else weight,
        is_name=is_name and not is_light,
        predicate=group[0] >= predicate_start,
    )


def _without_repeats(terms: list[Term]) -> list[Term]:
    seen: set[tuple[str, ...]] = set()
    kept = []
    for term in terms:
        if term.stems not in seen:
            seen.add(term.stems)
            kept.append(term)
    return kept


def _groups(text: str, words: Sequence[Word]) -> list[list[int]]:
    """Group the words of names; every other word is a group of its own."""
    capital = [text[word.start].isupper() for word in words]
    content = [index for index, word in enumerate(words) if not is_stop_word(word.norm)]
    if sum(capital[index] for index in content) > len(content) * 0.6:
        return [[index] for index in range(len(words))]  # a headline: capitals say nothing
    groups: list[list[int]] = []
    for index, word in enumerate(words):
        previous = groups[-1] if groups else None
        joins = word.norm == "of" and index + 1 < len(words) and capital[index + 1]
        if previous is None:
            groups.append([index])
        elif (joins and len(previous) > 1) or (
            capital[index] and _continues_name(text, words, previous)
        ):
            previous.append(index)
        else:
            groups.append([index])
    return groups


def _continues_name(text: str, words: Sequence[Word], group: Sequence[int]) -> bool:
    """Tell whether a capitalised word right after a group belongs to the same name."""
    last = words[group[-1]]
    starts_sentence = group[0] == 0 and is_stop_word(words[0].norm)
    is_capital = text[last.start].isupper() or (last.norm == "of" and len(group) > 1)
    return is_capital and not starts_sentence and text[last.end : last.end + 1] == " "


def _predicate_start(words: Sequence[Word], lexicon: Lexicon) -> int:
    """Return the index of the word at which a claim's predicate begins.

    That is its first auxiliary, else its first relation word ("causes"), else its second content
    word. A parser would know better; the rules only need the subject kept apart.
    """
    for index, word in enumerate(words):
        if index > 0 and word.norm in lexicon.auxiliaries:
            return index
    content = [index for index, word in enumerate(words) if not is_stop_word(word.norm)]
    for index in content[1:]:
        if stem(words[index].norm) in lexicon.relations:
            return index
    return content[1] if len(content) > 1 else 0


# --- Meeting ------------------------------------------------------------------------------------

_SHORTEST_SHARED, _SHARED_PART = 5, 0.7


def same_word(first: str, second: str) -> bool:
    """Tell whether two stems are of one word: equal, or sharing a long beginning."""
    if first == second:
        return True
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) < _SHORTEST_SHARED or not shorter.isalpha():
        return False
    shared = 0
    for one, other in zip(shorter, longer, strict=False):
        if one != other:
            break
        shared += 1
    return shared >= max(_SHORTEST_SHARED, _SHARED_PART * len(longer))


def meet(frame: ClaimFrame, tokens: tuple[Token, ...], *, loosely: bool = False) -> Meeting:
    """Find where a sentence's words meet a claim's terms.

    Read loosely, all relation words stand for one another: who finds no link denies a cause.
    """
    lexicon = load_lexicon()
    places: dict[int, tuple[int, ...]] = {}
    whole = set()
    for number, term in enumerate(frame.terms):
        found = {root: _places(root, tokens, lexicon, loosely=loosely) for root in term.stems}
        met = sum(1 for places_of in found.values() if places_of)
        if met and met * 2 >= len(found):
            places[number] = tuple(sorted({p for ps in found.values() for p in ps}))
        if met == len(found):
            whole.add(number)
    return Meeting(tokens, places, frozenset(whole))


def _places(root: str, tokens: Sequence[Token], lexicon: Lexicon, *, loosely: bool) -> list[int]:
    exact = [
        index
        for index, token in enumerate(tokens)
        if token.is_content and same_word(root, token.stem)
    ]
    if exact:
        return exact
    related = loosely and root in lexicon.relations
    return [
        index
        for index, token in enumerate(tokens)
        if lexicon.same_family(root, token.stem) or (related and token.stem in lexicon.relations)
    ]


def covered(frame: ClaimFrame, *meetings: Meeting, predicate_only: bool = False) -> float:
    """Return the share in [0, 1] of a claim's weight that is met in any of the places given."""
    met = {number for meeting in meetings for number in meeting.places}
    counted = [
        number for number, term in enumerate(frame.terms) if term.predicate or not predicate_only
    ]
    total = sum(frame.terms[number].weight for number in counted)
    return sum(frame.terms[n].weight for n in counted if n in met) / total if total else 1.0


_NEIGHBOURS = 4
"""Content words' distance up to which two words still belong together."""


def kept_together(meeting: Meeting, terms: int) -> float:
    """Return the share of the claim's neighbouring terms that are neighbours in the sentence too.

    Without a parser this is what tells "the bear population grows" from "the human population grew,
    and more bears were shot". Only pairs of which both are met count; without any, 1.
    """
    rank = _content_ranks(meeting.tokens)
    pairs = [
        (meeting.places[number], meeting.places[number + 1])
        for number in range(terms - 1)
        if number in meeting.places and number + 1 in meeting.places
    ]
    near = sum(
        any(_are_near(meeting.tokens, rank, one, other) for one in first for other in second)
        for first, second in pairs
    )
    return near / len(pairs) if pairs else 1.0


def _are_near(tokens: Sequence[Token], rank: Sequence[int], one: int, other: int) -> bool:
    same_clause = tokens[one].clause == tokens[other].clause
    return same_clause and abs(rank[one] - rank[other]) <= _NEIGHBOURS


def density(meeting: Meeting) -> float:
    """Return the share of claim words among the content words from its first to its last."""
    met = {place for places in meeting.places.values() for place in places}
    if not met:
        return 0.0
    between = [
        index
        for index in range(min(met), max(met) + 1)
        if meeting.tokens[index].is_content or index in met
    ]
    return len(met) / len(between)


def _content_ranks(tokens: Sequence[Token]) -> list[int]:
    """Number the tokens by how many content words stand up to and including them."""
    ranks = []
    rank = 0
    for token in tokens:
        rank += token.is_content
        ranks.append(rank)
    return ranks


# --- Directions ---------------------------------------------------------------------------------

_NEAR = 4


def _directions(tokens: Sequence[Token], lexicon: Lexicon) -> list[tuple[str, tuple[str, ...]]]:
    """List the words of a claim that have an opposite, each with the content words nearest to it.

    The neighbours say what is high, low, rising or falling: the one after it first, as in "lower
    temperature", then the one before, as in "prices fall".
    """
    found = []
    for index, token in enumerate(tokens):
        if token.stem in lexicon.opposites and not _counts(tokens, index):
            after = _nearest(tokens, index, 1, lexicon)
            before = _nearest(tokens, index, -1, lexicon)
            anchors = tuple(stem_ for stem_ in (after, before) if stem_ is not None)
            found.append((token.stem, anchors))
    return found


def _counts(tokens: Sequence[Token], index: int) -> bool:
    """Tell whether "more" or "less" belongs to a number ("more than 40")."""
    return index + 1 < len(tokens) and tokens[index + 1].norm == "than"


def _nearest(tokens: Sequence[Token], index: int, step: int, lexicon: Lexicon) -> str | None:
    for distance in range(1, _NEAR + 1):
        place = index + step * distance
        if not 0 <= place < len(tokens):
            return None
        token = tokens[place]
        is_thing = token.is_content and token.stem.isalpha() and not is_measure(token.stem)
        if is_thing and token.stem not in lexicon.opposites:
            return token.stem
    return None


@dataclass(frozen=True, slots=True)
class Turns:
    """A claim's words that have an opposite, by what a sentence says of the same thing.

    `shared`: the same; `turned`: the opposite; `elsewhere`: the same, but of another thing.
    """

    shared: frozenset[str]
    turned: frozenset[str]
    elsewhere: frozenset[str]


def compare_directions(frame: ClaimFrame, tokens: Sequence[Token]) -> Turns:
    """Compare what a claim and a sentence call high or low, rising or falling."""
    lexicon = load_lexicon()
    theirs = _directions(tokens, lexicon)
    shared, turned, elsewhere = set(), set(), set()
    for word, anchors in frame.directions:
        alike = [other for other, near in theirs if _same_anchor(anchors, near)]
        if any(other == word or lexicon.same_family(other, word) for other in alike):
            shared.add(word)
        elif any(lexicon.are_opposite(other, word) for other in alike):
            turned.add(word)
        elif any(other == word or lexicon.same_family(other, word) for other, _ in theirs):
            elsewhere.add(word)
    return Turns(frozenset(shared), frozenset(turned), frozenset(elsewhere))


def directions_met(frame: ClaimFrame, tokens: Sequence[Token]) -> bool:
    """Tell whether a sentence has all of a claim's words that have an opposite."""
    lexicon = load_lexicon()
    return all(
        any(same_word(word, t.stem) or lexicon.same_family(word, t.stem) for t in tokens)
        for word, _ in frame.directions
    )


def same_directions(frame: ClaimFrame, tokens: Sequence[Token]) -> bool:
    """Tell whether a sentence has a claim's words that have an opposite, and no others."""
    lexicon = load_lexicon()
    return directions_met(frame, tokens) and all(
        any(same_word(word, own) or lexicon.same_family(word, own) for own, _ in frame.directions)
        for word, _ in _directions(tokens, lexicon)
    )


def _same_anchor(first: Sequence[str], second: Sequence[str]) -> bool:
    return any(same_word(one, other) for one in first for other in second)
