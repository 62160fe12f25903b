"""What an experiment will do before it is done: searches, pages, model calls, tokens, dollars.

What belongs here: counting the work that is not done yet, each piece once, and pricing it. What
does not: which work is the same (plan.py), prices (the registry of models).

Counts are ceilings: a video may make fewer claims than are asked for, and searches find the same
page more than once, and pages that say nothing of a claim cost no call. Searches come with the
claims that one model finds; only other searches take calls of their own. Not counted, since nobody
can know of them before: a second page of poor results, an answer that is asked for again, a page
that comes late or has to be read alone.
Tokens per call are what calls of the same stage and model took on average in this machine's
warehouse; without such calls those of the stage under any model; without those, `assumed_tokens`.
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
from factible_assets.records import Transcript
from factible_assets.rows import VideoRows
from factible_assets.runs.experiments.plan import STAGES, Experiment, Variant
from factible_assets.runs.experiments.runner import Ledger, experiment_file
from factible_assets.runs.experiments.surroundings import (
    Choice,
    NoWordsError,
    Surroundings,
    choose,
    words_of,
)
from factible_assets.services.reasoning import plan_models
from factible_assets.services.search import search_names
from factible_assets.settings import Settings
from factible_assets.strategies import strategy_named
from resources.llm.registry import CHARACTERS_PER_TOKEN, ModelInfo
from resources.statements import statements
from warehouse.store import Warehouse

_ASK = statements("factible_assets.runs.experiments", "experiments.sql")

UNKNOWN_TRANSCRIPT = 15_000
"""Characters of a transcript that is not at hand: some twenty minutes of speech."""

_PROMPT_TOKENS = 1_300
"""The instructions of a stage, with their rules on data."""
_ANSWER_TOKENS = 150
_CLAIM_TOKENS = 90
_STATED_TOKENS = 100
"""A claim, and what is known of it."""
_QUERY_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one call, or of several, and how known: `recorded`, `stage` or `assumed`."""

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
    """What one variant adds: stages to compute, and those that it shares or has already."""

    variant: str
    compute: int
    shared: int
    done: int
    searches: int
    pages: int
    model_calls: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would do now, at most; `missing` is what it would be refused for, in sentences.

    `usd` is that of the calls whose model has a listed price; the models without are `unpriced`.
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
    """Count and price what a run would do. Nothing is written, and nobody is asked.

    `fresh`: what is done already would be done again.
    """
    file = experiment_file(settings, experiment.name)
    ledger = Ledger(experiment.name, file) if file.exists() and not fresh else None
    work = _Work(settings, ledger, Surroundings(settings), _recorded(settings))
    words = {}
    for listed in experiment.videos:
        video_id = listed.video.video_id
        try:
            words[video_id] = asyncio.run(words_of(video_id, corpora, settings, file, asks=False))
        except NoWordsError:
            # The run says why; here it only means that nothing is known of the length.
            words[video_id] = None
    variants = []
    for variant in experiment.variants:
        totals: Counter[str] = Counter()
        for listed in experiment.videos:
            totals += work.count(variant, listed, words[listed.video.video_id])
        counts = {each.name: totals[each.name] for each in fields(VariantEstimate)[1:]}
        variants.append(VariantEstimate(variant.name, **counts))
    calls = []
    for stage, model in sorted(work.taken, key=lambda at: (STAGES.index(at[0]), at[1])):
        number, sum_of = work.taken[stage, model]
        given, written = round(sum_of.input), round(sum_of.output)
        price = work.models[model].price
        usd = price.cost(given, written) if price else None
        calls.append(CallEstimate(stage, model, number, given, written, usd, sum_of.source))
    return Estimate(
        tuple(variants),
        tuple(calls),
        videos=len(words),
        transcripts_to_fetch=list(words.values()).count(None),
        missing=tuple(work.missing),
        searches=sum(each.searches for each in variants),
        pages=sum(each.pages for each in variants),
        model_calls=sum(each.calls for each in calls),
        usd=math.fsum(each.usd or 0.0 for each in calls),
        unpriced=tuple(dict.fromkeys(each.model for each in calls if each.usd is None)),
    )


@dataclass
class _Work:
    """What is counted so far; each piece of work once."""

    settings: Settings
    ledger: Ledger | None
    place: Surroundings
    usage: Mapping[tuple[str, str], Tokens]
    taken: dict[tuple[str, str], tuple[int, Tokens]] = field(default_factory=dict)
    models: dict[str, ModelInfo] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)
    planned: set[tuple[str, str]] = field(default_factory=set)

    def count(self, variant: Variant, listed: CorpusVideo, said: VideoRows | None) -> Counter[str]:
        """Count what one variant adds on one video, and what it shares or has already."""
        choice = choose(variant, self.settings, listed.web)
        self.missing |= dict.fromkeys(choice.missing)
        video, video_id = said.video if said else listed.video, listed.video.video_id
        unknown = Transcript(
            video_id=video_id, text="?", provider="unknown", content_hash="unknown"
        )
        transcript = said.transcripts[0] if said else unknown
        characters = len(transcript.text) if said else UNKNOWN_TRANSCRIPT
        given = listed.given_claims
        keys = self.place.keys(variant.config, video, transcript, choice, given)
        strategy = strategy_named(variant.config.strategy)
        config = strategy.adapt(variant.config, listed.video)
        claims = config.claims.max_claims if given is None else len(given.claims)
        searches = strategy.most_searches(config)
        pages_of_claim = searches * config.search.max_results
        pages = claims * pages_of_claim
        come_along = given is None and config.queries.max_queries <= USUAL
        models = choice.models
        if {"queries", "claims"} <= models.keys():
            come_along = come_along and models["queries"] == models["claims"]
        # A check that stops at enough sources waits for none of them.
        together = config.evidence.together and config.evidence.enough_origins is None
        calls = {
            "claims": _windows(characters) if given is None else 0,
            "queries": 0 if come_along else claims,
            "evidence": claims * math.ceil(pages_of_claim / ReadingLimits().together)
            if together
            else pages,
            "verdicts": int(choice.made_by["verdicts"] == "llm"),
        }
        if strategy.needs_model:
            # It asks as it sees fit, within its budget.
            calls = {"claims": calls["claims"], "verdicts": claims * config.budget.max_calls}
        totals: Counter[str] = Counter()
        is_open = False
        for stage in STAGES:
            holder = self.ledger and self.ledger.holder(
                video_id, stage, keys[stage], preferred=variant.name
            )
            # What follows a stage that is to be computed is to be computed, too.
            is_open = is_open or not (holder or (video_id, keys[stage]) in self.planned)
            if not is_open:
                totals["done" if holder == variant.name else "shared"] += 1
                continue
            self.planned.add((video_id, keys[stage]))
            totals["compute"] += 1
            if stage == "search_hits":
                providers = len(search_names(self.settings)) if choice.web == "live" else 1
                totals["searches"] += claims * searches * max(1, providers)
            if stage == "evidence":
                totals["pages"] += pages
            if stage in choice.models and (number := calls.get(stage, 0)):
                totals["model_calls"] += number
                asked_of = pages if stage == "evidence" else number
                assumed = assumed_tokens(stage, characters, config, asked_of / number)
                self._take(stage, choice, number, assumed)
        return totals

    def _take(self, stage: str, choice: Choice, calls: int, assumed: Tokens) -> None:
        """Add calls of a stage, with the tokens that such calls took before."""
        model = choice.models[stage]
        self.models.setdefault(model, plan_models(choice.settings).stages[stage])
        each = self.usage.get((stage, model)) or self.usage.get((stage, "")) or assumed
        known, sum_of = self.taken.get((stage, model), (0, Tokens(0.0, 0.0, "")))
        read, written = sum_of.input + calls * each.input, sum_of.output + calls * each.output
        self.taken[stage, model] = known + calls, Tokens(read, written, each.source)


def _windows(characters: int) -> int:
    """Return how many calls a transcript takes: its windows, and one that merges several."""
    windows = ReadingLimits().transcript.count(characters)
    return windows if windows == 1 else windows + 1


def assumed_tokens(
    stage: str, characters: int, config: FactCheckConfig, asked_of: float = 1.0
) -> Tokens:
    """Return what a call takes where no call was ever recorded: instructions, data, answer.

    `characters` are those of the transcript; `asked_of` is how many pages share a call on average.
    """
    limits, queries = ReadingLimits(), config.queries.max_queries
    claims, sources = config.claims.max_claims, queries * config.search.max_results
    window = min(characters, limits.transcript.size)
    read, written = {
        "claims": (window / CHARACTERS_PER_TOKEN, _ANSWER_TOKENS + claims * _CLAIM_TOKENS),
        "queries": (_STATED_TOKENS, queries * _QUERY_TOKENS),
        "evidence": (
            _STATED_TOKENS + asked_of * limits.page / CHARACTERS_PER_TOKEN,
            asked_of * _ANSWER_TOKENS,
        ),
        "verdicts": (
            claims * min(sources, limits.sources) * _ANSWER_TOKENS,
            claims * _ANSWER_TOKENS,
        ),
    }[stage]
    return Tokens(_PROMPT_TOKENS + read, written, "assumed")


def _recorded(settings: Settings) -> dict[tuple[str, str], Tokens]:
    """Return the averages of this machine's own calls, by stage and model and by stage alone."""
    if not settings.warehouse.exists():
        return {}
    rows = Warehouse(settings.warehouse).query(_ASK["tokens_per_call"])
    return {
        (stage, model): Tokens(read, written, "recorded" if model else "stage")
        for stage, model, read, written in rows.rows()
    }
