"""Figures over a corpus: averaged over videos (macro) and over all items (micro), with intervals.

What belongs here: averaging. What does not: the metrics that are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from factible_assets.evaluation.figures import Figure, Ratio
from factible_assets.evaluation.intervals import (
    RESAMPLES,
    SEED,
    mean_interval,
    pooled_interval,
    statistic_interval,
)
from factible_assets.evaluation.metrics.stances import (
    Judgement,
    accuracy,
    answered,
    as_majority,
    brier,
    decided,
    expected_calibration_error,
    macro_f1,
    majority_brier,
)


def macro(
    name: str,
    per_video: Mapping[str, float | None],
    *,
    baseline: float | None = None,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Figure:
    """Average a metric over the videos where it is defined; n counts those videos."""
    values = [value for value in per_video.values() if value is not None]
    mean = math.fsum(values) / len(values) if values else None
    interval = mean_interval(values, seed=seed, resamples=resamples)
    return Figure(name, mean, len(values), "videos", interval, baseline, "macro")


def micro(
    name: str,
    per_video: Mapping[str, Ratio],
    *,
    unit: str = "claims",
    n: int | None = None,
    baseline: float | None = None,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Figure:
    """Pool a ratio over the items of all videos.

    n is the pooled denominator, rounded, unless it is given: not every denominator is a count.
    """
    pooled = Ratio.pooled(per_video.values())
    interval = pooled_interval(list(per_video.values()), seed=seed, resamples=resamples)
    count = round(pooled.denominator) if n is None else n
    return Figure(name, pooled.value, count, unit, interval, baseline, "micro")


def ratios(
    name: str, per_video: Mapping[str, Ratio], *, unit: str = "claims", seed: int = SEED
) -> tuple[Figure, Figure]:
    """Return the macro and the micro figure of one ratio."""
    values = {video: ratio.value for video, ratio in per_video.items()}
    return macro(name, values, seed=seed), micro(name, per_video, unit=unit, seed=seed)


def stance_figures(
    judgements: Sequence[Judgement], *, seed: int = SEED, resamples: int = RESAMPLES
) -> tuple[Figure, ...]:
    """Return accuracy (macro and micro), macro-F1, Brier score and ECE, each with its baseline.

    The baseline answers the majority class of the same judgements. Intervals resample videos.
    """
    by_video = grouped(judgements)
    most = as_majority(judgements)
    per_video = {video: accuracy(group).value for video, group in by_video.items()}
    trivial = [accuracy(group).value for group in grouped(most).values()]
    defined = [value for value in trivial if value is not None]
    mean = math.fsum(defined) / len(defined) if defined else None
    n = len(answered(judgements))
    sure = len(decided(judgements))

    def pooled(
        name: str,
        statistic: Callable[[Sequence[Judgement]], float | None],
        count: int,
        baseline: float | None,
    ) -> Figure:
        interval = statistic_interval(
            list(by_video.values()), statistic, seed=seed, resamples=resamples
        )
        return Figure(name, statistic(judgements), count, "claims", interval, baseline, "micro")

    calibrated = None if majority_brier(judgements) is None else 0.0
    return (
        macro("stance accuracy", per_video, baseline=mean, seed=seed, resamples=resamples),
        pooled("stance accuracy", lambda rows: accuracy(rows).value, n, accuracy(most).value),
        pooled("macro-F1", macro_f1, n, macro_f1(most)),
        pooled("Brier score", lambda rows: brier(rows).value, sure, majority_brier(judgements)),
        pooled(
            "expected calibration error",
            lambda rows: expected_calibration_error(rows).value,
            sure,
            calibrated,
        ),
    )


def grouped(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Return the judgements of each video."""
    groups: dict[str, list[Judgement]] = {}
    for each in judgements:
        groups.setdefault(each.video_id, []).append(each)
    return groups
