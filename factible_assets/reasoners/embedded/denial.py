"""Whether a sentence denies what it shares with a claim.

What belongs here: denials, their scope, and whether the shared words stand inside it. What does
not: which words are shared (claim_frame.py), what follows for the claim (stance.py).

A denial counts only for what it governs. Three kinds are told apart: phrases that deny what follows
them ("no evidence that …"), phrases that deny what precedes them ("… is a myth"), and plain
negation of the word after it ("does not cause …"). The scopes follow the idea of Chapman et al.'s
NegEx (2001): trigger phrases, pseudo-triggers that are passed over, and terms that end a scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from factible_assets.reasoners.embedded.claim_frame import (
    ClaimFrame,
    Meeting,
    fold_text,
    meet,
    read_tokens,
)
from factible_assets.reasoners.embedded.lexicon import load_lexicon
from factible_assets.reasoners.embedded.text import NEGATIONS

Polarity = Literal["asserts", "denies", "open"]
"""`open`: the sentence reports, asks, or denies in a way that cannot be told."""

_GOVERNED_SHARE = 0.6
"""Share of the met terms' weight that a denying phrase must govern to deny them all."""
_REACH = 3
"""Words between a plain negation and the word that it negates."""
_NESTED = 20
"""Characters within which a second denying phrase is read as part of what the first denies."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a denial governs, as a span of the folded sentence."""

    start: int
    end: int


def polarity(
    folded: str, frame: ClaimFrame, meeting: Meeting, *, restates_denial: bool = False
) -> Polarity:
    """Tell whether a folded sentence asserts or denies the terms that it shares with a claim.

    A claim that is itself a denial may be restated inside another ("the saying that lightning never
    strikes twice is false"); `restates_denial` allows the two to cancel. Elsewhere two denials are
    more often two statements, and nothing is concluded.
    """
    lexicon = load_lexicon()
    masked = _mask(folded)
    phrases, scopes = _phrases(masked)
    negations = list(_plain_negations(masked, phrases, meeting))
    hits = [index for index in negations if _negates_claim(masked, index, frame, meeting)]
    if any(_governs(scope, frame, meeting) for scope in scopes):
        if restates_denial and len(hits) == 1 and not _is_nested(phrases):
            return "asserts"
        return "open" if negations or _is_nested(phrases) else "denies"
    if "?" in folded or _touches(scopes, meeting):
        return "open"
    if negations:
        return "denies" if len(hits) == len(negations) == 1 else "open"
    return "open" if lexicon.reports.search(masked) else "asserts"


def own_polarity(frame: ClaimFrame) -> Polarity:
    """Tell whether a claim is itself worded as a denial ("vaccines do not cause autism").

    A claim that calls something a myth or a hoax, or that denies only part of what it says, is
    `open`: no sentence can be held against it as a whole.
    """
    folded = fold_text(frame.text)
    masked = _mask(folded)
    if "?" in folded or load_lexicon().denies_what_precedes.search(masked):
        return "open"
    meeting = meet(frame, read_tokens(folded))
    found = polarity(folded, frame, meeting)
    phrases, _ = _phrases(masked)
    denies = bool(phrases) or any(True for _ in _plain_negations(masked, phrases, meeting))
    return "asserts" if found == "open" and not denies else found


def _mask(folded: str) -> str:
    """Blank out what only looks like a denial, keeping every offset."""
    return load_lexicon().not_denials.sub(lambda match: " " * len(match.group()), folded)


def _phrases(masked: str) -> tuple[list[Scope], list[Scope]]:
    """Find the denying phrases of a sentence: where they stand, and what they govern."""
    lexicon = load_lexicon()
    stands, governs = [], []
    for match in lexicon.denies_what_follows.finditer(masked):
        stands.append(Scope(match.start(), match.end()))
        end = _turn_after(masked, match.end())
        comma = masked.find(",", match.end())
        if comma >= 0 and match.group().startswith(_UP_TO_COMMA):
            end = min(end, comma)
        governs.append(Scope(match.start(), end))
    for match in lexicon.denies_what_precedes.finditer(masked):
        stands.append(Scope(match.start(), match.end()))
        governs.append(Scope(_turn_before(masked, match.start()), match.start()))
    return stands, governs


_UP_TO_COMMA = ("contrary to", "rather than", "instead of", "far from", "as opposed to")
"""Phrases that open a sentence and end with their clause."""
_TURNS = (" but ", " however", " although ", " though ", " whereas ", "; ", " yet ")


def _turn_after(masked: str, start: int) -> int:
    """Return where a phrase's reach ends: at a turn of thought, else with the sentence."""
    ends = [place for turn in _TURNS if (place := masked.find(turn, start)) >= 0]
    return min(ends, default=len(masked))


def _turn_before(masked: str, end: int) -> int:
    starts = [place + len(turn) for turn in _TURNS if (place := masked.rfind(turn, 0, end)) >= 0]
    return max(starts, default=0)


def _is_nested(phrases: Sequence[Scope]) -> bool:
    """Tell whether one denying phrase follows another at once ("a myth that there is no …")."""
    ordered = sorted(phrases, key=lambda scope: scope.start)
    return any(0 <= second.start - first.end < _NESTED for first, second in pairwise(ordered))


def _governs(scope: Scope, frame: ClaimFrame, meeting: Meeting) -> bool:
    """Tell whether a phrase governs most of what the sentence shares with the claim."""
    inside = total = 0.0
    for number, places in meeting.places.items():
        weight = frame.terms[number].weight
        total += weight
        if any(_within(scope, meeting, place) for place in places):
            inside += weight
    return total > 0 and inside >= _GOVERNED_SHARE * total


def _within(scope: Scope, meeting: Meeting, place: int) -> bool:
    token = meeting.tokens[place]
    return scope.start <= token.start and token.end <= scope.end


def _touches(scopes: Sequence[Scope], meeting: Meeting) -> bool:
    return any(
        _within(scope, meeting, place)
        for scope in scopes
        for places in meeting.places.values()
        for place in places
    )


_NEGATIONS = NEGATIONS - {"without"}
""""Without" takes something from a statement, and does not deny it ("keeps without spoiling")."""
_WHOLLY = frozenset({"no", "none", "neither"})
"""Negations of a subject that deny what is said of it: "no penguins live there"."""


def _plain_negations(masked: str, phrases: Sequence[Scope], meeting: Meeting) -> Iterator[int]:
    """Yield the negations of a sentence that belong to no denying phrase."""
    for index, token in enumerate(meeting.tokens):
        is_negation = token.norm in _NEGATIONS or token.norm.endswith("n't")
        is_masked = masked[token.start : token.end].isspace()
        in_phrase = any(phrase.start <= token.start < phrase.end for phrase in phrases)
        if is_negation and not is_masked and not in_phrase:
            yield index


def _negates_claim(masked: str, index: int, frame: ClaimFrame, meeting: Meeting) -> bool:
    """Tell whether a negation denies what the claim says of its subject.

    "X does not cause Y" does; "people who do not smoke" negates a subject and says nothing about
    the claim; "no penguins live there" and, against a claim on all, "not all swans" do.
    """
    predicate = _predicate_places(frame, meeting)
    subject = _subject_places(frame, meeting)
    negation = meeting.tokens[index].norm
    following = meeting.tokens[index + 1].norm if index + 1 < len(meeting.tokens) else ""
    if negation == "not" and following in load_lexicon().universal:
        return frame.is_universal
    negated = _negated_place(masked, meeting, index)
    if _is_partial(masked, index, frame, meeting):
        return False
    if negated in subject:
        return negation in _WHOLLY and any(place > index for place in predicate)
    exists = index > 1 and meeting.tokens[index - 2].norm == "there" and negation in _WHOLLY
    return negated in predicate and (exists or not any(place > index for place in subject))


_FOREIGN_SHARE = 0.67
"""Share of words foreign to the claim from which a negation is about something else."""


def _is_partial(masked: str, index: int, frame: ClaimFrame, meeting: Meeting) -> bool:
    """Tell whether a negation denies less than the claim: "will not rise evenly", "no other …"."""
    limit = _clause_end(masked, meeting.tokens[index].end)
    comma = masked.find(",", meeting.tokens[index].end)
    limit = limit if comma < 0 else min(limit, comma)
    claimed = {token.norm for token in read_tokens(fold_text(frame.text))}
    met = {place for places in meeting.places.values() for place in places}
    foreign = content = 0
    for place in range(index + 1, len(meeting.tokens)):
        token = meeting.tokens[place]
        if token.start >= limit:
            break
        is_adverb = token.norm.endswith("ly") and token.is_content
        is_adverb = is_adverb and token.norm not in load_lexicon().whole_adverbs
        if (token.norm in load_lexicon().partial or is_adverb) and token.norm not in claimed:
            return True
        is_content = token.is_content and token.norm not in load_lexicon().whole_adverbs
        content += is_content or place in met
        foreign += is_content and place not in met
    return content > 0 and foreign > _FOREIGN_SHARE * content


def _clause_end(masked: str, start: int) -> int:
    end = load_lexicon().clause_breaks.search(masked, start)
    return end.start() if end else len(masked)


def _negated_place(masked: str, meeting: Meeting, index: int) -> int | None:
    """Return the index of the word that a negation negates: the next content word, if near."""
    limit = _clause_end(masked, meeting.tokens[index].end)
    met = {place for places in meeting.places.values() for place in places}
    near = range(index + 1, min(index + 1 + _REACH, len(meeting.tokens)))
    for place in near:
        token = meeting.tokens[place]
        if token.start >= limit:
            return None
        if place in met or (token.is_content and token.norm not in load_lexicon().whole_adverbs):
            return place
    return None


def _predicate_places(frame: ClaimFrame, meeting: Meeting) -> frozenset[int]:
    """Return the tokens that meet the claim's predicate, or stand for its relation."""
    relations = load_lexicon().relations
    is_relation = any(root in relations for term in frame.terms for root in term.stems)
    met = {
        place
        for number, places in meeting.places.items()
        if frame.terms[number].predicate
        for place in places
    }
    related = {
        index
        for index, token in enumerate(meeting.tokens)
        if is_relation and token.stem in relations
    }
    return frozenset(met | related)


def _subject_places(frame: ClaimFrame, meeting: Meeting) -> frozenset[int]:
    return frozenset(
        place
        for number, places in meeting.places.items()
        if not frame.terms[number].predicate
        for place in places
    )
