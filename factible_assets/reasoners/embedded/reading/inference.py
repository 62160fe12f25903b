"""The door for an inference model: its scores for a claim and its denial become a stance.

What belongs here: the protocol of a natural-language-inference cross-encoder and how its scores are
read. What does not: loading such a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.reading.passages import Passage, Selection
from factible_assets.reasoners.embedded.reading.stance import (
    PageStance,
    from_statements,
    uncapitalised,
)
from factible_assets.reasoners.embedded.reading.statements import read_claim, read_statements
from factible_assets.records import Stance


@dataclass(frozen=True, slots=True)
class Inference:
    """A cross-encoder's probabilities for one premise and one hypothesis; they sum to 1."""

    entailment: float
    neutral: float
    contradiction: float


class InferenceModel(Protocol):
    """A natural-language-inference cross-encoder."""

    @property
    def name(self) -> str:
        """Which model this is, for metadata."""
        ...

    def infer(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Inference]:
        """Return the probabilities for each pair of premise and hypothesis."""
        ...


_LEANING = 0.3
"""Difference between claim and denial below which an inference model's passage is unclear."""
_HIGHEST = 0.95
"""Confidence that is never exceeded: wording is no proof."""
_BALANCED, _AGAINST = 0.9, 0.4
"""Share of the stronger side from which a page is mixed, and what the weaker one takes off it."""


def denial_of(claim: str) -> str:
    """Word the denial of a claim as a hypothesis."""
    return f"There is no evidence that {uncapitalised(claim.rstrip('.!? '))}."


def leaning_of(claim: Inference, denial: Inference) -> float:
    """Turn the scores of a claim and of its denial into a leaning in [-1, 1].

    It is half the difference of what entails minus contradicts, taken for the claim and for its
    denial as hypotheses; a passage must choose between the two, so that a model's bias towards one
    answer cancels. With a DeBERTa-class model this reached an AUC of .84 to .87.
    """
    for_claim = claim.entailment - claim.contradiction
    for_denial = denial.entailment - denial.contradiction
    return (for_claim - for_denial) / 2


class InferenceStance:
    """A stance model made of an inference model: each passage against the claim and its denial."""

    def __init__(self, model: InferenceModel, embedder: Embedder) -> None:
        """Remember the models; the inference model is asked once per page, two pairs a passage."""
        self._model = model
        self._embedder = embedder

    @property
    def name(self) -> str:
        """Return the inference model's name."""
        return self._model.name

    def read(self, claim: str, selection: Selection, *, title: str) -> PageStance:
        """Return what a page says. A premise stands for itself, without its title.

        A quoted claim with its rating is read as a statement: to a model it would be an assertion.
        The strongest passage of each side counts; sides about equally strong make a page mixed.
        """
        checks = [passage for passage in selection.passages if passage.check is not None]
        heard = read_statements(read_claim(claim), checks, title, self._embedder).decisions
        if heard:
            places = [selection.passages.index(each) for each in checks]
            return from_statements(heard, places)
        return self._infer(claim, selection.passages)

    def _infer(self, claim: str, passages: Sequence[Passage]) -> PageStance:
        prose = [number for number, each in enumerate(passages) if each.check is None]
        pairs = [
            (passages[number].text, hypothesis)
            for number in prose
            for hypothesis in (claim, denial_of(claim))
        ]
        scores = iter(self._model.infer(pairs)) if pairs else iter(())
        leanings = {number: leaning_of(next(scores), next(scores)) for number in prose}
        told = sorted(
            (number for number in prose if abs(leanings[number]) >= _LEANING),
            key=lambda number: -abs(leanings[number]),
        )
        if not told:
            return PageStance()
        first = leanings[told[0]]
        against = max((abs(leanings[n]) for n in told if leanings[n] * first < 0), default=0.0)
        if against >= _BALANCED * abs(first):
            return _inferred("mixed", _AGAINST * (abs(first) + against), told, passages)
        agreeing = [number for number in told if leanings[number] * first > 0]
        side: Stance = "supports" if first > 0 else "refutes"
        return _inferred(side, abs(first) - _AGAINST * against, agreeing, passages)


def _inferred(
    stance: Stance, strength: float, places: Sequence[int], passages: Sequence[Passage]
) -> PageStance:
    quotes = tuple((place, (passages[place].start, passages[place].end)) for place in places)
    return PageStance(stance, round(min(_HIGHEST, strength), 4), "inference", quotes)
