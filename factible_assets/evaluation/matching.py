"""Matches system claims with annotated claims, one to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import Embedder, minilm

Matrix = npt.NDArray[np.float64]
"""Similarities, shape [system claims, gold claims]; 1 means equal."""


Assignment = Literal["optimal", "greedy"]
"""`optimal`: the greatest total similarity. `greedy`: in the system's order, as published."""


class Similarity:
    """Cosine of sentence embeddings; with all-MiniLM-L6-v2 the measure of the published matcher.

    Claims match above the threshold (Factible, section 2.1.3). An instance embeds each text once.
    """

    threshold = 0.70

    def __init__(self, embedder: Embedder) -> None:
        self.name = f"cosine of {embedder.name}"
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


@dataclass(frozen=True, slots=True)
class MatchingRule:
    """The rule by which claims were matched; part of every result.

    `recorded` matches come from a file and have no `threshold`.
    """

    assignment: Assignment | Literal["recorded"]
    similarity: str
    threshold: float | None

    def __str__(self) -> str:
        limit = "" if self.threshold is None else f" above {self.threshold:.2f}"
        return f"{self.assignment}, {self.similarity}{limit}"


class Pair(NamedTuple):
    """The positions (from 0) of a system claim and of the gold claim that it matches."""

    system: int
    gold: int


def match_matrix(
    matrix: Matrix, threshold: float, assignment: Assignment = "optimal"
) -> tuple[Pair, ...]:
    """Match the rows (system) and columns (gold) of a similarity matrix, in order of rows.

    Pairs at or below the threshold never match. `greedy` lets each row in turn take its best free
    column, the first of equals: the matcher behind the published results (Factible, section 2.1.3).
    `optimal` solves the assignment problem (Kuhn, 1955; Crouse, 2016), where a forbidden pair
    counts 0, as an unmatched claim does. With a threshold below 0, similarities count from the
    threshold, because otherwise some allowed matches would count less than none.
    """
    allowed = matrix > threshold
    chosen: list[tuple[int, int]] = []
    if assignment == "optimal":
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

        gains = np.where(allowed, matrix - min(threshold, 0.0), 0.0)
        found = linear_sum_assignment(gains, maximize=True)
        places = ((int(row), int(column)) for row, column in zip(*found, strict=True))
        chosen = [place for place in places if allowed[place]]
    elif matrix.size:
        left = np.where(allowed, matrix, -np.inf)
        for row in range(len(left)):
            column = int(np.argmax(left[row]))
            if left[row, column] > threshold:
                left[:, column] = -np.inf
                chosen.append((row, column))
    return tuple(Pair(*place) for place in sorted(chosen))


@dataclass(frozen=True, slots=True)
class ClaimMatcher:
    """A similarity and an assignment rule."""

    similarity: Similarity
    assignment: Assignment = "optimal"

    @property
    def rule(self) -> MatchingRule:
        return MatchingRule(self.assignment, self.similarity.name, self.similarity.threshold)

    def match(self, system: Sequence[str], gold: Sequence[str]) -> tuple[Pair, ...]:
        """Match claims by their texts, one to one; both stand in their order of importance."""
        matrix = self.similarity.matrix(system, gold)
        return match_matrix(matrix, self.similarity.threshold, self.assignment)


def default_matcher() -> ClaimMatcher:
    """Return optimal matching by MiniLM's cosine above .70."""
    return ClaimMatcher(Similarity(minilm()))
