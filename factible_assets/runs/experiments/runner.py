"""Runs an experiment: checks each video in each variant, and shares equal work between variants.

An experiment is no Dagster run, because its materializations would become the newest ones of the
production assets. Variants of a video run one after the other, so that a variant finds the stages
that it shares with another; videos run at once. The experiment's file keeps complete stages, and
the next run goes on from them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from filelock import FileLock, Timeout

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.errors import first_of
from factible_assets.pipeline.assets.claim_results import asset_rows
from factible_assets.pipeline.resources import RunContext, open_services
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Verdict
from factible_assets.runs.experiments.plan import STAGES, Experiment, ExperimentError, Variant
from factible_assets.runs.experiments.stage_keys import StageKeys
from factible_assets.runs.experiments.store import ExperimentStore, experiment_file
from factible_assets.runs.experiments.variant_services import VariantServices, choose, transcript_of
from factible_assets.settings import Settings
from factible_assets.stages.flow import Strategy, check_claims, extract_claims
from factible_assets.stages.ports import Observer, ReasonerOutageError, ReasonerRefusalError
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.strategies import strategy_named
from resources.errors import SetupError
from resources.storage.imports import ArchiveError
from warehouse.publication import remove_database
from warehouse.sets import AssetRows

_log = logging.getLogger(__name__)


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
    choices = {
        (variant.name, listed.video.video_id): choose(variant, settings, listed.web)
        for variant in experiment.variants
        for listed in experiment.videos
    }
    if missing := [sentence for choice in choices.values() for sentence in choice.missing]:
        raise SetupError(missing[0])
    file = experiment_file(settings, experiment.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(file.with_suffix(".lock"), timeout=0):
            if fresh:
                remove_database(file)
            run = _Run(experiment, corpora, settings, ExperimentStore(file), choices, watcher)
            return asyncio.run(run.check_videos(jobs)), run.store
    except ExceptionGroup as group:
        raise first_of(group) from group
    except Timeout as error:
        raise ExperimentError(
            f"Another process runs the experiment {experiment.name}. Wait for it, or stop it and "
            "run the same command, which resumes the experiment."
        ) from error


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of an experiment; `choices` are the services by variant and video."""

    experiment: Experiment
    corpora: CorporaReading
    settings: Settings
    store: ExperimentStore
    choices: Mapping[tuple[str, str], VariantServices]
    watcher: Watcher

    async def check_videos(self, jobs: int) -> list[VariantOutcome]:
        keys, slots = StageKeys(self.settings), asyncio.Semaphore(jobs)

        async def check(listed: CorpusVideo) -> list[VariantOutcome]:
            async with slots:
                return await self._check_video(listed, keys)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(check(video)) for video in self.experiment.videos]
        return [outcome for task in tasks for outcome in task.result()]

    async def _check_video(self, listed: CorpusVideo, keys: StageKeys) -> list[VariantOutcome]:
        """Check a video in all variants, one after the other."""
        video_id, outcomes = listed.video.video_id, []
        transcript, failure = None, None
        try:
            transcript = await transcript_of(video_id, self.corpora, self.settings, self.store.path)
        except ExperimentError as error:
            failure = str(error)
        for variant in self.experiment.variants:
            outcome = VariantOutcome(variant.name, video_id, failure=failure)
            if transcript is not None:
                outcome = await self._check_variant(variant, listed, transcript, keys)
            self.watcher(outcome)
            outcomes.append(outcome)
        return outcomes

    async def _check_variant(
        self, variant: Variant, listed: CorpusVideo, transcript: VideoRows, keys: StageKeys
    ) -> VariantOutcome:
        video_id = listed.video.video_id
        choice = self.choices[variant.name, video_id]
        config = variant.config.limited_to(listed.entry.published_before)
        stage_keys = keys.of(config, transcript, choice, listed.given_claims)
        place = {"experiment": self.experiment.name, "variant": variant.name, "video_id": video_id}
        return await _Check(place, config, transcript, stage_keys, choice, listed, self.store).run()


@dataclass(frozen=True, slots=True)
class _Check:
    """The check of one video in one variant. `transcript` has the rows of its transcript."""

    place: Mapping[str, str]
    config: FactCheckConfig
    transcript: VideoRows
    keys: Mapping[str, str]
    choice: VariantServices
    listed: CorpusVideo
    store: ExperimentStore

    async def run(self) -> VariantOutcome:
        """Reuse the stored stages up to the first missing one, and compute the others."""
        variant, video_id = self.place["variant"], self.place["video_id"]
        strategy, failure = strategy_named(self.config.strategy), None
        reusable = self.store.reusable_stages(variant, video_id, self.keys, strategy)
        missing = STAGES[len(reusable) :]
        shared = {stage: name for stage, name in reusable.items() if name != variant}
        reused = VideoRows()
        if shared or (reusable and missing):
            reused = await asyncio.to_thread(self.store.read, video_id, reusable)
        if shared:
            await self._write({stage: _copy(stage, reused) for stage in shared}, shared)
        verdicts: Sequence[Verdict] = reused.verdicts
        try:
            if missing:
                verdicts = await self._compute(missing, reused, strategy)
        except (ReasonerOutageError, ReasonerRefusalError) as error:
            failure = f"No claims could be extracted: {error.reason}"
        except (SetupError, ArchiveError) as error:
            failure = str(error)
        is_incomplete = not failure and any(verdict.status == "incomplete" for verdict in verdicts)
        return VariantOutcome(
            variant,
            video_id,
            computed=() if failure else missing,
            shared=tuple(shared),
            kept=tuple(stage for stage in reusable if stage not in shared),
            incomplete=int(is_incomplete),
            failure=failure,
        )

    async def _compute(
        self, missing: Sequence[str], reused: VideoRows, strategy: Strategy
    ) -> Sequence[Verdict]:
        """Compute and store the missing stages."""
        transcript, claims, seconds = self.transcript, reused.claims, 0.0
        # Each variant has a budget of its own for each video.
        subject = f"{transcript.video.video_id} in the variant {self.place['variant']}"
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
                extraction = await extract_claims(
                    transcript.video,
                    transcript.transcripts[0],
                    transcript.segments,
                    services,
                    self.config.claims,
                    given=self.listed.given_claims,
                )
                claims, seconds = extraction.claims, extraction.seconds
                rows = [*claims, *extraction.llm_calls]
                await self._write({"claims": AssetRows(rows, "", duration_seconds=seconds)})
            stages = tuple(stage for stage in ALL_STAGES if stage in missing)
            result = await check_claims(
                transcript.video,
                claims,
                services,
                self.config,
                stages=stages,
                known=reused,
                strategy=strategy,
            )
        sets = {str(stage): asset_rows(stage, result) for stage in stages}
        first = sets["verdicts"].first_result_seconds
        # With reused stages, the time to the first verdict would say nothing.
        first = None if first is None or missing != STAGES else seconds + first
        sets["verdicts"] = replace(sets["verdicts"], first_result_seconds=first)
        await self._write(sets)
        return result.verdicts

    async def _write(
        self, sets: Mapping[str, AssetRows], sources: Mapping[str, str] | None = None
    ) -> None:
        if "claims" in sets:
            sets = {"transcripts": AssetRows(self.transcript.of_asset("transcripts"), ""), **sets}
        await asyncio.to_thread(self.store.write, self.place, self.keys, sets, sources or {})


def _copy(stage: str, rows: VideoRows) -> AssetRows:
    """Return the rows of a stage that another variant computed, to store them again."""
    old = rows.sets[stage]
    return AssetRows(rows.of_asset(stage), old.code_version, old.data_version, old.duration_seconds)
