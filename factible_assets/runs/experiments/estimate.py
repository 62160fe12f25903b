"""Estimates the searches, pages, model calls and cost of an experiment before it runs.

Counts are upper bounds: a video may have fewer claims, searches may find the same page twice, and
an irrelevant page costs no call. The counts leave out second pages of results and repeated
questions, because nobody can foresee them. The call for the claims also returns the usual queries;
other queries take calls of their own. Tokens per call are this machine's average for the stage and
model, else for the stage under any model, else `assumed_tokens`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from dataclasses import dataclass

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.reasoners.llm.engine import ReadingLimits
from factible_assets.reasoners.llm.queries import USUAL
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Transcript
from factible_assets.runs.experiments.plan import STAGES, Experiment, ExperimentError, Variant
from factible_assets.runs.experiments.runner import ExperimentStore, experiment_file
from factible_assets.runs.experiments.surroundings import (
    StageKeys,
    VariantServices,
    choose,
    transcript_of,
)
from factible_assets.services.models import plan_models
from factible_assets.services.search import search_names
from factible_assets.settings import Settings
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
    """Mean tokens of a call. `source` is `recorded`, `stage` or `assumed`."""

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
    """The most that a run would do. `missing` are sentences about services that are not set up.

    `usd` is the cost of the calls whose model has a listed price; `unpriced` are the other models.
    """

    variants: tuple[VariantEstimate, ...]
    calls: tuple[CallEstimate, ...]
    videos: int
    transcripts_to_fetch: int
    missing: tuple[str, ...]
    searches: int
    pages: int
    model_calls: int
    usd: float
    unpriced: tuple[str, ...]


def estimate(
    experiment: Experiment, corpora: CorporaReading, settings: Settings, *, fresh: bool = False
) -> Estimate:
    """Count and price the work of a run, or with `fresh` of a run that starts over.

    It writes nothing and asks no service.
    """
    store = ExperimentStore(experiment_file(settings, experiment.name), fresh=fresh)
    keys, usage = StageKeys(settings), _recorded(settings)
    said: dict[str, VideoRows | None] = {}
    for listed in experiment.videos:
        video_id = listed.video.video_id
        try:
            found = asyncio.run(transcript_of(video_id, corpora, settings, store.path, fetch=False))
        except ExperimentError:  # the run reports it
            found = None
        said[video_id] = found
    calls: dict[tuple[str, str], CallEstimate] = {}
    missing: dict[str, None] = {}
    variants = [VariantEstimate(each.name) for each in experiment.variants]
    for variant, counted in zip(experiment.variants, variants, strict=True):
        for listed in experiment.videos:
            choice = choose(variant, settings, listed.web)
            missing |= dict.fromkeys(choice.missing)
            rows = said[listed.video.video_id]
            counting = _count(counted, variant, choice, listed, rows, keys, store)
            for stage, number, assumed in counting:
                model, info = choice.models[stage], plan_models(choice.settings).stages[stage]
                mean = usage.get((stage, model)) or usage.get((stage, "")) or assumed
                of_model = CallEstimate(stage, model, mean.source)
                of_model = calls.setdefault((stage, model), of_model)
                of_model.calls += number
                of_model.input_tokens += round(number * mean.input)
                of_model.output_tokens += round(number * mean.output)
                if info.price is not None:
                    of_model.usd = info.price.cost(of_model.input_tokens, of_model.output_tokens)
    by_stage = sorted(calls.values(), key=lambda each: (STAGES.index(each.stage), each.model))
    return Estimate(
        tuple(variants),
        tuple(by_stage),
        videos=len(said),
        transcripts_to_fetch=list(said.values()).count(None),
        missing=tuple(missing),
        searches=sum(each.searches for each in variants),
        pages=sum(each.pages for each in variants),
        model_calls=sum(each.model_calls for each in variants),
        usd=math.fsum(each.usd or 0.0 for each in by_stage),
        unpriced=tuple(dict.fromkeys(each.model for each in by_stage if each.usd is None)),
    )


def _count(
    counted: VariantEstimate,
    variant: Variant,
    choice: VariantServices,
    listed: CorpusVideo,
    said: VideoRows | None,
    keys: StageKeys,
    store: ExperimentStore,
) -> Iterator[tuple[str, int, Tokens]]:
    """Count the work that a variant adds on one video.

    Yields each stage with model calls, their number, and the tokens of one.
    """
    video_id, given = listed.video.video_id, listed.given_claims
    strategy = strategy_named(variant.config.strategy)
    config = strategy.adapt(variant.config, listed.video)
    characters = len(said.transcripts[0].text) if said else UNKNOWN_TRANSCRIPT
    unknown = Transcript(video_id=video_id, text="?", provider="unknown", content_hash="unknown")
    rows = said or VideoRows(videos=(listed.video,), transcripts=(unknown,))
    own = keys.of(variant.config, rows, choice, given)
    holders = store.holders(variant.name, video_id, own, strategy)
    store.note(variant.name, video_id, own, STAGES)
    missing = STAGES[len(holders) :]
    done = sum(name == variant.name for name in holders.values())
    counted.done += done
    counted.shared += len(holders) - done
    counted.compute += len(missing)

    claims = config.claims.max_claims if given is None else len(given.claims)
    searches = strategy.most_searches(config)
    pages_of_claim = searches * config.search.max_results
    if "search_hits" in missing:
        providers = len(search_names(choice.settings)) if choice.web == "live" else 1
        counted.searches += claims * searches * max(1, providers)
    if "evidence" in missing:
        counted.pages += claims * pages_of_claim
    calls = {
        "claims": _windows(characters) if given is None else 0,
        "queries": 0 if _queries_come_with_claims(config, choice, given is None) else claims,
        "evidence": claims * pages_of_claim,
        "verdicts": int(choice.made_by["verdicts"] == "llm"),
    }
    # A check that stops at enough sources does not wait for a group of pages.
    if config.evidence.together and config.evidence.enough_origins is None:
        calls["evidence"] = claims * math.ceil(pages_of_claim / ReadingLimits().together)
    if strategy.needs_model:
        # The model chooses its questions, within its budget; most of them are about pages.
        calls = {"claims": calls["claims"], "evidence": claims * config.budget.max_calls}
    for stage in missing:
        if stage in choice.models and (number := calls.get(stage, 0)):
            counted.model_calls += number
            pages_per_call = claims * pages_of_claim / number if stage == "evidence" else 1.0
            yield stage, number, assumed_tokens(stage, characters, config, pages_per_call)


def _queries_come_with_claims(
    config: FactCheckConfig, choice: VariantServices, are_extracted: bool
) -> bool:
    """Tell whether the call for the claims returns their queries too."""
    models = {choice.models[each] for each in ("claims", "queries") if each in choice.models}
    return are_extracted and config.queries.max_queries <= USUAL and len(models) < 2  # noqa: PLR2004


def _windows(characters: int) -> int:
    """Return the calls that a transcript takes: one per window, and one to merge several."""
    windows = ReadingLimits().transcript.count(characters)
    return windows if windows == 1 else windows + 1


def assumed_tokens(
    stage: str, characters: int, config: FactCheckConfig, pages_per_call: float = 1.0
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
    rows = Warehouse(settings.warehouse).query(_SQL["tokens_per_call"])
    return {
        (stage, model): Tokens(read, written, "recorded" if model else "stage")
        for stage, model, read, written in rows.rows()
    }
