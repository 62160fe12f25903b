"""The list of all metrics, with name, unit, direction and baseline, and their figures.

A metric has a figure of each video, a mean over videos (macro) and one over the items of all videos
(micro). If an asset did not run or the video is not annotated, it is undefined: a ratio with the
denominator 0, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from factible_assets.evaluation.figures import (
    RESAMPLES,
    Figure,
    Ratio,
    pooled_interval,
    statistic_interval,
)
from factible_assets.evaluation.metrics import claims, evidence, stances
from factible_assets.evaluation.metrics.claims import MatchedVideo
from factible_assets.evaluation.metrics.stances import Judgement
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.records.tables import METHOD, Answered, Rating, SourceClass

Family = Literal["claims", "stances", "evidence", "operations"]
Better = Literal["higher", "lower"]
Item = TypeVar("Item")

UNDEFINED: Final = Ratio(0, 0)
DEPTHS: Final = (1, 3, 5, 10)
"""The k of precision@k and recall@k."""


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
    """Average a metric over the `n` videos for which it is defined."""
    values = [value for value in per_video if value is not None]
    interval = pooled_interval([Ratio(value, 1) for value in values], resamples=resamples)
    return Figure(name, mean(values), len(values), "videos", interval, baseline, "macro")


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class MeasureBase:
    """The description of a metric. `unit` is the unit of n; reports show a `headline` first."""

    name: str
    family: Family
    unit: str
    _: KW_ONLY
    better: Better | None = "higher"
    headline: bool = False


@dataclass(frozen=True, slots=True)
class RatioMeasure(MeasureBase):
    """A metric that is a fraction for each video, so that videos can be pooled.

    `baseline` returns the score of the trivial answer. With `is_mean` the metric has only a mean
    over videos, such as seconds.
    """

    of: Callable[[ScoredVideo], Ratio]
    _: KW_ONLY
    baseline: Callable[[ScoredVideo], Ratio] | None = None
    is_mean: bool = False

    def of_video(self, video: ScoredVideo) -> Figure:
        ratio, baseline = self.of(video), self.baseline(video).value if self.baseline else None
        return Figure(self.name, ratio.value, ratio.n, self.unit, baseline=baseline)

    def pooled(self, videos: Sequence[ScoredVideo], resamples: int) -> tuple[Figure, ...]:
        """Return the mean over videos, and the fraction over all items."""
        ratios = [self.of(video) for video in videos]
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
        value, among = Ratio.pooled(ratios).value, Ratio.pooled(trivial).value
        interval, n = pooled_interval(ratios, resamples=resamples), sum(each.n for each in ratios)
        return averaged, Figure(self.name, value, n, self.unit, interval, among, "micro")


@dataclass(frozen=True, slots=True)
class PooledMeasure(MeasureBase, Generic[Item]):
    """A metric of many items at once, such as a correlation.

    `items` returns the items of one video, `count` the n of some items, and `trivial` the score of
    the trivial answer on some items, given all. With `averaged` it also has a mean over videos.
    """

    items: Callable[[ScoredVideo], Sequence[Item]]
    of: Callable[[Sequence[Item]], float | None]
    _: KW_ONLY
    trivial: Callable[[Sequence[Item], Sequence[Item]], float | None]
    count: Callable[[Sequence[Item]], int] = len
    averaged: bool = False

    def of_video(self, video: ScoredVideo) -> Figure:
        items = self.items(video)
        baseline = self.trivial(items, items)
        return Figure(self.name, self.of(items), self.count(items), self.unit, baseline=baseline)

    def pooled(self, videos: Sequence[ScoredVideo], resamples: int) -> tuple[Figure, ...]:
        """Return the mean over videos if there is one, and the metric of all items."""
        return self.of_groups([items for items in map(self.items, videos) if items], resamples)

    def of_groups(
        self, groups: Sequence[Sequence[Item]], resamples: int = RESAMPLES
    ) -> tuple[Figure, ...]:
        """Return the figures of items in groups, one group per video."""
        whole = [item for group in groups for item in group]
        interval = statistic_interval(groups, self.of, resamples=resamples)
        value, trivial = self.of(whole), self.trivial(whole, whole)
        pooled = Figure(self.name, value, self.count(whole), self.unit, interval, trivial, "micro")
        if not self.averaged:
            return (pooled,)
        baseline = mean(self.trivial(group, whole) for group in groups)
        values = map(self.of, groups)
        return macro(self.name, values, baseline=baseline, resamples=resamples), pooled


Measure = RatioMeasure | PooledMeasure[Any]


# --- Claims -------------------------------------------------------------------------------------


def _of_claims(
    name: str, unit: str, metric: Callable[[MatchedVideo], Ratio], **others: Any
) -> RatioMeasure:
    """Return a metric of matched claims; its trivial answer is evenly spaced sentences."""
    usual: dict[str, Any] = {"baseline": lambda video: metric(video.trivial)}
    return RatioMeasure(name, "claims", unit, lambda video: metric(video.matched), **usual | others)


def _importances(video: ScoredVideo) -> list[tuple[float, float]]:
    return claims.importance_pairs(video.matched)


def _mean_importance_error(video: ScoredVideo) -> Ratio:
    """Return the error of giving every matched claim the mean annotated importance."""
    gold = [gold for _, gold in _importances(video)]
    middle = mean(gold) or 0.0
    return Ratio(math.fsum(abs(each - middle) for each in gold), len(gold))


def _correlation(
    name: str, of: Callable[[Sequence[tuple[float, float]]], float | None]
) -> PooledMeasure[tuple[float, float]]:
    def trivial(pairs: Sequence[tuple[float, float]], _: object) -> float | None:
        return None if of(pairs) is None else 0.0

    return PooledMeasure(
        name, "claims", "matched claims", _importances, of, trivial=trivial, averaged=True
    )


_MATCHED, _GOLD = "matched claims", "annotated claims"
_AT_DEPTHS: Final[tuple[tuple[Any, ...], ...]] = (
    ("precision", "extracted claims", claims.precision_at_k),
    ("recall", _GOLD, claims.recall_at_k),
    ("F1", _GOLD, claims.f1_at_k),
)
_CLAIMS: Final[tuple[Measure, ...]] = (
    *(
        _of_claims(f"{name}@{k}", unit, partial(metric, k=k))
        if k
        else _of_claims(name, unit, metric, headline=name != "F1")
        for name, unit, metric in _AT_DEPTHS
        for k in (None, *DEPTHS)
    ),
    _of_claims("MAP over hits", _MATCHED, claims.average_precision_over_hits),
    _of_claims("MAP over relevant", _GOLD, claims.average_precision_over_relevant),
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
        baseline=_mean_importance_error,
    ),
    _correlation("importance Spearman", claims.spearman),
    _correlation("importance Kendall", claims.kendall),
)


# --- Stances ------------------------------------------------------------------------------------


def _of_stances(
    name: str,
    metric: Callable[[Sequence[Judgement]], Ratio | float | None],
    unit: str = "claims",
    **others: Any,
) -> PooledMeasure[Judgement]:
    """Return a metric of judged claims; its trivial answer is their majority class."""

    def of(judged: Sequence[Judgement]) -> float | None:
        found = metric(judged)
        return found.value if isinstance(found, Ratio) else found

    usual: dict[str, Any] = {
        "items": lambda video: video.judgements,
        "trivial": lambda it, among: of(stances.as_majority(it, among)),
        "count": lambda it: len(stances.answered(it)),
    }
    return PooledMeasure(name, "stances", unit, of=of, **usual | others)


_of_decided = partial(_of_stances, count=lambda it: len(stances.decided(it)), better="lower")
STANCE_MEASURES: Final[tuple[PooledMeasure[Judgement], ...]] = (
    _of_stances("stance accuracy", stances.accuracy, averaged=True, headline=True),
    _of_stances("macro-F1", stances.macro_f1),
    _of_decided("Brier score", stances.brier, trivial=lambda it, _: stances.majority_brier(it)),
    _of_decided(
        "expected calibration error",
        stances.expected_calibration_error,
        trivial=lambda it, _: None if stances.majority_brier(it) is None else 0.0,
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


# --- Evidence -----------------------------------------------------------------------------------


def _ratio(
    family: Family,
    assets: tuple[str, ...],
    name: str,
    unit: str,
    metric: Callable[[VideoOutcome], Ratio],
    **others: Any,
) -> RatioMeasure:
    """Return a metric of a video's rows, undefined unless all of these assets ran."""

    def of(video: ScoredVideo) -> Ratio:
        return metric(video.outcome) if video.outcome.ran(*assets) else UNDEFINED

    return RatioMeasure(name, family, unit, of, **others)


def _share(column: str, value: str, outcome: VideoOutcome) -> Ratio:
    """Return the share of read sources with a value in a column."""
    listed = [getattr(row, column) for row in outcome.evidence if row.status == "ok"]
    return Ratio(listed.count(value), len(listed))


def _as_in_baseline(outcome: VideoOutcome) -> Ratio:
    return evidence.agreement(outcome.evidence, outcome.baseline)


_evidence = partial(_ratio, "evidence", ("claims", "queries", "evidence"))
_readings = partial(_ratio, "evidence", ("evidence",))
_answers = partial(_ratio, "evidence", ("verdicts",))
_origins = partial(_ratio, "evidence", ("claims", "verdicts"))

_ANSWERABILITY: Final[tuple[tuple[str, Answered, Better | None], ...]] = (
    ("questions answered", "answered", "higher"),
    ("questions answered in part", "partly", None),
    ("questions not answered", "not", "lower"),
)
_KINDS: Final = (
    *((f"sources rated {value}", "rating", value) for value in get_args(Rating)),
    *((f"sources of class {value}", "source_class", value) for value in get_args(SourceClass)),
)

_EVIDENCE: Final[tuple[RatioMeasure, ...]] = (
    _evidence("retrieval success rate", "claims", evidence.retrieval_success_rate, headline=True),
    _evidence("query success rate", "queries", evidence.query_success_rate),
    _evidence("sources per query", "queries", evidence.sources_per_query, better=None),
    _evidence("evidence per claim", "claims", evidence.evidence_per_claim, better=None),
    _origins(
        "independent origins per claim",
        "claims",
        evidence.independent_origins_per_claim,
        headline=True,
    ),
    _readings("quote grounding rate", "quotes", evidence.quote_grounding_rate, headline=True),
    _readings("contradicted readings", "quotes", evidence.contradicted_readings, better="lower"),
    _readings("mixed-up calls", "calls", evidence.mixed_up_calls, better="lower"),
    _readings("stances as in the baseline", "sources", _as_in_baseline, better=None),
    *(
        _answers(name, "questions", partial(evidence.questions_answered, degree), better=better)
        for name, degree, better in _ANSWERABILITY
    ),
    *(
        _readings(name.replace("_", " "), "sources", partial(_share, column, value), better=None)
        for name, column, value in _KINDS
    ),
)


# --- Verdicts, services, time and money ---------------------------------------------------------


def _complete(outcome: VideoOutcome) -> Ratio:
    complete = sum(verdict.status == "complete" for verdict in outcome.verdicts)
    return Ratio(complete, len(outcome.claims))


def _decided(outcome: VideoOutcome) -> Ratio:
    found = [each.stance for each in outcome.verdicts if each.stance is not None]
    return Ratio(sum(stance != "unclear" for stance in found), len(found))


def _failed(rows: str, outcome: VideoOutcome) -> Ratio:
    return evidence.infrastructure_failure_rate(getattr(outcome, rows))


def _failed_calls(outcome: VideoOutcome) -> Ratio:
    made = [call for call in outcome.llm_calls if not call.cache_hit]
    return Ratio(sum(call.outcome == "infra_error" for call in made), len(made))


def _failures(outcome: VideoOutcome) -> Ratio:
    kinds = ("queries", "searches", "ratings", "pages", "evidence")
    return Ratio.pooled([*(_failed(rows, outcome) for rows in kinds), _failed_calls(outcome)])


_operation = partial(_ratio, "operations")
_failure = partial(_operation, better="lower")

_SERVICES: Final[tuple[RatioMeasure, ...]] = (
    _operation(("claims", "verdicts"), "complete verdicts", "claims", _complete, headline=True),
    _operation(("verdicts",), "decided verdicts", "verdicts", _decided, better=None, headline=True),
    _failure((), "infrastructure failure rate", "attempts", _failures, headline=True),
    *(
        _failure((asset,), f"failure rate of {rows}", unit, partial(_failed, rows))
        for rows, unit, asset in (
            ("searches", "searches", "search_hits"),
            ("pages", "pages", "evidence"),
            ("evidence", "sources", "evidence"),
            ("ratings", "domains", "reliability_ratings"),
        )
    ),
    _failure((), "failure rate of model calls", "model calls", _failed_calls),
)


def _value(name: str, of: Callable[[VideoOutcome], float | None]) -> RatioMeasure:
    def ratio(video: ScoredVideo) -> Ratio:
        value = of(video.outcome)
        return UNDEFINED if value is None else Ratio(value, 1)

    shown = name in {"seconds to first verdict", "cost in USD"}
    return RatioMeasure(
        name, "operations", "videos", ratio, better="lower", headline=shown, is_mean=True
    )


def _seconds(asset: str, outcome: VideoOutcome) -> float | None:
    return outcome.sets[asset].duration_seconds if asset in outcome.sets else None


def _usage(column: str, outcome: VideoOutcome) -> float | None:
    calls = outcome.llm_calls
    unpriced = column == "cost_usd" and not all(call.price_known for call in calls)
    if unpriced or not any(map(outcome.ran, METHOD)):
        return None
    return math.fsum(getattr(call, column) for call in calls)


MEASURES: Final[tuple[Measure, ...]] = (
    *_CLAIMS,
    *STANCE_MEASURES,
    *_LEVELS,
    *_EVIDENCE,
    *_SERVICES,
    *(_value(f"seconds of {asset}", partial(_seconds, asset)) for asset in METHOD),
    _value("seconds to first verdict", lambda outcome: outcome.first_verdict_seconds),
    _value("cost in USD", partial(_usage, "cost_usd")),
    _value("input tokens", partial(_usage, "input_tokens")),
    _value("output tokens", partial(_usage, "output_tokens")),
)
"""Every metric, in the order of reports."""

CATALOGUE: Final[Mapping[str, Measure]] = {each.name: each for each in MEASURES}

HEADLINES: Final = tuple(each.name for each in MEASURES if each.headline)
