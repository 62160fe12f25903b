"""Scores what came of some videos: every metric, per video and pooled, and the data of the plots.

What belongs here: putting matching, metrics, averages and intervals together. What does not: any
formula (metrics), reading rows (loading.py), drawing (plots.py), judging a figure (targets.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.intervals import RESAMPLES, SEED
from factible_assets.evaluation.matching import ClaimMatcher, Matcher
from factible_assets.evaluation.measures import MEASURES, ScoredVideo, mean, usage_measures
from factible_assets.evaluation.metrics.claims import (
    GoldClaim,
    MatchedVideo,
    SystemClaim,
    f1_at_k,
    precision_at_k,
    recall_at_k,
)
from factible_assets.evaluation.metrics.evidence import distribution
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
    confusion_matrix,
    reliability_diagram,
)
from factible_assets.evaluation.outcomes import (
    Store,
    VideoOutcome,
    group_by_corpus,
    load_outcomes,
)
from factible_assets.methods.scales import level_of, veracity_of
from factible_assets.reasoners.embedded.claims.sentences import split_sentences
from factible_assets.records import Verdict


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
        ratings: Of the read sources, how many have each.
        source_classes: Of the read sources, how many are of each.
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
    ratings: Mapping[str, int]
    source_classes: Mapping[str, int]

    def figure(self, name: str, averaging: str = "macro") -> Figure | None:
        """Return one pooled figure; None if there is none of that name and averaging."""
        found = (each for each in self.figures if (each.name, each.averaging) == (name, averaging))
        return next(found, None)


def evaluate_corpora(
    store: Store,
    reading: CorporaReading,
    matcher: ClaimMatcher,
    *,
    corpora: Collection[str] = (),
    bootstrap: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Evaluation]:
    """Score every corpus of which the warehouse holds a video, in order of name.

    Args:
        store: The warehouse.
        reading: The corpora, with their annotations.
        matcher: Decides which claims are the same.
        corpora: Only these; all if none is named.
        bootstrap: How often videos are drawn with replacement.
        seed: Of the bootstrap.

    Raises:
        UnknownCorpusError: One of `corpora` has no video in the warehouse.
    """
    groups = group_by_corpus(load_outcomes(store, reading), reading, expected=corpora)
    return {
        corpus: score(outcomes, matcher=matcher, bootstrap=bootstrap, seed=seed)
        for corpus, outcomes in groups.items()
        if not corpora or corpus in corpora
    }


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
    read = [row for outcome in outcomes for row in outcome.evidence if row.status == "ok"]
    measures = (*MEASURES, *usage_measures(calls))
    return Evaluation(
        figures=tuple(
            figure
            for measure in measures
            for figure in measure.pooled(videos, seed=seed, resamples=bootstrap)
        ),
        judgements=tuple(judgements),
        per_video={
            each.outcome.video.video_id: tuple(measure.own(each) for measure in measures)
            for each in videos
        },
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
        ratings=distribution(row.rating for row in read),
        source_classes=distribution(row.source_class for row in read),
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
    judged = _judged(outcome, matched)
    judgements = tuple(
        Judgement(
            outcome.video.video_id,
            gold.stance,
            None if verdict is None else verdict.stance,
            None if verdict is None else verdict.confidence_score,
        )
        for gold, verdict in judged
        if gold.stance is not None
    )
    return ScoredVideo(outcome, matched, trivial, judgements, _levels(outcome, judged))


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


Judged = list[tuple[GoldClaim, Verdict | None]]
"""Annotated claims that were found, with their verdicts."""


def _judged(outcome: VideoOutcome, matched: MatchedVideo) -> Judged:
    if not outcome.ran("verdicts"):
        return []
    claims = outcome.ordered_claims
    verdicts = {verdict.claim_id: verdict for verdict in outcome.verdicts}
    return [
        (matched.gold[pair.gold], verdicts.get(claims[pair.system].claim_id))
        for pair in matched.matching.pairs
    ]


def _levels(outcome: VideoOutcome, judged: Judged) -> tuple[Judgement, ...]:
    """Return the verdicts on six levels, where both the annotation and the verdict have one."""
    levels = (
        (
            level_of(gold.label, gold.stance),
            None
            if verdict is None
            else verdict.veracity or veracity_of(verdict.stance, verdict.confidence),
        )
        for gold, verdict in judged
    )
    return tuple(
        Judgement(outcome.video.video_id, gold, said)
        for gold, said in levels
        if gold is not None and said is not None
    )


# --- All videos ---------------------------------------------------------------------------------


def _precision_recall(videos: Sequence[ScoredVideo]) -> tuple[DepthPoint, ...]:
    matched = [video.matched for video in videos if video.matched is not None]
    deepest = max((len(each.system) for each in matched), default=0)
    points = []
    for k in range(1, deepest + 1):
        recalls = [recall_at_k(each, k).value for each in matched]
        points.append(
            DepthPoint(
                max_claims=k,
                precision=mean([precision_at_k(each, k).value for each in matched]),
                recall=mean(recalls),
                f1=mean([f1_at_k(each, k).value for each in matched]),
                videos=sum(value is not None for value in recalls),
            )
        )
    return tuple(points)
