"""Fits the weights of check-worthiness (claims/checkworthiness.npz).

Run: `python -m benchmarks.checkworthiness_weights OUT` (a minute or two of one core). It reads the
talks in spoken.txt.xz, one per line, and their grades in spoken_grades.txt.xz: the number of a talk
from 0, a tab, and `start-end:grade` for each sentence and statement. The model card describes them:
factible_assets/reasoners/embedded/claims/checkworthiness.md.

It first prints how well each half of the talks orders the sentences of the other half: AUC, the
share of pairs within a talk in which a check-worthy sentence comes before another one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.stats import mannwhitneyu

from benchmarks.shared import read_lines
from factible_assets.reasoners.embedded.claims.claim_text import write_claim
from factible_assets.reasoners.embedded.claims.sentences import Sentence
from factible_assets.reasoners.embedded.embedder import Vectors, minilm

WORTH_CHECKING = 2
"""The lowest grade of a check-worthy sentence."""

HELD_BACK = 0.05
"""The L2 penalty; from .03 to .1 all figures are the same."""

Talk = tuple[Vectors, npt.NDArray[np.bool_]]
"""The vectors of a talk's sentences, and which of them are check-worthy."""


def read_talks() -> list[Talk]:
    talks, read = read_lines("spoken.txt.xz"), []
    for number, graded in (line.split("\t") for line in read_lines("spoken_grades.txt.xz")):
        raw, texts, grades = talks[int(number)], [], []
        for place, grade in (each.split(":") for each in graded.split()):
            start, end = map(int, place.split("-"))
            texts.append(write_claim(raw, Sentence(raw[start:end], start, end)))
            grades.append(int(grade))
        read.append((minilm().embed(texts), np.array(grades) >= WORTH_CHECKING))
    return read


def fit(talks: Sequence[Talk]) -> npt.NDArray[np.float64]:
    """Fit a logistic regression; return its weights, with the constant last."""
    vectors, worth = (np.concatenate(each) for each in zip(*talks, strict=True))
    scale = np.sqrt(vectors.shape[1])  # so that a dimension's spread is about 1
    given = np.column_stack([vectors * scale, np.ones(len(vectors))])
    costs = np.append(np.full(vectors.shape[1], HELD_BACK), 0)

    def loss(weights: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        odds = given @ weights
        wrong = 1 / (1 + np.exp(-odds)) - worth
        value = float(np.mean(np.logaddexp(0, odds) - worth * odds) + costs @ weights**2 / 2)
        return value, given.T @ wrong / len(worth) + costs * weights

    found = minimize(loss, np.zeros(given.shape[1]), jac=True, method="L-BFGS-B").x
    return np.append(found[:-1] * scale, found[-1])


def order(talk: Talk, weights: npt.NDArray[np.float64]) -> float | None:
    """Return the AUC of one talk, or None if all its sentences have the same class."""
    vectors, worth = talk
    if worth.all() or not worth.any():
        return None
    odds = vectors @ weights[:-1]
    pairs = worth.sum() * (~worth).sum()
    return float(mannwhitneyu(odds[worth], odds[~worth]).statistic / pairs)


def main() -> None:
    """Read the talks, print the figures of both halves, and write weights fitted to all talks."""
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python -m benchmarks.checkworthiness_weights OUT.npz")
    talks = read_talks()
    halves = talks[::2], talks[1::2]
    weights = [fit(half) for half in reversed(halves)]
    found = chain.from_iterable(
        (order(talk, fitted) for talk in half) for half, fitted in zip(halves, weights, strict=True)
    )
    known = [each for each in found if each is not None]
    sentences = sum(len(worth) for _, worth in talks)
    print(
        f"{len(talks)} talks, {sentences} sentences; of the other half: "
        f"AUC {np.mean(known):.3f} (mean of {len(known)} talks)"
    )
    fitted = fit(talks)
    np.savez_compressed(
        sys.argv[1], weights=fitted[:-1].astype(np.float32), bias=np.float32(fitted[-1])
    )


if __name__ == "__main__":
    main()
