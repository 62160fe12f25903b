"""The catalogue of metrics: each with its unit, better direction and baseline, and its figures.

A metric has a figure for each video, a mean over videos (macro) and one over the items of all
videos (micro). Without the asset or the annotation that it needs, a metric is undefined: a ratio
with the denominator 0, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Literal, TypeVar

from factible_assets.evaluation.figures import (
    RESAMPLES,
    Figure,
    Ratio,
    pooled_interval,
    statistic_interval,
)
from factible_assets.evaluation.metrics import claims, evidence, operations, stances
from factible_assets.evaluation.metrics.claims import MatchedVideo
from factible_assets.evaluation.metrics.stances import Judgement
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.records.tables import METHOD, Answered

Family = Literal["claims", "stances", "evidence", "operations"]
Better = Literal["higher", "lower"]
Item = TypeVar("Item")

UNDEFINED: Final = Ratio(0, 0)


@dataclass(frozen=True, slots=True)
class ScoredVideo:
    """One video with its claims matched to the annotation.

    `trivial` has as many evenly spaced sentences instead of the claims. `judgements` are the
    verdicts on matched claims with an annotated stance, `levels` the decided ones on six levels.
    """

    outcome: VideoOutcome
    matched: MatchedVideo
    trivial: MatchedVideo
    judgements: tuple[Judgement, ...]
    levels: tuple[Judgement, ...] = ()


def macro(
    name: str,
    per_video: Iterable[float | None],
    *,
    baseline: float | None = None,
    resamples: int = RESAMPLES,
) -> Figure:
    """Average a metric over the videos for which it is defined."""
    values = [value for value in per_video if value is not None]
    interval = pooled_interval([Ratio(value, 1) for value in values], resamples=resamples)
    return Figure(name, mean(values), len(values), "videos", interval, baseline, "macro")


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureBase:
    """The description of a metric. `unit` is the unit of n; reports show a `headline` first."""

    name: str
    family: Family
    unit: str
    better: Better | None = "higher"
    headline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioMeasure(MeasureBase):
    """A metric that is a fraction for each video.

    `baseline` returns the score of the trivial answer. With `is_mean` the metric has only a mean
    over videos, such as seconds.
    """

    metric: Callable[[ScoredVideo], Ratio]
    baseline: Callable[[ScoredVideo], Ratio] | None = None
    is_mean: bool = False

    def of_video(self, video: ScoredVideo) -> Figure:
        ratio, baseline = self.metric(video), self.baseline(video).value if self.baseline else None
        return Figure(self.name, ratio.value, ratio.n, self.unit, baseline=baseline)

    def pooled(self, videos: Sequence[ScoredVideo], resamples: int) -> tuple[Figure, ...]:
        """Return the mean over videos, and the fraction over all items."""
        ratios = [self.metric(video) for video in videos]
        trivial = [
            self.baseline(video)
            for video, ratio in zip(videos, ratios, strict=True)
            if self.baseline is not None and ratio.denominator
        ]
        baseline = mean(ratio.value for ratio in trivial)
        values = (ratio.value for ratio in ratios)
        averaged = macro(self.name, values, baseline=baseline, resamples=resamples)
        if self.is_mean:
            return (averaged,)
        value, baseline = Ratio.pooled(ratios).value, Ratio.pooled(trivial).value
        interval, n = pooled_interval(ratios, resamples=resamples), sum(ratio.n for ratio in ratios)
        return averaged, Figure(self.name, value, n, self.unit, interval, baseline, "micro")


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledMeasure(MeasureBase, Generic[Item]):
    """A metric of many items at once, such as a correlation.

    `items` returns the items of one video, `metric` their score, `count` their n, and `trivial` the
    score of the trivial answer on them, given all items. With `averaged` it also has a mean over
    videos.
    """

    items: Callable[[ScoredVideo], Sequence[Item]]
    metric: Callable[[Sequence[Item]], float | None]
    trivial: Callable[[Sequence[Item], Sequence[Item]], float | None]
    count: Callable[[Sequence[Item]], int] = len
    averaged: bool = False

    def of_video(self, video: ScoredVideo) -> Figure:
        items = self.items(video)
        value, baseline = self.metric(items), self.trivial(items, items)
        return Figure(self.name, value, self.count(items), self.unit, baseline=baseline)

    def pooled(self, videos: Sequence[ScoredVideo], resamples: int) -> tuple[Figure, ...]:
        """Return the mean over videos if there is one, and the metric of all items."""
        return self.of_groups([items for items in map(self.items, videos) if items], resamples)

    def of_groups(
        self, groups: Sequence[Sequence[Item]], resamples: int = RESAMPLES
    ) -> tuple[Figure, ...]:
        """Return the figures of items in groups, one group per video."""
        whole = [item for group in groups for item in group]
        interval = statistic_interval(groups, self.metric, resamples=resamples)
        value, trivial = self.metric(whole), self.trivial(whole, whole)
        pooled = Figure(self.name, value, self.count(whole), self.unit, interval, trivial, "micro")
        if not self.averaged:
            return (pooled,)
        baseline = mean(self.trivial(group, whole) for group in groups)
        values = map(self.metric, groups)
        return macro(self.name, values, baseline=baseline, resamples=resamples), pooled


Measure = RatioMeasure | PooledMeasure[Any]


# --- Claims -------------------------------------------------------------------------------------


def _of_claims(
    name: str, unit: str, metric: Callable[[MatchedVideo], Ratio], **others: Any
) -> RatioMeasure:
    """Return a metric of matched claims; its trivial answer is evenly spaced sentences."""
    return RatioMeasure(
        name=name,
        family="claims",
        unit=unit,
        metric=lambda video: metric(video.matched),
        **{"baseline": lambda video: metric(video.trivial)} | others,
    )


_MATCHED, _GOLD = "matched claims", "annotated claims"
_CLAIMS: Final[tuple[Measure, ...]] = (
    _of_claims("precision", "extracted claims", claims.precision_at_k, headline=True),
    _of_claims("recall", _GOLD, claims.recall_at_k, headline=True),
    _of_claims("F1", _GOLD, claims.f1_at_k),
    _of_claims("MAP over hits", _MATCHED, claims.average_precision),
    _of_claims("nDCG by importance", _GOLD, claims.ndcg_by_importance),
    _of_claims(
        "recall@important", "important annotated claims", claims.recall_at_important, headline=True
    ),
    _of_claims("importance-weighted coverage", _GOLD, claims.importance_weighted_coverage),
    _of_claims(
        "importance MAE",
        _MATCHED,
        claims.importance_mae,
        better="lower",
        baseline=lambda video: claims.error_of_mean_importance(video.matched),
    ),
    PooledMeasure(
        name="importance Spearman",
        family="claims",
        unit=_MATCHED,
        items=lambda video: claims.importance_pairs(video.matched),
        metric=claims.spearman,
        trivial=lambda pairs, _: None if claims.spearman(pairs) is None else 0.0,
        averaged=True,
    ),
)


# --- Stances ------------------------------------------------------------------------------------


def _of_stances(
    name: str,
    metric: Callable[[Sequence[Judgement]], Ratio | float | None],
    unit: str = "claims",
    **others: Any,
) -> PooledMeasure[Judgement]:
    """Return a metric of judged claims; its trivial answer is their majority class."""

    def score(judged: Sequence[Judgement]) -> float | None:
        value = metric(judged)
        return value.value if isinstance(value, Ratio) else value

    defaults: dict[str, Any] = {
        "items": lambda video: video.judgements,
        "trivial": lambda judged, among: score(stances.as_majority(judged, among)),
        "count": lambda judged: len(stances.answered(judged)),
    }
    return PooledMeasure(name=name, family="stances", unit=unit, metric=score, **defaults | others)


_of_decided = partial(
    _of_stances, count=lambda judged: len(stances.decided(judged)), better="lower"
)
STANCE_MEASURES: Final[tuple[PooledMeasure[Judgement], ...]] = (
    _of_stances("stance accuracy", stances.accuracy, averaged=True, headline=True),
    _of_stances("macro-F1", stances.macro_f1),
    _of_decided(
        "Brier score", stances.brier, trivial=lambda judged, _: stances.majority_brier(judged)
    ),
    _of_decided(
        "expected calibration error",
        stances.expected_calibration_error,
        trivial=lambda judged, _: None if stances.majority_brier(judged) is None else 0.0,
    ),
)
"""The metrics of verdicts on annotated claims."""

# Decided claims on six levels of truth (Raw Evidence, section 4).
_of_levels = partial(_of_stances, items=lambda video: video.levels, unit="decided claims")
_LEVELS: Final[tuple[Measure, ...]] = (
    _of_levels("veracity accuracy", stances.accuracy),
    _of_levels("veracity soft accuracy", stances.soft_accuracy),
    _of_levels("veracity macro-F1", stances.macro_f1),
    _of_levels("veracity MAE", stances.level_error, better="lower"),
)


# --- Evidence, verdicts, services, time and money -----------------------------------------------


def _of_rows(
    family: Family,
    assets: tuple[str, ...],
    name: str,
    unit: str,
    metric: Callable[[VideoOutcome], Ratio],
    **others: Any,
) -> RatioMeasure:
    """Return a metric of a video's rows, undefined unless all of these assets ran."""

    def score(video: ScoredVideo) -> Ratio:
        return metric(video.outcome) if video.outcome.ran(*assets) else UNDEFINED

    return RatioMeasure(name=name, family=family, unit=unit, metric=score, **others)


def _questions(name: str, answered: Answered, better: Better | None = "higher") -> RatioMeasure:
    metric = partial(evidence.questions_answered, answered)
    return _verdicts(name, "questions", metric, better=better)


_evidence = partial(_of_rows, "evidence", ("claims", "queries", "evidence"))
_readings = partial(_of_rows, "evidence", ("evidence",))
_verdicts = partial(_of_rows, "evidence", ("claims", "verdicts"))
_EVIDENCE: Final[tuple[RatioMeasure, ...]] = (
    _evidence("retrieval success rate", "claims", evidence.retrieval_success_rate, headline=True),
    _evidence("sources per query", "queries", evidence.sources_per_query, better=None),
    _evidence("evidence per claim", "claims", evidence.evidence_per_claim, better=None),
    _verdicts(
        "independent origins per claim", "claims", evidence.independent_origins, headline=True
    ),
    _readings("quote grounding rate", "quotes", evidence.quote_grounding_rate, headline=True),
    _readings("contradicted readings", "quotes", evidence.contradicted_readings, better="lower"),
    _readings("mixed-up calls", "calls", evidence.mixed_up_calls, better="lower"),
    _readings(
        "stances as in the baseline",
        "sources",
        lambda outcome: evidence.agreement(outcome.evidence, outcome.baseline_evidence),
        better=None,
    ),
    _questions("questions answered", "answered"),
    _questions("questions answered in part", "partly", better=None),
    _questions("questions not answered", "not", better="lower"),
)

_operation = partial(_of_rows, "operations")
_SERVICES: Final[tuple[RatioMeasure, ...]] = (
    _operation(
        ("claims", "verdicts"),
        "complete verdicts",
        "claims",
        operations.complete_verdicts,
        headline=True,
    ),
    _operation(
        ("verdicts",),
        "decided verdicts",
        "verdicts",
        operations.decided_verdicts,
        better=None,
        headline=True,
    ),
    _operation(
        (),
        "infrastructure failure rate",
        "attempts",
        operations.infrastructure_failure_rate,
        better="lower",
        headline=True,
    ),
)


def _mean(
    name: str, value_of: Callable[[VideoOutcome], float | None], *, headline: bool = False
) -> RatioMeasure:
    """Return a metric with one value for each video, such as seconds."""

    def score(video: ScoredVideo) -> Ratio:
        value = value_of(video.outcome)
        return UNDEFINED if value is None else Ratio(value, 1)

    return RatioMeasure(
        name=name,
        family="operations",
        unit="videos",
        metric=score,
        better="lower",
        headline=headline,
        is_mean=True,
    )


MEASURES: Final[tuple[Measure, ...]] = (
    *_CLAIMS,
    *STANCE_MEASURES,
    *_LEVELS,
    *_EVIDENCE,
    *_SERVICES,
    *(_mean(f"seconds of {asset}", partial(operations.seconds_of, asset)) for asset in METHOD),
    _mean("seconds to first verdict", lambda video: video.first_verdict_seconds, headline=True),
    _mean("cost in USD", partial(operations.usage, "cost_usd"), headline=True),
    _mean("input tokens", partial(operations.usage, "input_tokens")),
    _mean("output tokens", partial(operations.usage, "output_tokens")),
)
"""Every metric, in the order of reports."""

CATALOGUE: Final[Mapping[str, Measure]] = {measure.name: measure for measure in MEASURES}

HEADLINES: Final = tuple(measure.name for measure in MEASURES if measure.headline)
