"""The plain reader takes a side only if the page states it almost in the claim's own words.

It needs no model. Everything else than these cases is "unclear":

- a sentence has the words of the claim, in the claim's order, with the same polarity, figures and
  limiting words (supports), or with another polarity, figure or name (refutes);
- the page asks the claim as a question and answers yes or no;
- a rating stands before or after the claim ("Bats are blind – FALSE.", "Myth: Bats are blind").

It knows only closed classes of English grammar (articles, auxiliaries, negators, modals,
quantifiers) and the rating scales of fact-checkers (`records/scales.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain

from factible_assets.reasoners.embedded.text import MONTHS, Word, stem, tokenise, word_set
from factible_assets.reasoners.readers.base import Ground, PageReading
from factible_assets.reasoners.readers.page_text import PageSentence, is_statement, page_sentences
from factible_assets.reasoners.readers.passages import Selection
from factible_assets.reasoners.readers.quantities import (
    UNIT_STEMS,
    Quantity,
    compare_quantities,
    find_quantities,
)
from factible_assets.records.scales import stance_of_label
from factible_assets.records.tables import Stance

CONFIDENCE: dict[Ground, float] = {
    "assertion": 0.8,
    "denial": 0.8,
    "number": 0.75,
    "name": 0.75,
    "answer": 0.8,
    "rating": 0.85,
}
"""The probability that a side is right, by its ground."""

_LIGHT = MONTHS | word_set(
    "a an the this that these those it its he she they them his her their we our you your i my who"
    " which there here be is are was were been being am do does did done has have had having can of"
    " in on at by for to from into with as and or so then also too very indeed really actually"
    " fact s 's such own itself themselves ever"
)
"""Grammatical words that may differ between a claim and a sentence of the same meaning."""
_NEGATORS = word_set("not no never none nobody nothing neither nor cannot hardly barely")
_LIMITS = word_set(
    "may might could would should must will shall if whether unless perhaps maybe possibly probably"
    " supposedly all every each any some few many much more most less least fewer only always often"
    " usually sometimes rarely seldom almost nearly both half before after above below under over"
    " until since up down out against except than once first last without"
)
"""Modals, quantifiers and prepositions that must agree between a claim and a sentence."""
_TOTAL = word_set("only all both")
"""Limits that leave the figure after them as it is: "only three seconds"."""
_CONDITIONS = word_set("if unless or")
_INVERTED = word_set("had were")
"""Verbs that open a condition: "Had Norway joined the union, …"."""
_OPENS_DETAIL = word_set(
    "in on at near from with of to since during for after before until by where when who which"
    " whose"
)
"""Prepositions and relative pronouns that open a detail after a statement: ", near Rotterdam"."""
_OPENS_DATE = _OPENS_DETAIL | {"as"}
_JOINS = word_set("because but although though while whereas despite unlike")
"""Words that end one clause and open another; neither depends on the other to be true."""
_PRESENT, _PAST = word_set("is are"), word_set("was were")
_ANSWERS: dict[str, Stance] = {"yes": "supports", "no": "refutes"}
_ENDS_ANSWER = (".", ",", ";", ":", "!", "\u2013", "\u2014")

_JOINT = re.compile(
    r"([,;:](?=\s)|[()\[\]\u2014]|\s[\u2013-]\s|\s(?=(?:" + "|".join(sorted(_JOINS)) + r")\b))"
)
"""The boundary between two segments of a sentence."""
_QUOTED = re.compile(r"[\"\u201c\u201d\u00ab\u00bb]|(?<!\w)['\u2018]|['\u2019](?!\w)")
_REMARK_WORDS = 5
"""Words up to which a sentence or segment next to the claim is a remark on it."""
_BY = re.compile(r"\bby\b", re.IGNORECASE)
_THAT = re.compile(r"(.*)\bthat\s*(?:the |an? )?$", re.IGNORECASE | re.DOTALL)
"""The words before a clause that "that" opens."""
_OF_CLAIM = re.compile(r"\b(?:claim|statement|post|rumou?r)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"\b(?:this|that|it|these|claim|statement)\b(?=.)", re.IGNORECASE | re.DOTALL
)
_LONGEST_RATING = 7
_LONGEST_LABEL = 120
"""Characters in which a rating or an answer must begin."""
_MARKS = " \t.!?\"'()[]*#\u2018\u2019\u201c\u201d\u2013\u2014-:"
_LABEL = re.compile(r"^[\w'/ -]{2,60}[:/]\s*(?=\S)")
_FEWEST_TERMS, _FEWEST_STATED = 2, 3
"""Content words that a claim needs; words and figures of it that the sentence itself must have."""
_SHORTEST = 3
"""Words up to which a sentence has no content of its own."""
_LONE_SENTENCES = 2
"""Sentences of a page, with its title, up to which a sentence alone on its line is prose."""
_MOST_AROUND = 3
"""Content words that may surround a claim with a rating: "The idea that … is a myth"."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A text in comparable form."""

    text: str
    words: tuple[tuple[str, int, int], ...]
    """The stems of the content words in order, each with its raw span."""
    negations: int
    """The number of negators."""
    limits: Counter[str] = field(hash=False)
    """The limiting words that belong to no figure."""
    is_bounded: bool
    """Whether a limiting word belongs to a figure ("until 1991")."""
    quantities: tuple[Quantity, ...]

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(word for word, _, _ in self.words)


def _is_negator(word: Word) -> bool:
    return word.norm in _NEGATORS or word.norm.endswith("n't")


@lru_cache(maxsize=4096)
def terms_of(text: str) -> Terms:
    """Split a text into content words, negators, limiting words and figures, in linear time.

    Limiting words right before a figure belong to it if they bound it ("more than 300") or leave it
    as it is ("only three").
    """
    quantities = find_quantities(text)
    figures = iter([*quantities, None])
    figure = next(figures)
    words: list[tuple[str, int, int]] = []
    negations, limits = 0, Counter[str]()
    pending: list[str] = []  # The limiting words right before this word
    follows_figure = is_bounded = False
    for word in tokenise(text):
        while figure is not None and figure.end <= word.start:
            figure, follows_figure = next(figures), True
        if figure is not None and figure.start <= word.start:
            own = [each for each in pending if figure.bound != "exact" or each in _TOTAL]
            limits.subtract(own)
            is_bounded = is_bounded or bool(own)
            pending = []
            continue
        is_unit, follows_figure = follows_figure and stem(word.norm) in UNIT_STEMS, False
        if word.norm in _LIMITS:
            limits[word.norm] += 1
            pending.append(word.norm)
            continue
        if word.norm not in _LIGHT:
            pending = []
        if _is_negator(word):
            negations += 1
        elif word.norm not in _LIGHT and not is_unit:
            words.append((stem(word.norm), word.start, word.end))
    return Terms(text, tuple(words), negations, +limits, is_bounded, tuple(quantities))


# --- Matching a sentence with a claim -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of a sentence beside the clause, and the joint between the two."""

    text: str
    joint: str
    follows: bool

    @property
    def is_plain(self) -> bool:
        """Whether it leaves the meaning of the clause unchanged.

        True for text in brackets, another statement after a conjunction, a date, a detail after the
        clause, and a longer part that is neither a condition nor set off by a colon.
        """
        words = tokenise(self.text)
        if self.joint in {"(", "["}:
            return True
        if not words or self.joint == ":" or words[0].norm in _CONDITIONS:
            return not words
        opening = words[0].norm
        is_joined = opening == "and" or opening in _JOINS
        is_date = opening in _OPENS_DATE and find_quantities(self.text)
        is_detail = self.follows and opening in _OPENS_DETAIL
        return len(words) > _REMARK_WORDS or is_joined or is_detail or bool(is_date)


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A sentence with the content words of a claim, in the claim's order."""

    clause: Terms
    """The part of the sentence with these words."""
    around: tuple[str, ...]
    """The other content words of the clause, before and after those of the claim."""
    extra: int
    """The number of all other content words of the clause, also between those of the claim."""
    remarks: tuple[Remark, ...]
    """The other parts of the sentence."""
    start: int
    """The offset of the claim's first word in the sentence."""
    is_negated_after: bool
    """Whether a negator follows the claim's last word ("with no help", "not in 1889")."""
    figures: tuple[Quantity, ...]
    """The figures of the whole sentence."""
    rating: Stance | None = None
    """The rating before "that" ("There is no evidence that …"), which the clause leaves out."""


def match(claim: Terms, sentence: str, context: Sequence[str] = ()) -> SentenceMatch | None:
    """Find the content words of a claim in a sentence, in their order.

    In a sentence with a comma the order may begin at another word ("At high altitude, water boils
    …"). The sentence may lack words that stand in `context`, because the title of a page, its first
    sentence and the sentence before name the subject. Returns None if only one of the two names an
    agent with "by": "X bought Y" and "X was bought by Y" have the same words.
    """
    wanted = _wanted(claim, sentence, context)
    if not wanted:
        return None
    terms = terms_of(sentence)
    rotations = range(len(wanted) if "," in sentence else 1)
    orders = (wanted[at:] + wanted[:at] for at in rotations)
    found = ((order, place) for order in orders if (place := _place_of(order, terms.words)))
    order, place = next(found, ((), None))
    if place is None:
        return None
    text, remarks = _clause(terms, {*wanted}, place[1])
    clause = terms_of(text)
    first, last = _place_of(order, clause.words) or (0, len(text))
    before = _THAT.match(text[:first])
    rating = _rating_at_end(before[1]) if before is not None else None
    if before is not None and rating is not None:
        clause, first, last = terms_of(text[before.end() :]), 0, len(text)
    elif len(_BY.findall(text[:last])) != len(_BY.findall(claim.text)):
        return None
    return SentenceMatch(
        clause=clause,
        around=tuple(
            clause.text[start:end]
            for _, start, end in clause.words
            if end <= first or start >= last
        ),
        extra=(Counter(clause.stems) - Counter(claim.stems)).total(),
        remarks=remarks,
        start=place[0],
        is_negated_after=terms_of(clause.text[last:]).negations > 0,
        figures=terms.quantities,
        rating=rating,
    )


def _wanted(claim: Terms, sentence: str, context: Sequence[str]) -> tuple[str, ...]:
    """Return the content words of the claim that a sentence has; none if it lacks others.

    Words that stand in the context may be missing, but `_FEWEST_STATED` words and figures remain.
    """
    there = Counter(terms_of(sentence).stems)
    stated: list[str] = []
    absent: set[str] = set()
    for word in claim.stems:
        if there[word]:
            stated.append(word)
        else:
            absent.add(word)
        there[word] -= 1
    if len(stated) < _FEWEST_TERMS:
        return ()
    # Each text by itself, because `terms_of` caches the sentences of a page.
    named = chain.from_iterable(terms_of(each).stems for each in context)
    is_enough = not absent or len(stated) + len(claim.quantities) >= _FEWEST_STATED
    return tuple(stated) if is_enough and absent.issubset(named) else ()


def _clause(terms: Terms, wanted: Set[str], end: int) -> tuple[str, tuple[Remark, ...]]:
    """Split a sentence at its joints into the clause with the wanted words and the remarks.

    The clause ends at `end`, after the last wanted word.
    """
    parts = _JOINT.split(terms.text)
    clause: list[str] = []
    remarks: list[Remark] = []
    at = 0
    for joint, part in zip(["", *parts[1::2]], parts[::2], strict=True):
        begin = at + len(joint)
        at = begin + len(part)
        within = {w for w, first, last in terms.words if begin <= first and last <= at}
        if begin < end and within & wanted:
            clause.append(part)
        elif part.strip(_MARKS):
            remarks.append(Remark(part, joint or terms.text[at : at + 1], follows=bool(clause)))
    return " ".join(clause), tuple(remarks)


def _place_of(
    wanted: Sequence[str], words: Sequence[tuple[str, int, int]]
) -> tuple[int, int] | None:
    """Return the span of the first run of words that has the wanted ones in their order."""
    for last, (word, _, end) in enumerate(words):
        if word != wanted[-1]:
            continue
        left, at = len(wanted) - 1, last
        while left >= 0 and at >= 0:
            left -= words[at][0] == wanted[left]
            at -= 1
        if left < 0:
            return words[at + 1][1], end
    return None


_DENIES_NOW = re.compile(
    r"\b(?:(?:is|are|do|does|can|has|have)(?: not|n['\u2019]t)|cannot|(?:is|are) no)\b",
    re.IGNORECASE,
)
"""A denial of something that holds at all times."""
_PAST_OR_MODAL = re.compile(r"\b(?:was|were|had|did|could|would)\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(r"\b[a-z]{2,20}est\b", re.IGNORECASE)
_AT_ALL = re.compile(r"\bat all\b", re.IGNORECASE)


def denies_more(claim: Terms, sentence: str, context: Sequence[str] = ()) -> bool:
    """Whether a sentence denies in general what the claim says of a special case.

    "Antibiotics do not cure a cold" denies that they cure the common cold. It may lack one word and
    the figures of the claim, and has no other. A claim on the past is left out, because another
    time may be meant, and so are limits and superlatives: "not the largest lake" does not deny "the
    largest lake in Asia".
    """
    text = _AT_ALL.sub("", _JOINT.split(sentence, maxsplit=1)[0])
    if _DENIES_NOW.search(text) is None or not is_statement(sentence):
        return False
    excluded = _PAST_OR_MODAL.search(claim.text) or _SUPERLATIVE.search(claim.text)
    denial = terms_of(text)
    if claim.negations or claim.limits or excluded or denial.negations != 1 or denial.limits:
        return False
    said, own = {*denial.stems}, {*claim.stems}
    subject = claim.stems[0]
    return (
        _FEWEST_TERMS <= len(said) >= len(own) - 1
        and said <= own
        and any(subject in terms_of(each).stems for each in (text, *context))
        and {each.value for each in denial.quantities} <= {each.value for each in claim.quantities}
    )


def names_another(claim: Terms, sentence: str) -> bool:
    """Whether a sentence says of another name what the claim says.

    Only two forms exclude other names: the agent of a passive ("was painted by …"), and the
    complement of a definite subject ("the capital of … is …"). "X is in Tanzania" and "X is in
    Africa" can both be true.
    """
    terms = terms_of(sentence)
    own = _name_at_end(claim)
    first = len(claim.words) - len(own)
    if not own or not 0 < first < len(terms.words) or claim.negations:
        return False
    other = _name_from(terms, first)
    if not other or {*terms.stems} & {*own} or terms.stems[:first] != claim.stems[:first]:
        return False
    before = terms_of(sentence[: terms.words[first][1]])
    lead = claim.text[: claim.words[first][1]].split()[-1]
    if before.text.split()[-1] != lead or before.negations or before.limits != claim.limits:
        return False
    is_definite = claim.text[:4].lower() == "the " and lead in _PRESENT | _PAST
    return lead == "by" or is_definite


def _name_from(terms: Terms, first: int) -> tuple[str, ...]:
    """Return the run of adjacent capitalised words from a word on."""
    run: list[str] = []
    end = None
    for word, start, stop in terms.words[first:]:
        is_adjacent = end is None or not terms.text[end:start].strip()
        if not terms.text[start].isupper() or not is_adjacent:
            break
        run.append(word)
        end = stop
    return tuple(run)


def _name_at_end(terms: Terms) -> tuple[str, ...]:
    """Return the run of adjacent capitalised words that ends a text."""
    runs = (_name_from(terms, first) for first in range(len(terms.words)))
    return next((run for first, run in enumerate(runs) if first + len(run) == len(terms.words)), ())


# --- Ratings near a sentence --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NearbyRating:
    """The rating near a sentence, and the index of the sentence that holds it."""

    rating: Stance | None
    place: int
    is_understood: bool
    """False next to a short remark of unknown meaning, which may deny the sentence."""


def _nearby_rating(
    found: SentenceMatch, sentences: Sequence[PageSentence], at: int
) -> NearbyRating:
    """Look for a rating in the sentence, then on its line, then on the lines next to it."""
    for remark in found.remarks:
        if (rating := rating_of(remark.text)) is not None:
            return NearbyRating(rating, at, is_understood=True)
    line = sentences[at].paragraph
    before = sentences[at - 1] if at else None
    after = sentences[at + 1] if at + 1 < len(sentences) else None
    places = [at - 1, at + 1]
    if after is not None and len(tokenise(after.text)) <= _SHORTEST:
        places.append(at + 2)  # "Our verdict", "It has not."
    rated = {
        place: rating
        for place in places
        if 0 <= place < len(sentences) and (rating := rating_of(sentences[place].text)) is not None
    }
    nearest = {place: each for place, each in rated.items() if sentences[place].paragraph == line}
    rated = nearest or rated
    if len({*rated.values()}) > 1:
        return NearbyRating("unclear", at, is_understood=True)
    for place, rating in rated.items():
        return NearbyRating(rating, place, is_understood=True)
    understood = all(remark.is_plain for remark in found.remarks)
    if after is not None and after.paragraph == line:
        opening = re.split(r"[.:!?\u2013\u2014]", after.text, maxsplit=1)[0]
        understood = understood and len(tokenise(opening)) > _SHORTEST
    if before is not None and before.paragraph == line:
        understood = understood and len(tokenise(before.text)) > _SHORTEST
    return NearbyRating(None, at, understood)


def _rating_at_end(text: str) -> Stance | None:
    """Read the rating at the end of a text; a negator before it makes the rating unclear."""
    words = tokenise(text)[-_LONGEST_RATING:]
    for at, word in enumerate(words):
        if (rating := stance_of_label(text[word.start :])) is not None:
            return "unclear" if sum(map(_is_negator, words[:at])) % 2 else rating
    return None


def rating_of(text: str) -> Stance | None:
    """Read a short text as a rating: "FALSE", "Verdict: mostly false.", "That is a myth".

    None if the text is too long or on no known scale.
    """
    text = _LABEL.sub("", text.strip(_MARKS)[:_LONGEST_LABEL])
    # "We rate this claim False", "That is a myth": the last words rate.
    points_back = len(tokenise(text)) <= _LONGEST_RATING and _POINTS_BACK.search(text)
    if points_back and (rating := _rating_at_end(text)) is not None:
        return rating
    rest = re.split(r"[.!;,:\u2013\u2014]|\s-\s", text, maxsplit=1)[0].strip()
    return stance_of_label(rest) if rest and len(tokenise(rest)) <= _REMARK_WORDS else None


# --- The side of one sentence -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """A side that a page takes, with the indices of its first and last sentence."""

    side: Stance
    ground: Ground
    first: int
    last: int


def _decisions(claim: Terms, sentences: Sequence[PageSentence], title: str) -> Iterator[Decision]:
    opening = next((each.text for each in sentences if each.text != title), "")
    for at, sentence in enumerate(sentences):
        if is_statement(sentence.text) and names_another(claim, sentence.text):
            yield Decision("refutes", "name", at, at)
        context = (title, opening, sentences[at - 1].text if at else "")
        found = match(claim, sentence.text, context)
        if found is None and denies_more(claim, sentence.text, context):
            yield Decision("refutes", "denial", at, at)
        if found is None or claim.limits != found.clause.limits:
            continue
        decision = _decision(claim, found, sentences, at)
        if decision is not None:
            yield decision


def _decision(
    claim: Terms, found: SentenceMatch, sentences: Sequence[PageSentence], at: int
) -> Decision | None:
    """Return the side of a page by one sentence and its surroundings."""
    taken = _side_of(claim, found)
    if taken is None or (found.rating is not None and found.extra):
        return None
    side, ground = taken
    if ground == "rating":
        return Decision(side, ground, at, at)
    sentence = sentences[at].text
    if sentence.rstrip().endswith("?"):
        answer = _answer(sentences[at + 1].text) if at + 1 < len(sentences) else None
        is_answered = answer is not None and found.extra == 0
        return Decision(_rated(answer, side), "answer", at, at + 1) if is_answered else None
    nearby = _nearby_rating(found, sentences, at)
    if nearby.rating is not None:
        first, last = sorted((at, nearby.place))
        rated = _rated_nearby(nearby, side, sentences, at)
        return Decision(rated, "rating", first, last) if found.extra <= _MOST_AROUND else None
    # Words before the claim may report it ("The film claims …"), words within it may turn it
    # ("Edison failed to invent …").
    is_opening = found.extra == len(found.around) and found.clause.stems[0] in claim.stems
    is_asserted = (
        nearby.is_understood
        and tokenise(sentence)[0].norm not in _INVERTED
        and (found.extra == 0 or (is_opening and _is_particular(claim)))
        and _is_in_prose(sentences, at)
        and is_statement(sentence)
        and len(_QUOTED.findall(sentence[: found.start])) % 2 == 0
    )
    return Decision(side, ground, at, at) if is_asserted else None


def _side_of(claim: Terms, found: SentenceMatch) -> tuple[Stance, Ground] | None:
    """Return the side of a clause that has all words of a claim, None if it takes none."""
    clause = found.clause
    if found.rating is None and (found.is_negated_after or _is_past(claim.text, clause.text)):
        return None
    same_polarity = claim.negations % 2 == clause.negations % 2
    side: Stance = "supports" if same_polarity else "refutes"
    stated: Ground = "assertion" if same_polarity else "denial"
    ratings = {each for each in map(stance_of_label, found.around) if each is not None}
    if found.rating is not None:
        return _rated(found.rating, side), "rating"
    if ratings and found.extra == len(found.around) <= _MOST_AROUND:
        # "The idea that … is a myth". A supporting word ("confirmed cases") rates nothing.
        is_rating = len(ratings) == 1 and ratings != {"supports"}
        return (_rated(ratings.pop(), side), "rating") if is_rating else None
    kinds = [each.dimension for each in clause.quantities if each.dimension != "year"]
    agreement = compare_quantities(claim.quantities, found.figures)
    if not claim.quantities:
        # "Five per cent of bats" and "until 1991" say more than the claim.
        is_same = "percent" not in kinds and not clause.is_bounded
    else:
        # The claim may mean either of two figures of a kind. "It did not open until 1889."
        own = Counter(each.dimension for each in claim.quantities)
        more = Counter(each for each in kinds if each in own) - own
        is_same = not more and (same_polarity or not clause.is_bounded)
    if is_same and agreement == "conflicts" and same_polarity:
        return "refutes", "number"
    return (side, stated) if is_same and agreement == "agrees" else None


def _is_past(claim: str, clause: str) -> bool:
    """Whether the claim says "is" and the clause says "was": "In 1960 it was the largest lake"."""
    now, then = ({word.norm for word in tokenise(text)} for text in (claim, clause))
    return bool(now & _PRESENT and then & _PAST) and not (now & _PAST or then & _PRESENT)


def _rated_nearby(
    nearby: NearbyRating, side: Stance, sentences: Sequence[PageSentence], at: int
) -> Stance:
    """Return the side of a page by the rating near a sentence that asserts or denies the claim.

    In "Bats are not blind. We rate the claim false." the rating is of the claim. In "Bats are not
    blind. FALSE" its target is unclear.
    """
    rating = nearby.rating or "unclear"
    if side == "supports" or nearby.place == at:
        return _rated(rating, side)
    if rating == "refutes" and not _OF_CLAIM.search(sentences[nearby.place].text):
        return "unclear"
    return "refutes" if rating == "supports" else rating


def _rated(rating: Stance | None, side: Stance) -> Stance:
    """Combine the rating of a sentence with the side of that sentence."""
    turned: dict[Stance, Stance] = {"supports": "refutes", "refutes": "supports"}
    stance = rating or "unclear"
    return turned.get(stance, stance) if side == "refutes" else stance


def _answer(text: str) -> Stance | None:
    """Return the side of a sentence that answers the question before it."""
    word = next(iter(tokenise(text[:_LONGEST_LABEL])), None)
    if word is not None and text[word.end : word.end + 1].strip(" ") in _ENDS_ANSWER:
        return _ANSWERS.get(word.norm) or rating_of(text)
    return rating_of(text)


def _is_particular(claim: Terms) -> bool:
    """Whether a claim is about one named thing, or an event of a stated year.

    Further details after it do not change such a claim. But "Coffee stunts growth in rats" does not
    say that coffee stunts growth.
    """
    if any(each.dimension == "year" for each in claim.quantities):
        return True
    name = _name_from(claim, 0)
    opens_sentence = claim.words[0][1] == 0
    return len(name) > opens_sentence


def _is_in_prose(sentences: Sequence[PageSentence], at: int) -> bool:
    """Whether a sentence shares its line with another one, or the page is hardly longer.

    A sentence alone on its line is a heading, a list item, or a quoted claim under review.
    """
    neighbours = (*sentences[max(0, at - 1) : at], *sentences[at + 1 : at + 2])
    is_shared = any(each.paragraph == sentences[at].paragraph for each in neighbours)
    return is_shared or len(sentences) <= _LONE_SENTENCES


# --- The side of a page -------------------------------------------------------------------------

_ORDER: tuple[tuple[Ground, ...], ...] = (
    ("rating", "answer"),
    ("denial", "number", "name"),
    ("assertion",),
)
"""Grounds, the strongest first. A page that refutes a claim often repeats it before."""


def side_of_text(claim: str, text: str, *, title: str = "") -> Stance:
    """Return the side of a short text, such as a quote; another name alone refutes nothing here."""
    reading = _read(claim, page_sentences(text), title)
    return "unclear" if reading.ground == "name" else reading.stance


class PlainReader:
    """The `StanceReader` without a model."""

    name = "plain"

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        """Return the side that the page takes plainly, else that of its search snippet."""
        page = (PageSentence(title, 0, 0, -1), *selection.sentences)
        reading = _read(claim, page, title)
        if reading.stance != "unclear":
            return reading
        snippet = _read(claim, selection.snippet, title)
        if snippet.stance == "unclear":
            return reading
        return replace(snippet, quotes=(), in_page=False)


def _read(claim: str, sentences: Sequence[PageSentence], title: str) -> PageReading:
    """Read the claim as a whole; else each of its parts, which must all be stated."""
    whole = _read_part(terms_of(claim), sentences, title)
    parts = [terms_of(part) for part in _JOINT.split(claim)[::2]]
    parts = [part for part in parts if len(part.words) >= _FEWEST_TERMS]
    if whole.stance != "unclear" or len(parts) < _FEWEST_TERMS:
        return whole
    readings = [_read_part(part, sentences, title) for part in parts]
    refuted = next((each for each in readings if each.stance == "refutes"), None)
    if refuted is not None or any(each.stance != "supports" for each in readings):
        return refuted or whole
    quotes = tuple(dict.fromkeys(quote for each in readings for quote in each.quotes[:1]))
    return replace(min(readings, key=lambda each: each.confidence), quotes=quotes)


def _read_part(claim: Terms, sentences: Sequence[PageSentence], title: str) -> PageReading:
    decisions = list(_decisions(claim, sentences, title))
    for grounds in _ORDER:
        found = [each for each in decisions if each.ground in grounds]
        sides = {each.side for each in found}
        if sides and (len(sides) > 1 or "unclear" in sides):
            return PageReading()
        if found:
            ground = found[0].ground
            spans = [(sentences[each.first].start, sentences[each.last].end) for each in found]
            return PageReading(found[0].side, CONFIDENCE[ground], ground, tuple(spans))
    return PageReading()
