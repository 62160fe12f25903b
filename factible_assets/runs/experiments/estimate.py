"""Estimates the searches, pages, model calls and cost of an experiment before it runs.

Counts are upper bounds, but for second pages of results and repeated questions, which nobody can
foresee. A video may have fewer claims, searches may find the same page twice, and an irrelevant
page costs no call.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.reasoners.llm.engine import ReadingLimits
from factible_assets.reasoners.llm.queries import SEARCHES_PER_CLAIM
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Transcript
from factible_assets.runs.experiments.plan import STAGES, Experiment, ExperimentError, Variant
from factible_assets.runs.experiments.stage_keys import StageKeys
from factible_assets.runs.experiments.store import ExperimentStore, experiment_file
from factible_assets.runs.experiments.variant_services import (
    VariantServices,
    choose,
    local_transcript,
)
from factible_assets.services.models import plan_models
from factible_assets.services.search import search_names
from factible_assets.settings import Settings
from factible_assets.stages.flow import Strategy
from factible_assets.strategies import strategy_named
from resources.llm.registry import CHARACTERS_PER_TOKEN
from resources.statements import statements
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs.experiments", "experiments.sql")

UNKNOWN_TRANSCRIPT = 15_000
"""Characters of an unknown transcript: some twenty minutes of speech."""

# The assumed tokens of the parts of a call, for stages without recorded calls.
_INSTRUCTION_TOKENS = 1_300
_ANSWER_TOKENS = 150
"""The answer about a page, as output and in later prompts."""
_CLAIM_OUTPUT_TOKENS = 90
_CLAIM_INPUT_TOKENS = 100
"""A claim with its context."""
_QUERY_OUTPUT_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Tokens:
    """Mean tokens of a call.

    `source` is `recorded` (this machine's calls of the stage and model), `stage` (of the stage with
    any model) or `assumed`.
    """

    input: float
    output: float
    source: str


@dataclass(slots=True)
class CallEstimate:
    """The calls of one stage and model. `usd` is None if the model has no listed price."""

    stage: str
    model: str
    tokens_from: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None


@dataclass(slots=True)
class VariantEstimate:
    """The stages of one variant (to compute, shared with another variant, done), and its work."""

    variant: str
    compute: int = 0
    shared: int = 0
    done: int = 0
    searches: int = 0
    pages: int = 0
    model_calls: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most work of a run, without second pages of results and repeated questions.

    `missing` are sentences about services that are not set up.
    """

    variants: tuple[VariantEstimate, ...]
    calls: tuple[CallEstimate, ...]
    videos: int
    transcripts_to_fetch: int
    missing: tuple[str, ...]

    @property
    def searches(self) -> int:
        return sum(variant.searches for variant in self.variants)

    @property
    def pages(self) -> int:
        return sum(variant.pages for variant in self.variants)

    @property
    def model_calls(self) -> int:
        return sum(variant.model_calls for variant in self.variants)

    @property
    def usd(self) -> float:
        """The cost of the calls whose model has a listed price."""
        return math.fsum(call.usd or 0.0 for call in self.calls)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models without a listed price."""
        return tuple(dict.fromkeys(call.model for call in self.calls if call.usd is None))


@dataclass(frozen=True, slots=True)
class _VideoWork:
    """The work of one variant on one video, if it computes every stage."""

    config: FactCheckConfig
    strategy: Strategy
    choice: VariantServices
    characters: int
    """Of the transcript."""
    windows: int
    """The calls that find the claims; 0 if the corpus gives them."""
    claims: int
    searches: int
    pages: int


def estimate(
    experiment: Experiment, corpora: CorporaReading, settings: Settings, *, fresh: bool = False
) -> Estimate:
    """Count and price the work of a run, or with `fresh` of a run that starts over.

    It writes nothing and asks no service.
    """
    store = ExperimentStore(experiment_file(settings, experiment.name), fresh=fresh)
    keys, recorded = StageKeys(settings), _recorded(settings)
    transcripts = asyncio.run(_local_transcripts(experiment, corpora, settings, store))
    variants = [VariantEstimate(variant.name) for variant in experiment.variants]
    calls: dict[tuple[str, str], CallEstimate] = {}
    missing: dict[str, None] = {}
    for variant, totals in zip(experiment.variants, variants, strict=True):
        for listed in experiment.videos:
            video_id = listed.video.video_id
            choice = choose(variant, settings, listed.web)
            missing |= dict.fromkeys(choice.missing)
            rows = transcripts[video_id] or _unknown(listed)
            work = _video_work(variant, listed, rows, choice)
            stage_keys = keys.of(variant.config, rows, choice, listed.given_claims)
            reusable = store.reusable_stages(variant.name, video_id, stage_keys, work.strategy)
            store.mark_stored(variant.name, video_id, stage_keys, STAGES)
            to_compute = STAGES[len(reusable) :]
            done = sum(name == variant.name for name in reusable.values())
            totals.done += done
            totals.shared += len(reusable) - done
            totals.compute += len(to_compute)
            _add_work(calls, totals, work, to_compute, recorded)
    by_stage = sorted(calls.values(), key=lambda each: (STAGES.index(each.stage), each.model))
    to_fetch = list(transcripts.values()).count(None)
    return Estimate(tuple(variants), tuple(by_stage), len(transcripts), to_fetch, tuple(missing))


def _video_work(
    variant: Variant, listed: CorpusVideo, rows: VideoRows, choice: VariantServices
) -> _VideoWork:
    strategy, given = strategy_named(variant.config.strategy), listed.given_claims
    config = strategy.adapt(variant.config, listed.video)
    characters = len(rows.transcripts[0].text)
    claims = config.claims.max_claims if given is None else len(given.claims)
    searches = claims * strategy.most_searches(config)
    return _VideoWork(
        config,
        strategy,
        choice,
        characters=characters,
        windows=0 if given is not None else _windows(characters),
        claims=claims,
        searches=searches,
        pages=searches * config.search.max_results,
    )


def _add_work(
    calls: dict[tuple[str, str], CallEstimate],
    totals: VariantEstimate,
    work: _VideoWork,
    to_compute: Sequence[str],
    recorded: Mapping[tuple[str, str], Tokens],
) -> None:
    """Add the requests of some stages, and their model calls with tokens and cost."""
    choice, calls_of = work.choice, _calls_by_stage(work)
    if "search_hits" in to_compute:
        providers = len(search_names(choice.settings)) if choice.web == "live" else 1
        totals.searches += work.searches * max(1, providers)
    if "evidence" in to_compute:
        totals.pages += work.pages
    for stage in to_compute:
        number = calls_of.get(stage, 0)
        if stage not in choice.models or not number:
            continue
        totals.model_calls += number
        model, info = choice.models[stage], plan_models(choice.settings).stages[stage]
        mean = recorded.get((stage, model)) or recorded.get((stage, ""))
        mean = mean or _assumed_tokens(stage, work, work.pages / number)
        total = calls.setdefault((stage, model), CallEstimate(stage, model, mean.source))
        total.calls += number
        total.input_tokens += round(number * mean.input)
        total.output_tokens += round(number * mean.output)
        if info.price is not None:
            total.usd = info.price.cost(total.input_tokens, total.output_tokens)


async def _local_transcripts(
    experiment: Experiment, corpora: CorporaReading, settings: Settings, store: ExperimentStore
) -> dict[str, VideoRows | None]:
    transcripts: dict[str, VideoRows | None] = {}
    for listed in experiment.videos:
        video_id = listed.video.video_id
        try:
            transcripts[video_id] = await local_transcript(video_id, corpora, settings, store.path)
        except ExperimentError:  # the run reports it
            transcripts[video_id] = None
    return transcripts


def _unknown(listed: CorpusVideo) -> VideoRows:
    """Return a transcript of the usual length for a video whose transcript is not here."""
    words = "?" * UNKNOWN_TRANSCRIPT
    transcript = Transcript(
        video_id=listed.video.video_id, text=words, provider="unknown", content_hash="unknown"
    )
    return VideoRows(videos=(listed.video,), transcripts=(transcript,))


def _calls_by_stage(work: _VideoWork) -> Mapping[str, int]:
    """Return the model calls of each stage, if a model answers in it."""
    config, models, claims = work.config, work.choice.models, work.claims
    if work.strategy.needs_model:
        # The model chooses its questions, within its budget; most of them are about pages.
        return {"claims": work.windows, "evidence": claims * config.budget.max_calls}
    # The call that finds the claims also returns a few queries for each, if one model does both.
    is_one_model = len({models[step] for step in ("claims", "queries") if step in models}) <= 1
    has_queries = work.windows and config.queries.max_queries <= SEARCHES_PER_CLAIM and is_one_model
    readings = work.pages
    # One call reads several pages of a claim, unless a check stops at enough sources: it does not
    # wait for a group of pages.
    if config.evidence.together and config.evidence.enough_origins is None and claims:
        readings = claims * math.ceil(work.pages / claims / ReadingLimits().together)
    return {
        "claims": work.windows,
        "queries": 0 if has_queries else claims,
        "evidence": readings,
        "verdicts": int(work.choice.made_by["verdicts"] == "llm"),
    }


def _windows(characters: int) -> int:
    """Return the calls that a transcript takes: one per window, and one to merge several."""
    windows = ReadingLimits().transcript.count(characters)
    return windows if windows == 1 else windows + 1


def _assumed_tokens(stage: str, work: _VideoWork, pages_per_call: float) -> Tokens:
    """Return the tokens of a call of a stage without recorded calls."""
    limits, config = ReadingLimits(), work.config
    claims, queries = config.claims.max_claims, config.queries.max_queries
    sources = queries * config.search.max_results
    window = min(work.characters, limits.transcript.size)
    read, written = {
        "claims": (window / CHARACTERS_PER_TOKEN, _ANSWER_TOKENS + claims * _CLAIM_OUTPUT_TOKENS),
        "queries": (_CLAIM_INPUT_TOKENS, queries * _QUERY_OUTPUT_TOKENS),
        "evidence": (
            _CLAIM_INPUT_TOKENS + pages_per_call * limits.page / CHARACTERS_PER_TOKEN,
            pages_per_call * _ANSWER_TOKENS,
        ),
        "verdicts": (
            claims * min(sources, limits.sources) * _ANSWER_TOKENS,
            claims * _ANSWER_TOKENS,
        ),
    }[stage]
    return Tokens(_INSTRUCTION_TOKENS + read, written, "assumed")


def _recorded(settings: Settings) -> dict[tuple[str, str], Tokens]:
    """Return the average tokens of this machine's calls, by stage and model and by stage alone."""
    if not settings.warehouse.exists():
        return {}
    rows = Warehouse(settings.warehouse).rows(_SQL["tokens_per_call"])
    return {
        (stage, model): Tokens(read, written, "recorded" if model else "stage")
        for stage, model, read, written in map(dict.values, rows)
    }
