"""Estimates the searches, pages, model calls and cost of an experiment before it runs.

Counts are upper bounds: a video may have fewer claims, searches may find the same page twice, and
an irrelevant page costs no call. The counts leave out second pages of results and repeated
questions, because nobody can foresee them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.reasoners.llm.engine import ReadingLimits
from factible_assets.reasoners.llm.queries import SEARCHES_PER_CLAIM
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Transcript
from factible_assets.runs.experiments.plan import STAGES, Experiment, ExperimentError
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

_PROMPT_TOKENS = 1_300
_ANSWER_TOKENS = 150
_CLAIM_TOKENS = 90
_STATED_TOKENS = 100
"""A claim with its context."""
_QUERY_TOKENS = 40


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
    """The stages of one variant to compute, shared with another variant, or done; and the work."""

    variant: str
    compute: int = 0
    shared: int = 0
    done: int = 0
    searches: int = 0
    pages: int = 0
    model_calls: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that a run would do. `missing` are sentences about services that are not set up."""

    variants: tuple[VariantEstimate, ...]
    calls: tuple[CallEstimate, ...]
    videos: int
    transcripts_to_fetch: int
    missing: tuple[str, ...]

    @property
    def searches(self) -> int:
        return sum(each.searches for each in self.variants)

    @property
    def pages(self) -> int:
        return sum(each.pages for each in self.variants)

    @property
    def model_calls(self) -> int:
        return sum(each.model_calls for each in self.variants)

    @property
    def usd(self) -> float:
        """The cost of the calls whose model has a listed price."""
        return math.fsum(each.usd or 0.0 for each in self.calls)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The other models."""
        return tuple(dict.fromkeys(each.model for each in self.calls if each.usd is None))


def estimate(
    experiment: Experiment, corpora: CorporaReading, settings: Settings, *, fresh: bool = False
) -> Estimate:
    """Count and price the work of a run, or with `fresh` of a run that starts over.

    It writes nothing and asks no service.
    """
    store = ExperimentStore(experiment_file(settings, experiment.name), fresh=fresh)
    keys, recorded = StageKeys(settings), _recorded(settings)
    said = asyncio.run(_local_transcripts(experiment, corpora, settings, store))
    variants = [VariantEstimate(each.name) for each in experiment.variants]
    calls: dict[tuple[str, str], CallEstimate] = {}
    missing: dict[str, None] = {}
    for variant, counted in zip(experiment.variants, variants, strict=True):
        for listed in experiment.videos:
            video_id, given = listed.video.video_id, listed.given_claims
            choice = choose(variant, settings, listed.web)
            missing |= dict.fromkeys(choice.missing)
            rows = said[video_id] or _unknown(listed)
            strategy = strategy_named(variant.config.strategy)
            own_keys = keys.of(variant.config, rows, choice, given)
            reusable = store.reusable_stages(variant.name, video_id, own_keys, strategy)
            store.mark_stored(variant.name, video_id, own_keys, STAGES)
            to_compute = STAGES[len(reusable) :]
            done = sum(name == variant.name for name in reusable.values())
            counted.done += done
            counted.shared += len(reusable) - done
            counted.compute += len(to_compute)

            config = strategy.adapt(variant.config, listed.video)
            characters = len(rows.transcripts[0].text)
            claims = config.claims.max_claims if given is None else len(given.claims)
            searches = claims * strategy.most_searches(config)
            pages = searches * config.search.max_results
            if "search_hits" in to_compute:
                providers = len(search_names(choice.settings)) if choice.web == "live" else 1
                counted.searches += searches * max(1, providers)
            if "evidence" in to_compute:
                counted.pages += pages
            windows = 0 if given is not None else _windows(characters)
            calls_of = _calls_by_stage(config, strategy, choice, windows, claims, pages)
            for stage in to_compute:
                number = calls_of.get(stage, 0)
                if stage not in choice.models or not number:
                    continue
                counted.model_calls += number
                model, info = choice.models[stage], plan_models(choice.settings).stages[stage]
                mean = recorded.get((stage, model)) or recorded.get((stage, ""))
                mean = mean or _assumed_tokens(stage, characters, config, pages / number)
                of_model = CallEstimate(stage, model, mean.source)
                of_model = calls.setdefault((stage, model), of_model)
                of_model.calls += number
                of_model.input_tokens += round(number * mean.input)
                of_model.output_tokens += round(number * mean.output)
                if info.price is not None:
                    of_model.usd = info.price.cost(of_model.input_tokens, of_model.output_tokens)
    by_stage = sorted(calls.values(), key=lambda each: (STAGES.index(each.stage), each.model))
    unknown = list(said.values()).count(None)
    return Estimate(tuple(variants), tuple(by_stage), len(said), unknown, tuple(missing))


async def _local_transcripts(
    experiment: Experiment, corpora: CorporaReading, settings: Settings, store: ExperimentStore
) -> dict[str, VideoRows | None]:
    found: dict[str, VideoRows | None] = {}
    for listed in experiment.videos:
        video_id = listed.video.video_id
        try:
            found[video_id] = await local_transcript(video_id, corpora, settings, store.path)
        except ExperimentError:  # the run reports it
            found[video_id] = None
    return found


def _unknown(listed: CorpusVideo) -> VideoRows:
    """Return a transcript of the usual length for a video whose transcript is not here."""
    words = "?" * UNKNOWN_TRANSCRIPT
    transcript = Transcript(
        video_id=listed.video.video_id, text=words, provider="unknown", content_hash="unknown"
    )
    return VideoRows(videos=(listed.video,), transcripts=(transcript,))


def _calls_by_stage(
    config: FactCheckConfig,
    strategy: Strategy,
    choice: VariantServices,
    windows: int,
    claims: int,
    pages: int,
) -> Mapping[str, int]:
    """Return the model calls of each stage, if a model answers in it.

    `windows` are the calls that find the claims, 0 if the corpus gives them. `pages` are those of
    all claims.
    """
    if strategy.needs_model:
        # The model chooses its questions, within its budget; most of them are about pages.
        return {"claims": windows, "evidence": claims * config.budget.max_calls}
    asked = {choice.models[each] for each in ("claims", "queries") if each in choice.models}
    # The call that finds the claims returns a few queries for each too.
    has_queries = windows and config.queries.max_queries <= SEARCHES_PER_CLAIM and len(asked) <= 1
    readings = pages
    # A check that stops at enough sources does not wait for a group of pages.
    if config.evidence.together and config.evidence.enough_origins is None:
        readings = claims * math.ceil(pages / claims / ReadingLimits().together) if claims else 0
    return {
        "claims": windows,
        "queries": 0 if has_queries else claims,
        "evidence": readings,
        "verdicts": int(choice.made_by["verdicts"] == "llm"),
    }


def _windows(characters: int) -> int:
    """Return the calls that a transcript takes: one per window, and one to merge several."""
    windows = ReadingLimits().transcript.count(characters)
    return windows if windows == 1 else windows + 1


def _assumed_tokens(
    stage: str, characters: int, config: FactCheckConfig, pages_per_call: float
) -> Tokens:
    """Return the tokens of a call of a stage without recorded calls.

    `characters` is the length of the transcript.
    """
    limits, queries = ReadingLimits(), config.queries.max_queries
    claims, sources = config.claims.max_claims, queries * config.search.max_results
    window = min(characters, limits.transcript.size)
    read, written = {
        "claims": (window / CHARACTERS_PER_TOKEN, _ANSWER_TOKENS + claims * _CLAIM_TOKENS),
        "queries": (_STATED_TOKENS, queries * _QUERY_TOKENS),
        "evidence": (
            _STATED_TOKENS + pages_per_call * limits.page / CHARACTERS_PER_TOKEN,
            pages_per_call * _ANSWER_TOKENS,
        ),
        "verdicts": (
            claims * min(sources, limits.sources) * _ANSWER_TOKENS,
            claims * _ANSWER_TOKENS,
        ),
    }[stage]
    return Tokens(_PROMPT_TOKENS + read, written, "assumed")


def _recorded(settings: Settings) -> dict[tuple[str, str], Tokens]:
    """Return the average tokens of this machine's calls, by stage and model and by stage alone."""
    if not settings.warehouse.exists():
        return {}
    rows = Warehouse(settings.warehouse).rows(_SQL["tokens_per_call"])
    return {
        (stage, model): Tokens(read, written, "recorded" if model else "stage")
        for stage, model, read, written in map(dict.values, rows)
    }
