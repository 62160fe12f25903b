"""Metrics of verdicts against annotations: classification and calibration, with their baselines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from factible_assets.evaluation.figures import Ratio
from factible_assets.records.scales import LEVELS
from factible_assets.records.stances import STANCES

BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """The annotated and the predicted class of a claim.

    `predicted` is None if services failed; no metric of quality counts it. `confidence` is the
    stated probability of the prediction, from 0 to 1; None if unknown.
    """

    video_id: str
    gold: str
    predicted: str | None
    confidence: float | None = None


def answered(judgements: Sequence[Judgement]) -> list[Judgement]:
    return [item for item in judgements if item.predicted is not None]


def accuracy(judgements: Sequence[Judgement]) -> Ratio:
    """Return correct / answered (stance accuracy: Factible, section 2.1.3).

    Undefined if nothing was answered.
    """
    judged = answered(judgements)
    return Ratio(sum(item.predicted == item.gold for item in judged), len(judged))


def majority_class(judgements: Sequence[Judgement]) -> str | None:
    """Return the most frequent gold class of the answered claims; ties go to the first by name."""
    counts = Counter(item.gold for item in answered(judgements))
    return min(counts, key=lambda name: (-counts[name], name)) if counts else None


def macro_f1(judgements: Sequence[Judgement]) -> float | None:
    """Return the unweighted mean of the classes' F1 (Sokolova and Lapalme, 2009).

    F1 of a class = 2·TP / (2·TP + FP + FN). The mean is over the classes that occur among gold or
    predicted ones. Undefined if nothing was answered.
    """
    scores = list(f1_by_class(judgements).values())
    return math.fsum(scores) / len(scores) if scores else None


def f1_by_class(judgements: Sequence[Judgement]) -> dict[str, float]:
    """Return the F1 of each class that occurs among gold or predicted, in order of name."""
    judged = answered(judgements)
    gold = Counter(item.gold for item in judged)
    predicted = Counter(str(item.predicted) for item in judged)
    correct = Counter(item.gold for item in judged if item.gold == item.predicted)
    # TP + FP is the number of predictions of a class, TP + FN its number among gold.
    return {
        name: 2 * correct[name] / (gold[name] + predicted[name])
        for name in sorted({*gold, *predicted})
    }


def as_majority(
    judgements: Sequence[Judgement], among: Sequence[Judgement] | None = None
) -> list[Judgement]:
    """Return the judgements of always answering the majority class (of `among`, if given)."""
    majority = majority_class(judgements if among is None else among)
    return [Judgement(item.video_id, item.gold, majority) for item in answered(judgements)]


@dataclass(frozen=True, slots=True)
class Confusion:
    """The number of claims by gold and predicted class: `counts[gold][predicted]`.

    Both are in order of `labels`; the `unanswered` claims are not in the matrix.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unanswered: int


def confusion_matrix(judgements: Sequence[Judgement]) -> Confusion:
    judged = answered(judgements)
    pairs = Counter((item.gold, item.predicted) for item in judged)
    rows = tuple(tuple(pairs[gold, predicted] for predicted in STANCES) for gold in STANCES)
    return Confusion(tuple(STANCES), rows, len(judgements) - len(judged))


def brier(judgements: Sequence[Judgement]) -> Ratio:
    """Return the mean squared error of the confidence that an answer is correct (Brier, 1950).

    Σ (confidence − [correct])² / n over decided claims: the binary form. 0 is best. Undefined if no
    claim was decided.
    """
    outcomes = _outcomes(judgements)
    return Ratio(math.fsum((sure - right) ** 2 for sure, right in outcomes), len(outcomes))


def majority_brier(judgements: Sequence[Judgement]) -> float | None:
    """Return the Brier score of always answering the majority class with its share as confidence.

    p·(1 − p), with p the share of the majority class among decided claims: the score of a
    climatology forecast (Murphy, 1973).
    """
    share = accuracy(as_majority(decided(judgements))).value
    return None if share is None else share * (1 - share)


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The answers with a confidence in [low, high), or in [low, high] for the last bin.

    `confidence` and `accuracy` are means over the bin's n answers; None if it is empty.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


def reliability_diagram(judgements: Sequence[Judgement]) -> tuple[ReliabilityBin, ...]:
    """Return confidence against accuracy in ten bins of one width (Guo et al., 2017, section 2)."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for sure, right in _outcomes(judgements):
        bins[min(int(sure * BINS), BINS - 1)].append((sure, right))
    return tuple(
        ReliabilityBin(
            low=index / BINS,
            high=(index + 1) / BINS,
            n=len(members),
            confidence=math.fsum(sure for sure, _ in members) / len(members) if members else None,
            accuracy=sum(right for _, right in members) / len(members) if members else None,
        )
        for index, members in enumerate(bins)
    )


def expected_calibration_error(judgements: Sequence[Judgement]) -> Ratio:
    """Return the mean distance of confidence from accuracy over ten bins (Naeini et al., 2015).

    ECE = Σ over bins of n_b / N · |accuracy_b − confidence_b|. 0 is best. Always answering the
    majority class with its share as confidence reaches 0, so read it beside the accuracy. Undefined
    if no claim was decided.
    """
    diagram = [bar for bar in reliability_diagram(judgements) if bar.n]
    gaps = [bar.n * abs((bar.accuracy or 0.0) - (bar.confidence or 0.0)) for bar in diagram]
    return Ratio(math.fsum(gaps), sum(bar.n for bar in diagram))


def decided(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements that have a confidence and are not "unclear".

    Calibration counts only these, because an abstention has no probability of being correct.
    """
    return [
        item
        for item in answered(judgements)
        if item.confidence is not None and item.predicted != "unclear"
    ]


def _outcomes(judgements: Sequence[Judgement]) -> list[tuple[float, bool]]:
    return [(item.confidence or 0.0, item.predicted == item.gold) for item in decided(judgements)]


def soft_accuracy(judgements: Sequence[Judgement]) -> Ratio:
    """Return the share of claims at most one level off (Raw Evidence, section 4: soft accuracy)."""
    errors = _level_errors(judgements)
    return Ratio(sum(error <= 1 for error in errors), len(errors))


def level_error(judgements: Sequence[Judgement]) -> Ratio:
    """Return the mean number of levels between verdict and annotation (section 4: MAE)."""
    errors = _level_errors(judgements)
    return Ratio(sum(errors), len(errors))


def _level_errors(judgements: Sequence[Judgement]) -> list[int]:
    return [
        abs(LEVELS.index(item.predicted) - LEVELS.index(item.gold)) for item in answered(judgements)
    ]
