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
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

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
from resources.llm.registry import CHARACTERS_PER_TOKEN, ModelInfo
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
    """Tokens of one or several calls. `source` is `recorded`, `stage` or `assumed`."""

    input: float
    output: float
    source: str


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The calls of one stage and model. `usd` is None if the model has no listed price."""

    stage: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    tokens_from: str


@dataclass(frozen=True, slots=True)
class VariantEstimate:
    """The stages of one variant to compute, shared with another variant, or done; and the work."""

    variant: str
    compute: int
    shared: int
    done: int
    searches: int
    pages: int
    model_calls: int


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
    counter = _Counter(settings, store, StageKeys(settings), _recorded(settings))
    said: dict[str, VideoRows | None] = {}
    for listed in experiment.videos:
        video_id = listed.video.video_id
        try:
            found = asyncio.run(transcript_of(video_id, corpora, settings, store.path, fetch=False))
        except ExperimentError:  # the run reports it
            found = None
        said[video_id] = found
    variants = []
    for variant in experiment.variants:
        totals: Counter[str] = Counter()
        for listed in experiment.videos:
            totals += counter.count(variant, listed, said[listed.video.video_id])
        counts = {each.name: totals[each.name] for each in fields(VariantEstimate)[1:]}
        variants.append(VariantEstimate(variant.name, **counts))
    calls = []
    for stage, model in sorted(counter.calls, key=lambda at: (STAGES.index(at[0]), at[1])):
        number, tokens = counter.calls[stage, model]
        read, written = round(tokens.input), round(tokens.output)
        price = counter.models[model].price
        usd = price.cost(read, written) if price else None
        calls.append(CallEstimate(stage, model, number, read, written, usd, tokens.source))
    return Estimate(
        tuple(variants),
        tuple(calls),
        videos=len(said),
        transcripts_to_fetch=list(said.values()).count(None),
        missing=tuple(counter.missing),
        searches=sum(each.searches for each in variants),
        pages=sum(each.pages for each in variants),
        model_calls=sum(each.calls for each in calls),
        usd=math.fsum(each.usd or 0.0 for each in calls),
        unpriced=tuple(dict.fromkeys(each.model for each in calls if each.usd is None)),
    )


@dataclass
class _Counter:
    """Counts each piece of work once. `calls` has their number and tokens, by stage and model."""

    settings: Settings
    store: ExperimentStore
    keys: StageKeys
    usage: Mapping[tuple[str, str], Tokens]
    calls: dict[tuple[str, str], tuple[int, Tokens]] = field(default_factory=dict)
    models: dict[str, ModelInfo] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)

    def count(self, variant: Variant, listed: CorpusVideo, said: VideoRows | None) -> Counter[str]:
        """Count the work that one variant adds on one video."""
        choice = choose(variant, self.settings, listed.web)
        self.missing |= dict.fromkeys(choice.missing)
        video_id, given = listed.video.video_id, listed.given_claims
        characters = len(said.transcripts[0].text) if said else UNKNOWN_TRANSCRIPT
        unknown = Transcript(
            video_id=video_id, text="?", provider="unknown", content_hash="unknown"
        )
        rows = said or VideoRows(videos=(listed.video,), transcripts=(unknown,))
        keys = self.keys.of(variant.config, rows, choice, given)
        strategy = strategy_named(variant.config.strategy)
        config = strategy.adapt(variant.config, listed.video)
        claims = config.claims.max_claims if given is None else len(given.claims)
        searches = strategy.most_searches(config)
        pages_of_claim = searches * config.search.max_results
        pages = claims * pages_of_claim
        calls = {
            "claims": _windows(characters) if given is None else 0,
            "queries": 0 if _queries_come_with_claims(config, choice, given is None) else claims,
            "evidence": pages,
            "verdicts": int(choice.made_by["verdicts"] == "llm"),
        }
        # A check that stops at enough sources does not wait for a group of pages.
        if config.evidence.together and config.evidence.enough_origins is None:
            calls["evidence"] = claims * math.ceil(pages_of_claim / ReadingLimits().together)
        if strategy.needs_model:
            # The model chooses its questions, within its budget; most of them are about pages.
            calls = {"claims": calls["claims"], "evidence": claims * config.budget.max_calls}
        holders = self.store.holders(variant.name, video_id, keys, strategy)
        self.store.note(variant.name, video_id, keys, STAGES)
        missing = STAGES[len(holders) :]
        done = sum(name == variant.name for name in holders.values())
        totals = Counter(compute=len(missing), done=done, shared=len(holders) - done)
        for stage in missing:
            if stage == "search_hits":
                providers = len(search_names(self.settings)) if choice.web == "live" else 1
                totals["searches"] += claims * searches * max(1, providers)
            if stage == "evidence":
                totals["pages"] += pages
            if stage in choice.models and (number := calls.get(stage, 0)):
                totals["model_calls"] += number
                pages_per_call = (pages if stage == "evidence" else number) / number
                assumed = assumed_tokens(stage, characters, config, pages_per_call)
                self._add_calls(stage, choice, number, assumed)
        return totals

    def _add_calls(self, stage: str, choice: VariantServices, calls: int, assumed: Tokens) -> None:
        model = choice.models[stage]
        self.models.setdefault(model, plan_models(choice.settings).stages[stage])
        each = self.usage.get((stage, model)) or self.usage.get((stage, "")) or assumed
        known, total = self.calls.get((stage, model), (0, Tokens(0.0, 0.0, "")))
        read, written = total.input + calls * each.input, total.output + calls * each.output
        self.calls[stage, model] = known + calls, Tokens(read, written, each.source)


def _queries_come_with_claims(
    config: FactCheckConfig, choice: VariantServices, are_extracted: bool
) -> bool:
    models = choice.models
    is_one_model = (
        not {"queries", "claims"} <= models.keys() or models["queries"] == models["claims"]
    )
    return are_extracted and config.queries.max_queries <= USUAL and is_one_model


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
