"""Summarises a judge's scores: means by criterion, and agreement with human scores.

Kappa and the rank correlation are undefined (None) if all scores are the same.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from factible_assets.evaluation.figures import (
    Figure,
    Interval,
    Ratio,
    pooled_interval,
    statistic_interval,
)
from factible_assets.evaluation.judging.judge import Rubric
from factible_assets.evaluation.matching import Matcher
from factible_assets.evaluation.metrics.claims import spearman
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.records.tables import JudgementRow

ScorePair = tuple[float, int]
"""The judge's score, possibly a mean of several, and the human score of the same item."""


def agreement(videos: Mapping[str, Sequence[ScorePair]]) -> tuple[Figure, ...]:
    """Return exact agreement, quadratic-weighted kappa and Spearman's rank correlation.

    The intervals resample whole videos. The baseline always gives the most frequent human score.
    """
    groups = [pairs for pairs in videos.values() if pairs]
    pairs = [pair for group in groups for pair in group]

    def agreed(
        name: str, of: Callable[[Sequence[ScorePair]], float | None], baseline: float | None = None
    ) -> Figure:
        interval = statistic_interval(groups, of)
        return Figure(name, of(pairs), len(pairs), "scores", interval, baseline, "micro")

    return (
        agreed("exact agreement", exact_agreement, commonest_share(pairs)),
        agreed("weighted kappa", weighted_kappa),
        agreed("Spearman", spearman),
    )


def rounded(score: float) -> int:
    """Round a mean of scores to a whole score, halves up."""
    return math.floor(score + 0.5)


def exact_agreement(pairs: Sequence[ScorePair]) -> float | None:
    """Return the share of pairs with the same score; None if there are none."""
    return Ratio(sum(rounded(judge) == human for judge, human in pairs), len(pairs)).value


def commonest_share(pairs: Sequence[ScorePair]) -> float | None:
    """Return the share of the most frequent human score; None without scores."""
    counts = Counter(human for _, human in pairs)
    return counts.most_common(1)[0][1] / len(pairs) if pairs else None


def weighted_kappa(pairs: Sequence[ScorePair]) -> float | None:
    """Return Cohen's kappa with quadratic weights (Cohen, 1968).

    `1 - sum(w * observed) / sum(w * expected)` with `w = (i - j)^2`, over all pairs of levels, and
    the expected counts from the margins. None where no disagreement is expected: without pairs, or
    if all scores are the same.
    """
    n = len(pairs)
    observed = math.fsum((rounded(judge) - human) ** 2 for judge, human in pairs)
    judges = Counter(rounded(judge) for judge, _ in pairs)
    humans = Counter(human for _, human in pairs)
    expected = math.fsum((i - j) ** 2 * judges[i] * humans[j] / n for i in judges for j in humans)
    return 1 - observed / expected if expected else None


@dataclass(frozen=True, slots=True)
class CriterionFigures:
    """The figures of one criterion over all videos.

    `subject`, `better` and `source` are those of the rubric. `n` items have a score, and
    `without_score` have none; `counts` are by level. `mean_normalised` goes from 0 (worst) to 1
    (best); `interval` is its bootstrap interval over videos.
    """

    subject: str
    better: str
    source: str
    criterion: str
    n: int
    without_score: int
    mean_score: float | None
    mean_normalised: float | None
    interval: Interval | None
    counts: Mapping[str, int]
    agreement: tuple[Figure, ...]


def figures(
    judgements: Iterable[JudgementRow],
    rubrics: Sequence[Rubric],
    human: Mapping[str, Mapping[tuple[str, str], int]],
) -> tuple[CriterionFigures, ...]:
    """Return the figures of each criterion.

    A subject, such as one query of a claim, has at most one judgement per criterion. `human` has
    the human scores (see `human_scores`) by video.
    """
    listed = list(judgements)
    return tuple(
        _figures_of(rubric, [score for score in listed if score.criterion == rubric.name], human)
        for rubric in rubrics
    )


def _figures_of(
    rubric: Rubric,
    judgements: Sequence[JudgementRow],
    human: Mapping[str, Mapping[tuple[str, str], int]],
) -> CriterionFigures:
    by_video: dict[str, list[int]] = defaultdict(list)
    by_claim: dict[tuple[str, str], list[int]] = defaultdict(list)
    for judgement in judgements:
        if judgement.score is not None:
            by_video[judgement.video_id].append(judgement.score)
            by_claim[judgement.video_id, judgement.claim_id].append(judgement.score)
    scores = [score for values in by_video.values() for score in values]
    ratios = [
        Ratio(sum(map(rubric.normalised, values)), len(values)) for values in by_video.values()
    ]
    pairs: dict[str, list[ScorePair]] = defaultdict(list)
    for (video_id, claim_id), values in by_claim.items():
        score = human.get(video_id, {}).get((claim_id, rubric.name))
        if score is not None:
            # One human score is for all queries, or all evidence, of a claim.
            pairs[video_id].append((sum(values) / len(values), score))
    return CriterionFigures(
        subject=rubric.subject,
        better=rubric.better,
        source=rubric.source,
        criterion=rubric.name,
        n=len(scores),
        without_score=len(judgements) - len(scores),
        mean_score=sum(scores) / len(scores) if scores else None,
        mean_normalised=Ratio.pooled(ratios).value,
        interval=pooled_interval(ratios),
        counts={word: scores.count(score) for score, word in enumerate(rubric.levels)},
        agreement=agreement(pairs) if pairs else (),
    )


def human_scores(outcome: VideoOutcome, matcher: Matcher) -> Mapping[tuple[str, str], int]:
    """Return the human scores by system claim and criterion.

    System claims are matched with the corpus's claims that have human scores.
    """
    scored = [entry for entry in outcome.truth or () if entry.human_scores]
    claims = outcome.claims
    if not scored or not claims:
        return {}
    pairs = matcher.match([claim.text for claim in claims], [claim.text for claim in scored])
    return {
        (claims[pair.system].claim_id, criterion): score
        for pair in pairs
        for criterion, score in scored[pair.gold].human_scores.items()
    }
