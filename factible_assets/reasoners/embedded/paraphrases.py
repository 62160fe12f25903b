"""The scoped rules with an ear for other words: for machines that have sentence embeddings.

What belongs here: taking what means much the same as the claim for its restatement. What does not:
which sentences could be one (scoped_rules.py), the embeddings (embedder.py).

The rules speak only where a page uses the claim's own words. A sentence embedding also sees that
other words say the same; it does not see denials, numbers or opposites, which is why only sentences
are compared in which the rules find nothing of the kind. Only the answer "no" to a question in
other words refutes here.
"""

from __future__ import annotations

from collections.abc import Sequence

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.passages import Passage
from factible_assets.reasoners.embedded.scoped_rules import (
    Restatement,
    ScopedRules,
    possible_restatements,
)
from factible_assets.reasoners.embedded.stance import SILENT, PassageStance, StanceModel

SAME_MEANING = 0.8
"""Cosine from which two sentences are taken to say the same. With MiniLM, sentences of
Climate-FEVER above it that deny nothing support their claim in three of four cases, and speak
against it in one of sixty."""

_CONFIDENCE, _STEEPNESS = 0.5, 1.5
"""Confidence at that cosine, and its gain with more; 0.8 for the very same sentence."""


class ParaphraseRules:
    """A `StanceModel`: the scoped rules, and support in other words where they are silent.

    Args:
        embedder: One whose similarity is of meaning, such as MiniLM; with TF-IDF other words are
            other words, and this adds nothing.
        rules: What is asked first.
    """

    def __init__(self, embedder: Embedder, rules: StanceModel | None = None) -> None:
        self._embedder = embedder
        self._rules = rules or ScopedRules()

    @property
    def name(self) -> str:
        """Return "scoped rules and paraphrases by" the embedder."""
        return f"{self._rules.name} and paraphrases by {self._embedder.name}"

    def read(self, claim: str, passages: Sequence[Passage], *, title: str) -> list[PassageStance]:
        """Return one stance per passage.

        Where the rules hear a page take a side, or call the matter open, nothing is added to it.

        Raises:
            EmbedderUnavailableError: The embedder's model cannot be loaded.
        """
        stances = self._rules.read(claim, passages, title=title)
        if any(stance != SILENT for stance in stances):
            return stances
        found = [
            (index, restatement)
            for index, passage in enumerate(passages)
            for restatement in possible_restatements(claim, passage, title=title)
        ]
        for (index, restatement), similarity in zip(
            found, self._similarities(claim, [each for _, each in found]), strict=True
        ):
            if similarity >= SAME_MEANING:
                heard = _heard(restatement, similarity)
                stances[index] = max(stances[index], heard, key=lambda each: each.confidence)
        return stances

    def _similarities(self, claim: str, found: Sequence[Restatement]) -> list[float]:
        if not found:
            return []
        vectors = self._embedder.embed([claim, *(each.sentence.text for each in found)])
        return [float(value) for value in vectors[1:] @ vectors[0]]


def _heard(found: Restatement, similarity: float) -> PassageStance:
    confidence = _CONFIDENCE + _STEEPNESS * (min(1.0, similarity) - SAME_MEANING)
    span = (found.sentence.start, found.end)
    return PassageStance(found.side, round(confidence, 4), "paraphrase", span)
