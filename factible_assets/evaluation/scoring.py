"""Scores videos: computes every metric per video and pooled, and the data of the charts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.figures import RESAMPLES, SEED, Figure
from factible_assets.evaluation.measures import MEASURES, ScoredVideo, mean
from factible_assets.evaluation.metrics import claims, stances
from factible_assets.evaluation.metrics.claims import MatchedVideo
from factible_assets.evaluation.metrics.stances import Confusion, Judgement, ReliabilityBin
from factible_assets.evaluation.outcomes import Store, VideoOutcome, group_by_corpus, load_outcomes
from factible_assets.records.scales import veracity_of, veracity_of_annotation

if TYPE_CHECKING:
    from factible_assets.evaluation.matching import Matcher, MatchingRule


@dataclass(frozen=True, slots=True)
class DepthPoint:
    """Macro precision, recall and F1 of the first `max_claims` claims of each video.

    `videos` counts the videos with a defined recall.
    """

    max_claims: int
    precision: float | None
    recall: float | None
    f1: float | None
    videos: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of some videos, of which some are annotated.

    `figures` are macro and micro; `precision_recall` goes from 1 claim to the most that any video
    has; `costs` are US dollars by stage and model.
    """

    figures: tuple[Figure, ...]
    judgements: tuple[Judgement, ...]
    per_video: Mapping[str, tuple[Figure, ...]]
    matcher: MatchingRule
    videos: int
    annotated: int
    resamples: int
    precision_recall: tuple[DepthPoint, ...]
    confusion: Confusion
    reliability: tuple[ReliabilityBin, ...]
    costs: Mapping[str, float]
    seed: int = SEED

    def figure(self, name: str, averaging: str = "macro") -> Figure | None:
        key = (name, averaging)
        return next(
            (figure for figure in self.figures if (figure.name, figure.averaging) == key), None
        )


def evaluate_corpora(
    store: Store,
    reading: CorporaReading,
    matcher: Matcher,
    *,
    corpora: Collection[str] = (),
    bootstrap: int = RESAMPLES,
) -> dict[str, Evaluation]:
    """Score the named corpora, or all corpora with a video in the warehouse, in order of name.

    Raises UnknownCorpusError: One of `corpora` has no video in the warehouse.
    """
    groups = group_by_corpus(load_outcomes(store, reading), reading, expected=corpora)
    return {
        corpus: score(outcomes, matcher=matcher, bootstrap=bootstrap)
        for corpus, outcomes in groups.items()
        if not corpora or corpus in corpora
    }


def score(
    outcomes: Sequence[VideoOutcome], *, matcher: Matcher, bootstrap: int = RESAMPLES
) -> Evaluation:
    """Compute all metrics of different videos, with `bootstrap` resamples.

    Videos without annotation contribute to the metrics that need none.
    """
    videos = {outcome.video.video_id: _scored(outcome, matcher) for outcome in outcomes}
    scored = list(videos.values())
    judgements = [judgement for video in scored for judgement in video.judgements]
    costs: dict[str, float] = defaultdict(float)
    for call in (call for outcome in outcomes for call in outcome.llm_calls):
        costs[f"{call.stage}, {call.model}"] += call.cost_usd
    return Evaluation(
        figures=tuple(
            figure for measure in MEASURES for figure in measure.pooled(scored, bootstrap)
        ),
        judgements=tuple(judgements),
        per_video={
            video_id: tuple(measure.of_video(video) for measure in MEASURES)
            for video_id, video in videos.items()
        },
        matcher=matcher.rule,
        videos=len(videos),
        annotated=sum(outcome.truth is not None for outcome in outcomes),
        resamples=bootstrap,
        precision_recall=_precision_recall(scored),
        confusion=stances.confusion_matrix(judgements),
        reliability=stances.reliability_diagram(judgements),
        costs=dict(sorted(costs.items())),
    )


def _scored(outcome: VideoOutcome, matcher: Matcher) -> ScoredVideo:
    gold, video_id = outcome.truth, outcome.video.video_id
    if gold is None or not outcome.ran("claims"):
        # Without annotation every metric of claims is undefined.
        nothing = MatchedVideo("", (), (), ())
        return ScoredVideo(outcome, nothing, nothing, ())

    def matched_with_gold(system: Iterable[ClaimEntry]) -> MatchedVideo:
        claims = tuple(system)
        pairs = matcher.match([claim.text for claim in claims], [claim.text for claim in gold])
        return MatchedVideo(video_id, claims, gold, pairs)

    matched = matched_with_gold(
        ClaimEntry(text=claim.text, importance=claim.importance) for claim in outcome.claims
    )
    trivial = matched_with_gold(
        ClaimEntry(text=sentence) for sentence in _evenly_spaced_sentences(outcome)
    )
    judgements, levels = [], []
    for pair in matched.pairs if outcome.ran("verdicts") else ():
        annotated = gold[pair.gold]
        verdict = outcome.verdict_of.get(outcome.claims[pair.system].claim_id)
        stance, confidence = (verdict.stance, verdict.confidence_score) if verdict else (None, None)
        if annotated.stance is not None:
            judgements.append(Judgement(video_id, annotated.stance, stance, confidence))
        gold_level = veracity_of_annotation(annotated.label, annotated.stance)
        level = (verdict.veracity if verdict else None) or veracity_of(stance, confidence)
        if gold_level is not None and level is not None:
            levels.append(Judgement(video_id, gold_level, level))
    return ScoredVideo(outcome, matched, trivial, tuple(judgements), tuple(levels))


def _evenly_spaced_sentences(outcome: VideoOutcome) -> list[str]:
    """Return as many sentences as there are claims: the middle ones of equal parts of the talk."""
    # It loads numpy, which Dagster's definitions and help do not need.
    from factible_assets.reasoners.embedded.claims.sentences import split_sentences  # noqa: PLC0415

    if outcome.transcript is None:
        return []
    sentences = split_sentences(outcome.transcript.text, outcome.segments)
    count = min(len(outcome.claims), len(sentences))
    places = ((2 * part + 1) * len(sentences) // (2 * count) for part in range(count))
    return [sentences[place].text for place in places]


def _precision_recall(videos: Sequence[ScoredVideo]) -> tuple[DepthPoint, ...]:
    matched = [video.matched for video in videos]
    deepest = max((len(video.system) for video in matched), default=0)
    points = []
    for k in range(1, deepest + 1):
        precision, recall, f1 = (
            [metric(video, k).value for video in matched]
            for metric in (claims.precision_at_k, claims.recall_at_k, claims.f1_at_k)
        )
        defined = sum(value is not None for value in recall)
        points.append(DepthPoint(k, mean(precision), mean(recall), mean(f1), defined))
    return tuple(points)
