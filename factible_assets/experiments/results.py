"""From the rows of an experiment to its figures.

What belongs here: handing each variant's rows to scoring, and laying the figures out for the main
warehouse. What does not: any metric (evaluation/), paired comparisons (comparison.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.intervals import RESAMPLES
from factible_assets.evaluation.matching import ClaimMatcher
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.experiments.plan import STAGES
from factible_assets.experiments.reading import Experiment
from factible_assets.experiments.runner import RunOutcome
from factible_assets.experiments.store import Findings, Ledger
from factible_assets.experiments.surroundings import choose, code_version
from factible_assets.settings import Settings
from warehouse.rows import to_utc


@dataclass(frozen=True, slots=True)
class Scored:
    """The evaluation of every variant, in the experiment's order."""

    evaluations: Mapping[str, Evaluation]

    @property
    def matcher(self) -> str:
        """By which rule claims were matched."""
        return next((str(each.matcher) for each in self.evaluations.values()), "none")


def score_variants(
    experiment: Experiment, ledger: Ledger, matcher: ClaimMatcher, *, bootstrap: int = RESAMPLES
) -> Scored:
    """Score every variant on the videos that it has verdicts for.

    A video that failed is in no figure, and is counted in `experiment_variants.failed_videos`.
    """
    return Scored(
        {
            variant.name: score(
                _outcomes(experiment, variant.name, ledger), matcher=matcher, bootstrap=bootstrap
            )
            for variant in experiment.variants
        }
    )


def findings(
    experiment: Experiment,
    settings: Settings,
    ran: RunOutcome,
    ledger: Ledger,
    scored: Scored,
    *,
    started_at: datetime,
) -> Findings:
    """Lay the figures out as rows of the main warehouse."""
    name = experiment.name
    names = {variant.name for variant in experiment.variants}
    ids = {listed.video.video_id for listed in experiment.videos}
    return Findings(
        experiment=(
            name,
            experiment.description,
            str(experiment.file),
            str(ledger.path.relative_to(settings.home)),
            experiment.baseline,
            scored.matcher,
            code_version(),
            len(experiment.videos),
            to_utc(started_at),
            to_utc(datetime.now(UTC)),
        ),
        variants=tuple(_variant_rows(experiment, settings, ran)),
        sets=tuple(
            astuple(each)
            for each in ledger.all_known()
            if each.variant in names and each.video_id in ids
        ),
        results=tuple(
            (name, variant, *_figure(each), scored.matcher)
            for variant, evaluation in scored.evaluations.items()
            for each in evaluation.figures
        ),
        video_results=tuple(
            (name, variant, video_id, each.name, each.value, each.n, each.unit)
            for variant, evaluation in scored.evaluations.items()
            for video_id, figures in evaluation.per_video.items()
            for each in figures
        ),
    )


def _variant_rows(
    experiment: Experiment, settings: Settings, ran: RunOutcome
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for position, variant in enumerate(experiment.variants, start=1):
        choice = choose(variant, settings, None)
        failed = sum(each.variant == variant.name for each in ran.failures)
        rows.append(
            (
                experiment.name,
                variant.name,
                position,
                variant.name == experiment.baseline,
                json.dumps(dict(variant.values)),
                choice.reasoner,
                json.dumps(dict(choice.models)),
                len(experiment.videos) - failed,
                failed,
            )
        )
    return rows


def _figure(figure: Figure) -> tuple[object, ...]:
    interval = figure.interval
    return (
        figure.name,
        figure.averaging,
        figure.value,
        figure.n,
        figure.unit,
        interval.low if interval else None,
        interval.high if interval else None,
        interval.level if interval else None,
        figure.baseline,
    )


# --- Rows as scoring takes them -----------------------------------------------------------------


def _outcomes(experiment: Experiment, variant: str, ledger: Ledger) -> list[VideoOutcome]:
    return [
        outcome_of(ledger, variant, listed.video.video_id, listed.claims)
        for listed in experiment.videos
        if _is_done(ledger, variant, listed.video.video_id)
    ]


def _is_done(ledger: Ledger, variant: str, video_id: str) -> bool:
    known = [ledger.known(variant, video_id, stage) for stage in STAGES]
    return all(each is not None and each.status != "failed" for each in known)


def outcome_of(
    ledger: Ledger, variant: str, video_id: str, truth: tuple[ClaimEntry, ...] | None
) -> VideoOutcome:
    """Return everything that one variant knows of one video."""
    held = ledger.read(video_id, dict.fromkeys(("transcripts", *STAGES), variant))
    verdicts = ledger.known(variant, video_id, "verdicts")
    return VideoOutcome(
        **held.parts(),
        truth=truth,
        first_verdict_seconds=verdicts.first_verdict_seconds if verdicts else None,
    )
