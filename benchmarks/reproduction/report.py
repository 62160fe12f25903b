"""Recomputes a published folder cell by cell, and averages over its videos."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.greedy import GreedyMatcher
from benchmarks.reproduction.cells import Cell, Computed, agreeing_digits, compare
from benchmarks.reproduction.layout import RATINGS, Evaluation, PublishedFolder, Run
from benchmarks.reproduction.recompute import (
    RECORDED,
    Recomputation,
    Values,
    evaluated_run,
    from_outputs,
    from_recorded,
    recorded_matching,
    system_claims,
    with_other_runs,
)
from benchmarks.shared import grouped
from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.matching import MatchingRule, Pair, Similarity
from factible_assets.evaluation.measures import macro, mean
from factible_assets.evaluation.metrics.stances import Judgement, accuracy, as_majority

HEADLINES: Final[Mapping[str, str]] = {
    "precision": "claim_extraction.precision",
    "recall": "claim_extraction.recall",
    "F1": "claim_extraction.f1_score",
    "MAP over hits": "claim_extraction.mean_average_precision",
    "recall of important": "claim_extraction.recall_at_important",
    "importance coverage": "claim_extraction.importance_weighted_coverage",
    "importance MAE": "claim_extraction.importance_mae",
    "stance accuracy": "verdict_accuracy.stance_accuracy",
    "retrieval success": "query_generation.evidence_retrieval_success_rate",
    "sources per query": "query_generation.avg_sources_per_query",
    "evidence per claim": "evidence_search.avg_evidence_per_claim",
    **{
        f"{name} sources": f"evidence_search.source_reliability_distribution.{name}"
        for name in RATINGS
    },
    "seconds": "end_to_end.total_time_seconds",
    "cost in USD": "end_to_end.total_cost_usd",
}
"""The metrics to average over videos, by their printed name."""

_JUDGED: Final = {
    "claim_extraction.claim_quality_avg",
    "verdict_accuracy.explanation_quality_avg",
    "query_generation.query_claim_relevance_avg",
    "evidence_search.evidence_relevance_avg",
}
_NEVER_FILLED: Final = {"verdict_accuracy.per_class_f1", "verdict_accuracy.confusion_matrix"}


@dataclass(frozen=True, slots=True)
class VideoResult:
    """One video at one setting.

    Attributes:
        source: The run whose outputs were used; None if only recorded matches were.
        matcher: The matcher of the claims.
        agreeing_matches: Matches both recorded and made here.
        all_matches: Matches recorded or made here.
    """

    setting: int
    video_id: str
    source: str | None
    matcher: MatchingRule
    cells: tuple[Cell, ...]
    judgements: tuple[Judgement, ...]
    agreeing_matches: int
    all_matches: int


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one setting over all its videos.

    Attributes:
        metric: The printed name.
        published: The mean of the published values.
        published_deviation: Their population standard deviation, as in the published tables.
        recomputed: The mean of the recomputed values, with its interval and baseline; undefined
            unless every video has one.
        deviation: Their population standard deviation.
        digits: Decimal places to which the two means agree.
        reproduced: Videos with a reproduced value.
        consistent: Videos whose value is one of several possible ones.
        videos: Videos with a published value.
    """

    metric: str
    published: float | None
    published_deviation: float | None
    recomputed: Figure
    deviation: float | None
    digits: int | None
    reproduced: int
    consistent: int
    videos: int


@dataclass(frozen=True, slots=True)
class SettingReport:
    setting: int
    videos: tuple[VideoResult, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class PublishedReport:
    """The recomputation of a folder; `problems` are sentences about unreadable files."""

    matcher: MatchingRule
    settings: tuple[SettingReport, ...]
    problems: tuple[str, ...]

    def cells(self) -> Iterator[Cell]:
        for setting in self.settings:
            for video in setting.videos:
                yield from video.cells


def recompute_published(folder: PublishedFolder, similarity: Similarity | None) -> PublishedReport:
    """Recompute every published value.

    Args:
        folder: The published folder.
        similarity: The measure of the greedy matcher; None takes the recorded matches instead.
    """
    if similarity is not None:
        similarity.remember(_all_texts(folder))
    problems = list(folder.problems)
    settings = tuple(
        _setting_report(folder, setting, similarity, problems) for setting in folder.settings
    )
    matcher = RECORDED if similarity is None else GreedyMatcher(similarity).rule
    return PublishedReport(matcher, settings, tuple(problems))


def _all_texts(folder: PublishedFolder) -> list[str]:
    """Return the texts of all claims to match again."""
    found = [
        evaluated_run(each, folder.runs.get((each.setting, each.video_id), ()))
        for each in folder.evaluations
    ]
    gold = [claim.text for claims in folder.gold.values() for claim in claims]
    return gold + [claim.text for run in found if run is not None for claim in system_claims(run)]


def _setting_report(
    folder: PublishedFolder, setting: int, similarity: Similarity | None, problems: list[str]
) -> SettingReport:
    videos = []
    for evaluation in folder.evaluations:
        if evaluation.setting != setting:
            continue
        gold = folder.gold.get(evaluation.video_id)
        if gold is None:
            problems.append(f"{evaluation.file}: not recomputed, for want of its ground truth.")
            continue
        videos.append(_video_result(folder, evaluation, gold, similarity))
    return SettingReport(setting, tuple(videos), tuple(_rows(videos)))


# --- One video ----------------------------------------------------------------------------------


def _video_result(
    folder: PublishedFolder,
    evaluation: Evaluation,
    gold: tuple[ClaimEntry, ...],
    similarity: Similarity | None,
) -> VideoResult:
    runs = folder.runs.get((evaluation.setting, evaluation.video_id), ())
    run = evaluated_run(evaluation, runs)
    if run is None:
        queries = _queries_per_claim(folder, evaluation.setting)
        recomputation = from_recorded(evaluation, gold, queries)
        recomputation = with_other_runs(recomputation, evaluation, runs)
        return _result(evaluation, None, recomputation, recomputation.video.pairs)
    system = system_claims(run)
    recorded = recorded_matching(evaluation, system, gold)
    if similarity is None:
        return _result(evaluation, run, from_outputs(evaluation, run, gold, recorded), recorded)
    texts = [claim.text for claim in system]
    by = GreedyMatcher(similarity)
    made = by.match(texts, [claim.text for claim in gold])
    recomputation = from_outputs(evaluation, run, gold, made, by.rule)
    result = _result(evaluation, run, recomputation, recorded)
    if all(cell.outcome != "differs" for cell in result.cells):
        return result
    remedy = from_outputs(evaluation, run, gold, recorded)
    alike = similarity.matrix(texts, [claim.text for claim in gold])
    told = _why_matches_differ(made, recorded, alike.tolist(), similarity.threshold)
    cells = tuple(_explained(evaluation, cell, remedy.values, told) for cell in result.cells)
    return replace(result, cells=cells)


def _queries_per_claim(folder: PublishedFolder, setting: int) -> int | None:
    """Return the queries per claim of all runs at a setting, if they agree."""
    counts = {
        run.queries_per_claim
        for (other, _), runs in folder.runs.items()
        if other == setting
        for run in runs
    } - {None}
    return counts.pop() if len(counts) == 1 else None


def _result(
    evaluation: Evaluation, run: Run | None, recomputation: Recomputation, recorded: Sequence[Pair]
) -> VideoResult:
    made, noted = set(recomputation.video.pairs), set(recorded)
    return VideoResult(
        setting=evaluation.setting,
        video_id=evaluation.video_id,
        source=None if run is None else run.name,
        matcher=recomputation.matcher,
        cells=tuple(_cells(evaluation, recomputation.values)),
        judgements=recomputation.judgements,
        agreeing_matches=len(made & noted),
        all_matches=len(made | noted),
    )


def _why_matches_differ(
    made: Sequence[Pair],
    recorded: Sequence[Pair],
    similarities: list[list[float]],
    threshold: float,
) -> str:
    ours, theirs = set(made), set(recorded)
    said = [
        f"claim {row + 1} and annotation {column + 1} are alike by {similarities[row][column]:.4f} "
        f"here and were {'matched' if (row, column) in theirs else 'not matched'} there"
        for row, column in sorted(ours ^ theirs)
    ]
    return f"{'; '.join(said)} (threshold {threshold:.2f})" if said else ""


def _explained(evaluation: Evaluation, cell: Cell, remedy: Values, told: str) -> Cell:
    """Explain a difference: the matches alone, or more."""
    if cell.outcome != "differs":
        return cell
    again = compare(
        evaluation.setting,
        evaluation.video_id,
        cell.metric,
        cell.published,
        remedy.get(cell.metric, Computed(None)),
    )
    if again.outcome in {"reproduced", "consistent"} and told:
        digits = "" if again.digits is None else f" to {again.digits} digits"
        return replace(cell, reason=f"{told}; from the recorded matches it is reproduced{digits}")
    return replace(cell, reason=told or cell.reason or "the published files contradict it")


def _cells(evaluation: Evaluation, values: Values) -> Iterator[Cell]:
    """Compare every recorded value with its recomputation, in the order of the file."""
    for metric, recorded in evaluation.flattened():
        published = None if metric in _NEVER_FILLED and not recorded else recorded
        computed = values.get(metric) or _not_computed(metric, published)
        yield compare(evaluation.setting, evaluation.video_id, metric, published, computed)


def _not_computed(metric: str, published: float | None) -> Computed:
    if published is None:
        return Computed(None, reason="the evaluator left it empty")
    if metric not in _JUDGED:
        return Computed(None, reason="no definition of it is known")
    if published:
        return Computed(
            None, reason="a language model judged it, and its answers were not published"
        )
    return Computed(
        None,
        reason="a language model would have judged it, and was not asked: 0 stands for nothing",
    )


# --- A setting ----------------------------------------------------------------------------------


def _rows(videos: Sequence[VideoResult]) -> Iterator[Row]:
    for name, metric in HEADLINES.items():
        cells = [cell for video in videos for cell in video.cells if cell.metric == metric]
        filled = [cell for cell in cells if cell.published is not None]
        if not filled:
            continue
        recorded = [cell.published for cell in filled if cell.published is not None]
        both = {cell.video_id: cell.recomputed for cell in filled if cell.recomputed is not None}
        # A mean over some of the videos is another figure than the published one.
        values = both if len(both) == len(filled) else {}
        baseline = _majority_baseline(videos) if name == "stance accuracy" else None
        figure = macro(name, values.values(), baseline=baseline)
        centre = mean(recorded)
        agree = None
        if centre is not None and figure.value is not None:
            agree = agreeing_digits(centre, figure.value)
        yield Row(
            metric=name,
            published=centre,
            published_deviation=_deviation(recorded),
            recomputed=figure,
            deviation=_deviation(list(values.values())),
            digits=agree,
            reproduced=sum(cell.outcome == "reproduced" for cell in filled),
            consistent=sum(cell.outcome == "consistent" for cell in filled),
            videos=len(filled),
        )


def _majority_baseline(videos: Sequence[VideoResult]) -> float | None:
    """Return the mean accuracy over videos of always giving the most frequent annotated stance."""
    judgements = [each for video in videos for each in video.judgements]
    scores = [accuracy(group).value or 0.0 for group in grouped(as_majority(judgements))]
    return mean(scores)


def _deviation(values: Sequence[float]) -> float | None:
    centre = mean(values)
    if centre is None:
        return None
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))
