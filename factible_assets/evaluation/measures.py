"""The catalogue of what is measured of one video: every metric's name, unit, sense and baseline.

What belongs here: which metrics there are, and how each is asked of one video's rows. What does
not: their formulas (metrics), averages and intervals (metrics/summary.py, scoring.py).

A metric that says nothing of a video, since an asset did not run there or nobody annotated it, is
undefined for it: a ratio with the denominator 0, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, get_args

from factible_assets.evaluation.figures import Ratio
from factible_assets.evaluation.metrics import claims as claim_metrics
from factible_assets.evaluation.metrics.claims import MatchedVideo
from factible_assets.evaluation.metrics.evidence import (
    evidence_per_claim,
    independent_origins_per_claim,
    query_success_rate,
    quote_grounding_rate,
    retrieval_success_rate,
    sources_per_query,
)
from factible_assets.evaluation.metrics.operations import infrastructure_failure_rate
from factible_assets.evaluation.metrics.stances import Judgement
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.records import ASSET_RECORDS, LlmCall, Rating, SourceClass

Family = Literal["claims", "stances", "evidence", "operations"]
Better = Literal["higher", "lower"]

UNDEFINED: Final = Ratio(0, 0)
DEPTHS: Final = (1, 3, 5, 10)
"""The k of precision@k and recall@k; beside them stands the figure over all extracted claims."""

CLAIM_LEVEL: Final = ("claims", "queries", "evidence")


@dataclass(frozen=True, slots=True)
class ScoredVideo:
    """One video with what is needed to score it.

    Attributes:
        outcome: Its rows.
        matched: Its claims against the annotation; None without annotation or claims asset.
        trivial: The trivial answer against the annotation: as many sentences of the transcript,
            evenly spaced, in its order. None without annotation or transcript.
        judgements: The verdicts on matched claims whose stance is annotated.
    """

    outcome: VideoOutcome
    matched: MatchedVideo | None
    trivial: MatchedVideo | None
    judgements: tuple[Judgement, ...]


@dataclass(frozen=True, slots=True)
class RatioMeasure:
    """A metric that is a fraction in each video, so that videos can be pooled.

    Attributes:
        name: As results, targets and the warehouse call it.
        family: What it is about.
        unit: What its n counts.
        of: The fraction in one video.
        better: Which way is better; None if neither is.
        count: The n of one video, where the denominator is no count.
        baseline: What the trivial answer scores there.
    """

    name: str
    family: Family
    unit: str
    of: Callable[[ScoredVideo], Ratio]
    better: Better | None = "higher"
    count: Callable[[ScoredVideo], int] | None = None
    baseline: Callable[[ScoredVideo], Ratio] | None = None

    def n(self, video: ScoredVideo) -> int:
        """Return how many items of `unit` the video's value rests on."""
        return round(self.of(video).denominator) if self.count is None else self.count(video)


@dataclass(frozen=True, slots=True)
class ValueMeasure:
    """A metric that is a plain number in each video, and is averaged over videos only."""

    name: str
    family: Family
    unit: str
    of: Callable[[ScoredVideo], float | None]
    better: Better | None = "lower"


Measure = RatioMeasure | ValueMeasure


# --- Claims -------------------------------------------------------------------------------------


def _matched(metric: Callable[[MatchedVideo], Ratio]) -> Callable[[ScoredVideo], Ratio]:
    return lambda video: UNDEFINED if video.matched is None else metric(video.matched)


def _trivial(metric: Callable[[MatchedVideo], Ratio]) -> Callable[[ScoredVideo], Ratio]:
    return lambda video: UNDEFINED if video.trivial is None else metric(video.trivial)


def _gold(video: ScoredVideo) -> int:
    return 0 if video.matched is None else len(video.matched.gold)


def _weighed_gold(video: ScoredVideo) -> int:
    gold = () if video.matched is None else video.matched.gold
    return sum(bool(claim.importance) for claim in gold)


def _claim_measure(
    name: str,
    unit: str,
    metric: Callable[[MatchedVideo], Ratio],
    count: Callable[[ScoredVideo], int] | None = None,
) -> RatioMeasure:
    return RatioMeasure(
        name, "claims", unit, _matched(metric), count=count, baseline=_trivial(metric)
    )


def _at_depths() -> Iterable[RatioMeasure]:
    kinds: tuple[
        tuple[str, str, Callable[..., Ratio], Callable[[ScoredVideo], int] | None], ...
    ] = (
        ("precision", "extracted claims", claim_metrics.precision_at_k, None),
        ("recall", "annotated claims", claim_metrics.recall_at_k, None),
        ("F1", "annotated claims", claim_metrics.f1_at_k, _gold),
    )
    for name, unit, metric, count in kinds:
        yield _claim_measure(name, unit, metric, count)
        for k in DEPTHS:
            yield _claim_measure(f"{name}@{k}", unit, partial(metric, k=k), count)


def _mean_importance_error(video: ScoredVideo) -> Ratio:
    """Return the error of giving every matched claim the mean importance of their annotations."""
    gold = [gold for _, gold in _importances(video)]
    mean = math.fsum(gold) / len(gold) if gold else 0.0
    return Ratio(math.fsum(abs(each - mean) for each in gold), len(gold))


def _importances(video: ScoredVideo) -> list[tuple[float, float]]:
    return [] if video.matched is None else claim_metrics.importance_pairs(video.matched)


_CLAIMS: Final[tuple[RatioMeasure, ...]] = (
    *_at_depths(),
    _claim_measure("MAP over hits", "matched claims", claim_metrics.average_precision_over_hits),
    _claim_measure(
        "MAP over relevant", "annotated claims", claim_metrics.average_precision_over_relevant
    ),
    _claim_measure(
        "nDCG by importance", "annotated claims", claim_metrics.ndcg_by_importance, _weighed_gold
    ),
    _claim_measure(
        "recall@important", "important annotated claims", claim_metrics.recall_at_important
    ),
    _claim_measure(
        "importance-weighted coverage",
        "annotated claims",
        claim_metrics.importance_weighted_coverage,
        _weighed_gold,
    ),
    RatioMeasure(
        "importance MAE",
        "claims",
        "matched claims",
        _matched(claim_metrics.importance_mae),
        "lower",
        baseline=_mean_importance_error,
    ),
)

CORRELATIONS: Final[tuple[tuple[str, Callable[[list[tuple[float, float]]], float | None]], ...]] = (
    ("importance Spearman", claim_metrics.spearman),
    ("importance Kendall", claim_metrics.kendall),
)
"""Rank correlations of importance: of a video's matched claims, and pooled over all videos."""


def importances(video: ScoredVideo) -> list[tuple[float, float]]:
    """Return (system's, gold's) importance of each matched claim that has both."""
    return _importances(video)


# --- Evidence -----------------------------------------------------------------------------------


def _ran(
    assets: Sequence[str], metric: Callable[[VideoOutcome], Ratio]
) -> Callable[[ScoredVideo], Ratio]:
    return lambda video: metric(video.outcome) if video.outcome.ran(*assets) else UNDEFINED


def _share(
    name: str, values: Callable[[VideoOutcome], Iterable[str]]
) -> Callable[[VideoOutcome], Ratio]:
    def share(outcome: VideoOutcome) -> Ratio:
        listed = list(values(outcome))
        return Ratio(listed.count(name), len(listed))

    return share


def _ratings(outcome: VideoOutcome) -> Iterable[str]:
    return (row.rating for row in outcome.evidence if row.status == "ok")


def _classes(outcome: VideoOutcome) -> Iterable[str]:
    return (row.source_class for row in outcome.evidence if row.status == "ok")


_EVIDENCE: Final[tuple[RatioMeasure, ...]] = (
    RatioMeasure(
        "retrieval success rate",
        "evidence",
        "claims",
        _ran(CLAIM_LEVEL, lambda it: retrieval_success_rate(it.claims, it.evidence)),
    ),
    RatioMeasure(
        "query success rate",
        "evidence",
        "queries",
        _ran(CLAIM_LEVEL, lambda it: query_success_rate(it.queries, it.evidence)),
    ),
    RatioMeasure(
        "sources per query",
        "evidence",
        "queries",
        _ran(CLAIM_LEVEL, lambda it: sources_per_query(it.queries, it.evidence)),
        None,
    ),
    RatioMeasure(
        "evidence per claim",
        "evidence",
        "claims",
        _ran(CLAIM_LEVEL, lambda it: evidence_per_claim(it.claims, it.evidence)),
        None,
    ),
    RatioMeasure(
        "independent origins per claim",
        "evidence",
        "claims",
        _ran(CLAIM_LEVEL, lambda it: independent_origins_per_claim(it.claims, it.evidence)),
    ),
    RatioMeasure(
        "quote grounding rate",
        "evidence",
        "quotes",
        _ran(("evidence",), lambda it: quote_grounding_rate(it.evidence, it.page_texts)),
    ),
    *(
        RatioMeasure(
            f"sources rated {rating.replace('_', ' ')}",
            "evidence",
            "sources",
            _ran(("evidence",), _share(rating, _ratings)),
            None,
        )
        for rating in get_args(Rating)
    ),
    *(
        RatioMeasure(
            f"sources of class {name.replace('_', ' ')}",
            "evidence",
            "sources",
            _ran(("evidence",), _share(name, _classes)),
            None,
        )
        for name in get_args(SourceClass)
    ),
)


# --- Verdicts and services ----------------------------------------------------------------------


def _complete(outcome: VideoOutcome) -> Ratio:
    return Ratio(
        sum(verdict.status == "complete" for verdict in outcome.verdicts), len(outcome.claims)
    )


def _decided(outcome: VideoOutcome) -> Ratio:
    stances = [each.stance for each in outcome.verdicts if each.stance is not None]
    return Ratio(sum(stance != "unclear" for stance in stances), len(stances))


def _failures(outcome: VideoOutcome) -> Ratio:
    rows = (outcome.queries, outcome.searches, outcome.ratings, outcome.pages, outcome.evidence)
    rates = [infrastructure_failure_rate(each) for each in rows]
    return Ratio.pooled([*rates, _failed_calls(outcome)])


def _failed_calls(outcome: VideoOutcome) -> Ratio:
    made = [call for call in outcome.llm_calls if not call.cache_hit]
    return Ratio(sum(call.outcome == "infra_error" for call in made), len(made))


_SERVICES: Final[tuple[RatioMeasure, ...]] = (
    RatioMeasure(
        "complete verdicts", "operations", "claims", _ran(("claims", "verdicts"), _complete)
    ),
    RatioMeasure("decided verdicts", "operations", "verdicts", _ran(("verdicts",), _decided), None),
    RatioMeasure(
        "infrastructure failure rate", "operations", "attempts", _ran((), _failures), "lower"
    ),
    RatioMeasure(
        "failure rate of searches",
        "operations",
        "searches",
        _ran(("search_hits",), lambda it: infrastructure_failure_rate(it.searches)),
        "lower",
    ),
    RatioMeasure(
        "failure rate of pages",
        "operations",
        "pages",
        _ran(("evidence",), lambda it: infrastructure_failure_rate(it.pages)),
        "lower",
    ),
    RatioMeasure(
        "failure rate of evidence",
        "operations",
        "sources",
        _ran(("evidence",), lambda it: infrastructure_failure_rate(it.evidence)),
        "lower",
    ),
    RatioMeasure(
        "failure rate of ratings",
        "operations",
        "domains",
        _ran(("reliability_ratings",), lambda it: infrastructure_failure_rate(it.ratings)),
        "lower",
    ),
    RatioMeasure(
        "failure rate of model calls", "operations", "model calls", _ran((), _failed_calls), "lower"
    ),
)


# --- Time and money -----------------------------------------------------------------------------


def _seconds(asset: str) -> Callable[[ScoredVideo], float | None]:
    def seconds(video: ScoredVideo) -> float | None:
        ran = video.outcome.sets.get(asset)
        return None if ran is None else ran.duration_seconds

    return seconds


Selected = Callable[[LlmCall], bool]


def _is_any(call: LlmCall) -> bool:
    return True


def _cost(selected: Selected, assets: Sequence[str]) -> Callable[[ScoredVideo], float | None]:
    """Ask for the US dollars of some calls; undefined where a call has no listed price."""

    def cost(video: ScoredVideo) -> float | None:
        calls = [call for call in video.outcome.llm_calls if selected(call)]
        if not _some_ran(video, assets) or not all(call.price_known for call in calls):
            return None
        return math.fsum(call.cost_usd for call in calls)

    return cost


def _tokens(
    selected: Selected, assets: Sequence[str], side: Literal["input", "output"]
) -> Callable[[ScoredVideo], float | None]:
    def tokens(video: ScoredVideo) -> float | None:
        if not _some_ran(video, assets):
            return None
        calls = (call for call in video.outcome.llm_calls if selected(call))
        return float(
            sum(call.input_tokens if side == "input" else call.output_tokens for call in calls)
        )

    return tokens


def _some_ran(video: ScoredVideo, assets: Sequence[str]) -> bool:
    return any(video.outcome.ran(asset) for asset in assets)


_ASSETS: Final = tuple(ASSET_RECORDS)

_TIME_AND_MONEY: Final[tuple[ValueMeasure, ...]] = (
    *(
        ValueMeasure(f"seconds of {asset}", "operations", "videos", _seconds(asset))
        for asset in _ASSETS
    ),
    ValueMeasure(
        "seconds to first verdict",
        "operations",
        "videos",
        lambda video: video.outcome.first_verdict_seconds,
    ),
    ValueMeasure("cost in USD", "operations", "videos", _cost(_is_any, _ASSETS)),
    ValueMeasure("input tokens", "operations", "videos", _tokens(_is_any, _ASSETS, "input")),
    ValueMeasure("output tokens", "operations", "videos", _tokens(_is_any, _ASSETS, "output")),
)


def usage_measures(calls: Iterable[LlmCall]) -> tuple[ValueMeasure, ...]:
    """Return tokens and cost per video of each stage and model that some calls name."""
    measures: list[ValueMeasure] = []
    for stage, model in sorted({(call.stage, call.model) for call in calls}):
        chosen = partial(_is_of, stage=stage, model=model)
        where = f"{stage}, {model}"
        measures += [
            ValueMeasure(f"cost in USD: {where}", "operations", "videos", _cost(chosen, (stage,))),
            ValueMeasure(
                f"input tokens: {where}",
                "operations",
                "videos",
                _tokens(chosen, (stage,), "input"),
            ),
            ValueMeasure(
                f"output tokens: {where}",
                "operations",
                "videos",
                _tokens(chosen, (stage,), "output"),
            ),
        ]
    return tuple(measures)


def _is_of(call: LlmCall, *, stage: str, model: str) -> bool:
    return call.stage == stage and call.model == model


# --- The whole catalogue ------------------------------------------------------------------------

CLAIM_MEASURES: Final = _CLAIMS
EVIDENCE_MEASURES: Final = _EVIDENCE
OPERATION_MEASURES: Final[tuple[Measure, ...]] = (*_SERVICES, *_TIME_AND_MONEY)

STANCE_MEASURES: Final[tuple[tuple[str, Better], ...]] = (
    ("stance accuracy", "higher"),
    ("macro-F1", "higher"),
    ("Brier score", "lower"),
    ("expected calibration error", "lower"),
)
"""Their figures are made by metrics.summary.stance_figures."""


@dataclass(frozen=True, slots=True)
class MeasureInfo:
    """What a reader of a metric's name wants to know. `better` is None if neither way is."""

    family: Family
    better: Better | None


def _catalogue() -> dict[str, MeasureInfo]:
    listed: dict[str, MeasureInfo] = {
        each.name: MeasureInfo("claims", each.better) for each in CLAIM_MEASURES
    }
    listed |= {name: MeasureInfo("claims", "higher") for name, _ in CORRELATIONS}
    listed |= {name: MeasureInfo("stances", better) for name, better in STANCE_MEASURES}
    rest = (*EVIDENCE_MEASURES, *OPERATION_MEASURES)
    return listed | {each.name: MeasureInfo(each.family, each.better) for each in rest}


CATALOGUE: Final = _catalogue()
"""Every metric by name, in the order of reports. Costs by stage and model are named at run time."""


def measure_info(name: str) -> MeasureInfo:
    """Return what is known of a metric; costs and tokens by stage and model are operations."""
    return CATALOGUE.get(name, MeasureInfo("operations", "lower"))
