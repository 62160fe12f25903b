"""How well verdicts agree with the annotated ones, on stances and on levels, and how surely.

What belongs here: metrics of classification and calibration, each with what the majority class
would score. What does not: which claims are compared (matching), votes over evidence (stages).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from factible_assets.evaluation.figures import Ratio
from factible_assets.scales import LEVELS
from factible_assets.stances import STANCES

BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judged claim: what it should be, what was said, and how surely.

    `predicted` is None if there is no answer because services failed: that is counted as a failure
    of infrastructure and in no metric of quality. `confidence` is the probability, from 0 to 1,
    that was given to it; None if unknown.
    """

    video_id: str
    gold: str
    predicted: str | None
    confidence: float | None = None


def answered(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements that have an answer."""
    return [each for each in judgements if each.predicted is not None]


def accuracy(judgements: Sequence[Judgement]) -> Ratio:
    """Return correct / answered (stance accuracy: Factible, section 2.1.3).

    Undefined if nothing was answered.
    """
    judged = answered(judgements)
    return Ratio(sum(each.predicted == each.gold for each in judged), len(judged))


def majority_class(judgements: Sequence[Judgement]) -> str | None:
    """Return the most frequent gold class among the answered; of equals, the first by name."""
    counts = Counter(each.gold for each in answered(judgements))
    return min(counts, key=lambda name: (-counts[name], name)) if counts else None


def macro_f1(judgements: Sequence[Judgement]) -> float | None:
    """Return the unweighted mean of the classes' F1 (Sokolova and Lapalme, 2009).

    F1 of a class = 2·TP / (2·TP + FP + FN). The mean is over the classes that occur among gold or
    predicted, so that an unused class neither helps nor harms. Undefined if nothing was answered.
    """
    scores = list(f1_by_class(judgements).values())
    return math.fsum(scores) / len(scores) if scores else None


def f1_by_class(judgements: Sequence[Judgement]) -> dict[str, float]:
    """Return the F1 of each class that occurs among gold or predicted, in order of name."""
    judged = answered(judgements)
    gold = Counter(each.gold for each in judged)
    predicted = Counter(str(each.predicted) for each in judged)
    correct = Counter(each.gold for each in judged if each.gold == each.predicted)
    # TP + FP is how often a class was predicted, TP + FN how often it is gold.
    return {
        name: 2 * correct[name] / (gold[name] + predicted[name])
        for name in sorted({*gold, *predicted})
    }


def as_majority(
    judgements: Sequence[Judgement], among: Sequence[Judgement] | None = None
) -> list[Judgement]:
    """Return what always answering the majority class (`among` others, if given) would say."""
    most = majority_class(judgements if among is None else among)
    return [Judgement(each.video_id, each.gold, most) for each in answered(judgements)]


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often each class was answered as each: `counts[gold][predicted]`, in order of `labels`.

    The `unanswered` judgements stand nowhere in the matrix.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unanswered: int


def confusion_matrix(judgements: Sequence[Judgement]) -> Confusion:
    """Count gold against predicted stances."""
    judged = answered(judgements)
    pairs = Counter((each.gold, each.predicted) for each in judged)
    rows = tuple(tuple(pairs[gold, predicted] for predicted in STANCES) for gold in STANCES)
    return Confusion(tuple(STANCES), rows, len(judgements) - len(judged))


def brier(judgements: Sequence[Judgement]) -> Ratio:
    """Return the mean squared error of the confidence that an answer is right (Brier, 1950).

    Σ (confidence − [correct])² / n over what was decided: the binary form, of the event that the
    answer is right. 0 is best. Undefined if nothing was.
    """
    outcomes = _outcomes(judgements)
    return Ratio(math.fsum((sure - right) ** 2 for sure, right in outcomes), len(outcomes))


def majority_brier(judgements: Sequence[Judgement]) -> float | None:
    """Return the Brier score of always answering the majority class with its share as confidence.

    p·(1 − p), with p the share of the majority class among what was decided: the
    score of a forecast by climatology (Murphy, 1973).
    """
    share = accuracy(as_majority(decided(judgements))).value
    return None if share is None else share * (1 - share)


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers of like confidence: [low, high), the last bin with its upper end.

    `confidence` and `accuracy` are means over the bin's n answers; None if it is empty.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


def reliability_diagram(judgements: Sequence[Judgement]) -> tuple[ReliabilityBin, ...]:
    """Return confidence against accuracy in ten bins of one width (Guo et al., 2017, section 2)."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for sure, right in _outcomes(judgements):
        members[min(int(sure * BINS), BINS - 1)].append((sure, right))
    return tuple(
        ReliabilityBin(
            low=index / BINS,
            high=(index + 1) / BINS,
            n=len(inside),
            confidence=math.fsum(sure for sure, _ in inside) / len(inside) if inside else None,
            accuracy=sum(right for _, right in inside) / len(inside) if inside else None,
        )
        for index, inside in enumerate(members)
    )


def expected_calibration_error(judgements: Sequence[Judgement]) -> Ratio:
    """Return the mean distance of confidence from accuracy over ten bins (Naeini et al., 2015).

    ECE = Σ over bins of n_b / N · |accuracy_b − confidence_b|. 0 is best, and is reached by always
    answering the majority class with its own share as confidence: read it beside the accuracy.
    Undefined if nothing was decided.
    """
    diagram = [each for each in reliability_diagram(judgements) if each.n]
    gaps = [each.n * abs((each.accuracy or 0.0) - (each.confidence or 0.0)) for each in diagram]
    return Ratio(math.fsum(gaps), sum(each.n for each in diagram))


def decided(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements that say something, with a confidence: all but "unclear".

    Abstaining has no probability of being right, and with every answer "unclear" the calibration of
    nothing would look good: so calibration is that of what was decided, beside the share decided.
    """
    return [
        each
        for each in answered(judgements)
        if each.confidence is not None and each.predicted != "unclear"
    ]


def _outcomes(judgements: Sequence[Judgement]) -> list[tuple[float, bool]]:
    return [(each.confidence or 0.0, each.predicted == each.gold) for each in decided(judgements)]


def soft_accuracy(judgements: Sequence[Judgement]) -> Ratio:
    """Return the share that is right or one level off (Raw Evidence, section 4: soft accuracy)."""
    errors = _level_errors(judgements)
    return Ratio(sum(error <= 1 for error in errors), len(errors))


def level_error(judgements: Sequence[Judgement]) -> Ratio:
    """Return the mean number of levels between verdict and annotation (section 4: MAE)."""
    errors = _level_errors(judgements)
    return Ratio(sum(errors), len(errors))


def _level_errors(judgements: Sequence[Judgement]) -> list[int]:
    known = answered(judgements)
    return [abs(LEVELS.index(each.predicted) - LEVELS.index(each.gold)) for each in known]
