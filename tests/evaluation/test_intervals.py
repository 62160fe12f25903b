from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.evaluation.figures import (
    Interval,
    Ratio,
    paired_bootstrap,
    pooled_interval,
    statistic_interval,
    wilcoxon_signed_rank,
)


def interval_of_the_mean(values: list[float]) -> Interval | None:
    return pooled_interval([Ratio(value, 1) for value in values])


SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=20)


@given(SCORES)
def test_an_interval_is_within_the_values_and_reproducible(values: list[float]) -> None:
    interval = interval_of_the_mean(values)
    assert interval is not None
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9
    assert interval_of_the_mean(values) == interval


def test_an_interval_narrows_with_more_videos() -> None:
    few, many = interval_of_the_mean([0.0, 1.0] * 4), interval_of_the_mean([0.0, 1.0] * 64)
    assert few is not None
    assert many is not None
    assert many.high - many.low < (few.high - few.low) / 2


def test_the_interval_of_a_mean_is_near_the_normal_one() -> None:
    values = [index / 99 for index in range(100)]
    interval = interval_of_the_mean(values)
    assert interval is not None
    # Standard deviation .2916, so 1.96 · .2916 / 10 on either side of .5.
    assert interval.low == pytest.approx(0.5 - 0.0571, abs=0.006)
    assert interval.high == pytest.approx(0.5 + 0.0571, abs=0.006)


def test_one_video_has_no_interval() -> None:
    assert interval_of_the_mean([0.4]) is None
    assert pooled_interval([Ratio(1, 2), Ratio(0, 0)]) is None
    assert statistic_interval([[1]], len) is None


def test_a_pooled_interval_resamples_whole_videos() -> None:
    # Pooled over items it would be narrow around 1/2; over videos it must reach both ends.
    interval = pooled_interval([Ratio(0, 1000), Ratio(1000, 1000)])
    assert interval is not None
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_the_interval_of_a_statistic_equals_that_of_the_mean() -> None:
    values = [0.1, 0.4, 0.9, 0.3]
    single = statistic_interval(
        [[value] for value in values], lambda items: sum(items) / len(items)
    )
    mean = interval_of_the_mean(values)
    assert single is not None
    assert mean is not None
    assert single.low == pytest.approx(mean.low)
    assert single.high == pytest.approx(mean.high)


def test_a_statistic_that_is_mostly_undefined_has_no_interval() -> None:
    assert statistic_interval([[1], [2]], lambda _: None) is None


def test_a_clear_improvement_is_significant() -> None:
    first = [0.1 * index for index in range(10)]
    second = [value + 0.05 + 0.01 * (index % 3) for index, value in enumerate(first)]
    found = paired_bootstrap(first, second)
    assert found is not None
    assert found.interval is not None
    assert found.difference == pytest.approx(0.059)
    assert found.interval.low > 0
    assert found.p_value is not None
    assert found.p_value < 0.01
    test = wilcoxon_signed_rank(first, second)
    assert test is not None
    # All ten differences are positive: the sum of negative ranks is 0.
    assert test.statistic == 0
    assert test.p_value < 0.01


def test_the_exact_signed_rank_test_of_five_videos() -> None:
    found = wilcoxon_signed_rank([0, 0, 0, 0, 0], [1, 2, 3, 4, 5])
    assert found is not None
    # Two of the 2^5 signs are as extreme as all positive.
    assert found.p_value == pytest.approx(2 / 32)


def test_equal_runs_do_not_differ() -> None:
    found = paired_bootstrap([0.2, 0.4], [0.2, 0.4])
    assert found is not None
    assert (found.difference, found.p_value) == (0.0, 1.0)
    assert wilcoxon_signed_rank([0.2, 0.4], [0.2, 0.4]) is None


def test_a_video_missing_in_one_run_is_left_out() -> None:
    found = paired_bootstrap([0.2, None, 0.1], [0.3, 0.9, 0.2])
    assert found is not None
    assert found.n == 2
    assert paired_bootstrap([None], [0.5]) is None


def test_runs_over_different_videos_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="zip"):
        paired_bootstrap([0.1], [0.1, 0.2])


@given(SCORES)
def test_swapping_the_runs_reverses_the_difference(values: list[float]) -> None:
    other = list(reversed(values))
    there, back = paired_bootstrap(values, other), paired_bootstrap(other, values)
    assert there is not None
    assert back is not None
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_value == back.p_value
