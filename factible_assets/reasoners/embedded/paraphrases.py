"""The scoped rules with an ear for other words: for machines that have sentence embeddings.

What belongs here: taking a sentence that means much the same as the claim for its restatement. What
does not: which sentences could be one (scoped_rules.py), the embeddings (embedder.py).

The rules speak only where a page uses the claim's own words. A sentence embedding also sees that
other words say the same; it does not see denials, numbers or opposites, which is why only sentences
are compared in which the rules find nothing of the kind, and why a page is never said to refute
here.
"""

from __future__ import annotations

from collections.abc import Sequence

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.page_text import PageSentence
from factible_assets.reasoners.embedded.passages import Passage
from factible_assets.reasoners.embedded.scoped_rules import ScopedRules, possible_restatements
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
        sentences = [
            (index, sentence)
            for index, passage in enumerate(passages)
            for sentence in possible_restatements(claim, passage, title=title)
        ]
        for (index, sentence), similarity in zip(
            sentences, self._similarities(claim, [each for _, each in sentences]), strict=True
        ):
            if similarity >= SAME_MEANING:
                found = _restated(sentence, similarity)
                stances[index] = max(stances[index], found, key=lambda each: each.confidence)
        return stances

    def _similarities(self, claim: str, sentences: Sequence[PageSentence]) -> list[float]:
        if not sentences:
            return []
        vectors = self._embedder.embed([claim, *(sentence.text for sentence in sentences)])
        return [float(value) for value in vectors[1:] @ vectors[0]]


def _restated(sentence: PageSentence, similarity: float) -> PassageStance:
    confidence = _CONFIDENCE + _STEEPNESS * (min(1.0, similarity) - SAME_MEANING)
    return PassageStance(
        "supports", round(confidence, 4), "paraphrase", (sentence.start, sentence.end)
    )
