"""Scores the variants of an experiment, and writes their figures to the main warehouse."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.matching import default_matcher
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.evaluation.tables import columns_of
from factible_assets.records.tables import Evidence
from factible_assets.runs.experiments.plan import STAGES, Experiment
from factible_assets.runs.experiments.runner import VariantOutcome, Watcher, run_experiment
from factible_assets.runs.experiments.stage_keys import code_version
from factible_assets.runs.experiments.store import ExperimentStore, experiment_file
from factible_assets.runs.experiments.variant_services import choose
from factible_assets.settings import Settings
from resources.statements import statements
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs.experiments", "experiments.sql")


def run_and_score(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int = 4,
    fresh: bool = False,
    watcher: Watcher = lambda _: None,
) -> list[VariantOutcome]:
    """Run an experiment, and write the figures of its variants to the main warehouse."""
    started = datetime.now(UTC)
    checks, store = run_experiment(
        experiment, corpora, settings, jobs=jobs, fresh=fresh, watcher=watcher
    )
    main = Warehouse(settings.warehouse)
    rows = _result_rows(experiment, settings, checks, store, started)
    main.write_rows(rows, replacing=("experiment", experiment.name))
    main.publish(settings.published)
    return checks


def _result_rows(
    experiment: Experiment,
    settings: Settings,
    checks: Sequence[VariantOutcome],
    store: ExperimentStore,
    started_at: datetime,
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the main warehouse, by table."""
    matcher, rule = default_matcher(), str(default_matcher().rule)
    variants, results, video_results = [], [], []
    for position, variant in enumerate(experiment.variants, start=1):
        choice = choose(variant, settings, None)
        failed = {
            check.video_id for check in checks if check.variant == variant.name and check.failure
        }
        key = {"experiment": experiment.name, "variant": variant.name}
        variants.append(
            {
                **key,
                "position": position,
                "is_baseline": variant.name == experiment.baseline,
                "settings": json.dumps(dict(variant.values)),
                "reasoner": _reasoner_words(choice.made_by),
                "models": json.dumps(dict(choice.models)),
                "videos": len(experiment.videos) - len(failed),
                "failed_videos": len(failed),
            }
        )
        evaluation = score(_outcomes(experiment, store, variant.name, failed), matcher=matcher)
        results += [
            key | columns_of(figure) | {"trivial": figure.baseline, "matcher": rule}
            for figure in evaluation.figures
        ]
        video_results += [
            {**key, "video_id": video_id, "metric": figure.name}
            | {column: getattr(figure, column) for column in ("value", "n", "unit")}
            for video_id, figures in evaluation.per_video.items()
            for figure in figures
        ]
    head = {
        "experiment": experiment.name,
        "description": experiment.description,
        "file": str(experiment.file),
        "warehouse": str(store.path.relative_to(settings.home)),
        "baseline": experiment.baseline,
        "matcher": rule,
        "code_version": code_version(),
        "videos": len(experiment.videos),
        "started_at": started_at,
        "finished_at": datetime.now(UTC),
    }
    return {
        "experiments": [head],
        "experiment_variants": variants,
        "experiment_sets": _sets(experiment, checks, store),
        "experiment_results": results,
        "experiment_video_results": video_results,
    }


def _sets(
    experiment: Experiment, checks: Sequence[VariantOutcome], store: ExperimentStore
) -> list[dict[str, Any]]:
    """Return the stages of this run, and of a failed check only the stage that failed."""
    succeeded = {(check.variant, check.video_id) for check in checks if check.failure is None}
    stored = [row for row in store.stages() if (row["variant"], row["video_id"]) in succeeded]
    return stored + [
        {
            "experiment": experiment.name,
            "variant": check.variant,
            "video_id": check.video_id,
            "asset": STAGES[len(check.shared) + len(check.kept)],
            "stage_key": "",
            "source": check.variant,
            "status": "failed",
            "reason": check.failure,
        }
        for check in checks
        if check.failure is not None
    ]


def _outcomes(
    experiment: Experiment, store: ExperimentStore, variant: str, failed: Collection[str]
) -> list[VideoOutcome]:
    """Return the outcome of each video for which the variant has verdicts."""
    outcomes = []
    for listed in experiment.videos:
        video_id = listed.video.video_id
        if video_id not in failed and all(store.has(variant, video_id, stage) for stage in STAGES):
            rows = store.read(video_id, dict.fromkeys(("transcripts", *STAGES), variant))
            baseline: Sequence[Evidence] = ()
            if variant != experiment.baseline:
                baseline = store.read(video_id, {"evidence": experiment.baseline}).evidence
            outcome = VideoOutcome(
                **rows.parts(),
                truth=listed.claims,
                first_verdict_seconds=rows.sets["verdicts"].first_result_seconds,
                baseline_evidence=baseline,
            )
            outcomes.append(outcome)
    return outcomes


def scored_again(experiment: Experiment, settings: Settings) -> dict[str, Evaluation]:
    """Score every variant without intervals; empty if the experiment's file is gone."""
    file = experiment_file(settings, experiment.name)
    if not file.exists():
        return {}
    rows = Warehouse(settings.warehouse).rows(_SQL["failed_videos"], [experiment.name])
    store, matcher, evaluations = ExperimentStore(file), default_matcher(), {}
    for name in (variant.name for variant in experiment.variants):
        failed = {row["video_id"] for row in rows if row["variant"] == name}
        outcomes = _outcomes(experiment, store, name, failed)
        evaluations[name] = score(outcomes, matcher=matcher, bootstrap=1)
    return evaluations


def _reasoner_words(made_by: Mapping[str, str]) -> str:
    """Return the reasoner of all stages in one word, or of each stage if they differ."""
    llm = {stage for stage, maker in made_by.items() if maker == "llm"}
    if len(llm) in {0, len(made_by)}:
        return "llm" if llm else f"embedded, {made_by['evidence']}"
    return ", ".join(f"{stage}: {maker}" for stage, maker in made_by.items())
