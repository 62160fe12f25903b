from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.figures import Ratio
from factible_assets.evaluation.matching import Pair
from factible_assets.evaluation.measures import macro
from factible_assets.evaluation.metrics.claims import (
    MatchedVideo,
    average_precision,
    f1_at_k,
    importance_mae,
    importance_pairs,
    importance_weighted_coverage,
    ndcg_by_importance,
    precision_at_k,
    recall_at_important,
    recall_at_k,
    spearman,
)


def video(
    matches: dict[int, int], gold: list[float | None], system: list[float | None]
) -> MatchedVideo:
    return MatchedVideo(
        "v",
        tuple(ClaimEntry(text=f"s{index}", importance=value) for index, value in enumerate(system)),
        tuple(ClaimEntry(text=f"g{index}", importance=value) for index, value in enumerate(gold)),
        tuple(Pair(row, matches[row]) for row in sorted(matches)),
    )


# Four extracted claims; the annotation has the first, the third and the fourth.
SAMPLE = video({0: 1, 2: 0, 3: 3}, gold=[0.9, 0.8, 0.95, 0.2, 0.4], system=[0.9, 0.8, 0.6, 0.3])
EMPTY = video({}, gold=[], system=[])
MISSED = video({}, gold=[0.9, 0.5], system=[0.7])


@st.composite
def videos(draw: st.DrawFn) -> MatchedVideo:
    scores = st.one_of(st.none(), st.floats(0, 1))
    system = draw(st.lists(scores, max_size=6))
    gold = draw(st.lists(scores, max_size=6))
    count = draw(st.integers(0, min(len(system), len(gold))))
    rows = draw(st.permutations(range(len(system))))[:count]
    columns = draw(st.permutations(range(len(gold))))[:count]
    return video(dict(zip(rows, columns, strict=True)), gold, system)


PRECISIONS = 1 / 1 + 2 / 3 + 3 / 4
GAINED = 0.8 + 0.9 / math.log2(4) + 0.2 / math.log2(5)
IDEAL = sum(value / math.log2(rank + 1) for rank, value in enumerate([0.95, 0.9, 0.8, 0.4, 0.2], 1))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (precision_at_k, 3 / 4),
        (partial(precision_at_k, k=2), 1 / 2),
        (partial(precision_at_k, k=10), 3 / 4),
        (recall_at_k, 3 / 5),
        (partial(recall_at_k, k=1), 1 / 5),
        (f1_at_k, 2 * 0.75 * 0.6 / (0.75 + 0.6)),
        (average_precision, PRECISIONS / 3),
        (ndcg_by_importance, GAINED / IDEAL),
        (recall_at_important, 2 / 3),
        (importance_weighted_coverage, (0.8 + 0.9 + 0.2) / 3.25),
        (importance_mae, (0.1 + 0.3 + 0.1) / 3),
    ],
)
def test_metrics_of_the_sample(metric: Callable[[MatchedVideo], Ratio], expected: float) -> None:
    assert metric(SAMPLE).value == pytest.approx(expected)


def test_the_rank_correlation_of_three_pairs() -> None:
    # (0.9, 0.8), (0.6, 0.9), (0.3, 0.2): the first two have changed places.
    assert spearman(importance_pairs(SAMPLE)) == pytest.approx(0.5)


def test_metrics_without_a_denominator_are_undefined() -> None:
    for metric in (precision_at_k, recall_at_k, f1_at_k):
        assert metric(EMPTY).value is None
    assert average_precision(MISSED).value is None
    assert importance_mae(MISSED).value is None
    assert spearman(importance_pairs(MISSED)) is None
    assert precision_at_k(MISSED).value == 0.0


def test_recall_of_important_claims_and_tied_ranks_may_be_undefined() -> None:
    assert recall_at_important(video({0: 0}, gold=[0.79], system=[0.5])).value is None
    tied = video({0: 0, 1: 1}, gold=[0.5, 0.5], system=[0.2, 0.9])
    assert spearman(importance_pairs(tied)) is None


@given(videos(), st.one_of(st.none(), st.integers(1, 7)))
def test_every_metric_lies_between_zero_and_one(sample: MatchedVideo, k: int | None) -> None:
    for metric in (precision_at_k, recall_at_k, f1_at_k):
        value = metric(sample, k).value
        assert value is None or -1e-9 <= value <= 1 + 1e-9
    for whole in (
        average_precision,
        recall_at_important,
        importance_weighted_coverage,
        importance_mae,
        ndcg_by_importance,
    ):
        value = whole(sample).value
        assert value is None or -1e-9 <= value <= 1 + 1e-9


@given(videos())
def test_recall_grows_with_k(sample: MatchedVideo) -> None:
    values = [recall_at_k(sample, k).numerator for k in range(1, 8)]
    assert values == sorted(values)


def test_videos_where_a_metric_is_undefined_do_not_enter_the_mean() -> None:
    figure = macro("precision", [0.5, None, 1.0])
    assert (figure.value, figure.n, figure.averaging) == (0.75, 2, "macro")
    assert figure.interval is not None
    assert macro("precision", [None]).value is None
