"""Metrics on six levels, and the level of an annotation."""

from __future__ import annotations

import pytest

from factible_assets.evaluation.metrics.stances import Judgement, level_error, soft_accuracy
from factible_assets.records.scales import veracity_of_annotation


def test_one_level_off_is_right_for_the_soft_accuracy_and_one_for_the_error() -> None:
    pairs = [("true", "true"), ("true", "mostly-true"), ("pants-fire", "half-true"), ("true", None)]
    found = [Judgement("v", gold, said) for gold, said in pairs]
    assert soft_accuracy(found).value == pytest.approx(2 / 3)
    assert level_error(found).value == pytest.approx((0 + 1 + 3) / 3)
    assert soft_accuracy([]).value is None


@pytest.mark.parametrize(
    ("label", "stance", "level"),
    [
        ("Mostly False", "refutes", "barely-true"),
        ("pants_fire", None, "pants-fire"),
        ("Refuted", "refutes", "false"),
        (None, "mixed", "half-true"),
        ("Not Enough Evidence", "unclear", None),
        (None, None, None),
    ],
)
def test_an_annotation_has_its_own_level_or_that_of_its_stance(
    label: str | None, stance: object, level: str | None
) -> None:
    assert veracity_of_annotation(label, stance) == level  # type: ignore[arg-type]
