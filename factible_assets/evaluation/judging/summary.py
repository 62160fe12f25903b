"""What a judge said of a corpus, in figures: means by criterion, and agreement with people.

What belongs here: from judgements to figures. What does not: judging, printing, storing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from factible_assets.evaluation.figures import Interval, Ratio
from factible_assets.evaluation.intervals import RESAMPLES, pooled_interval
from factible_assets.evaluation.judging.agreement import Agreed, Pair, agreement
from factible_assets.evaluation.judging.criteria import Rubric
from factible_assets.evaluation.matching import ClaimMatcher
from factible_assets.evaluation.outcomes import VideoOutcome


class Scored(Protocol):
    """One judgement, as far as figures need it."""

    @property
    def video_id(self) -> str: ...  # noqa: D102
    @property
    def claim_id(self) -> str: ...  # noqa: D102
    @property
    def criterion(self) -> str: ...  # noqa: D102
    @property
    def score(self) -> int | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class CriterionFigures:
    """One criterion over all videos.

    Attributes:
        rubric: The criterion.
        n: Subjects with a score.
        without_score: Subjects whose judgement failed; in no mean.
        mean_score: Mean of the scores as given, from 0 to 2; None without any.
        mean: Mean of the normalised scores, from 0 (worst) to 1 (best); None without any.
        interval: Of `mean`, by bootstrap over videos.
        counts: How often each score was given, from 0 to 2.
        agreed: Agreement with people; empty if no claim carries their scores.
    """

    rubric: Rubric
    n: int
    without_score: int
    mean_score: float | None
    mean: float | None
    interval: Interval | None
    counts: tuple[int, int, int]
    agreed: tuple[Agreed, ...]


def figures(
    judgements: Iterable[Scored],
    rubrics: Sequence[Rubric],
    people: Mapping[str, Mapping[tuple[str, str], int]],
    *,
    resamples: int = RESAMPLES,
) -> tuple[CriterionFigures, ...]:
    """Return the figures of each criterion.

    Args:
        judgements: Each subject at most once per criterion.
        rubrics: The criteria.
        people: What people gave, see `human_scores`, by video.
        resamples: Draws of the bootstrap.
    """
    by_criterion: dict[str, list[Scored]] = defaultdict(list)
    for each in judgements:
        by_criterion[each.criterion].append(each)
    return tuple(
        _figures(rubric, by_criterion[rubric.name], people, resamples) for rubric in rubrics
    )


def human_scores(outcome: VideoOutcome, matcher: ClaimMatcher) -> Mapping[tuple[str, str], int]:
    """Return what people gave to a video's claims, by the system's claim and the criterion.

    Claims are matched with the annotated ones that carry scores.
    """
    scored = [entry for entry in outcome.truth or () if entry.human_scores is not None]
    claims = outcome.ordered_claims
    if not scored or not claims:
        return {}
    matching = matcher.match([each.text for each in claims], [each.text for each in scored])
    return {
        (claims[pair.system].claim_id, criterion): score
        for pair in matching.pairs
        for criterion, score in scored[pair.gold].given_scores.items()
    }


def _figures(
    rubric: Rubric,
    judgements: Sequence[Scored],
    people: Mapping[str, Mapping[tuple[str, str], int]],
    resamples: int,
) -> CriterionFigures:
    scores: dict[str, list[int]] = defaultdict(list)
    of_claim: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in judgements:
        if each.score is not None:
            scores[each.video_id].append(each.score)
            of_claim[each.video_id, each.claim_id].append(each.score)
    given = [score for values in scores.values() for score in values]
    ratios = [Ratio(sum(map(rubric.normalised, values)), len(values)) for values in scores.values()]
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for (video_id, claim_id), values in of_claim.items():
        person = people.get(video_id, {}).get((claim_id, rubric.name))
        if person is not None:
            # A person scores all queries, or all evidence, of a claim at once.
            pairs[video_id].append((sum(values) / len(values), person))
    return CriterionFigures(
        rubric=rubric,
        n=len(given),
        without_score=sum(each.score is None for each in judgements),
        mean_score=sum(given) / len(given) if given else None,
        mean=Ratio.pooled(ratios).value,
        interval=pooled_interval(ratios, resamples=resamples),
        counts=(given.count(0), given.count(1), given.count(2)),
        agreed=agreement(pairs, resamples=resamples) if pairs else (),
    )
