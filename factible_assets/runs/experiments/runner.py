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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from filelock import FileLock, Timeout

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.errors import first_of
from factible_assets.evaluation.matching import default_matcher
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.evaluation.tables import columns_of
from factible_assets.pipeline.assets.claim_results import asset_rows
from factible_assets.pipeline.resources import RunContext, open_services
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Evidence, Query, Record, Search, Verdict
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
from warehouse.sets import AssetRows, insert_rows
from warehouse.store import Warehouse

DEFAULT_JOBS = 4
"""Videos that run at once."""

_log = logging.getLogger(__name__)
_SQL = statements("factible_assets.runs.experiments", "experiments.sql")


# --- The file of an experiment ------------------------------------------------------------------


def experiment_file(settings: Settings, name: str) -> Path:
    return settings.home / "experiments" / f"{name}.duckdb"


class ExperimentStore:
    """The rows of one experiment, and in `experiment_sets` the key and the status of each set.

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

    def sets(self) -> list[dict[str, Any]]:
        """Return the rows of `experiment_sets`, of all variants that the file has."""
        return self._warehouse.rows(_SQL["sets"])

    def write(
        self,
        place: Mapping[str, str],
        keys: Mapping[str, str],
        sets: Mapping[str, AssetRows],
        sources: Mapping[str, str],
    ) -> None:
        """Store sets of rows by stage in one transaction.

        `place` has the experiment, the variant and the video. A set that a variant shares with
        another has it in `sources`.
        """
        variant, video_id = place["variant"], place["video_id"]
        rows = []
        for stage, own in sets.items():
            status, reason = status_of(own.rows)
            row = {"asset": stage, "stage_key": keys[stage], "source": sources.get(stage, variant)}
            how = {"status": status, "reason": reason, "duration_seconds": own.duration_seconds}
            rows.append({**place, **row, **how, "first_verdict_seconds": own.first_result_seconds})

        def note(connection: duckdb.DuckDBPyConnection) -> None:
            insert_rows(connection, "experiment_sets", rows, again="replace")

        stamp = Stamp(run_id=variant, checked_at=datetime.now(UTC))
        self._warehouse.write_assets(video_id, sets, stamp=stamp, also=note)
        self.note(variant, video_id, keys, sets)


def status_of(rows: Sequence[Record]) -> tuple[str, str | None]:
    """Return `ok`, or `incomplete` and the reason if a service failed for a part of a set."""
    for row in rows:
        if isinstance(row, Query | Search | Evidence) and row.status == "infra_error":
            return "incomplete", row.reason or "a service failed"
        if isinstance(row, Verdict) and row.status == "incomplete":
            return "incomplete", row.reason or "services failed"
    return "ok", None


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
    jobs: int = 4,
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
                    place = {"experiment": experiment.name, "variant": variant.name}
                    place["video_id"] = video_id
                    outcome = await _Check(place, config, said, keys, choice, listed, store).run()
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


@dataclass(frozen=True, slots=True)
class _Check:
    """One variant on one video."""

    place: Mapping[str, str]
    config: FactCheckConfig
    said: VideoRows
    keys: Mapping[str, str]
    choice: surroundings.VariantServices
    listed: CorpusVideo
    store: ExperimentStore

    async def run(self) -> VariantOutcome:
        """Reuse the stored stages up to the first missing one, and compute the others."""
        variant, video_id = self.place["variant"], self.place["video_id"]
        strategy, failure = strategy_named(self.config.strategy), None
        holders = self.store.holders(variant, video_id, self.keys, strategy)
        missing = STAGES[len(holders) :]
        shared = {stage: name for stage, name in holders.items() if name != variant}
        held = VideoRows()
        if shared or (holders and missing):
            held = await asyncio.to_thread(self.store.read, video_id, holders)
        if shared:
            copies = {}
            for stage in shared:
                one = held.sets[stage]
                rows = AssetRows(held.of_asset(stage), one.code_version, one.data_version)
                copies[stage] = replace(rows, duration_seconds=one.duration_seconds)
            await self._write(copies, shared)
        verdicts: Sequence[Verdict] = held.verdicts
        try:
            if missing:
                verdicts = await self._compute(missing, held, strategy)
        except (ReasonerOutageError, ReasonerRefusalError) as error:
            failure = f"No claims could be extracted: {error.reason}"
        except (SetupError, ArchiveError) as error:
            failure = str(error)
        is_incomplete = not failure and any(each.status == "incomplete" for each in verdicts)
        return VariantOutcome(
            variant,
            video_id,
            computed=() if failure else missing,
            shared=tuple(shared),
            kept=tuple(stage for stage in holders if stage not in shared),
            incomplete=int(is_incomplete),
            failure=failure,
        )

    async def _compute(
        self, missing: Sequence[str], held: VideoRows, strategy: Strategy
    ) -> Sequence[Verdict]:
        """Compute and store the missing stages."""
        said, claims, seconds = self.said, held.claims, 0.0
        # Each variant has a budget of its own for each video.
        subject = f"{said.video.video_id} in the variant {self.place['variant']}"
        async with open_services(
            self.choice.settings,
            observer=Observer(),
            run=RunContext(f"experiment {self.place['experiment']}", subject, _log),
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
                claims, seconds = found.claims, found.seconds
                rows = [*claims, *found.llm_calls]
                await self._write({"claims": AssetRows(rows, "", duration_seconds=seconds)}, {})
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
        sets = {str(each): asset_rows(each, result) for each in stages}
        first = sets["verdicts"].first_result_seconds
        # With reused stages, the time to the first verdict would say nothing.
        first = None if first is None or missing != STAGES else seconds + first
        sets["verdicts"] = replace(sets["verdicts"], first_result_seconds=first)
        await self._write(sets, {})
        return result.verdicts

    async def _write(self, sets: Mapping[str, AssetRows], sources: Mapping[str, str]) -> None:
        if "claims" in sets:
            sets = {"transcripts": AssetRows(self.said.of_asset("transcripts"), ""), **sets}
        await asyncio.to_thread(self.store.write, self.place, self.keys, sets, sources)


# --- The results --------------------------------------------------------------------------------


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
    matcher, rule = default_matcher(), str(default_matcher().rule)
    head = {
        "experiment": experiment.name,
        "description": experiment.description,
        "file": str(experiment.file),
        "warehouse": str(store.path.relative_to(settings.home)),
        "baseline": experiment.baseline,
        "matcher": rule,
        "code_version": surroundings.code_version(),
        "videos": len(experiment.videos),
        "started_at": started_at,
        "finished_at": datetime.now(UTC),
    }
    variants, results, of_videos = [], [], []
    ended = {(each.variant, each.video_id): each for each in ran}
    sets = [
        row
        for row in store.sets()
        if (end := ended.get((row["variant"], row["video_id"]))) and end.failure is None
    ]
    failed: dict[str, set[str]] = {}
    for end in (each for each in ran if each.failure is not None):
        failed.setdefault(end.variant, set()).add(end.video_id)
        told = {"experiment": experiment.name, "variant": end.variant, "video_id": end.video_id}
        told |= {"asset": STAGES[len(end.shared) + len(end.kept)], "stage_key": ""}
        why = {"status": "failed", "reason": end.failure or "no transcript"}
        sets.append({**told, "source": end.variant, **why})
    for position, variant in enumerate(experiment.variants, start=1):
        choice = surroundings.choose(variant, settings, None)
        place = {"experiment": experiment.name, "variant": variant.name}
        without = failed.get(variant.name, set())
        described = {
            "position": position,
            "is_baseline": variant.name == experiment.baseline,
            "settings": json.dumps(dict(variant.values)),
            "reasoner": _reasoner_words(choice.made_by),
            "models": json.dumps(dict(choice.models)),
            "videos": len(experiment.videos) - len(without),
            "failed_videos": len(without),
        }
        variants.append(place | described)
        evaluation = score(_outcomes(experiment, store, variant.name, without), matcher=matcher)
        results += [
            place | columns_of(each) | {"trivial": each.baseline, "matcher": rule}
            for each in evaluation.figures
        ]
        of_videos += [
            {**place, "video_id": video_id, "metric": each.name}
            | {column: getattr(each, column) for column in ("value", "n", "unit")}
            for video_id, figures in evaluation.per_video.items()
            for each in figures
        ]
    return {
        "experiments": [head],
        "experiment_variants": variants,
        "experiment_sets": sets,
        "experiment_results": results,
        "experiment_video_results": of_videos,
    }


def _outcomes(
    experiment: Experiment, store: ExperimentStore, variant: str, failed: Collection[str]
) -> list[VideoOutcome]:
    """Return the outcome of each video that the variant has verdicts for."""
    found = []
    for listed in experiment.videos:
        video_id = listed.video.video_id
        if video_id not in failed and all(store.has(variant, video_id, each) for each in STAGES):
            held = store.read(video_id, dict.fromkeys(("transcripts", *STAGES), variant))
            baseline: Sequence[Evidence] = ()
            if variant != experiment.baseline:
                baseline = store.read(video_id, {"evidence": experiment.baseline}).evidence
            one = VideoOutcome(
                **held.parts(),
                truth=listed.claims,
                first_verdict_seconds=held.sets["verdicts"].first_result_seconds,
                baseline=baseline,
            )
            found.append(one)
    return found


def scored_again(experiment: Experiment, settings: Settings) -> dict[str, Evaluation]:
    """Score every variant without intervals; empty if the experiment's file is gone."""
    file = experiment_file(settings, experiment.name)
    if not file.exists():
        return {}
    failed: dict[str, set[str]] = {}
    ended = Warehouse(settings.warehouse).rows(_SQL["failed_videos"], [experiment.name])
    for row in ended:
        failed.setdefault(row["variant"], set()).add(row["video_id"])
    store, matcher = ExperimentStore(file), default_matcher()
    return {
        name: score(
            _outcomes(experiment, store, name, failed.get(name, ())), matcher=matcher, bootstrap=1
        )
        for name in (each.name for each in experiment.variants)
    }


def _reasoner_words(made_by: Mapping[str, str]) -> str:
    """Return the reasoner of all stages in one word, or of each stage if they differ."""
    llm = {stage for stage, maker in made_by.items() if maker == "llm"}
    if len(llm) in {0, len(made_by)}:
        return "llm" if llm else f"embedded, {made_by['evidence']}"
    return ", ".join(f"{stage}: {maker}" for stage, maker in made_by.items())
