"""Names the language models of the settings, and opens their clients and budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from factible_assets.reasoners.llm.conversation import StageModel
from factible_assets.settings import Settings
from resources.errors import SetupError
from resources.llm.base import LanguageModel
from resources.llm.limits import Budget, Ceiling
from resources.llm.registry import PROJECT_MODELS, ModelInfo, ModelRegistry, RegistryError

if TYPE_CHECKING:
    from resources.llm.backend import Batching
    from resources.llm.clients import ModelClients

DEFAULT_MODEL = "gpt-6-luna"
"""The default model: OpenAI's for much work at low cost."""

JUDGEMENTS = ("claims", "queries", "evidence", "verdicts")

JUDGE = "judge"
"""The stage of the model that scores answers."""

_SEED = 1


def model_registry(settings: Settings) -> ModelRegistry:
    """Return the known models, and the prices of models and other services.

    Raises SetupError: A registry is unreadable.
    """
    users_models = settings.own_file("models.yaml")
    return ModelRegistry.load(PROJECT_MODELS, *([users_models] if users_models else []))


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The models of the stages, and the missing key, if any."""

    registry: ModelRegistry
    stages: dict[str, ModelInfo]
    missing: str | None

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        return tuple(dict.fromkeys(self.stages.values()))


def names_models(settings: Settings) -> bool:
    """Tell whether a setting names a language model."""
    names = [settings.model, *map(settings.stage_models.get, JUDGEMENTS)]
    return bool(settings.openai_api_key or settings.openai_base_url or any(names))


def plan_models(settings: Settings, *stages: str) -> ModelPlan:
    """Return the model of each stage, by default of the four judgements.

    Raises SetupError: A registry is unreadable, or a model or provider is unknown.
    """
    registry = model_registry(settings)
    models = {}
    for stage in stages or JUDGEMENTS:
        name = settings.stage_models.get(stage) or settings.model or DEFAULT_MODEL
        models[stage] = named_model(settings, registry, name)
    # Only OpenAI itself always needs a key.
    is_set = settings.openai_base_url or settings.openai_api_key
    lacks_key = not is_set and any(model.provider == "openai" for model in models.values())
    return ModelPlan(registry, models, "OPENAI_API_KEY" if lacks_key else None)


def named_model(settings: Settings, registry: ModelRegistry, name: str) -> ModelInfo:
    """Look up a model that a setting names.

    A model has a name of models.yaml, optionally after its provider (ollama/qwen3:4b). An unlisted
    model belongs to OpenAI, or to the server at OPENAI_BASE_URL, if a key or an address is set.
    Such a server may have names like openai/gpt-4o-mini, which stay whole.

    Raises SetupError: The model or its provider is unknown.
    """
    provider, slash, rest = name.partition("/")
    host = urlsplit(settings.openai_base_url or "").hostname
    is_other_server = host not in {None, "api.openai.com"}
    if slash and provider in registry.providers:
        whole = is_other_server and provider == "openai"
        return registry.model(name if whole else rest, provider=provider)
    try:
        return registry.model(name)
    except RegistryError:
        if is_other_server or (settings.openai_api_key and not slash):
            return registry.model(name, provider="openai")
        raise


def plan_judge(settings: Settings) -> ModelPlan:
    """Return the plan of the model that judges answers of runs.

    Raises SetupError: The model has no key, or a registry, model or provider is unusable.
    """
    plan = plan_models(settings, JUDGE)
    if plan.missing is not None:
        raise SetupError(
            f"The model {plan.stages[JUDGE].name} needs {plan.missing} to judge. Set it in .env, "
            "or name a model that needs no key: FACTIBLE_STAGE_MODELS=judge=ollama/qwen3:4b."
        )
    return plan


def model_clients(
    settings: Settings, registry: ModelRegistry, batches: Batching | None = None
) -> ModelClients:
    """Return the clients of models; use them with `async with`."""
    from resources.llm.clients import ModelClients
    from resources.llm.prompt import PromptFolder

    openai_key = {"openai": settings.openai_api_key} if settings.openai_api_key is not None else {}
    prompt_folder = PromptFolder(settings.prompts, settings.keep_prompts)
    prompt_folder.delete_expired()
    addresses = {"openai": settings.openai_base_url, "ollama": settings.ollama_host}
    return ModelClients(
        registry,
        keys={**settings.model_api_keys, **openai_key},
        base_urls={provider: url for provider, url in addresses.items() if url},
        prompt_folder=prompt_folder,
        batches=batches,
    )


def stage_model(settings: Settings, model: LanguageModel, max_tokens: int) -> StageModel:
    """Return the model of a stage with its settings; `max_tokens` limits an answer."""
    return StageModel(
        model,
        settings.answer_language,
        max_tokens=max_tokens,
        seed=_SEED,
        effort=settings.reasoning_effort,
        remedy="Lower FACTIBLE_REASONING_EFFORT",
    )


def new_budget(name: str, settings: Settings) -> Budget:
    """Return the budget of a run or a judging, with a ceiling per video."""
    return Budget(
        name,
        Ceiling(settings.budget_usd.run, "run in FACTIBLE_BUDGET_USD"),
        per_account=Ceiling(settings.budget_usd.video, "video in FACTIBLE_BUDGET_USD"),
    )


class RunBudgets:
    """The budgets of the runs of this process: all steps of a run and their retries share one."""

    def __init__(self) -> None:
        self._budgets: dict[str, Budget] = {}

    def of(self, run_id: str, video_id: str, settings: Settings) -> Budget:
        """Return the budget of a run for a video."""
        budget = self._budgets.setdefault(run_id, new_budget("this run", settings))
        return budget.account(f"the video {video_id}")

    def of_run(self, run_id: str) -> Budget:
        """Return the budget of a run; an unused one if the run asked no model."""
        return self._budgets.get(run_id) or Budget("this run", Ceiling())


BUDGETS = RunBudgets()
