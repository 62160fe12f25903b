"""Runs an experiment: checks each video in each variant, shares equal work, and scores the rows.

An experiment is no Dagster run, because its materializations would become the newest ones of the
production assets. Its rows stand in a DuckDB file of its own, with the variant's name as `run_id`.
Variants of a video run one after the other, so that a variant finds the stages that it shares with
another; videos run at once. The file keeps complete stages, and the next run goes on from them.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from filelock import FileLock, Timeout

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.errors import first_of
from factible_assets.evaluation.figures import RESAMPLES
from factible_assets.evaluation.matching import ClaimMatcher, default_matcher
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.evaluation.tables import columns_of
from factible_assets.pipeline.assets.claim_results import asset_rows
from factible_assets.pipeline.resources import RunContext, open_services
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, Evidence, Query, Record, Search, Verdict
from factible_assets.runs.experiments import surroundings
from factible_assets.runs.experiments.plan import STAGES, Experiment, ExperimentError
from factible_assets.settings import Settings
from factible_assets.stages.flow import Strategy, check_claims, extract_claims
from factible_assets.stages.ports import Observer, ReasonerOutageError, ReasonerRefusalError
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.strategies import strategy_named
from resources.errors import SetupError
from resources.statements import statements
from resources.storage.imports import ArchiveError
from warehouse.publication import remove_database
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

DEFAULT_JOBS = 4
"""Videos that run at once."""

_log = logging.getLogger(__name__)
_SQL = statements("factible_assets.runs.experiments", "experiments.sql")


# --- The file of an experiment ------------------------------------------------------------------


def experiment_file(settings: Settings, name: str) -> Path:
    return settings.home / "experiments" / f"{name}.duckdb"


class ExperimentStore:
    """The rows of one experiment. A set of rows has the key of its stage as its `code_version`.

    If an earlier process left a check incomplete, its sets from the first stage with a failed
    service on count as missing, and the next run computes them again. Within a process variants
    share such sets, because a fair comparison needs the same state of the world. With `fresh`, all
    sets of earlier processes count as missing.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self._warehouse = Warehouse(path)
        self._keys: dict[tuple[str, str], dict[str, str]] = {}
        """By video and stage: the key of each variant's set."""
        if path.exists() and not fresh:
            for variant, video_id, stage, key in self._warehouse.query(_SQL["usable_sets"]).rows():
                self._keys.setdefault((video_id, stage), {})[variant] = key

    def has(self, variant: str, video_id: str, stage: str) -> bool:
        return variant in self._keys.get((video_id, stage), {})

    def holders(
        self, variant: str, video_id: str, keys: Mapping[str, str], strategy: Strategy
    ) -> dict[str, str]:
        """Return the stages that need no work, each with the variant whose set has its key.

        These are the first stages up to a missing one. `variant` is preferred. A strategy that goes
        through the stages in rounds needs all of them, or only the claims.
        """
        found: dict[str, str] = {}
        for stage in STAGES:
            known = self._keys.get((video_id, stage), {})
            names = [name for name, key in known.items() if key == keys[stage]]
            if not names:
                break
            found[stage] = variant if variant in names else names[0]
        if strategy.in_rounds and len(found) < len(STAGES):
            return {stage: name for stage, name in found.items() if stage == STAGES[0]}
        return found

    def note(
        self, variant: str, video_id: str, keys: Mapping[str, str], stages: Iterable[str]
    ) -> None:
        """Count the sets of some stages as stored."""
        for stage in stages:
            self._keys.setdefault((video_id, stage), {})[variant] = keys[stage]

    def read(self, video_id: str, holders: Mapping[str, str]) -> VideoRows:
        """Return the rows of some stages, each from the variant named for it."""
        return self._warehouse.read_sets(video_id, holders)

    def write(
        self, variant: str, video_id: str, keys: Mapping[str, str], sets: Mapping[Any, AssetRows]
    ) -> None:
        """Store sets of rows by stage, each under its key, in one transaction."""
        keyed = {stage: replace(rows, code_version=keys[stage]) for stage, rows in sets.items()}
        stamp = Stamp(run_id=variant, checked_at=datetime.now(UTC))
        self._warehouse.write_assets(video_id, keyed, stamp=stamp)
        self.note(variant, video_id, keys, sets)


# --- A run --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VariantOutcome:
    """The end of one variant on one video.

    Its stages were `computed`, `shared` with another variant, or `kept` from an earlier process.
    `incomplete` is 1 if services failed; `failure` is a sentence if there are no verdicts.
    """

    variant: str
    video_id: str
    computed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    incomplete: int = 0
    failure: str | None = None


Watcher = Callable[[VariantOutcome], None]


def run_experiment(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int = DEFAULT_JOBS,
    fresh: bool = False,
    watcher: Watcher = lambda _: None,
) -> tuple[list[VariantOutcome], ExperimentStore]:
    """Run all variants on all videos, `jobs` videos at once.

    Raises ExperimentError: Another process runs the same experiment.
    Raises SetupError: A variant needs a service without its setup. Nothing runs then.
    """
    # A missing key must cost nothing.
    choices = {
        (variant.name, listed.video.video_id): surroundings.choose(variant, settings, listed.web)
        for variant in experiment.variants
        for listed in experiment.videos
    }
    if missing := [sentence for each in choices.values() for sentence in each.missing]:
        raise SetupError(missing[0])
    stage_keys, slots = surroundings.StageKeys(settings), asyncio.Semaphore(jobs)

    async def on_video(listed: CorpusVideo, store: ExperimentStore) -> list[VariantOutcome]:
        video_id = listed.video.video_id
        said, failure = None, ""
        outcomes = []
        async with slots:
            try:
                said = await surroundings.transcript_of(video_id, corpora, settings, store.path)
            except ExperimentError as error:
                failure = str(error)
            for variant in experiment.variants:
                outcome = VariantOutcome(variant.name, video_id, failure=failure)
                if said is not None:
                    choice = choices[variant.name, video_id]
                    config = variant.config.limited_to(listed.entry.published_before)
                    keys = stage_keys.of(config, said, choice, listed.given_claims)
                    names = experiment.name, variant.name
                    outcome = await _Check(*names, config, said, keys, choice, listed, store).run()
                watcher(outcome)
                outcomes.append(outcome)
        return outcomes

    async def on_all(store: ExperimentStore) -> list[VariantOutcome]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(on_video(each, store)) for each in experiment.videos]
        return [outcome for task in tasks for outcome in task.result()]

    file = experiment_file(settings, experiment.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(file.with_suffix(".lock"), timeout=0):
            if fresh:
                remove_database(file)
            store = ExperimentStore(file)
            return asyncio.run(on_all(store)), store
    except ExceptionGroup as group:
        raise first_of(group) from group
    except Timeout as error:
        raise ExperimentError(
            f"Another process runs the experiment {experiment.name}. Wait for it, or stop it and "
            "run the same command, which resumes the experiment."
        ) from error


class _Timer(Observer):
    """Measures the seconds to the first verdict."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self.seconds: float | None = None

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        if self.seconds is None:
            self.seconds = perf_counter() - self._started


@dataclass(frozen=True, slots=True)
class _Check:
    """One variant on one video."""

    experiment: str
    variant: str
    config: FactCheckConfig
    said: VideoRows
    keys: Mapping[str, str]
    choice: surroundings.VariantServices
    listed: CorpusVideo
    store: ExperimentStore

    async def run(self) -> VariantOutcome:
        """Reuse the stored stages up to the first missing one, and compute the others."""
        video_id, strategy = self.said.video.video_id, strategy_named(self.config.strategy)
        holders = self.store.holders(self.variant, video_id, self.keys, strategy)
        missing = STAGES[len(holders) :]
        shared = tuple(stage for stage, name in holders.items() if name != self.variant)
        held, failure = VideoRows(), None
        if shared or (holders and missing):
            held = await asyncio.to_thread(self.store.read, video_id, holders)
        if shared:
            copies = {
                stage: replace(
                    AssetRows(held.of_asset(stage), "", held.sets[stage].data_version),
                    duration_seconds=held.sets[stage].duration_seconds,
                )
                for stage in shared
            }
            await self._write(copies)
        verdicts: Sequence[Verdict] = held.verdicts
        try:
            if missing:
                verdicts = await self._compute(missing, held, strategy)
        except (ReasonerOutageError, ReasonerRefusalError) as error:
            failure = f"No claims could be extracted: {error.reason}"
        except (SetupError, ArchiveError) as error:
            failure = str(error)
        is_incomplete = not failure and any(each.status == "incomplete" for each in verdicts)
        kept = tuple(stage for stage in holders if stage not in shared)
        computed = () if failure else missing
        return VariantOutcome(
            self.variant, video_id, computed, shared, kept, int(is_incomplete), failure
        )

    async def _compute(
        self, missing: Sequence[str], held: VideoRows, strategy: Strategy
    ) -> Sequence[Verdict]:
        """Compute and store the missing stages."""
        timer, said, claims = _Timer(), self.said, held.claims
        # Each variant has a budget of its own for each video.
        subject = f"{said.video.video_id} in the variant {self.variant}"
        async with open_services(
            self.choice.settings,
            observer=timer,
            run=RunContext(f"experiment {self.experiment}", subject, _log),
            reasoners=self.choice.reasoners,
            web=self.choice.web,
            listed=self.listed,
            pages_rating=self.config.search.pages_rating,
        ) as services:
            if "claims" in missing:
                given, options = self.listed.given_claims, self.config.claims
                found = await extract_claims(
                    said.video, said.transcripts[0], said.segments, services, options, given=given
                )
                claims = tuple(found.claims)
                rows = [*claims, *found.llm_calls]
                await self._write({"claims": AssetRows(rows, "", duration_seconds=found.seconds)})
            stages = tuple(each for each in ALL_STAGES if each in missing)
            result = await check_claims(
                said.video,
                claims,
                services,
                self.config,
                stages=stages,
                known=held,
                strategy=strategy,
            )
        # With reused stages, the time to the first verdict would say nothing.
        first = timer.seconds if missing == STAGES else None
        sets = {each: asset_rows(each, result) for each in stages}
        sets["verdicts"] = replace(sets["verdicts"], first_result_seconds=first)
        await self._write(sets)
        return result.verdicts

    async def _write(self, sets: Mapping[Any, AssetRows]) -> None:
        if "claims" in sets:
            sets = {"transcripts": AssetRows(self.said.of_asset("transcripts"), ""), **sets}
        video_id = self.said.video.video_id
        await asyncio.to_thread(self.store.write, self.variant, video_id, self.keys, sets)


# --- The results --------------------------------------------------------------------------------


def run_and_score(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int = DEFAULT_JOBS,
    fresh: bool = False,
    watcher: Watcher = lambda _: None,
) -> list[VariantOutcome]:
    """Run an experiment, and write the figures of its variants to the main warehouse."""
    started = datetime.now(UTC)
    ran, store = run_experiment(
        experiment, corpora, settings, jobs=jobs, fresh=fresh, watcher=watcher
    )
    main = Warehouse(settings.warehouse)
    rows = _result_rows(experiment, settings, ran, store, started)
    main.write_rows(rows, replacing=("experiment", experiment.name))
    main.publish(settings.published)
    return ran


def _result_rows(
    experiment: Experiment,
    settings: Settings,
    ran: Sequence[VariantOutcome],
    store: ExperimentStore,
    started_at: datetime,
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the main warehouse, by table."""
    name, matcher = experiment.name, default_matcher()
    failures = {(each.variant, each.video_id): each for each in ran if each.failure is not None}
    sources: dict[tuple[str, str, str], str] = {}
    tables: dict[str, list[dict[str, Any]]] = {
        "experiments": [
            {
                "experiment": name,
                "description": experiment.description,
                "file": str(experiment.file),
                "warehouse": str(store.path.relative_to(settings.home)),
                "baseline": experiment.baseline,
                "matcher": str(matcher.rule),
                "code_version": surroundings.code_version(),
                "videos": len(experiment.videos),
                "started_at": started_at,
                "finished_at": datetime.now(UTC),
            }
        ],
        "experiment_variants": [],
        "experiment_sets": [],
        "experiment_results": [],
        "experiment_video_results": [],
    }
    for position, variant in enumerate(experiment.variants, start=1):
        choice = surroundings.choose(variant, settings, None)
        place: dict[str, Any] = {"experiment": name, "variant": variant.name}
        failed = {video_id for known, video_id in failures if known == variant.name}
        described = {
            "position": position,
            "is_baseline": variant.name == experiment.baseline,
            "settings": json.dumps(dict(variant.values)),
            "reasoner": _reasoner_words(choice.made_by),
            "models": json.dumps(dict(choice.models)),
            "videos": len(experiment.videos) - len(failed),
            "failed_videos": len(failed),
        }
        tables["experiment_variants"].append(place | described)
        for video_id in failed:
            end = failures[variant.name, video_id]
            stage = STAGES[len(end.shared) + len(end.kept)]
            told = {"video_id": video_id, "asset": stage, "stage_key": "", "source": variant.name}
            why = {"status": "failed", "reason": end.failure or "no transcript"}
            tables["experiment_sets"].append(place | told | why)
        outcomes = list(_outcomes(experiment, store, variant.name, failed))
        for outcome in outcomes:
            tables["experiment_sets"] += _set_rows(place, outcome, sources)
        evaluation = score(outcomes, matcher=matcher)
        tables["experiment_results"] += [
            place | columns_of(each) | {"trivial": each.baseline, "matcher": str(matcher.rule)}
            for each in evaluation.figures
        ]
        tables["experiment_video_results"] += [
            place
            | {"video_id": video_id, "metric": each.name}
            | {column: getattr(each, column) for column in ("value", "n", "unit")}
            for video_id, figures in evaluation.per_video.items()
            for each in figures
        ]
    return tables


def _set_rows(
    place: Mapping[str, str], outcome: VideoOutcome, sources: dict[tuple[str, str, str], str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `experiment_sets`; `sources` has the first variant with a key."""
    for stage in STAGES:
        whole, video_id = outcome.sets[stage], outcome.video.video_id
        status, reason = status_of(outcome.of_asset(stage))
        known = (video_id, stage, whole.code_version)
        yield {
            **place,
            "video_id": video_id,
            "asset": stage,
            "stage_key": whole.code_version,
            "source": sources.setdefault(known, place["variant"]),
            "status": status,
            "reason": reason,
            "duration_seconds": whole.duration_seconds,
            "first_verdict_seconds": outcome.first_verdict_seconds if stage == "verdicts" else None,
        }


def status_of(rows: Sequence[Record]) -> tuple[str, str | None]:
    """Return `ok`, or `incomplete` and the reason if a service failed for a part of a set."""
    for row in rows:
        if isinstance(row, Query | Search | Evidence) and row.status == "infra_error":
            return "incomplete", row.reason or "a service failed"
        if isinstance(row, Verdict) and row.status == "incomplete":
            return "incomplete", row.reason or "services failed"
    return "ok", None


def _outcomes(
    experiment: Experiment, store: ExperimentStore, variant: str, failed: set[str]
) -> Iterator[VideoOutcome]:
    """Yield the outcome of each video that the variant has verdicts for."""
    for listed in experiment.videos:
        video_id = listed.video.video_id
        if video_id not in failed and all(store.has(variant, video_id, each) for each in STAGES):
            held = store.read(video_id, dict.fromkeys(("transcripts", *STAGES), variant))
            seconds = held.sets["verdicts"].first_result_seconds
            yield VideoOutcome(**held.parts(), truth=listed.claims, first_verdict_seconds=seconds)


def score_variants(
    experiment: Experiment,
    store: ExperimentStore,
    matcher: ClaimMatcher,
    *,
    bootstrap: int = RESAMPLES,
    failed: Mapping[str, set[str]] | None = None,
) -> dict[str, Evaluation]:
    """Score every variant from its stored rows, without the videos on which it `failed`."""
    return {
        each.name: score(
            list(_outcomes(experiment, store, each.name, (failed or {}).get(each.name, set()))),
            matcher=matcher,
            bootstrap=bootstrap,
        )
        for each in experiment.variants
    }


def scored_again(experiment: Experiment, settings: Settings) -> dict[str, Evaluation]:
    """Score every variant without intervals; empty if the experiment's file is gone."""
    file = experiment_file(settings, experiment.name)
    if not file.exists():
        return {}
    failed: dict[str, set[str]] = {}
    for variant, video_id in (
        Warehouse(settings.warehouse).query(_SQL["failed_videos"], [experiment.name]).rows()
    ):
        failed.setdefault(variant, set()).add(video_id)
    store = ExperimentStore(file)
    return score_variants(experiment, store, default_matcher(), bootstrap=1, failed=failed)


def _reasoner_words(made_by: Mapping[str, str]) -> str:
    """Return the reasoner of all stages in one word, or of each stage if they differ."""
    llm = {stage for stage, maker in made_by.items() if maker == "llm"}
    if len(llm) in {0, len(made_by)}:
        return "llm" if llm else f"embedded, {made_by['evidence']}"
    return ", ".join(f"{stage}: {maker}" for stage, maker in made_by.items())
