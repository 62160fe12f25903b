"""An experiment from beginning to end: run, scored, kept for analysts.

What belongs here: handing each variant's rows to scoring, laying the figures out for the main
warehouse, the order of these steps. What does not: any metric (evaluation/), paired comparisons
(comparison.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.figures import RESAMPLES
from factible_assets.evaluation.matching import ClaimMatcher, default_matcher
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.evaluation.tables import columns_of
from factible_assets.experiments.plan import STAGES
from factible_assets.experiments.reading import Experiment
from factible_assets.experiments.runner import (
    DEFAULT_JOBS,
    Ledger,
    RunOutcome,
    StageSet,
    Watcher,
    experiment_file,
    run_experiment,
)
from factible_assets.experiments.surroundings import choose, code_version
from factible_assets.settings import Settings
from warehouse.store import Warehouse


def conduct(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int = DEFAULT_JOBS,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> RunOutcome:
    """Run an experiment, score its variants, and put the figures where analysts look.

    Raises:
        ExperimentError: Another process runs it.
        SetupError: A variant asks for a service that is not set up.
    """
    started = datetime.now(UTC)
    ran, ledger = run_experiment(
        experiment, corpora, settings, jobs=jobs, fresh=fresh, watcher=watcher
    )
    scored = score_variants(experiment, ledger, default_matcher())
    main = Warehouse(settings.warehouse)
    rows = findings(experiment, settings, ran, ledger, scored, started_at=started)
    main.write_rows(rows, replacing=("experiment", experiment.name))
    main.publish(settings.published)
    return ran


def score_variants(
    experiment: Experiment, ledger: Ledger, matcher: ClaimMatcher, *, bootstrap: int = RESAMPLES
) -> dict[str, Evaluation]:
    """Score every variant, in the experiment's order, on the videos that it has verdicts for.

    A video that failed is in no figure, and is counted in `experiment_variants.failed_videos`.
    """
    evaluations = {}
    for variant in experiment.variants:
        outcomes = []
        for listed in experiment.videos:
            video_id = listed.video.video_id
            known = [ledger.known(variant.name, video_id, stage) for stage in STAGES]
            if all(each is not None and each.status != "failed" for each in known):
                outcomes.append(outcome_of(ledger, variant.name, video_id, listed.claims))
        evaluations[variant.name] = score(outcomes, matcher=matcher, bootstrap=bootstrap)
    return evaluations


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


def findings(
    experiment: Experiment,
    settings: Settings,
    ran: RunOutcome,
    ledger: Ledger,
    scored: Mapping[str, Evaluation],
    *,
    started_at: datetime,
) -> dict[str, Sequence[StageSet | Mapping[str, Any]]]:
    """Lay the figures out as rows of the main warehouse, by table."""
    name = experiment.name
    names = {variant.name for variant in experiment.variants}
    ids = {listed.video.video_id for listed in experiment.videos}
    matcher = next(str(each.matcher) for each in scored.values())
    head = {
        "experiment": name,
        "description": experiment.description,
        "file": str(experiment.file),
        "warehouse": str(ledger.path.relative_to(settings.home)),
        "baseline": experiment.baseline,
        "matcher": matcher,
        "code_version": code_version(),
        "videos": len(experiment.videos),
        "started_at": started_at,
        "finished_at": datetime.now(UTC),
    }
    variants, results, of_videos = [], [], []
    for position, variant in enumerate(experiment.variants, start=1):
        choice = choose(variant, settings, None)
        failed = sum(each.variant == variant.name for each in ran.failures)
        place: dict[str, Any] = {"experiment": name, "variant": variant.name}
        variants.append(
            place
            | {
                "position": position,
                "is_baseline": variant.name == experiment.baseline,
                "settings": json.dumps(dict(variant.values)),
                "reasoner": choice.reasoner,
                "models": json.dumps(dict(choice.models)),
                "videos": len(experiment.videos) - failed,
                "failed_videos": failed,
            }
        )
        evaluation = scored[variant.name]
        results += [
            place | columns_of(each) | {"trivial": each.baseline, "matcher": matcher}
            for each in evaluation.figures
        ]
        of_videos += [
            place
            | {
                "video_id": video_id,
                "metric": each.name,
                "value": each.value,
                "n": each.n,
                "unit": each.unit,
            }
            for video_id, figures in evaluation.per_video.items()
            for each in figures
        ]
    known = [each for each in ledger.all_known() if each.variant in names and each.video_id in ids]
    return {
        "experiments": [head],
        "experiment_variants": variants,
        "experiment_sets": known,
        "experiment_results": results,
        "experiment_video_results": of_videos,
    }


def scored_again(experiment: Experiment, settings: Settings) -> dict[str, Evaluation]:
    """Return the evaluation of each variant, without intervals; none where the rows are gone."""
    file = experiment_file(settings, experiment.name)
    if not file.exists():
        return {}
    ledger = Ledger(experiment.name, file)
    return score_variants(experiment, ledger, default_matcher(), bootstrap=1)
