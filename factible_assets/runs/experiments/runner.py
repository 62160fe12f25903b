"""Runs an experiment: every variant on every video, each piece of work once; scored, and kept.

What belongs here: the order of the work, what is taken from where, concurrency, the file of an
experiment's rows, the figures as rows of the main warehouse. What does not: what a stage does
(stages/flow.py, which is the one that production runs), keys (plan.py), any metric (evaluation/),
paired comparisons (comparison.py), the tables of rows (warehouse/).

In the file of an experiment the name of a variant is the run_id, so that variants stand side by
side, complete, in the same tables that a production warehouse has; the production rows are in
another file and stay as they are.

It is no Dagster run on purpose: a materialization of the production assets would become their
latest one, which the UI shows and other runs read. The variants of one video are worked on one
after the other, so that what two of them share is there when the second asks for it; videos run at
once. Everything is stored as soon as it is complete, and whoever starts the same experiment again
goes on from there.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from filelock import FileLock, Timeout

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.errors import first_of
from factible_assets.evaluation.figures import RESAMPLES
from factible_assets.evaluation.matching import ClaimMatcher, default_matcher
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.evaluation.tables import columns_of
from factible_assets.pipeline.assets.claim_checks import asset_rows
from factible_assets.pipeline.resources import Occasion, open_services
from factible_assets.records import Claim, Evidence, Query, Record, Search, Verdict
from factible_assets.rows import VideoRows
from factible_assets.runs.experiments import surroundings
from factible_assets.runs.experiments.plan import STAGES, Experiment, ExperimentError
from factible_assets.settings import Settings
from factible_assets.stages.flow import check_claims, extract_claims
from factible_assets.stages.ports import Observer, ReasonerOutageError, ReasonerRefusalError
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.strategies import strategy_named
from resources.archive.sources import ArchiveError
from resources.errors import SetupError
from resources.statements import statements
from warehouse.publication import remove_database
from warehouse.rows import Stamp
from warehouse.sets import AssetRows, enter
from warehouse.store import Warehouse

DEFAULT_JOBS = 4
"""Videos that are worked on at once; within each, claims run at once as in any check."""

_log = logging.getLogger(__name__)
_ASK = statements("factible_assets.runs.experiments", "experiments.sql")


# --- The file of an experiment ------------------------------------------------------------------

SetStatus = Literal["ok", "incomplete", "failed"]


def experiment_file(settings: Settings, name: str) -> Path:
    """Return where the rows of an experiment are kept."""
    return settings.home / "experiments" / f"{name}.duckdb"


@dataclass(frozen=True, slots=True)
class StageSet:
    """What is known of one stage of one variant and video; a row of `experiment_sets`."""

    experiment: str
    variant: str
    video_id: str
    asset: str
    stage_key: str
    source: str
    status: SetStatus = "ok"
    reason: str | None = None
    duration_seconds: float | None = None
    first_verdict_seconds: float | None = None


class Ledger:
    """The file of one experiment, and which work of it can be taken as it is.

    Work is taken by its key. What an earlier process left with an incomplete verdict is asked
    again, from the first stage where a service failed; within one process an outage is shared like
    any other answer, for variants are compared over the same world.

    A set of rows carries its key as its code version, and is written in one transaction with what
    is known of it, so that no kill can leave rows under a key that is not theirs.
    """

    def __init__(self, experiment: str, path: Path) -> None:
        self.path = path
        self._warehouse = Warehouse(path)
        self.sets: dict[tuple[str, str, str], StageSet] = {}
        """Everything that is known, also of variants that are no longer asked for."""
        self._holders: dict[tuple[str, str, str], dict[str, None]] = {}
        if path.exists():
            columns = ", ".join(f"sets.{each.name}" for each in fields(StageSet))
            sql = _ASK["known_sets"].format(columns=columns)
            entries = [StageSet(*row) for row in self._warehouse.query(sql, [experiment]).rows()]
            self.sets = {(each.variant, each.video_id, each.asset): each for each in entries}
            # What an earlier process left: all of it, or all before the first outage.
            for place in dict.fromkeys((each.variant, each.video_id) for each in entries):
                verdicts = self.known(*place, "verdicts")
                settled = verdicts is not None and verdicts.status == "ok"
                for stage in STAGES:
                    entry = self.known(*place, stage)
                    if entry is None or (entry.status != "ok" and not settled):
                        break
                    self._offer(entry)

    def holder(self, video_id: str, stage: str, key: str, *, preferred: str) -> str | None:
        """Return a variant that holds this work, itself if it does; None if it is to be done."""
        holders = self._holders.get((video_id, stage, key), {})
        return preferred if preferred in holders else next(iter(holders), None)

    def known(self, variant: str, video_id: str, stage: str) -> StageSet | None:
        """Return what is known of one stage of a variant and video."""
        return self.sets.get((variant, video_id, stage))

    def read(self, video_id: str, holders: Mapping[str, str]) -> VideoRows:
        """Return the rows of some stages, each as the variant that is named for it holds them.

        Raises ExperimentError: Some are gone.
        """
        held = self._warehouse.read_sets(video_id, holders)
        if gone := holders.keys() - held.sets.keys():
            raise ExperimentError(
                f"{self.path} has lost the {', '.join(sorted(gone))} of {video_id}. Run the "
                "experiment again with --fresh."
            )
        return held

    def write(
        self, variant: str, video_id: str, sets: Mapping[str, AssetRows], known: Iterable[StageSet]
    ) -> None:
        """Store rows and what is known of them, in one transaction."""
        entries = list(known)
        self._warehouse.write_assets(
            video_id,
            sets,
            stamp=Stamp(run_id=variant, checked_at=datetime.now(UTC)),
            also=lambda opened: enter(opened, "experiment_sets", entries, again="replace"),
        )
        for entry in entries:
            place = (entry.variant, entry.video_id, entry.asset)
            if earlier := self.sets.get(place):
                self._holders.get((*place[1:], earlier.stage_key), {}).pop(entry.variant, None)
            self.sets[place] = entry
            if entry.status != "failed":
                self._offer(entry)

    def _offer(self, entry: StageSet) -> None:
        work = (entry.video_id, entry.asset, entry.stage_key)
        self._holders.setdefault(work, {})[entry.variant] = None


def status_of(rows: Sequence[Record]) -> tuple[SetStatus, str | None]:
    """Tell whether services failed for a part of a set, and how."""
    for row in rows:
        if isinstance(row, Query | Search | Evidence) and row.status == "infra_error":
            return "incomplete", row.reason or "a service failed"
        if isinstance(row, Verdict) and row.status == "incomplete":
            return "incomplete", row.reason or "services failed"
    return "ok", None


# --- A run --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VariantOutcome:
    """How one variant ended on one video.

    Stages were `computed`, `shared` with another variant or `kept` from an earlier process;
    `incomplete` is 1 where services failed, `failure` a sentence, None if it has verdicts.
    """

    variant: str
    video_id: str
    computed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    incomplete: int = 0
    failure: str | None = None


Watcher = Callable[[VariantOutcome], None]
"""Hears how an experiment gets on."""


def run_experiment(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int = DEFAULT_JOBS,
    fresh: bool = False,
    watcher: Watcher = lambda _: None,
) -> tuple[list[VariantOutcome], Ledger]:
    """Run all variants on all videos, `jobs` at once; return how each went and where the rows are.

    Raises ExperimentError: Another process runs the same experiment. SetupError: A variant asks for
    a service that is not set up; nothing was computed. What is interrupted keeps what was complete.
    """
    # Settled before anything is done, so that a missing key costs nothing.
    choices = {
        (variant.name, listed.video.video_id): surroundings.choose(variant, settings, listed.web)
        for variant in experiment.variants
        for listed in experiment.videos
    }
    if missing := [sentence for each in choices.values() for sentence in each.missing]:
        raise SetupError(missing[0])
    place, slots = surroundings.Surroundings(settings), asyncio.Semaphore(jobs)

    async def on_video(listed: CorpusVideo, ledger: Ledger) -> list[VariantOutcome]:
        video_id = listed.video.video_id
        words, failure = None, ""
        outcomes = []
        async with slots:
            try:
                words = await surroundings.words_of(video_id, corpora, settings, ledger.path)
            except surroundings.NoWordsError as error:
                failure = str(error)
            for variant in experiment.variants:
                outcome = VariantOutcome(variant.name, video_id, failure=failure)
                if words is not None:
                    choice, transcript = choices[variant.name, video_id], words.transcripts[0]
                    # As in any check: what a claim's data set forbids is no evidence here either.
                    config = variant.config.limited_to(listed.entry.published_before)
                    keys = place.keys(config, words.video, transcript, choice, listed.given_claims)
                    name = experiment.name
                    work = _Work(name, variant.name, config, words, keys, choice, listed, ledger)
                    outcome = await work.done()
                watcher(outcome)
                outcomes.append(outcome)
        return outcomes

    async def everything(ledger: Ledger) -> list[VariantOutcome]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(on_video(each, ledger)) for each in experiment.videos]
        return [outcome for task in tasks for outcome in task.result()]

    file = experiment_file(settings, experiment.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(file.with_suffix(".lock"), timeout=0):
            if fresh:
                remove_database(file)
            ledger = Ledger(experiment.name, file)
            return asyncio.run(everything(ledger)), ledger
    except ExceptionGroup as group:
        raise first_of(group) from group
    except Timeout as error:
        raise ExperimentError(
            f"The experiment {experiment.name} is being run by another process. Wait for it, or "
            "stop it and run the same command: it goes on where the other stopped."
        ) from error


@dataclass(frozen=True, slots=True)
class _Verdicts(Observer):
    """Notes after how many seconds each verdict was reached."""

    started: float = field(default_factory=perf_counter)
    reached: list[float] = field(default_factory=list)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        self.reached.append(perf_counter() - self.started)


@dataclass
class _Work:
    experiment: str
    variant: str
    config: FactCheckConfig
    words: VideoRows
    keys: Mapping[str, str]
    choice: surroundings.Choice
    listed: CorpusVideo
    ledger: Ledger
    held: VideoRows = field(default_factory=VideoRows)

    def __post_init__(self) -> None:
        self.video_id = self.words.video.video_id
        self.strategy = strategy_named(self.config.strategy)

    async def done(self) -> VariantOutcome:
        """Take what is held, from the first stage on as far as it goes, and compute the rest."""
        holders: dict[str, str] = {}
        for stage in STAGES:
            key = self.keys[stage]
            name = self.ledger.holder(self.video_id, stage, key, preferred=self.variant)
            if name is None:
                break
            holders[stage] = name
        if self.strategy.in_rounds and len(holders) < len(STAGES):
            holders = {stage: name for stage, name in holders.items() if stage == STAGES[0]}
        missing = STAGES[len(holders) :]
        shared = {stage: name for stage, name in holders.items() if name != self.variant}
        if holders and (missing or shared):
            await asyncio.to_thread(self._take_over, holders, shared)
        failure = await self._compute(missing) if missing else None
        verdicts = self.ledger.known(self.variant, self.video_id, "verdicts")
        incomplete = failure is None and verdicts is not None and verdicts.status == "incomplete"
        return VariantOutcome(
            self.variant,
            self.video_id,
            computed=() if failure else missing,
            shared=tuple(shared),
            kept=tuple(stage for stage in holders if stage not in shared),
            incomplete=int(incomplete),
            failure=failure,
        )

    def _take_over(self, holders: Mapping[str, str], shared: Mapping[str, str]) -> None:
        """Read what is held, and copy what is another variant's."""
        self.held = self.ledger.read(self.video_id, holders)
        entries, sets = [], self._transcripts()
        for stage, name in shared.items():
            if known := self.ledger.known(name, self.video_id, stage):
                entries.append(replace(known, variant=self.variant, first_verdict_seconds=None))
            whole, rows = self.held.sets[stage], self.held.of_asset(stage)
            sets[stage] = AssetRows(
                rows, self.keys[stage], whole.data_version, whole.duration_seconds
            )
        if shared:
            self.ledger.write(self.variant, self.video_id, sets, entries)

    async def _compute(self, missing: Sequence[str]) -> str | None:
        """Do the missing stages; return the failure that stopped them, if one did."""
        watch, words, stage = _Verdicts(), self.words, missing[0]
        # One budget for the experiment; each variant has its own for each video.
        subject = f"{self.video_id} in the variant {self.variant}"
        try:
            async with open_services(
                self.choice.settings,
                observer=watch,
                occasion=Occasion(f"experiment {self.experiment}", subject, _log),
                reasoners=self.choice.reasoners,
                web=self.choice.web,
                listed=self.listed,
                pages_rating=self.config.search.pages_rating,
            ) as services:
                claims: Sequence[Claim] = self.held.claims
                if "claims" in missing:
                    found = await extract_claims(
                        words.video,
                        words.transcripts[0],
                        words.segments,
                        services,
                        self.config.claims,
                        given=self.listed.given_claims,
                    )
                    claims = found.claims
                    rows = AssetRows(
                        [*claims, *found.llm_calls], "", duration_seconds=found.seconds
                    )
                    await asyncio.to_thread(self._write, {"claims": rows})
                stages = tuple(each for each in ALL_STAGES if each in missing)
                result = await check_claims(
                    words.video,
                    claims,
                    services,
                    self.config,
                    stages=stages,
                    known=self.held,
                    strategy=self.strategy,
                )
                first = watch.reached[0] if watch.reached and missing == STAGES else None
                sets = {each: asset_rows(each, result) for each in stages}
                await asyncio.to_thread(self._write, sets, first)
        except (ReasonerOutageError, ReasonerRefusalError) as failure:
            stage, reason = "claims", f"No claims could be extracted: {failure.reason}"
        except (SetupError, ArchiveError) as error:
            reason = str(error)
        else:
            return None
        failed = [self._entry(stage, "failed", reason)]
        await asyncio.to_thread(self.ledger.write, self.variant, self.video_id, {}, failed)
        return reason

    def _write(self, sets: Mapping[Any, AssetRows], first: float | None = None) -> None:
        """Store computed stages; `first` is when the first verdict was reached, in seconds."""
        keyed = {name: replace(rows, code_version=self.keys[name]) for name, rows in sets.items()}
        entries = [
            self._entry(
                name,
                *status_of(rows.rows),
                rows.duration_seconds,
                first if name == "verdicts" else None,
            )
            for name, rows in keyed.items()
        ]
        if "claims" in keyed:
            keyed |= self._transcripts()
        self.ledger.write(self.variant, self.video_id, keyed, entries)

    def _entry(self, stage: str, *known: Any) -> StageSet:
        name, key = self.variant, self.keys[stage]
        return StageSet(self.experiment, name, self.video_id, stage, key, name, *known)

    def _transcripts(self) -> dict[str, AssetRows]:
        rows, words = self.words.of_asset("transcripts"), self.words.transcripts[0]
        return {"transcripts": AssetRows(rows, words.content_hash)}


def conduct(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int = DEFAULT_JOBS,
    fresh: bool = False,
    watcher: Watcher = lambda _: None,
) -> list[VariantOutcome]:
    """Run an experiment as above, score its variants, and put the figures where analysts look."""
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
    for name in (variant.name for variant in experiment.variants):
        outcomes = []
        for listed in experiment.videos:
            video_id = listed.video.video_id
            known = [ledger.known(name, video_id, stage) for stage in STAGES]
            if any(each is None or each.status == "failed" for each in known):
                continue
            held = ledger.read(video_id, dict.fromkeys(("transcripts", *STAGES), name))
            seconds = known[-1].first_verdict_seconds if known[-1] else None
            outcomes.append(
                VideoOutcome(**held.parts(), truth=listed.claims, first_verdict_seconds=seconds)
            )
        evaluations[name] = score(outcomes, matcher=matcher, bootstrap=bootstrap)
    return evaluations


def findings(
    experiment: Experiment,
    settings: Settings,
    ran: Sequence[VariantOutcome],
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
        "code_version": surroundings.code_version(),
        "videos": len(experiment.videos),
        "started_at": started_at,
        "finished_at": datetime.now(UTC),
    }
    variants, results, of_videos = [], [], []
    for position, variant in enumerate(experiment.variants, start=1):
        choice = surroundings.choose(variant, settings, None)
        failed = sum(each.variant == variant.name and each.failure is not None for each in ran)
        place: dict[str, Any] = {"experiment": name, "variant": variant.name}
        variants.append(
            place
            | {
                "position": position,
                "is_baseline": variant.name == experiment.baseline,
                "settings": json.dumps(dict(variant.values)),
                "reasoner": _maker(choice.made_by),
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
            | {"video_id": video_id, "metric": each.name}
            | {name: getattr(each, name) for name in ("value", "n", "unit")}
            for video_id, figures in evaluation.per_video.items()
            for each in figures
        ]
    known = [
        each for each in ledger.sets.values() if each.variant in names and each.video_id in ids
    ]
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


def _maker(made_by: Mapping[str, str]) -> str:
    """Return who judged in one word, or each stage with its maker where they differ."""
    llm = {stage for stage, maker in made_by.items() if maker == "llm"}
    if len(llm) in {0, len(made_by)}:
        return "llm" if llm else f"embedded, {made_by['evidence']}"
    return ", ".join(f"{stage}: {maker}" for stage, maker in made_by.items())
