"""Matches system claims with annotated claims, one to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import Embedder, minilm

Matrix = npt.NDArray[np.float64]
"""Similarities, shape [system claims, gold claims]; 1 means equal."""


@dataclass(frozen=True, slots=True)
class MatchingRule:
    """The rule by which claims were matched; part of every result."""

    assignment: str
    similarity: str
    threshold: float

    def __str__(self) -> str:
        return f"{self.assignment}, {self.similarity} above {self.threshold:.2f}"


class Pair(NamedTuple):
    """The positions (from 0) of a system claim and of the gold claim that it matches."""

    system: int
    gold: int


class Matcher:
    """Matches claims by the cosine of their sentence embeddings, above a threshold.

    With all-MiniLM-L6-v2 it is the measure of the published matcher (Factible, section 2.1.3). An
    instance embeds each text once.
    """

    assignment, threshold = "optimal", 0.70

    def __init__(self, embedder: Embedder) -> None:
        self.rule = MatchingRule(self.assignment, f"cosine of {embedder.name}", self.threshold)
        self._embedder = embedder
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}

    def matrix(self, system: Sequence[str], gold: Sequence[str]) -> Matrix:
        """Return the cosine of each pair, shape [len(system), len(gold)], in [-1, 1]."""
        if not system or not gold:
            return np.zeros((len(system), len(gold)))
        self.remember([*system, *gold])
        rows = np.stack([self._vectors[text] for text in system]).astype(np.float64)
        columns = np.stack([self._vectors[text] for text in gold]).astype(np.float64)
        return np.asarray(rows @ columns.T, dtype=np.float64)

    def remember(self, texts: Sequence[str]) -> None:
        """Embed texts ahead of time, in one go."""
        if missing := list(dict.fromkeys(text for text in texts if text not in self._vectors)):
            self._vectors.update(zip(missing, self._embedder.embed(missing), strict=True))

    def match(self, system: Sequence[str], gold: Sequence[str]) -> tuple[Pair, ...]:
        """Match claims by their texts, one to one; both stand in their order of importance."""
        return match_matrix(self.matrix(system, gold), self.threshold)


def match_matrix(matrix: Matrix, threshold: float) -> tuple[Pair, ...]:
    """Match the rows (system) and columns (gold) of a similarity matrix, in order of rows.

    It solves the assignment problem (Kuhn, 1955; Crouse, 2016): the greatest total similarity of
    the pairs above the threshold. A pair at or below it never matches, and counts 0 like an
    unmatched claim.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

    gains = np.where(matrix > threshold, matrix, 0.0)
    assigned = zip(*linear_sum_assignment(gains, maximize=True), strict=True)
    pairs = sorted(Pair(int(row), int(column)) for row, column in assigned)
    return tuple(pair for pair in pairs if matrix[pair] > threshold)


def default_matcher() -> Matcher:
    """Return optimal matching by MiniLM's cosine above .70."""
    return Matcher(minilm())
