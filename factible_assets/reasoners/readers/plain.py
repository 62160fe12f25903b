"""Finds the stance of a page on a claim by fixed rules, without a model.

The page takes a side in these cases only; every other page is "unclear":

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
from factible_assets.records.scales import stance_of_exact_rating
from factible_assets.records.tables import Stance

_FUNCTION_WORDS = MONTHS | word_set(
    "a an the this that these those it its he she they them his her their we our you your i my who"
    " which there here be is are was were been being am do does did done has have had having can of"
    " in on at by for to from into with as and so then also too very indeed really actually"
    " fact s 's such own itself themselves ever"
)
"""Words that may differ between a claim and a sentence of the same meaning."""
_NEGATORS = word_set("not no never none nobody nothing neither nor cannot hardly barely")
_LIMITS = word_set(
    "or may might could would should must will shall if whether unless perhaps maybe possibly"
    " probably supposedly all every each any some few many much more most less least fewer only"
    " always often usually sometimes rarely seldom almost nearly both half before after above below"
    " under over until since up down out against except than once first last without"
)
"""Modals, quantifiers, prepositions and "or", which must agree between a claim and a sentence."""
_NEUTRAL = word_set("only all both")
"""Limiting words that do not change the figure after them: "only three seconds"."""


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
            of_figure = [limit for limit in pending if figure.bound != "exact" or limit in _NEUTRAL]
            limits.subtract(of_figure)
            is_bounded = is_bounded or bool(of_figure)
            pending = []
            continue
        is_unit, follows_figure = follows_figure and stem(word.norm) in UNIT_STEMS, False
        if word.norm in _LIMITS:
            limits[word.norm] += 1
            pending.append(word.norm)
            continue
        if word.norm not in _FUNCTION_WORDS:
            pending = []
        if _is_negator(word):
            # "No more than 50" bounds the figure and denies nothing.
            negations += figure is None or word.start < figure.bound_start
        elif word.norm not in _FUNCTION_WORDS and not is_unit:
            words.append((stem(word.norm), word.start, word.end))
    return Terms(text, tuple(words), negations, +limits, is_bounded, tuple(quantities))


# --- Matching a sentence with a claim -----------------------------------------------------------

_CONDITIONS = word_set("if unless or")
_OPENS_DETAIL = word_set(
    "in on at near from with of to since during for after before until by where when who which"
    " whose"
)
"""Prepositions and relative pronouns that open a detail after a statement: ", near Rotterdam"."""
_OPENS_DATE = _OPENS_DETAIL | {"as"}
_JOINS = word_set("because but although though while whereas despite unlike")
"""Conjunctions between two clauses of which each is true by itself."""
_JOINT = re.compile(
    r"([,;:](?=\s)|[()\[\]\u2014]|\s[\u2013-]\s|\s(?=(?:" + "|".join(sorted(_JOINS)) + r")\b))"
)
"""The boundary between two segments of a sentence."""
_REMARK_WORDS = 5
"""A sentence or segment next to the claim with at most so many words is a remark on it."""
_FEWEST_TERMS, _FEWEST_STATED = 2, 3
"""A sentence has at least so many content words of the claim; in the second number, which counts
figures too, the context may supply the others."""
_AGENT_OR_SOURCE = re.compile(rf"\b(?:by|from(?! (?:\d|{'|'.join(sorted(MONTHS))})))\b")
"""Words before an agent or a source, but not before a time: "from January"."""
_THAT = re.compile(r"(.*)\bthat\s*(?:the |an? )?$", re.IGNORECASE | re.DOTALL)
"""The words before a clause that "that" opens."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of a sentence outside of the clause, and the joint between the two."""

    text: str
    joint: str
    follows: bool

    @property
    def is_neutral(self) -> bool:
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
    """The content words of the clause before and after those of the claim."""
    extra: int
    """The number of content words of the clause that the claim lacks, wherever they stand."""
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
    agent with "by" or a source with "from": "X bought Y" and "X was bought by Y" have the same
    words.
    """
    stated = _stated_words(claim, sentence, context)
    terms = terms_of(sentence)
    for at, _ in enumerate(stated if "," in sentence else stated[:1]):
        order = stated[at:] + stated[:at]
        if span := _span_of(order, terms.words):
            break
    else:
        return None
    text, remarks = _clause(terms, {*stated}, span[1])
    clause = terms_of(text)
    first, last = _span_of(order, clause.words) or (0, len(text))
    opening = _THAT.match(text[:first])
    rating = _rating_at_end(opening[1]) if opening is not None else None
    if opening is not None and rating is not None:
        clause, first, last = terms_of(text[opening.end() :]), 0, len(text)
    if roles_of(clause.text[:last]) != roles_of(claim.text):
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
        start=span[0],
        is_negated_after=terms_of(clause.text[last:]).negations > 0,
        figures=terms.quantities,
        rating=rating,
    )


def roles_of(text: str) -> list[str]:
    """Return the words that open an agent or a source ("by", "from"), in order."""
    return _AGENT_OR_SOURCE.findall(text.casefold())


def _stated_words(claim: Terms, sentence: str, context: Sequence[str]) -> tuple[str, ...]:
    """Return the content words of the claim that a sentence has; none if they are too few.

    The sentence may lack words that stand in the context, if it has `_FEWEST_STATED` others.
    """
    unused = Counter(terms_of(sentence).stems)
    stated: list[str] = []
    absent: set[str] = set()
    for word in claim.stems:
        if unused[word] > 0:
            stated.append(word)
        else:
            absent.add(word)
        unused[word] -= 1
    if len(stated) < _FEWEST_TERMS:
        return ()
    # Each text by itself, because `terms_of` caches the sentences of a page.
    in_context = chain.from_iterable(terms_of(text).stems for text in context)
    is_enough = not absent or len(stated) + len(claim.quantities) >= _FEWEST_STATED
    return tuple(stated) if is_enough and absent.issubset(in_context) else ()


def _clause(terms: Terms, stated: Set[str], end: int) -> tuple[str, tuple[Remark, ...]]:
    """Split a sentence at its joints into the clause with the stated words, and the remarks.

    `end` is the offset after the last stated word; later parts are remarks.
    """
    parts = _JOINT.split(terms.text)
    clause: list[str] = []
    remarks: list[Remark] = []
    at = 0
    for joint, part in zip(["", *parts[1::2]], parts[::2], strict=True):
        begin = at + len(joint)
        at = begin + len(part)
        within = {word for word, first, last in terms.words if begin <= first and last <= at}
        if begin < end and within & stated:
            clause.append(part)
        elif part.strip(_MARKS):
            # "Fact: …": a colon after the first part is its joint too.
            label = ":" if terms.text[at : at + 1] == ":" else ""
            remarks.append(Remark(part, joint or label, follows=bool(clause)))
    return " ".join(clause), tuple(remarks)


def _span_of(stems: Sequence[str], words: Sequence[tuple[str, int, int]]) -> tuple[int, int] | None:
    """Return the span of the first run of words that contains the stems in their order."""
    for last, (word, _, end) in enumerate(words):
        if word != stems[-1]:
            continue
        unmatched, at = len(stems) - 1, last
        while unmatched >= 0 and at >= 0:
            unmatched -= words[at][0] == stems[unmatched]
            at -= 1
        if unmatched < 0:
            return words[at + 1][1], end
    return None


_DENIES_NOW = re.compile(
    r"\b(?:(?:is|are|do|does|can|has|have)(?: not|n['\u2019]t)|cannot|(?:is|are) no)\b",
    re.IGNORECASE,
)
"""A denial of something that holds at all times."""
_PAST_OR_MODAL = re.compile(r"\b(?:was|were|had|did|could|would)\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(r"\b[a-z]{2,20}est\b", re.IGNORECASE)  # "largest"
_AT_ALL = re.compile(r"\bat all\b", re.IGNORECASE)
_PRESENT, _PAST = word_set("is are"), word_set("was were")


def denies_in_general(claim: Terms, sentence: str, context: Sequence[str] = ()) -> bool:
    """Whether a sentence denies a general statement of which the claim is a special case.

    "Antibiotics do not cure a cold" denies that they cure the common cold. The sentence may lack
    one word and the figures of the claim, and has no others. Claims with a past tense (the sentence
    may mean another time), a limit or a superlative do not count: "not the largest lake" does not
    deny "the largest lake in Asia".
    """
    text = _AT_ALL.sub("", _JOINT.split(sentence, maxsplit=1)[0])
    if _DENIES_NOW.search(text) is None or not is_statement(sentence):
        return False
    excluded = _PAST_OR_MODAL.search(claim.text) or _SUPERLATIVE.search(claim.text)
    denial = terms_of(text)
    if claim.negations or claim.limits or excluded or denial.negations != 1 or denial.limits:
        return False
    if not claim.stems:
        return False
    denied, claimed = {*denial.stems}, {*claim.stems}
    denied_figures = {figure.value for figure in denial.quantities}
    return (
        max(_FEWEST_TERMS, len(claimed) - 1) <= len(denied)
        and denied <= claimed
        and any(claim.stems[0] in terms_of(passage).stems for passage in (text, *context))
        and denied_figures <= {figure.value for figure in claim.quantities}
    )


def names_another(claim: Terms, sentence: str) -> bool:
    """Whether a sentence repeats the claim with another name at its end.

    Only two forms exclude other names: the agent of a passive ("was painted by …"), and the
    complement of a definite subject ("the capital of … is …"). "X is in Tanzania" and "X is in
    Africa" can both be true.
    """
    terms = terms_of(sentence)
    name = _name_at_end(claim)
    first = len(claim.words) - len(name)
    if not name or not 0 < first < len(terms.words) or claim.negations:
        return False
    other = _name_from(terms, first)
    if not other or {*terms.stems} & {*name} or terms.stems[:first] != claim.stems[:first]:
        return False
    before = terms_of(sentence[: terms.words[first][1]])
    last_word = claim.text[: claim.words[first][1]].split()[-1]
    if before.text.split()[-1] != last_word or before.negations or before.limits != claim.limits:
        return False
    is_definite = claim.text[:4].lower() == "the " and last_word in _PRESENT | _PAST
    return last_word == "by" or is_definite


def _name_from(terms: Terms, first: int) -> tuple[str, ...]:
    """Return the run of adjacent capitalised words that begins with word number `first`."""
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

_POINTS_BACK = re.compile(
    r"\b(?:this|that|it|these|claim|statement)\b(?=.)", re.IGNORECASE | re.DOTALL
)
"""A word with which a rating points to the claim: "That is a myth"."""
_LONGEST_RATING = 7  # words
_LONGEST_LABEL = 120  # characters in which a rating or an answer begins
_MARKS = " \t.!?\"'()[]*#\u2018\u2019\u201c\u201d\u2013\u2014-:"
_LABEL = re.compile(r"^[\w'/ -]{2,60}[:/]\s*(?=\S)")  # "Our verdict: "
_SHORTEST = 3
"""A sentence with at most so many words has no content of its own."""


@dataclass(frozen=True, slots=True)
class NearbyRating:
    """The rating near a sentence, and the index of the sentence that holds it."""

    rating: Stance | None
    at: int
    is_understood: bool
    """False next to a short remark of unknown meaning, which may deny the sentence."""


def _nearby_rating(
    matched: SentenceMatch, sentences: Sequence[PageSentence], at: int
) -> NearbyRating:
    """Look for a rating in the sentence, then on its line, then on the lines next to it."""
    for remark in matched.remarks:
        if (rating := rating_of(remark.text)) is not None:
            return NearbyRating(rating, at, is_understood=True)
    line = sentences[at].paragraph
    before = sentences[at - 1] if at else None
    after = sentences[at + 1] if at + 1 < len(sentences) else None
    neighbours = [at - 1, at + 1]
    if after is not None and len(tokenise(after.text)) <= _SHORTEST:
        neighbours.append(at + 2)  # "Our verdict", "It has not."
    ratings = {
        near: rating
        for near in neighbours
        if 0 <= near < len(sentences) and (rating := rating_of(sentences[near].text)) is not None
    }
    on_line = {near: ratings[near] for near in ratings if sentences[near].paragraph == line}
    ratings = on_line or ratings
    if len({*ratings.values()}) > 1:
        return NearbyRating("unclear", at, is_understood=True)
    for near, rating in ratings.items():
        return NearbyRating(rating, near, is_understood=True)
    is_understood = all(remark.is_neutral for remark in matched.remarks)
    if after is not None and after.paragraph == line:
        opening = re.split(r"[.:!?\u2013\u2014]", after.text, maxsplit=1)[0]
        is_understood = is_understood and len(tokenise(opening)) > _SHORTEST
    if before is not None and before.paragraph == line:
        is_understood = is_understood and len(tokenise(before.text)) > _SHORTEST
    return NearbyRating(None, at, is_understood)


def _rating_at_end(text: str) -> Stance | None:
    """Read the rating at the end of a text; a negator before it makes the rating unclear."""
    words = tokenise(text)[-_LONGEST_RATING:]
    for at, word in enumerate(words):
        if (rating := stance_of_exact_rating(text[word.start :])) is not None:
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
    label = re.split(r"[.!;,:\u2013\u2014]|\s-\s", text, maxsplit=1)[0].strip()
    is_short = len(tokenise(label)) <= _REMARK_WORDS
    return stance_of_exact_rating(label) if label and is_short else None


# --- The side of one sentence -------------------------------------------------------------------

_INVERTED = word_set("had were")
"""Verbs that open a condition: "Had Norway joined the union, …"."""
_ANSWERS: dict[str, Stance] = {"yes": "supports", "no": "refutes"}
_ENDS_ANSWER = (".", ",", ";", ":", "!", "\u2013", "\u2014")
_QUOTATION_MARK = re.compile(r"[\"\u201c\u201d\u00ab\u00bb]|(?<!\w)['\u2018]|['\u2019](?!\w)")
_OF_CLAIM = re.compile(r"\b(?:claim|statement|post|rumou?r)\b", re.IGNORECASE)
_LONE_SENTENCES = 2
"""On a page with at most so many sentences, its title included, one alone on its line is prose."""
_MOST_AROUND = 3
"""At most so many content words surround a claim with a rating: "The idea that … is a myth"."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The stance of a passage, with the indices of its first and last sentence."""

    side: Stance
    ground: Ground
    first: int
    last: int


def _decisions(claim: Terms, sentences: Sequence[PageSentence], title: str) -> Iterator[Decision]:
    """Yield the stance of each passage that takes one."""
    opening = next((sentence.text for sentence in sentences if sentence.text != title), "")
    for at, sentence in enumerate(sentences):
        if is_statement(sentence.text) and names_another(claim, sentence.text):
            yield Decision("refutes", "name", at, at)
        context = (title, opening, sentences[at - 1].text if at else "")
        matched = match(claim, sentence.text, context)
        if matched is None and denies_in_general(claim, sentence.text, context):
            yield Decision("refutes", "denial", at, at)
        if matched is None or claim.limits != matched.clause.limits:
            continue
        decision = _decision(claim, matched, sentences, at)
        if decision is not None:
            yield decision


def _decision(
    claim: Terms, matched: SentenceMatch, sentences: Sequence[PageSentence], at: int
) -> Decision | None:
    """Return the stance of one sentence and its surroundings, None if it takes none."""
    side_and_ground = _side_of_clause(claim, matched)
    if side_and_ground is None or (matched.rating is not None and matched.extra):
        return None
    side, ground = side_and_ground
    if ground == "rating":
        return Decision(side, ground, at, at)
    sentence = sentences[at].text
    if sentence.rstrip().endswith("?"):
        answer = _answer(sentences[at + 1].text) if at + 1 < len(sentences) else None
        is_answered = answer is not None and matched.extra == 0
        return Decision(_rated(answer, side), "answer", at, at + 1) if is_answered else None
    nearby = _nearby_rating(matched, sentences, at)
    if nearby.rating is not None:
        first, last = sorted((at, nearby.at))
        rated = _rated_nearby(nearby, side, sentences, at)
        return Decision(rated, "rating", first, last) if matched.extra <= _MOST_AROUND else None
    is_quoted = len(_QUOTATION_MARK.findall(sentence[: matched.start])) % 2 == 1
    is_condition = tokenise(sentence)[0].norm in _INVERTED
    is_asserted = _is_whole(claim, matched) and not (is_quoted or is_condition)
    if not (is_asserted and nearby.is_understood and is_statement(sentence)):
        return None
    return Decision(side, ground, at, at) if _is_in_prose(sentences, at) else None


def _is_whole(claim: Terms, matched: SentenceMatch) -> bool:
    """Whether a clause says the claim, and at most adds details after it.

    Words before the claim may report it ("The film claims …"), words within it may turn it ("Edison
    failed to invent …").
    """
    adds_after = matched.extra == len(matched.around) and matched.clause.stems[0] in claim.stems
    return matched.extra == 0 or (adds_after and _is_particular(claim))


def _side_of_clause(claim: Terms, matched: SentenceMatch) -> tuple[Stance, Ground] | None:
    """Return the stance of a clause that has the words of a claim, None if it takes none."""
    clause = matched.clause
    if matched.rating is None and (matched.is_negated_after or _is_past(claim.text, clause.text)):
        return None
    same_polarity = claim.negations % 2 == clause.negations % 2
    side: Stance = "supports" if same_polarity else "refutes"
    ground: Ground = "assertion" if same_polarity else "denial"
    if matched.rating is not None:
        return _rated(matched.rating, side), "rating"
    ratings = {*map(stance_of_exact_rating, matched.around)} - {None}
    if ratings and matched.extra == len(matched.around) <= _MOST_AROUND:
        # "The idea that … is a myth". A supporting word ("confirmed cases") rates nothing.
        is_rating = len(ratings) == 1 and ratings != {"supports"}
        return (_rated(ratings.pop(), side), "rating") if is_rating else None
    agreement = compare_quantities(claim.quantities, matched.figures)
    if not _has_same_figures(claim, clause, same_polarity=same_polarity):
        return None
    if agreement == "conflicts" and same_polarity:
        return "refutes", "number"
    return (side, ground) if agreement == "agrees" else None


def _has_same_figures(claim: Terms, clause: Terms, *, same_polarity: bool) -> bool:
    """Whether a clause has no further figure that changes what the claim says.

    "Five per cent of bats" and "until 1991" say more than a claim without figures. Of two figures
    of a kind, the claim may mean either. "It did not open until 1889" denies no year.
    """
    kinds = [figure.dimension for figure in clause.quantities if figure.dimension != "year"]
    if not claim.quantities:
        return "percent" not in kinds and not clause.is_bounded
    claimed = Counter(figure.dimension for figure in claim.quantities)
    doubled = Counter(kind for kind in kinds if kind in claimed) - claimed
    return not doubled and (same_polarity or not clause.is_bounded)


def _is_past(claim: str, clause: str) -> bool:
    """Whether the claim says "is" and the clause says "was": "In 1960 it was the largest lake"."""
    now, then = ({word.norm for word in tokenise(text)} for text in (claim, clause))
    return bool(now & _PRESENT and then & _PAST) and not (now & _PAST or then & _PRESENT)


def _rated_nearby(
    nearby: NearbyRating, side: Stance, sentences: Sequence[PageSentence], at: int
) -> Stance:
    """Return the stance by the rating near a sentence that asserts or denies the claim.

    In "Bats are not blind. We rate the claim false." the rating is of the claim. In "Bats are not
    blind. FALSE" its target is unclear.
    """
    rating = nearby.rating or "unclear"
    if side == "supports" or nearby.at == at:
        return _rated(rating, side)
    if rating == "refutes" and not _OF_CLAIM.search(sentences[nearby.at].text):
        return "unclear"
    return "refutes" if rating == "supports" else rating


def _rated(rating: Stance | None, side: Stance) -> Stance:
    """Return the stance if a sentence has this side, and this rating; a denial reverses it."""
    reversed_stance: dict[Stance, Stance] = {"supports": "refutes", "refutes": "supports"}
    stance = rating or "unclear"
    return reversed_stance.get(stance, stance) if side == "refutes" else stance


def _answer(text: str) -> Stance | None:
    """Read a sentence as the answer to the question before it."""
    word = next(iter(tokenise(text[:_LONGEST_LABEL])), None)
    if word is not None and text[word.end : word.end + 1] in _ENDS_ANSWER:
        return _ANSWERS.get(word.norm) or rating_of(text)
    return rating_of(text)


def _is_particular(claim: Terms) -> bool:
    """Whether a claim is about one named thing, or an event of a stated year.

    Further details after it do not change such a claim. But "Coffee stunts growth in rats" does not
    say that coffee stunts growth.
    """
    if any(figure.dimension == "year" for figure in claim.quantities):
        return True
    # Every first word of a sentence is capitalised, so there a name has a second word.
    needed = 2 if claim.words[0][1] == 0 else 1
    return len(_name_from(claim, 0)) >= needed


def _is_in_prose(sentences: Sequence[PageSentence], at: int) -> bool:
    """Whether a sentence shares its line with another one, or the page is hardly longer.

    A sentence alone on its line is a heading, a list item, or a quoted claim under review.
    """
    neighbours = (*sentences[max(0, at - 1) : at], *sentences[at + 1 : at + 2])
    line = sentences[at].paragraph
    is_shared = any(neighbour.paragraph == line for neighbour in neighbours)
    return is_shared or len(sentences) <= _LONE_SENTENCES


# --- The side of a page -------------------------------------------------------------------------

_ORDER: tuple[tuple[Ground, ...], ...] = (
    ("rating", "answer"),
    ("denial", "number", "name"),
    ("assertion",),
)
"""Grounds, the strongest first. A page that refutes a claim often repeats it first."""
CONFIDENCE: dict[Ground, float] = {
    "assertion": 0.8,
    "denial": 0.8,
    "number": 0.75,
    "name": 0.75,
    "answer": 0.8,
    "rating": 0.85,
}
"""The probability that a stance is right, by its ground."""


def side_of_text(claim: str, text: str, *, title: str = "") -> Stance:
    """Return the stance of a short text, such as a quote; another name alone refutes nothing."""
    reading = _read(claim, page_sentences(text), title)
    return "unclear" if reading.ground == "name" else reading.stance


class PlainReader:
    """The `StanceReader` without a model."""

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        """Read the page; if that is unclear, read its search snippet."""
        page = (PageSentence(title, 0, 0, -1), *selection.sentences)
        reading = _read(claim, page, title)
        if reading.stance != "unclear":
            return reading
        snippet = _read(claim, selection.snippet, title)
        if snippet.stance == "unclear":
            return reading
        return replace(snippet, quotes=(), in_page=False)


def _read(claim: str, sentences: Sequence[PageSentence], title: str) -> PageReading:
    """Read the claim as a whole. If that is unclear, read its parts.

    The page supports the claim if it supports all parts, and refutes it if it refutes one.
    """
    whole = _read_part(terms_of(claim), sentences, title)
    parts = [terms_of(part) for part in _JOINT.split(claim)[::2]]
    parts = [part for part in parts if len(part.words) >= _FEWEST_TERMS]
    if whole.stance != "unclear" or len(parts) <= 1:
        return whole
    readings = [_read_part(part, sentences, title) for part in parts]
    refuted = next((reading for reading in readings if reading.stance == "refutes"), None)
    if refuted is not None or any(reading.stance != "supports" for reading in readings):
        return refuted or whole
    quotes = tuple(dict.fromkeys(quote for reading in readings for quote in reading.quotes[:1]))
    return replace(min(readings, key=lambda reading: reading.confidence), quotes=quotes)


def _read_part(claim: Terms, sentences: Sequence[PageSentence], title: str) -> PageReading:
    decisions = list(_decisions(claim, sentences, title))
    for grounds in _ORDER:
        strongest = [decision for decision in decisions if decision.ground in grounds]
        sides = {decision.side for decision in strongest}
        if len(sides) > 1 or "unclear" in sides:
            return PageReading()
        if strongest:
            ground = strongest[0].ground
            quotes = list[tuple[int, int]]()
            for decision in strongest:
                passage = sentences[decision.first : decision.last + 1]
                # The title is not part of the page's text.
                if in_text := [sentence for sentence in passage if sentence.end]:
                    quotes.append((in_text[0].start, in_text[-1].end))
            return PageReading(strongest[0].side, CONFIDENCE[ground], ground, tuple(quotes))
    return PageReading()
