"""How near verdicts come to the annotated ones on six levels of truth.

What belongs here: metrics of an ordered scale. What does not: accuracy and macro-F1, which do not
look at the order (stances.py), what a level means (methods/scales.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from factible_assets.evaluation.figures import Ratio
from factible_assets.evaluation.metrics.stances import Judgement, answered
from factible_assets.methods.scales import LEVELS


def soft_accuracy(judgements: Sequence[Judgement]) -> Ratio:
    """Return the share that is right or one level off (Raw Evidence, section 4: soft accuracy).

    Undefined if nothing was answered.
    """
    errors = [*_errors(judgements)]
    return Ratio(sum(error <= 1 for error in errors), len(errors))


def level_error(judgements: Sequence[Judgement]) -> Ratio:
    """Return the mean number of levels between verdict and annotation (section 4: MAE)."""
    errors = [*_errors(judgements)]
    return Ratio(sum(errors), len(errors))


def _errors(judgements: Sequence[Judgement]) -> Iterator[int]:
    for each in answered(judgements):
        yield abs(LEVELS.index(each.predicted) - LEVELS.index(each.gold))
