"""What an experiment will do before it is done: searches, pages, model calls, tokens, dollars.

What belongs here: counting the work that is not done yet, each piece once, and pricing it. What
does not: which work is the same (plan.py), prices (the registry of models).

Counts are ceilings: a video may make fewer claims than are asked for, and searches find the same
page more than once. Claims of a video share calls, and so do pages of a claim, as many as the
reasoner asks about together. Not counted, since nobody can know of them before: a second page of
poor results, an answer that is asked for again, a page that comes late or has to be read alone.
Tokens per call are what calls of the same stage and model took on average in this machine's
warehouse; without such calls those of the stage under any model; without those, `assumed_tokens`.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import dataclass, fields

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.experiments.plan import STAGES, Variant, stage_keys
from factible_assets.experiments.reading import Experiment
from factible_assets.experiments.runner import Ledger, experiment_file
from factible_assets.experiments.surroundings import (
    Choice,
    NoWordsError,
    Place,
    intended,
    words_at_hand,
)
from factible_assets.reasoners.llm.engine import ReadingLimits
from factible_assets.records import Transcript
from factible_assets.rows import VideoRows
from factible_assets.services.reasoning import plan_models
from factible_assets.services.search import search_names
from factible_assets.settings import Settings
from factible_assets.stages.ports import ClaimDrafts
from factible_assets.stages.strategy import Strategy
from factible_assets.strategies import strategy_named
from resources.llm.registry import ModelInfo
from resources.statements import statements
from warehouse.store import Warehouse

_ASK = statements("factible_assets.experiments", "experiments.sql")

CHARACTERS_PER_TOKEN = 4
"""Of English text, roughly; used only where no call was recorded."""

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
    return _Estimator(experiment, corpora, settings, fresh=fresh).estimate()


class _Estimator:
    def __init__(
        self, experiment: Experiment, corpora: CorporaReading, settings: Settings, *, fresh: bool
    ) -> None:
        self._experiment = experiment
        self._corpora = corpora
        self._settings = settings
        self._file = experiment_file(settings, experiment.name)
        held = self._file.exists() and not fresh
        self._ledger = Ledger(experiment.name, self._file) if held else None
        self._place = Place(settings)
        self._usage = _recorded(settings)
        self._taken: dict[tuple[str, str], tuple[int, Tokens]] = {}
        self._models: dict[str, ModelInfo] = {}
        self._missing: dict[str, None] = {}

    def estimate(self) -> Estimate:
        words = {}
        for listed in self._experiment.videos:
            video_id = listed.video.video_id
            at_hand = words_at_hand(video_id, self._corpora, self._settings, self._file)
            try:
                words[video_id] = asyncio.run(at_hand)
            except NoWordsError:
                # The run says why; here it only means that nothing is known of the length.
                words[video_id] = None
        planned: set[tuple[str, str]] = set()
        variants = []
        for variant in self._experiment.variants:
            totals: Counter[str] = Counter()
            for listed in self._experiment.videos:
                totals += self._video(variant, listed, words[listed.video.video_id], planned)
            counts = {each.name: totals[each.name] for each in fields(VariantEstimate)[1:]}
            variants.append(VariantEstimate(variant.name, **counts))
        calls = []
        for stage, model in sorted(self._taken, key=lambda at: (STAGES.index(at[0]), at[1])):
            count, taken = self._taken[stage, model]
            given, written = round(taken.input), round(taken.output)
            price = self._models[model].price
            usd = price.cost(given, written) if price else None
            calls.append(CallEstimate(stage, model, count, given, written, usd, taken.source))
        return Estimate(
            tuple(variants),
            tuple(calls),
            videos=len(words),
            transcripts_to_fetch=list(words.values()).count(None),
            missing=tuple(self._missing),
            searches=sum(each.searches for each in variants),
            pages=sum(each.pages for each in variants),
            model_calls=sum(each.calls for each in calls),
            usd=math.fsum(each.usd or 0.0 for each in calls),
            unpriced=tuple(dict.fromkeys(each.model for each in calls if each.usd is None)),
        )

    def _video(
        self,
        variant: Variant,
        listed: CorpusVideo,
        said: VideoRows | None,
        planned: set[tuple[str, str]],
    ) -> Counter[str]:
        """Count what one variant adds on one video, and what it shares or has already."""
        choice = intended(variant, self._settings, listed.web)
        if choice.reasoner == "llm" and (key := plan_models(choice.settings).missing):
            self._missing[f"A language model is named, and {key} is not set in .env."] = None
        if choice.web == "live" and not search_names(self._settings):
            self._missing["The live web is named, and no search provider is set up."] = None
        video, video_id = said.video if said else listed.video, listed.video.video_id
        unknown = Transcript(
            video_id=video_id, text="?", provider="unknown", content_hash="unknown"
        )
        transcript = said.transcripts[0] if said else unknown
        around = self._place.around(video, transcript, choice, listed.given_claims)
        keys = stage_keys(variant.config, around)
        strategy = strategy_named(variant.config.strategy)
        adapted = strategy.adapt(variant.config, listed.video)
        characters = len(said.transcripts[0].text) if said else UNKNOWN_TRANSCRIPT
        totals: Counter[str] = Counter()
        missing = False
        for stage in STAGES:
            holder = self._ledger and self._ledger.holder(
                video_id, stage, keys[stage], preferred=variant.name
            )
            # What follows a stage that is to be computed is to be computed, too.
            missing = missing or not (holder or (video_id, keys[stage]) in planned)
            if missing:
                planned.add((video_id, keys[stage]))
                totals["compute"] += 1
                totals += self._todo(
                    stage, strategy, adapted, choice, characters, listed.given_claims
                )
            else:
                totals["done" if holder == variant.name else "shared"] += 1
        return totals

    def _todo(
        self,
        stage: str,
        strategy: Strategy,
        config: FactCheckConfig,
        choice: Choice,
        characters: int,
        given: ClaimDrafts | None,
    ) -> Counter[str]:
        """Count the searches, pages and model calls of one stage, and remember the calls."""
        claims = config.claims.max_claims if given is None else len(given.claims)
        searches = strategy.most_searches(config)
        pages_of_claim = searches * config.search.max_results
        pages = claims * pages_of_claim
        if stage == "search_hits":
            providers = len(search_names(self._settings)) if choice.web == "live" else 1
            return Counter(searches=claims * searches * max(1, providers))
        together = ReadingLimits().together
        calls = {
            "claims": _windows(characters) if given is None else 0,
            "queries": math.ceil(claims / together),
            # Who would stop at enough sources waits for none of them: each may be read alone.
            "evidence": pages
            if config.evidence.enough_origins is not None
            else claims * math.ceil(pages_of_claim / together),
            "verdicts": claims,
        }.get(stage, 0)
        if strategy.needs_model and stage in STAGES[1:]:
            # It asks as it sees fit, within its budget.
            calls = claims * config.budget.max_calls if stage == STAGES[-1] else 0
        if choice.reasoner != "llm":
            calls = 0
        if calls:
            model = choice.models[stage]
            self._models.setdefault(model, plan_models(choice.settings).stages[stage])
            known = self._usage.get((stage, model)) or self._usage.get((stage, ""))
            asked_of = {"queries": claims, "evidence": pages}.get(stage, calls)
            known = known or assumed_tokens(stage, characters, config, asked_of / calls)
            count, before = self._taken.get((stage, model), (0, Tokens(0.0, 0.0, "")))
            read, written = calls * known.input, calls * known.output
            taken = Tokens(before.input + read, before.output + written, known.source)
            self._taken[stage, model] = count + calls, taken
        return Counter(pages=pages if stage == "evidence" else 0, model_calls=calls)


def _windows(characters: int) -> int:
    """Return how many calls a transcript takes: its windows, and one that merges several."""
    limits = ReadingLimits()
    step = limits.transcript_window - limits.window_overlap
    windows = max(1, math.ceil((characters - limits.window_overlap) / step))
    return windows if windows == 1 else windows + 1


def assumed_tokens(
    stage: str, characters: int, config: FactCheckConfig, asked_of: float = 1.0
) -> Tokens:
    """Return what a call takes where no call was ever recorded: instructions, data, answer.

    `characters` are those of the transcript; `asked_of` is how many claims, or pages, share the
    call on average (queries, evidence).
    """
    limits, queries = ReadingLimits(), config.queries.max_queries
    claims, sources = config.claims.max_claims, queries * config.search.max_results
    window = min(characters, limits.transcript_window)
    read, written = {
        "claims": (window / CHARACTERS_PER_TOKEN, _ANSWER_TOKENS + claims * _CLAIM_TOKENS),
        "queries": (asked_of * _STATED_TOKENS, asked_of * queries * _QUERY_TOKENS),
        "evidence": (
            _STATED_TOKENS + asked_of * limits.page / CHARACTERS_PER_TOKEN,
            asked_of * _ANSWER_TOKENS,
        ),
        "verdicts": (min(sources, limits.sources) * _ANSWER_TOKENS, _ANSWER_TOKENS),
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
