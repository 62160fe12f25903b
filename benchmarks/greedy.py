"""The matcher behind the published results (Factible, section 2.1.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factible_assets.evaluation.matching import Matcher, Matrix, Pair


def greedy_matches(matrix: Matrix, threshold: float) -> tuple[Pair, ...]:
    """Let each row in turn take its best free column above the threshold, the first of equals."""
    left, pairs = np.where(matrix > threshold, matrix, -np.inf), []
    for row in range(len(left) if matrix.size else 0):
        column = int(np.argmax(left[row]))
        if left[row, column] > threshold:
            left[:, column] = -np.inf
            pairs.append(Pair(row, column))
    return tuple(pairs)


class GreedyMatcher(Matcher):
    """Matches claims in the system's order."""

    assignment = "greedy"

    def match(self, system: Sequence[str], gold: Sequence[str]) -> tuple[Pair, ...]:
        return greedy_matches(self.matrix(system, gold), self.threshold)
