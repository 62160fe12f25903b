"""Scores what came of some videos: every metric, per video and pooled, and the data of the plots.

What belongs here: putting matching, metrics, averages and intervals together. What does not: any
formula (metrics), reading rows (loading.py), drawing (plots.py), judging a figure (targets.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from factible_assets.evaluation.figures import Figure, Ratio
from factible_assets.evaluation.intervals import RESAMPLES, SEED, statistic_interval
from factible_assets.evaluation.matching import ClaimMatcher, Matcher
from factible_assets.evaluation.measures import (
    CLAIM_MEASURES,
    CORRELATIONS,
    EVIDENCE_MEASURES,
    OPERATION_MEASURES,
    Measure,
    RatioMeasure,
    ScoredVideo,
    importances,
    usage_measures,
)
from factible_assets.evaluation.metrics.claims import (
    GoldClaim,
    MatchedVideo,
    SystemClaim,
    f1_at_k,
    precision_at_k,
    recall_at_k,
)
from factible_assets.evaluation.metrics.evidence import (
    Distribution,
    reliability_distribution,
    source_class_distribution,
)
from factible_assets.evaluation.metrics.operations import (
    Latency,
    Usage,
    latency_by_stage,
    usage_by_stage,
)
from factible_assets.evaluation.metrics.stances import (
    Confusion,
    Judgement,
    ReliabilityBin,
    accuracy,
    answered,
    as_majority,
    brier,
    confusion_matrix,
    decided,
    expected_calibration_error,
    macro_f1,
    majority_brier,
    reliability_diagram,
)
from factible_assets.evaluation.metrics.summary import macro, micro, stance_figures
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.reasoners.embedded.sentences import split_sentences

__all__ = ["DepthPoint", "Evaluation", "VideoOutcome", "score"]

Statistic = tuple[str, float | None, float | None]


@dataclass(frozen=True, slots=True)
class DepthPoint:
    """Macro precision, recall and F1 when at most `max_claims` claims are kept of each video.

    `videos` counts those where the recall is defined.
    """

    max_claims: int
    precision: float | None
    recall: float | None
    f1: float | None
    videos: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was measured.

    Attributes:
        figures: Over all videos: macro and micro, with n, interval and baseline.
        judgements: The verdicts on claims that match an annotated one.
        per_video: Each video's own, by video id.
        matcher: By which rule claims were matched.
        videos: How many videos were scored.
        annotated: How many of them are annotated.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
        precision_recall: Over max_claims, from 1 to the most that any video has.
        confusion: Annotated against answered stances, over all videos.
        reliability: Confidence against accuracy.
        latency: Of single operations, by stage.
        usage: Tokens and cost by stage and model, added up over all videos.
        ratings: Of the read sources.
        source_classes: Of the read sources.
    """

    figures: tuple[Figure, ...]
    judgements: tuple[Judgement, ...]
    per_video: Mapping[str, tuple[Figure, ...]]
    matcher: Matcher
    videos: int
    annotated: int
    resamples: int
    seed: int
    precision_recall: tuple[DepthPoint, ...]
    confusion: Confusion
    reliability: tuple[ReliabilityBin, ...]
    latency: tuple[Latency, ...]
    usage: tuple[Usage, ...]
    ratings: Distribution
    source_classes: Distribution

    def figure(self, name: str, averaging: str = "macro") -> Figure | None:
        """Return one pooled figure; None if there is none of that name and averaging."""
        found = (each for each in self.figures if (each.name, each.averaging) == (name, averaging))
        return next(found, None)


def score(
    outcomes: Sequence[VideoOutcome],
    *,
    matcher: ClaimMatcher,
    bootstrap: int = RESAMPLES,
    seed: int = SEED,
) -> Evaluation:
    """Measure everything that there is to measure.

    A video without annotation contributes to what needs none; a metric that nothing is known of
    is undefined (None), never 0.

    Args:
        outcomes: Of different videos.
        matcher: Decides which claims are the same.
        bootstrap: How often videos are drawn with replacement.
        seed: The same seed gives the same intervals.

    Raises:
        ValueError: if two outcomes are of the same video.
    """
    videos = [_scored(outcome, matcher) for outcome in outcomes]
    names = {each.outcome.video.video_id for each in videos}
    if len(names) != len(videos):
        raise ValueError("each video is scored once; two outcomes are of the same one")
    calls = [call for outcome in outcomes for call in outcome.llm_calls]
    judgements = [judgement for each in videos for judgement in each.judgements]
    evidence = [row for outcome in outcomes for row in outcome.evidence]
    measures = (*OPERATION_MEASURES, *usage_measures(calls))
    average = _Averaging(videos, bootstrap, seed)
    return Evaluation(
        figures=(
            *average.measures(CLAIM_MEASURES),
            *average.correlations(),
            *stance_figures(judgements, seed=seed, resamples=bootstrap),
            *average.measures(EVIDENCE_MEASURES),
            *average.measures(measures),
        ),
        judgements=tuple(judgements),
        per_video={each.outcome.video.video_id: _own(each, measures) for each in videos},
        matcher=matcher.matcher,
        videos=len(videos),
        annotated=sum(outcome.truth is not None for outcome in outcomes),
        resamples=bootstrap,
        seed=seed,
        precision_recall=_precision_recall(videos),
        confusion=confusion_matrix(judgements),
        reliability=reliability_diagram(judgements),
        latency=latency_by_stage(
            [row for outcome in outcomes for row in outcome.searches],
            [row for outcome in outcomes for row in outcome.pages],
            calls,
        ),
        usage=usage_by_stage(calls),
        ratings=reliability_distribution(evidence),
        source_classes=source_class_distribution(evidence),
    )


# --- One video ----------------------------------------------------------------------------------


def _scored(outcome: VideoOutcome, matcher: ClaimMatcher) -> ScoredVideo:
    gold = outcome.gold
    if gold is None or not outcome.ran("claims"):
        return ScoredVideo(outcome, None, None, ())
    system = tuple(SystemClaim(claim.text, claim.importance) for claim in outcome.ordered_claims)
    matched = _match(outcome.video.video_id, system, gold, matcher)
    spaced = _evenly_spaced(outcome, len(system))
    trivial = None
    if spaced is not None:
        trivial = _match(outcome.video.video_id, spaced, gold, matcher)
    return ScoredVideo(outcome, matched, trivial, _judgements(outcome, matched))


def _match(
    video_id: str,
    system: tuple[SystemClaim, ...],
    gold: tuple[GoldClaim, ...],
    matcher: ClaimMatcher,
) -> MatchedVideo:
    matching = matcher.match([each.text for each in system], [each.text for each in gold])
    return MatchedVideo(video_id, system, gold, matching)


def _evenly_spaced(outcome: VideoOutcome, count: int) -> tuple[SystemClaim, ...] | None:
    """Return the trivial answer: the middle sentence of each of `count` equal parts."""
    if outcome.transcript is None:
        return None
    sentences = split_sentences(outcome.transcript.text, outcome.segments)
    kept = min(count, len(sentences))
    places = ((2 * part + 1) * len(sentences) // (2 * kept) for part in range(kept))
    return tuple(SystemClaim(sentences[place].text) for place in places)


def _judgements(outcome: VideoOutcome, matched: MatchedVideo) -> tuple[Judgement, ...]:
    if not outcome.ran("verdicts"):
        return ()
    claims = outcome.ordered_claims
    verdicts = {verdict.claim_id: verdict for verdict in outcome.verdicts}
    judgements = []
    for pair in matched.matching.pairs:
        stance = matched.gold[pair.gold].stance
        if stance is None:
            continue
        verdict = verdicts.get(claims[pair.system].claim_id)
        judgements.append(
            Judgement(
                outcome.video.video_id,
                stance,
                None if verdict is None else verdict.stance,
                None if verdict is None else verdict.confidence_score,
            )
        )
    return tuple(judgements)


def _own(video: ScoredVideo, operations: Sequence[Measure]) -> tuple[Figure, ...]:
    correlations = (
        Figure(name, of(importances(video)), len(importances(video)), "matched claims")
        for name, of in CORRELATIONS
    )
    return (
        *(_own_figure(measure, video) for measure in CLAIM_MEASURES),
        *correlations,
        *_own_stances(video.judgements),
        *(_own_figure(measure, video) for measure in (*EVIDENCE_MEASURES, *operations)),
    )


def _own_figure(measure: Measure, video: ScoredVideo) -> Figure:
    if isinstance(measure, RatioMeasure):
        baseline = measure.baseline(video).value if measure.baseline else None
        value = measure.of(video).value
        return Figure(measure.name, value, measure.n(video), measure.unit, baseline=baseline)
    own = measure.of(video)
    return Figure(measure.name, own, int(own is not None), measure.unit)


def _stance_statistics(judgements: Sequence[Judgement]) -> tuple[Statistic, ...]:
    """Return name, value and baseline of each stance metric of some judgements."""
    most = as_majority(judgements)
    trivial_brier = majority_brier(judgements)
    return (
        ("stance accuracy", accuracy(judgements).value, accuracy(most).value),
        ("macro-F1", macro_f1(judgements), macro_f1(most)),
        ("Brier score", brier(judgements).value, trivial_brier),
        (
            "expected calibration error",
            expected_calibration_error(judgements).value,
            None if trivial_brier is None else 0.0,
        ),
    )


def _own_stances(judgements: Sequence[Judgement]) -> tuple[Figure, ...]:
    n = len(answered(judgements))
    sure = len(decided(judgements))
    return tuple(
        Figure(name, value, n if name in _WITHOUT_CONFIDENCE else sure, "claims", baseline=baseline)
        for name, value, baseline in _stance_statistics(judgements)
    )


_WITHOUT_CONFIDENCE: Final = frozenset({"stance accuracy", "macro-F1"})


# --- All videos ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Averaging:
    """Macro and micro figures over some videos."""

    videos: Sequence[ScoredVideo]
    resamples: int
    seed: int

    def measures(self, measures: Sequence[Measure]) -> list[Figure]:
        figures: list[Figure] = []
        for measure in measures:
            if isinstance(measure, RatioMeasure):
                figures += self._ratio(measure)
            else:
                values = {video.outcome.video.video_id: measure.of(video) for video in self.videos}
                figures.append(
                    macro(measure.name, values, seed=self.seed, resamples=self.resamples)
                )
        return figures

    def _ratio(self, measure: RatioMeasure) -> tuple[Figure, Figure]:
        ratios = {video.outcome.video.video_id: measure.of(video) for video in self.videos}
        trivial = self._trivial(measure)
        known = [ratio.value for ratio in trivial if ratio.value is not None]
        mean = sum(known) / len(known) if known else None
        return (
            macro(
                measure.name,
                {name: ratio.value for name, ratio in ratios.items()},
                baseline=mean,
                seed=self.seed,
                resamples=self.resamples,
            ),
            micro(
                measure.name,
                ratios,
                unit=measure.unit,
                n=sum(measure.n(video) for video in self.videos),
                baseline=Ratio.pooled(trivial).value,
                seed=self.seed,
                resamples=self.resamples,
            ),
        )

    def _trivial(self, measure: RatioMeasure) -> list[Ratio]:
        """Return the trivial answers of the videos where the metric itself is defined."""
        if measure.baseline is None:
            return []
        return [measure.baseline(video) for video in self.videos if measure.of(video).denominator]

    def correlations(self) -> list[Figure]:
        figures: list[Figure] = []
        for name, of in CORRELATIONS:
            by_video = {each.outcome.video.video_id: importances(each) for each in self.videos}
            pairs = [pair for each in by_video.values() for pair in each]
            values = {video: of(each) for video, each in by_video.items()}
            pooled = of(pairs)
            interval = statistic_interval(
                [each for each in by_video.values() if each],
                partial(_of_drawn, of),
                seed=self.seed,
                resamples=self.resamples,
            )
            trivial = None if pooled is None else 0.0
            figures += [
                macro(
                    name,
                    values,
                    baseline=None if all(each is None for each in values.values()) else 0.0,
                    seed=self.seed,
                    resamples=self.resamples,
                ),
                Figure(name, pooled, len(pairs), "matched claims", interval, trivial, "micro"),
            ]
        return figures


def _of_drawn(
    of: Callable[[list[tuple[float, float]]], float | None], drawn: Sequence[tuple[float, float]]
) -> float | None:
    return of(list(drawn))


def _precision_recall(videos: Sequence[ScoredVideo]) -> tuple[DepthPoint, ...]:
    matched = [video.matched for video in videos if video.matched is not None]
    deepest = max((len(each.system) for each in matched), default=0)
    points = []
    for k in range(1, deepest + 1):
        recalls = [recall_at_k(each, k).value for each in matched]
        points.append(
            DepthPoint(
                max_claims=k,
                precision=_mean([precision_at_k(each, k).value for each in matched]),
                recall=_mean(recalls),
                f1=_mean([f1_at_k(each, k).value for each in matched]),
                videos=sum(value is not None for value in recalls),
            )
        )
    return tuple(points)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
