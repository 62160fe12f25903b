"""Which claim of the system is which claim of the annotation: one to one, by a stated matcher.

What belongs here: assignment over a matrix of similarities. What does not: the similarities
(similarity.py), what is computed from matches (metrics).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from factible_assets.evaluation.similarity import Matrix, Similarity, chosen_similarity

Assignment = Literal["optimal", "greedy"]
"""`optimal`: the greatest total similarity. `greedy`: in the system's order, as published."""

Index = tuple[int, int]
"""A system claim's position and a gold claim's."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """By what rule two lists of claims were matched; part of every result.

    Attributes:
        assignment: `optimal` or `greedy`, or `recorded` for matches that were read, not made.
        similarity: The name of the measure.
        threshold: Pairs must be more alike than this; None for recorded matches.
    """

    assignment: Assignment | Literal["recorded"]
    similarity: str
    threshold: float | None

    def __str__(self) -> str:
        """Say the rule in a few words."""
        limit = "" if self.threshold is None else f" above {self.threshold:.2f}"
        return f"{self.assignment}, {self.similarity}{limit}"


@dataclass(frozen=True, slots=True)
class Pair:
    """A system claim and the gold claim that it was matched to, by position from 0."""

    system: int
    gold: int
    similarity: float | None


@dataclass(frozen=True, slots=True)
class Matching:
    """All pairs of one video, in the system's order, and how they were found."""

    matcher: Matcher
    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        """Refuse anything but a matching of one to one in order."""
        system = [pair.system for pair in self.pairs]
        if system != sorted(set(system)):
            raise ValueError("pairs are in the system's order, each system claim at most once")
        if len({pair.gold for pair in self.pairs}) != len(self.pairs):
            raise ValueError("each gold claim is matched at most once")

    @property
    def gold_of(self) -> dict[int, int]:
        """Return the gold position of each matched system position."""
        return {pair.system: pair.gold for pair in self.pairs}


def match_matrix(
    matrix: Matrix, *, name: str, threshold: float, assignment: Assignment = "optimal"
) -> Matching:
    """Match the rows (system) and columns (gold) of a matrix of similarities.

    Pairs at or below the threshold are never matched.
    """
    chosen = (_optimal if assignment == "optimal" else _greedy)(matrix, threshold)
    pairs = tuple(Pair(row, column, float(matrix[row, column])) for row, column in sorted(chosen))
    return Matching(Matcher(assignment, name, threshold), pairs)


def _greedy(matrix: Matrix, threshold: float) -> list[Index]:
    """Let each row in turn take its best free column; of equals, the first.

    The matcher behind the published results (Factible, section 2.1.3).
    """
    chosen: list[Index] = []
    free = np.ones(matrix.shape[1], dtype=bool)
    for row in range(matrix.shape[0]):
        open_values = np.where(free, matrix[row], -np.inf)
        column = int(np.argmax(open_values)) if open_values.size else -1
        if column >= 0 and open_values[column] > threshold:
            free[column] = False
            chosen.append((row, column))
    return chosen


def _optimal(matrix: Matrix, threshold: float) -> list[Index]:
    """Choose the pairs above the threshold with the greatest total similarity.

    The assignment problem (Kuhn, 1955), solved by a modified Jonker-Volgenant algorithm (Crouse,
    2016). A pair that is not allowed counts 0, the same as staying unmatched. A threshold below 0
    would make matching at all a loss, so similarities are counted from the threshold then.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

    allowed = matrix > threshold
    gains = np.where(allowed, matrix - min(threshold, 0.0), 0.0)
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return [
        (int(row), int(column))
        for row, column in zip(rows, columns, strict=True)
        if allowed[row, column]
    ]


@dataclass(frozen=True, slots=True)
class ClaimMatcher:
    """A measure and a rule, ready to match the claims of any video.

    Attributes:
        similarity: The measure.
        assignment: How pairs are chosen.
    """

    similarity: Similarity
    assignment: Assignment = "optimal"

    @property
    def matcher(self) -> Matcher:
        """Return the rule as results name it."""
        return Matcher(self.assignment, self.similarity.name, self.similarity.threshold)

    def match(self, system: Sequence[str], gold: Sequence[str]) -> Matching:
        """Match claims by their texts; `system` stands in its order of importance."""
        return match_matrix(
            self.similarity.matrix(system, gold),
            name=self.similarity.name,
            threshold=self.similarity.threshold,
            assignment=self.assignment,
        )


def default_matcher() -> ClaimMatcher:
    """Return optimal matching by MiniLM's cosine above .70, the same on every machine."""
    return ClaimMatcher(chosen_similarity("embeddings"))
