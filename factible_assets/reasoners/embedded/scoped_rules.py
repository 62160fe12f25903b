"""The default stance model: rules over the words that a sentence shares with a claim.

What belongs here: what a sentence, an answer to a question or a rated quotation says of one
proposition of a claim, and how sure that is. What does not: the words and scopes that the rules
look at (claim_frame.py, denial.py, quantities.py), taking a claim apart (propositions.py), merging
passages (stance.py).

The rules put precision first and abstain: only a sentence that shares most of a proposition may
speak, and then its denials, numbers, opposites and reservations decide. Single cue words
("debunked", "proven") decide nothing: against real pages they are at chance (AUC .52).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from factible_assets.reasoners.embedded.claim_frame import (
    ClaimFrame,
    Meeting,
    Token,
    Turns,
    compare_directions,
    covered,
    density,
    directions_met,
    fold_text,
    kept_together,
    meet,
    read_claim,
    read_tokens,
    same_directions,
)
from factible_assets.reasoners.embedded.denial import Polarity, own_polarity, polarity
from factible_assets.reasoners.embedded.fact_checks import FactCheck, Rating, rating_of_page
from factible_assets.reasoners.embedded.lexicon import load_lexicon
from factible_assets.reasoners.embedded.page_text import PageSentence
from factible_assets.reasoners.embedded.passages import Passage
from factible_assets.reasoners.embedded.propositions import Role, read_propositions
from factible_assets.reasoners.embedded.quantities import (
    Agreement,
    compare_quantities,
    find_quantities,
)
from factible_assets.reasoners.embedded.stance import (
    HIGHEST,
    SILENT,
    Ground,
    PassageStance,
    Side,
    condense,
)
from factible_assets.reasoners.embedded.text import NEGATIONS
from factible_assets.records import Stance

# --- What must be met ---------------------------------------------------------------------------

_ENOUGH_TO_SUPPORT = 0.7
"""Share of a proposition that a sentence and its context must meet before it can support it."""
_ENOUGH_TO_REFUTE = 0.6
"""The same for refuting: a denial of the general covers the particular."""
_OWN_SUPPORT, _OWN_REFUTE = 0.6, 0.4
"""Shares that the sentence itself must meet, without its context."""
_PREDICATE_SUPPORT = 0.6
"""Share of the predicate that the sentence itself must meet before it can support."""
_TOGETHER = 0.6
"""How much of the proposition's neighbourhood must be kept."""
_DENSE_SUPPORT, _DENSE = 0.2, 0.5
"""How dense with the claim's words a sentence must be to support, and where one word decides."""
_OWN_FLIP = 0.75
"""Share that must be met where a single opposite or number decides."""
_ENOUGH_FOR_DOUBT = 0.7
"""Share that must be met before "the evidence is mixed" is about the proposition."""
_ENOUGH_OF_QUOTE = 0.75
"""Share that a quoted claim must meet before its rating is the proposition's."""
_FEWEST_TOPICS = 2
"""Content words, names and numbers below which a proposition is too little to compare."""
_CUT_OFF = ("...", "…")
"""How a sentence ends that a search result cut short: what it went on to say is not known."""
_STATED = re.compile(r"[.!:;][\"'”’)\]]*(\[\d+\])*\s*$")
"""How a statement ends. A heading or a list item names a claim more often than it makes it."""
_ASKS = re.compile(
    r"\W*(did|does|do (?!not\b)|is|are|was|were|has|have|can|could|will|would|should|why|how) "
)
"""How a question begins, even where its mark was lost in quotation marks."""
_POLAR_QUESTION = re.compile(
    r"\W*(did|does|do|is|are|was|were|has|have|had|can|could|will|would|should)\b[^?]*\?\W*$"
)
"""A question that yes or no answers, and nothing behind it."""
_QUOTED = re.compile(r"[\"“][^\"”]{3,}[\"”]")

# --- How sure that is ---------------------------------------------------------------------------

_SURE: dict[Ground, float] = {
    "rating": 0.95,
    "denial": 0.9,
    "assertion": 0.85,
    "number": 0.7,
    "opposite": 0.65,
    "scope": 0.6,
    "divided": 0.75,
    "unsettled": 0.0,
}
"""Confidence of a sentence that meets the whole of a proposition, word beside word."""
_HEDGED, _RESTRICTED, _IN_PART = 0.6, 0.6, 0.85
"""Factors for a hedge that the claim lacks, a statement on some people only, and the main
proposition of several."""
_OF_BESIDE, _OF_REASON = 0.5, 0.4
"""Factors for what is said of a secondary proposition alone."""
_LOOSEST = 0.75
"""Factor at a density of 0; at 1 nothing is taken off."""


class ScopedRules:
    """The default stance model: rules over the words that a sentence shares with the claim."""

    @property
    def name(self) -> str:
        """Return "scoped rules"."""
        return "scoped rules"

    def read(self, claim: str, passages: Sequence[Passage], *, title: str) -> list[PassageStance]:
        """Return one stance per passage.

        What a passage says of the main proposition is its stance. If it is silent on that, support
        of a coordinate proposition counts half, and refuting any makes the passage mixed.
        """
        parts = read_propositions(claim)
        readers = [(part.role, _reader(part.text, title)) for part in parts]
        return [_of_claim(readers, passage) for passage in passages]


@dataclass(frozen=True, slots=True)
class Restatement:
    """A sentence that could be the claim in other words, and the side that it would then take.

    `end` is where the answer ends, if the sentence is a question and the next one answers it.
    """

    sentence: PageSentence
    side: Side
    end: int


def possible_restatements(claim: str, passage: Passage, *, title: str) -> list[Restatement]:
    """Return the sentences of a passage that could say a claim in other words.

    Whoever knows which sentences mean the same may take these at their word: they state, and do not
    quote, report, hedge or deny; their numbers and directions are the claim's, and the claim's
    names stand in them, the sentence before, or the title. A question that is answered by yes or no
    is a statement too, or its denial. None if the claim itself is a denial or cannot be held
    against a sentence, or the passage calls the matter open.
    """
    reader = _reader(claim, title)
    if reader is None or reader.own != "asserts" or passage.check is not None:
        return []
    if any(_doubt(fold_text(sentence.text)) for sentence in passage.sentences):
        return []
    found = (
        reader.restatement(
            sentence,
            passage.sentences[index - 1] if index else passage.before,
            passage.sentences[index + 1 :],
        )
        for index, sentence in enumerate(passage.sentences)
    )
    return [each for each in found if each is not None]


def _of_claim(readers: Sequence[tuple[Role, _Reader | None]], passage: Passage) -> PassageStance:
    read = [(role, r.read_passage(passage)) for role, r in readers if r is not None]
    main = [stance for role, stance in read if role == "main"]
    if main and main[0] != SILENT:
        return main[0] if len(readers) == 1 else main[0].weakened(_IN_PART)
    secondary = [_secondary(role, stance) for role, stance in read if role != "main"]
    return max(secondary, key=lambda each: each.confidence, default=SILENT)


def _secondary(role: Role, stance: PassageStance) -> PassageStance:
    factor = _OF_BESIDE if role == "beside" else _OF_REASON
    if stance.stance == "refutes":
        return PassageStance("mixed", factor * stance.confidence, stance.ground, stance.span)
    if stance.stance == "unclear" or role == "reason":
        return SILENT
    return stance.weakened(factor)


@lru_cache(maxsize=256)
def _framed(text: str) -> tuple[ClaimFrame, Polarity]:
    frame = read_claim(text)
    return frame, own_polarity(frame)


def _reader(text: str, title: str) -> _Reader | None:
    frame, own = _framed(text)
    topics = sum(term.weight >= 1 for term in frame.terms) + len(frame.quantities)
    if topics < _FEWEST_TOPICS or own == "open":
        return None
    return _Reader(frame, own, title)


# --- Sentences ----------------------------------------------------------------------------------

_Decision = tuple[Stance, Ground, float]
_Comment = Literal["asserts", "denies", "in part", "divided"]
"""What a sentence says of the one before it."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """A sentence as it meets a proposition.

    `own` and `whole` are the shares of the weight that are met by the sentence alone, and with its
    context; `predicate` is the share met of what is said of the subject. `together` and `density`
    tell how close to one another the met words stand.
    """

    folded: str
    meeting: Meeting
    own: float
    whole: float
    predicate: float
    together: float
    density: float

    def is_close(self, dense: float) -> bool:
        """Tell whether the met words stand as near to one another as in the claim, and densely."""
        return self.together >= _TOGETHER and self.density >= dense


@lru_cache(maxsize=8192)
def _folded_tokens(text: str) -> tuple[str, tuple[Token, ...]]:
    folded = fold_text(text)
    return folded, read_tokens(folded)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads sentences for one proposition on one page."""

    frame: ClaimFrame
    own: Polarity
    title: str

    def read_passage(self, passage: Passage) -> PassageStance:
        """Return what the sentences of a passage say, the most direct first."""
        if passage.check is not None:
            return self._read_check(passage.check, (passage.start, passage.end))
        read = []
        for index, sentence in enumerate(passage.sentences):
            before = passage.sentences[index - 1] if index else passage.before
            read.append(self._read_sentence(sentence, before, passage.sentences[index + 1 :]))
        return condense(_settled(read, passage))

    def _read_sentence(
        self,
        sentence: PageSentence,
        before: PageSentence | None,
        rest: Sequence[PageSentence],
    ) -> PassageStance:
        folded, tokens = _folded_tokens(sentence.text)
        if rating := rating_of_page(folded):
            claimed = FactCheck(self.title, rating, 0, 0)
            return self._read_check(claimed, (sentence.start, sentence.end))
        loose = meet(self.frame, tokens, loosely=True)
        if covered(self.frame, loose) < _OWN_REFUTE or folded.endswith(_CUT_OFF):
            return SILENT
        context = [self._title_meeting()]
        if before is not None:
            context.append(meet(self.frame, _folded_tokens(before.text)[1]))
        comment = _comment(folded, rest)
        decided = self._decide(folded, loose, context, comment)
        if decided is None:
            return SILENT
        stance, ground, strength = decided
        end = rest[0].end if comment else sentence.end
        confidence = min(HIGHEST, round(_SURE[ground] * strength, 4))
        return PassageStance(stance, confidence, ground, (sentence.start, end))

    def restatement(
        self,
        sentence: PageSentence,
        before: PageSentence | None,
        rest: Sequence[PageSentence],
    ) -> Restatement | None:
        """Return what a sentence would say if it were the claim in other words; None if nothing."""
        folded, tokens = _folded_tokens(sentence.text)
        comment = _comment(folded, rest)
        if comment is None:
            stated = _is_plain_statement(folded)
        else:
            stated = comment in {"asserts", "denies"} and _POLAR_QUESTION.match(folded) is not None
        if not stated or not self._differs_in_words_only(folded, tokens, before):
            return None
        if comment is None:
            return Restatement(sentence, "supports", sentence.end)
        return Restatement(sentence, "refutes" if comment == "denies" else "supports", rest[0].end)

    def _differs_in_words_only(
        self, folded: str, tokens: tuple[Token, ...], before: PageSentence | None
    ) -> bool:
        """Tell whether nothing but other words keeps a sentence from asserting the claim."""
        context = [self._title_meeting()]
        if before is not None:
            context.append(meet(self.frame, _folded_tokens(before.text)[1]))
        loose = meet(self.frame, tokens, loosely=True)
        heard = _hear(self.frame, folded, loose, context)
        return (
            polarity(folded.replace("?", "."), self.frame, loose) == "asserts"
            and not _negates(tokens)
            and self._names_met(loose, context, wholly=False)
            and self._agreement(heard) in {"none", "agrees"}
            and same_directions(self.frame, tokens)
            and self._reserve(heard) == 1.0
        )

    def _title_meeting(self) -> Meeting:
        return meet(self.frame, _folded_tokens(self.title)[1])

    def _decide(
        self, folded: str, loose: Meeting, context: Sequence[Meeting], comment: _Comment | None
    ) -> _Decision | None:
        doubt = _doubt(folded) or (comment if comment in {"divided", "in part"} else None)
        if doubt is not None:
            return self._from_doubt(doubt, _hear(self.frame, folded, loose, context), context)
        says = self._polarity(folded, loose, comment)
        meeting = loose if says == "denies" else meet(self.frame, loose.tokens)
        stated = folded.replace("?", ".") if comment == "asserts" else folded
        heard = _hear(self.frame, stated, meeting, context)
        if says == "open" or not self._names_met(meeting, context, wholly=says == "asserts"):
            return None
        if says == "denies":
            return self._from_denial(heard)
        return self._from_assertion(heard, context)

    def _polarity(self, folded: str, loose: Meeting, comment: _Comment | None) -> Polarity:
        """Tell what a sentence says itself, or by the answer that follows it."""
        if comment is None:
            if _ASKS.match(folded):
                return "open"
            return polarity(folded, self.frame, loose, restates_denial=self.own == "denies")
        question = polarity(folded.replace("?", "."), self.frame, loose)
        asked: Polarity = "denies" if question == "denies" else "asserts"
        return asked if comment == "asserts" else "denies" if asked == "asserts" else "open"

    def _from_doubt(
        self, doubt: str, heard: _Heard, context: Sequence[Meeting]
    ) -> _Decision | None:
        """Findings both ways are mixed; a matter called open is on no side."""
        if heard.whole < _ENOUGH_FOR_DOUBT or not self._names_met(
            heard.meeting, context, wholly=False
        ):
            return None
        if doubt == "unsettled":
            return "unclear", "unsettled", 0.0
        return "mixed", "scope" if doubt == "in part" else "divided", heard.whole

    def _from_denial(self, heard: _Heard) -> _Decision | None:
        """Denying a claim refutes it; denying what a denial denies supports it."""
        if self._agreement(heard) == "conflicts":
            return None
        strength = heard.whole * self._reserve(heard)
        if self.own == "denies":
            enough = heard.own >= _OWN_SUPPORT and heard.whole >= _ENOUGH_TO_SUPPORT
            return ("supports", "denial", strength) if enough else None
        return ("refutes", "denial", strength) if heard.whole >= _ENOUGH_TO_REFUTE else None

    def _from_assertion(self, heard: _Heard, context: Sequence[Meeting]) -> _Decision | None:
        """An assertion supports, unless a number or an opposite turns it round.

        That somebody said something is not shown by a page with the same words.
        """
        if _is_quoted(heard) or _QUOTED.search(fold_text(self.frame.text)):
            return None
        agreement = self._agreement(heard)
        turns = compare_directions(self.frame, heard.meeting.tokens)
        reserve = self._reserve(heard)
        if turns.turned or agreement == "conflicts":
            return self._from_turn(heard, turns, agreement, reserve)
        if agreement == "silent" or not self._is_restated(heard, turns, context):
            return None
        if self.own == "denies" and (reserve < 1 or heard.own < 1 or not heard.is_close(_DENSE)):
            return None
        if load_lexicon().exclusive.search(heard.folded) and "only" not in self.frame.narrowing:
            return "mixed", "scope", heard.whole
        return self._side(against=False), "assertion", _likeness(heard) * reserve

    def _is_restated(self, heard: _Heard, turns: Turns, context: Sequence[Meeting]) -> bool:
        return (
            _says_as_much(heard)
            and self._is_said(heard.meeting)
            and self._subject_met(heard, context)
            and self._narrowing_met(heard.meeting, turns)
        )

    def _from_turn(
        self, heard: _Heard, turns: Turns, agreement: Agreement, reserve: float
    ) -> _Decision | None:
        """One opposite or one number turns a claim round if all else is met close together."""
        if len(turns.turned) > 1 or reserve < 1 or not heard.is_close(_DENSE):
            return None
        if turns.turned:
            share = self._share_without(turns.turned, heard)
            if share < _OWN_FLIP or agreement not in {"none", "agrees"}:
                return None
            return self._side(against=True), "opposite", share * _closeness(heard)
        if self.own == "denies" or heard.own < 1:
            return None
        return "refutes", "number", heard.own * _closeness(heard)

    def _agreement(self, heard: _Heard) -> Agreement:
        return compare_quantities(self.frame.quantities, find_quantities(heard.folded))

    def _reserve(self, heard: _Heard) -> float:
        """Return the factor for what a sentence holds back and the claim does not."""
        lexicon = load_lexicon()
        hedges = lexicon.hedges.search(heard.folded) is not None and not self.frame.is_hedged
        return (_HEDGED if hedges else 1.0) * (_RESTRICTED if self._is_restricted(heard) else 1.0)

    def _is_restricted(self, heard: _Heard) -> bool:
        """Tell whether a sentence speaks of some only, where the claim speaks of all."""
        lexicon = load_lexicon()
        found = lexicon.restricted.search(heard.folded)
        if found is None or lexicon.restricted.search(fold_text(self.frame.text)):
            return False
        tokens = heard.meeting.tokens
        met = {place for places in heard.meeting.places.values() for place in places}
        return not any(found.start() <= tokens[place].start < found.end() for place in met)

    def _share_without(self, turned: Collection[str], heard: _Heard) -> float:
        """Return the share of the claim that is met, without the turned and the light words."""
        kept = {
            number: term.weight
            for number, term in enumerate(self.frame.terms)
            if set(term.stems).isdisjoint(turned) and term.weight >= 1
        }
        total = sum(kept.values())
        met = sum(weight for number, weight in kept.items() if number in heard.meeting.places)
        return met / total if total else 0.0

    def _side(self, *, against: bool) -> Side:
        return "refutes" if against != (self.own == "denies") else "supports"

    def _names_met(self, meeting: Meeting, context: Sequence[Meeting], *, wholly: bool) -> bool:
        """Tell whether all of the claim's names are met, in the sentence or its context.

        An assertion must name them in full somewhere; a denial may shorten them.
        """
        met = {
            number
            for each in (meeting, *context)
            for number in (each.whole if wholly else each.places)
        }
        return all(number in met for number, term in enumerate(self.frame.terms) if term.is_name)

    def _is_said(self, meeting: Meeting) -> bool:
        """Tell whether a short proposition is said and not only named.

        "Climate change" says nothing, "the climate is changing" does.
        """
        tokens = read_tokens(fold_text(self.frame.text))
        is_short = len(self.frame.terms) + len(self.frame.quantities) <= _FEWEST_TOPICS
        if not is_short or not _has_auxiliary(tokens) or len(meeting.places) < _FEWEST_TOPICS:
            return True
        one, other = (meeting.places[number] for number in sorted(meeting.places)[:2])
        near = min(((a, b) for a in one for b in other), key=lambda pair: abs(pair[0] - pair[1]))
        return _has_auxiliary(meeting.tokens[min(near) : max(near) + 1])

    def _subject_met(self, heard: _Heard, context: Sequence[Meeting]) -> bool:
        """Tell whether the first thing that the claim names is met: exports are no imports."""
        first = next((n for n, term in enumerate(self.frame.terms) if term.weight >= 1), None)
        return first is None or any(first in each.places for each in (heard.meeting, *context))

    def _narrowing_met(self, meeting: Meeting, turns: Turns) -> bool:
        """Tell whether a sentence shares what narrows the claim.

        That is "only", "all", "too", "than"; its relation ("causes"); what it calls high or low.
        """
        lexicon = load_lexicon()
        words = {token.norm for token in meeting.tokens}
        if not self.frame.narrowing <= words:
            return False
        if self.frame.is_universal and words.isdisjoint(lexicon.universal):
            return False
        if turns.elsewhere - turns.shared or not directions_met(self.frame, meeting.tokens):
            return False
        return all(
            number in meeting.places
            for number, term in enumerate(self.frame.terms)
            if term.predicate and not lexicon.relations.isdisjoint(term.stems)
        )

    # --- Quoted claims ----------------------------------------------------------------------

    def _read_check(self, check: FactCheck, span: tuple[int, int]) -> PassageStance:
        """Give a rating to the side that the quoted claim takes."""
        side = None if check.rating is None else self._side_of_quote(check.claimed)
        if side is None or check.rating is None:
            return SILENT
        stance = _rated(side, check.rating)
        if stance == "unclear":
            return PassageStance("unclear", 0.0, "unsettled", span)
        return PassageStance(stance, _SURE["rating"], "rating", span)

    def _side_of_quote(self, claimed: str) -> Side | None:
        """Tell whether a quoted claim is the proposition or its denial; None if neither.

        A quotation that says more ("the only one") can be false while the proposition is true.
        """
        folded, tokens = _folded_tokens(claimed.replace("?", ".").strip())
        loose = meet(self.frame, tokens, loosely=True)
        heard = _hear(self.frame, folded, loose, ())
        words = {token.norm for token in tokens}
        says_more = (load_lexicon().narrowing & words) - self.frame.narrowing
        if heard.own < _ENOUGH_OF_QUOTE or says_more or self._agreement(heard) in _OTHER_NUMBERS:
            return None
        if not self._names_met(loose, (), wholly=False):
            return None
        says = polarity(folded, self.frame, loose, restates_denial=self.own == "denies")
        if compare_directions(self.frame, tokens).turned:
            return None
        if says == "open":
            return None
        return "supports" if (says == "denies") == (self.own == "denies") else "refutes"


_OTHER_NUMBERS: frozenset[Agreement] = frozenset({"silent", "conflicts"})
_FLIPPED: dict[Side, Side] = {"supports": "refutes", "refutes": "supports"}


def _is_plain_statement(folded: str) -> bool:
    return (
        _STATED.search(folded) is not None
        and "?" not in folded
        and not folded.endswith(_CUT_OFF)
        and _QUOTED.search(folded) is None
        and rating_of_page(folded) is None
    )


def _negates(tokens: Sequence[Token]) -> bool:
    return any(token.norm in NEGATIONS for token in tokens)


def _rated(side: Side, rating: Rating) -> Stance:
    if rating == "true":
        return side
    if rating == "false":
        return _FLIPPED[side]
    return "mixed" if rating == "mixed" else "unclear"


def _hear(frame: ClaimFrame, folded: str, meeting: Meeting, context: Sequence[Meeting]) -> _Heard:
    return _Heard(
        folded=folded,
        meeting=meeting,
        own=covered(frame, meeting),
        whole=covered(frame, meeting, *context),
        predicate=covered(frame, meeting, predicate_only=True),
        together=kept_together(meeting, len(frame.terms)),
        density=density(meeting),
    )


def _closeness(heard: _Heard) -> float:
    return _LOOSEST + (1 - _LOOSEST) * min(1.0, heard.density)


def _has_auxiliary(tokens: Sequence[Token]) -> bool:
    return not load_lexicon().auxiliaries.isdisjoint(token.norm for token in tokens)


def _likeness(heard: _Heard) -> float:
    """Return how nearly an assertion says the same, in [0, 1]; loose ones count little alone."""
    return heard.whole**2 * (1 + heard.predicate) / 2 * _closeness(heard)


def _says_as_much(heard: _Heard) -> bool:
    """Tell whether a sentence is a statement that meets enough of the claim to support it."""
    return (
        heard.own >= _OWN_SUPPORT
        and heard.whole >= _ENOUGH_TO_SUPPORT
        and heard.predicate >= _PREDICATE_SUPPORT
        and heard.is_close(_DENSE_SUPPORT)
        and _STATED.search(heard.folded) is not None
    )


def _settled(read: Sequence[PassageStance], passage: Passage) -> list[PassageStance]:
    """Take findings both ways for an open matter where the passage itself calls it one."""
    unsettled = load_lexicon().unsettled
    calls_open = [unsettled.search(fold_text(each.text)) is not None for each in passage.sentences]
    return [
        PassageStance("unclear", 0.0, "unsettled", each.span)
        if each.ground == "divided" and any(calls_open[:index] + calls_open[index + 1 :])
        else each
        for index, each in enumerate(read)
    ]


_MOST = 0.6


def _is_quoted(heard: _Heard) -> bool:
    """Tell whether most of what a sentence shares with the claim stands in quotation marks."""
    tokens = heard.meeting.tokens
    met = {place for places in heard.meeting.places.values() for place in places}
    spans = [(match.start(), match.end()) for match in _QUOTED.finditer(heard.folded)]
    inside = sum(any(a <= tokens[place].start < b for a, b in spans) for place in met)
    return bool(met) and inside >= _MOST * len(met)


def _doubt(folded: str) -> Literal["divided", "unsettled"] | None:
    lexicon = load_lexicon()
    if lexicon.divided.search(folded):
        return "divided"
    return "unsettled" if lexicon.unsettled.search(folded) else None


def _comment(folded: str, rest: Sequence[PageSentence]) -> _Comment | None:
    """Read what the next sentence says of this one ("This is a myth.", "For most people, no.")."""
    if not rest:
        return None
    lexicon = load_lexicon()
    following = fold_text(rest[0].text)
    comment: _Comment | None = None
    if lexicon.answers_in_part.search(following):
        comment = "in part" if folded.endswith("?") else None
    elif lexicon.divides_previous_sentence.search(following):
        comment = "divided"
    elif lexicon.denies_previous_sentence.search(following):
        comment = "denies"
    elif lexicon.affirms_previous_sentence.search(following):
        comment = "asserts"
    return comment
