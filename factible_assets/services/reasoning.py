"""Who judges: the embedded engine, or the language models that the settings name.

What belongs here: the choice between the two, which model serves which stage, keys, addresses and
ceilings, which models of this machine the embedded engine gets. What does not: the engines and
their models (reasoners/), the clients (resources/llm), fetching models (resources/models).

One of each model of the embedded engine serves all runs of a process: loading takes a second, and
they are safe to share.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from factible_assets.config import StrategyName
from factible_assets.reasoners.llm.calls import StageModel
from factible_assets.settings import Settings
from factible_assets.stages.flow import Strategy, StrategyError
from factible_assets.stages.ports import Reasoner
from factible_assets.strategies import strategy_named
from resources.cache.store import DiskCache
from resources.errors import SetupError
from resources.llm.base import Effort, LanguageModel
from resources.llm.limits import Budget, Ceiling
from resources.llm.registry import PROJECT_MODELS, ModelInfo, ModelRegistry, RegistryError
from resources.models.base import model_path

if TYPE_CHECKING:
    from factible_assets.reasoners.embedded.embedder import OnnxEmbedder
    from factible_assets.reasoners.embedded.reading.inference import OnnxInference
    from resources.llm.backend import Batching
    from resources.llm.structured import ModelClients

DEFAULT_MODEL = "gpt-6-luna"
"""The model of all stages where only a key is set: OpenAI's for much work at little cost."""

STAGES = ("claims", "queries", "evidence", "verdicts")

JUDGE = "judge"
"""What scores the answers of the stages, and is none of them."""

_SEED = 1
_KEPT_RUNS = 256

Kind = Literal["embedded", "llm"]


@dataclass(frozen=True, slots=True)
class ReasonerChoice:
    """Who judges a run. `remark` is what to say if that was nobody's explicit wish."""

    kind: Kind
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The models of the stages, and what is missing before they can be asked."""

    registry: ModelRegistry
    stages: dict[str, ModelInfo]
    missing: str | None

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """Each model once."""
        return tuple(dict.fromkeys(self.stages.values()))


# --- Which models -------------------------------------------------------------------------------


def names_models(settings: Settings) -> bool:
    """Tell whether anything in the settings asks for a language model."""
    named = [settings.model, *(getattr(settings, f"model_{stage}") for stage in STAGES)]
    return bool(settings.openai_api_key or settings.openai_base_url or any(named))


def plan_models(settings: Settings, names: Sequence[str] = STAGES) -> ModelPlan:
    """Find out which model each of the named stages uses.

    A model is named as in models.yaml, or with its provider before it (ollama/qwen3:4b). One that
    is not listed belongs to OpenAI or the server at OPENAI_BASE_URL, if there is a key or an
    address. Such a server may have names like openai/gpt-4o-mini of its own: they stay whole.

    Raises SetupError: A registry cannot be read, or a model or provider is not known.
    """
    registry = model_registry(settings)
    stages = {stage: _model(settings, registry, stage) for stage in names}
    # Only OpenAI itself always wants a key.
    is_set = settings.openai_base_url or settings.openai_api_key
    lacks = not is_set and any(info.provider == "openai" for info in stages.values())
    return ModelPlan(registry, stages, "OPENAI_API_KEY" if lacks else None)


def plan_judge(settings: Settings) -> ModelPlan:
    """Find out which model judges the answers of runs: its only stage is `judge`.

    Raises SetupError: None is named and no key is set, or a registry, model or provider is
    unusable.
    """
    named = settings.model_judge or settings.model
    other = "name a model that needs no key: FACTIBLE_MODEL_JUDGE=ollama/qwen3:4b."
    if not (named or settings.openai_api_key or settings.openai_base_url):
        raise SetupError(
            f"No language model is set up that could judge. Set OPENAI_API_KEY in .env, or {other}"
        )
    plan = plan_models(settings, (JUDGE,))
    if plan.missing is not None:
        raise SetupError(
            f"The model {plan.stages[JUDGE].name} is to judge, and {plan.missing} is not set. Set "
            f"it in .env, or {other}"
        )
    return plan


def model_registry(settings: Settings) -> ModelRegistry:
    """Return the models that are known, and what models and other services cost.

    Raises SetupError: A registry cannot be read.
    """
    own = settings.own_models
    return ModelRegistry.load(PROJECT_MODELS, *([own] if own else []))


def _model(settings: Settings, registry: ModelRegistry, stage: str) -> ModelInfo:
    name = getattr(settings, f"model_{stage}") or settings.model or DEFAULT_MODEL
    provider, slash, rest = name.partition("/")
    elsewhere = urlsplit(settings.openai_base_url or "").hostname not in {None, "api.openai.com"}
    if slash and provider in registry.providers:
        whole = elsewhere and provider == "openai"
        return registry.model(name if whole else rest, provider=provider)
    try:
        return registry.model(name)
    except RegistryError:
        if elsewhere or (settings.openai_api_key and not slash):
            return registry.model(name, provider="openai")
        raise


def model_clients(
    settings: Settings, plan: ModelPlan, batches: Batching | None = None
) -> ModelClients:
    """Return the clients of the planned models; use them with `async with`."""
    from resources.llm.prompt import PromptFolder
    from resources.llm.structured import ModelClients

    own = {"openai": settings.openai_api_key} if settings.openai_api_key is not None else {}
    kept = PromptFolder(settings.prompts, settings.keep_prompts)
    kept.trim()
    addresses = {"openai": settings.openai_base_url, "ollama": settings.ollama_url}
    return ModelClients(
        plan.registry,
        keys={**settings.model_api_keys, **own},
        base_urls={name: url for name, url in addresses.items() if url is not None},
        kept=kept,
        batches=batches,
    )


def effort_of(settings: Settings, stage: str) -> Effort | None:
    """Return how hard a stage's model is to think; None leaves it to what is usual for it."""
    wish: Effort | None = getattr(settings, f"reasoning_effort_{stage}")
    return wish or settings.reasoning_effort


def stage_model(
    settings: Settings, stage: str, model: LanguageModel, max_tokens: int
) -> StageModel:
    """Return how a stage, or the judge, asks its model.

    `max_tokens` is the limit on an answer where the settings have none.
    """
    limit = getattr(settings, f"max_tokens_{stage}") or max_tokens
    return StageModel(
        model,
        settings.answer_language,
        max_tokens=limit,
        seed=_SEED,
        effort=effort_of(settings, stage),
        thought_tokens=settings.thought_tokens,
        remedy=(
            f"Raise FACTIBLE_MAX_TOKENS_{stage.upper()} (now {limit:,}), or for thoughts "
            "FACTIBLE_THOUGHT_TOKENS"
        ),
    )


# --- Who judges ---------------------------------------------------------------------------------


def choose_reasoner(wish: str, settings: Settings) -> ReasonerChoice:
    """Decide who judges: embedded, llm, or auto, which takes a language model if one is set up.

    Raises SetupError: The language model was asked for and is not set up, or its settings are
    wrong.
    """
    if wish == "embedded":
        return ReasonerChoice("embedded")
    if wish == "auto" and not names_models(settings):
        small = "; factible models pull nli fetches a small one that only reads pages"
        return ReasonerChoice(
            "embedded",
            "No language model is set up, so the embedded engine judges, and its verdicts are "
            "automatic leanings. Set OPENAI_API_KEY, or FACTIBLE_MODEL for a model without a key"
            f"{'' if stance_model_in_use(settings.home) else small}.",
        )
    plan = plan_models(settings)
    if plan.missing and wish == "llm":
        raise SetupError(
            f"The language model was asked for, and {plan.missing} is not set. Set it in .env, "
            "name a model that needs no key (FACTIBLE_MODEL=ollama/qwen3:4b), or choose the "
            "reasoner embedded."
        )
    if plan.missing:
        return ReasonerChoice(
            "embedded",
            f"A model is named, and {plan.missing} is not set: the embedded engine judges instead, "
            "and its verdicts are automatic leanings.",
        )
    unpriced = sorted({each.name for each in plan.models if not each.price_known})
    names = ", ".join(f"{name}{plan.registry.nearest(name)}" for name in unpriced)
    remark = (
        f"The price of {names} is not known, so its calls are recorded without a cost. Write it "
        "into models.yaml in the data folder to change that."
    )
    return ReasonerChoice("llm", remark if unpriced else None)


def fitting_strategy(name: StrategyName, wish: str, settings: Settings) -> Strategy:
    """Return a strategy, if who judges, by the `wish` of `choose_reasoner`, can do what it asks.

    Raises SetupError: It asks a language model, and none is to judge or is set up.
    """
    strategy = strategy_named(name)
    if strategy.needs_model:
        try:
            strategy.refuse_unfit(choose_reasoner(wish, settings).kind)
        except StrategyError as error:
            raise SetupError(str(error)) from error
    return strategy


# --- What they may cost -------------------------------------------------------------------------


def new_budget(name: str, settings: Settings) -> Budget:
    """Return what may be spent on a run, or on a judging, and on each video in it."""
    return Budget(
        name,
        Ceiling(settings.budget_per_run_usd, "FACTIBLE_BUDGET_PER_RUN_USD"),
        per_account=Ceiling(settings.budget_per_video_usd, "FACTIBLE_BUDGET_PER_VIDEO_USD"),
    )


class RunBudgets:
    """The budgets of runs, so that all steps of a run, and their retries, spend from one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._budgets: OrderedDict[str, Budget] = OrderedDict()

    def of(self, run_id: str, video_id: str, settings: Settings) -> Budget:
        """Return what a run may spend on a video."""
        with self._lock:
            if run_id not in self._budgets:
                self._budgets[run_id] = new_budget("this run", settings)
                if len(self._budgets) > _KEPT_RUNS:
                    self._budgets.popitem(last=False)
            return self._budgets[run_id].account(f"the video {video_id}")

    def of_run(self, run_id: str) -> Budget:
        """Return what a run has spent so far; an unused budget if it asked no model."""
        with self._lock:
            return self._budgets.get(run_id) or Budget("this run", Ceiling())


BUDGETS = RunBudgets()
"""Those of this process."""


# --- Opening them -------------------------------------------------------------------------------


async def open_models(
    settings: Settings,
    stack: AsyncExitStack,
    cache: DiskCache,
    budget: Budget,
    *,
    renew: bool = False,
) -> Reasoner:
    """Return the reasoner that asks the planned models; the stack closes their clients.

    To `renew` what was checked, OpenAI's are asked in batches, if the settings say so.

    Raises SetupError: A key or an address cannot be used.
    """
    from factible_assets.reasoners.llm.engine import ANSWER_TOKENS, LlmReasoner
    from resources.cache.answers import CachingModel
    from resources.llm.backend import Batching

    hours = settings.recheck_batch_hours if renew else 0
    batches = Batching(settings.home / "batches", hours * 3_600) if hours else None
    plan = plan_models(settings)
    clients = await stack.enter_async_context(model_clients(settings, plan, batches))
    models = {
        model: CachingModel(clients.model(model.name, provider=model.provider), cache, budget)
        for model in plan.models
    }
    stages = {
        stage: stage_model(settings, stage, models[plan.stages[stage]], ANSWER_TOKENS[stage])
        for stage in STAGES
    }
    return LlmReasoner(stages)


def embedded_reasoner(settings: Settings, cache: DiskCache) -> Reasoner:
    """Return the embedded engine with the best models on this machine; nothing is downloaded.

    Of what was pulled, the best inference model reads pages; else statements and tone are told by
    embeddings. Vectors of texts are kept in the cache, which its owner closes.
    """
    from factible_assets.reasoners.embedded import engine
    from factible_assets.reasoners.embedded.reading import inference, stance

    name = stance_model_in_use(settings.home)
    pulled = None if name is None else model_path(settings.home, name)
    reads: stance.StanceModel
    if pulled is not None and name != "mpnet":
        reads = inference.InferenceStance(_loaded_inference(pulled))
    else:
        reads = stance.StatementsAndTone(_embedder(pulled, cache))
    return engine.EmbeddedReasoner(_embedder(None, cache), reads)


def stance_model_in_use(home: Path) -> str | None:
    """Return which pulled model reads what pages say of a claim, None if none was pulled."""
    names = ("nli-base", "nli", "mpnet")
    return next((name for name in names if model_path(home, name) is not None), None)


def _embedder(folder: Path | None, cache: DiskCache) -> OnnxEmbedder:
    """Return the sentence embeddings of a folder, or of the install; loaded when first used."""
    return _loaded_embedder(folder).keeping(cache)


@lru_cache(maxsize=2)
def _loaded_embedder(folder: Path | None) -> OnnxEmbedder:
    from factible_assets.reasoners.embedded import embedder

    if folder is None:
        return embedder.minilm()
    files = embedder.ModelFiles(folder / "model.onnx", folder / "tokenizer.json")
    return embedder.OnnxEmbedder(files)


@lru_cache(maxsize=2)
def _loaded_inference(folder: Path) -> OnnxInference:
    from factible_assets.reasoners.embedded.reading.inference import OnnxInference

    return OnnxInference(folder)
