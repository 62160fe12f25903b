"""Chooses who makes each of the four judgements of a check, and opens the models.

All runs of a process share one copy of each model of the embedded engine: loading takes a second,
and the models are thread-safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from factible_assets.config import ReaderName, Reasoners, StrategyName
from factible_assets.records.tables import Basis, Maker
from factible_assets.services.labels import calibration_of, open_label_model, reading_model
from factible_assets.services.models import (
    JUDGEMENTS,
    ModelPlan,
    model_clients,
    names_models,
    plan_models,
    stage_model,
)
from factible_assets.settings import Settings
from factible_assets.stages.flow import Strategy, StrategyError
from factible_assets.stages.ports import EvidenceReader, Reasoner
from factible_assets.strategies import strategy_named
from resources.errors import SetupError
from resources.llm.limits import Budget
from resources.models.base import FOLDER, model_path
from resources.storage.answers import DiskCache

if TYPE_CHECKING:
    from factible_assets.reasoners.embedded.embedder import Embedder
    from factible_assets.reasoners.llm.engine import LlmReasoner
    from factible_assets.reasoners.readers.base import StanceReader
    from factible_assets.reasoners.readers.entailment import OnnxInference

ENTAILMENT = "nli"
"""The entailment model that `factible models pull` fetches."""


class Choices(BaseModel, frozen=True):
    """The maker of each judgement of a run. `remark` reports a default."""

    claims: Maker
    queries: Maker
    evidence: ReaderName
    verdicts: Literal["template", "llm"]
    remark: str | None = None

    @property
    def asks_llm(self) -> frozenset[str]:
        """The stages of the large language model."""
        return frozenset(stage for stage in JUDGEMENTS if getattr(self, stage) == "llm")

    @property
    def words(self) -> str:
        """The makers in one sentence."""
        makers = {"embedded": "the embedded engine", "llm": "the language model"}
        verdicts = "a template" if self.verdicts == "template" else makers["llm"]
        queries = " and" if self.queries == self.claims else f" by {makers[self.claims]},"
        return (
            f"claims{queries} queries by {makers[self.queries]}, pages read by "
            f"{READERS[self.evidence]}, words of verdicts by {verdicts}"
        )


READERS: Mapping[ReaderName, str] = {
    "lexical": "indicator words",
    "plain": "plain rules",
    "entailment": "an entailment model",
    "labels": "the label probabilities of a small language model",
    "llm": "the language model",
}
"""The name of each reader of pages in a sentence."""


# --- Choices ------------------------------------------------------------------------------------


def choose_reasoners(options: Reasoners, settings: Settings) -> Choices:
    """Choose the maker of each judgement of a run.

    In order of precedence: the run's option for the stage, the run's `reasoner`, the setting of
    this machine for the stage. "auto" means the language model if one is set up; else the embedded
    engine, the best reader of pages on this machine, and a template.

    Raises SetupError: An option names something that is not set up, or settings are wrong.
    """
    makers = {stage: _named_maker(options, settings, stage) for stage in JUDGEMENTS}
    needs_llm = "llm" in makers.values()
    may_use_llm = any(maker == "auto" for stage, maker in makers.items() if stage != "verdicts")
    plan = plan_models(settings) if needs_llm or (may_use_llm and names_models(settings)) else None
    has_llm = plan is not None and plan.missing is None
    without_llm = {"evidence": best_reader(settings), "verdicts": "template"}
    remark = None
    if plan is not None and plan.missing is None:
        remark = _unpriced(plan)
    elif plan is not None and needs_llm:
        raise SetupError(
            f"The run needs a language model, but {plan.missing} is not set. Set it in .env, name "
            "a model that needs no key (FACTIBLE_MODEL=ollama/qwen3:4b), or choose the reasoner "
            "embedded."
        )
    elif plan is not None:
        remark = (
            f"A setting names a model, but {plan.missing} is not set. The embedded engine judges "
            "instead; its verdicts are automatic leanings."
        )
    elif may_use_llm:
        has_small_model = without_llm["evidence"] == "labels"
        pull = "" if has_small_model else ", or fetch a small reader: factible models pull reader"
        remark = (
            "No language model is set up, so the embedded engine judges, and its verdicts are "
            "automatic leanings. Set OPENAI_API_KEY, or FACTIBLE_MODEL for a model without a key"
            f"{pull}."
        )
    for stage, maker in makers.items():
        if maker == "auto" and has_llm and stage != "verdicts":
            makers[stage] = "llm"
        elif maker in {"auto", "embedded"}:
            makers[stage] = without_llm.get(stage, "embedded")
    for reader, remedy in _REMEDIES.items():
        if makers["evidence"] == reader and not _has_model(reader, settings):
            raise SetupError(f"The run reads pages by {READERS[reader]}, but {remedy}")
    return Choices.model_validate({**makers, "remark": remark})


def _named_maker(options: Reasoners, settings: Settings, stage: str) -> str:
    """Return the first maker that an option or a setting names; auto if none does."""
    makers = [getattr(options, f"{stage}_by"), getattr(settings.reasoners, f"{stage}_by")]
    if stage != "verdicts":
        makers.insert(1, options.reasoner)
    return next((maker for maker in makers if maker != "auto"), "auto")


_REMEDIES: Mapping[ReaderName, str] = {
    "labels": (
        "no small model is set up. Fetch one: factible models pull reader, and install "
        "factible-assets with the extra [local]; or name a model of a server that gives "
        "probabilities: FACTIBLE_STAGE_MODELS=reader=ollama/qwen3:4b."
    ),
    "entailment": "none is on this machine. Fetch one: factible models pull nli.",
}
"""The readers that need a model, the best first, and the remedy if it is missing."""


def best_reader(settings: Settings) -> ReaderName:
    """Return the best available reader of pages, apart from the large language model."""
    return next((reader for reader in _REMEDIES if _has_model(reader, settings)), "plain")


def _has_model(reader: ReaderName, settings: Settings) -> bool:
    """Return whether the model of a reader in _REMEDIES is on this machine or on a server."""
    if reader == "entailment":
        return model_path(settings.home, ENTAILMENT) is not None
    model = reading_model(settings)
    return model is not None and (model.folder is None or find_spec("xllamacpp") is not None)


def _unpriced(plan: ModelPlan) -> str | None:
    """Return a remark on models without a known price; None if all have one."""
    unpriced = sorted({model.name for model in plan.models if model.price is None})
    if not unpriced:
        return None
    names = ", ".join(f"{name}{plan.registry.nearest(name)}" for name in unpriced)
    return (
        f"The price of {names} is unknown, so its calls have no cost. Add it to models.yaml in the "
        "data folder."
    )


def fitting_strategy(name: StrategyName, options: Reasoners, settings: Settings) -> Strategy:
    """Return a strategy if it suits the reasoners of a run.

    Raises SetupError: It needs a language model, and the run uses none.
    """
    strategy = strategy_named(name)
    if strategy.needs_model:
        of_llm = choose_reasoners(options, settings).asks_llm
        bases = ["llm" if stage in of_llm else "embedded" for stage in ("queries", "evidence")]
        try:
            strategy.refuse_unfit(bases)
        except StrategyError as error:
            raise SetupError(str(error)) from error
    return strategy


# --- Opening ------------------------------------------------------------------------------------


async def open_models(
    settings: Settings,
    stack: AsyncExitStack,
    cache: DiskCache,
    budget: Budget,
    *,
    renew: bool = False,
) -> LlmReasoner:
    """Open the planned models; the stack closes their clients.

    With `renew`, OpenAI's models answer in batches if the settings say so.

    Raises SetupError: A key or an address is invalid.
    """
    from factible_assets.reasoners.llm.engine import ANSWER_TOKENS, LlmReasoner
    from resources.llm.backend import Batching
    from resources.storage.caching import CachingModel

    hours = settings.recheck_limits.batch_hours if renew else 0
    batches = Batching(settings.home / "batches", hours * 3_600) if hours else None
    check_prompt_files(settings)
    plan = plan_models(settings)
    clients = await stack.enter_async_context(model_clients(settings, plan.registry, batches))
    models = {
        model: CachingModel(clients.model(model.name, provider=model.provider), cache, budget)
        for model in plan.models
    }
    stages = {
        stage: stage_model(settings, models[plan.stages[stage]], ANSWER_TOKENS[stage])
        for stage in JUDGEMENTS
    }
    return LlmReasoner(stages, prompts=settings.prompt_files)


def check_prompt_files(settings: Settings) -> None:
    """Refuse prompt files of the settings that do not fit. Raises SetupError."""
    from factible_assets.reasoners.llm.prompts import check_prompts

    if settings.prompt_files is not None:
        try:
            check_prompts(settings.prompt_files)
        except ValueError as error:
            raise SetupError(str(error)) from error


async def open_reasoner(
    settings: Settings,
    choices: Choices,
    stack: AsyncExitStack,
    cache: DiskCache,
    budget: Budget,
    *,
    renew: bool = False,
) -> Reasoner:
    """Open the maker of each judgement of a run, without downloads; the stack closes them.

    Raises SetupError: A key or an address is invalid.
    """
    from factible_assets.reasoners.embedded.embedder import minilm
    from factible_assets.reasoners.embedded.engine import EmbeddedReasoner
    from factible_assets.reasoners.readers.page import PageReader

    embedder = minilm().keeping(cache)
    embedded = EmbeddedReasoner(embedder)
    llm = None
    if choices.asks_llm:
        llm = await open_models(settings, stack, cache, budget, renew=renew)
    reader: EvidenceReader
    if llm is not None and choices.evidence == "llm":
        reader = llm
    else:
        basis: Basis = "labels" if choices.evidence == "labels" else "embedded"
        stance = _stance_reader(settings, choices.evidence, stack, cache, budget, embedder)
        reader = PageReader(embedder, stance, basis)
    return Reasoner(
        claims=llm if llm is not None and choices.claims == "llm" else embedded,
        queries=llm if llm is not None and choices.queries == "llm" else embedded,
        evidence=reader,
        writer=llm.word_verdicts if llm is not None and choices.verdicts == "llm" else None,
    )


def _stance_reader(
    settings: Settings,
    reader: ReaderName,
    stack: AsyncExitStack,
    cache: DiskCache,
    budget: Budget,
    embedder: Embedder,
) -> StanceReader:
    if reader == "entailment":
        from factible_assets.reasoners.readers.entailment import EntailmentReader

        return EntailmentReader(_loaded_inference(settings.home / FOLDER / ENTAILMENT))
    if reader == "lexical":
        from factible_assets.reasoners.readers.lexical import LexicalReader

        return LexicalReader()
    from factible_assets.reasoners.readers.plain import PlainReader

    if reader == "plain":
        return PlainReader()
    model = reading_model(settings)
    if reader != "labels" or model is None:
        raise SetupError(f"Nothing on this machine reads pages by {READERS[reader]}.")
    from factible_assets.reasoners.readers.base import FirstDecided
    from factible_assets.reasoners.readers.labels import LabelReader

    opened = open_label_model(settings, model, stack, cache, budget)
    by_labels = LabelReader(opened, calibration_of(settings, model), embedder)
    return FirstDecided(PlainReader(), by_labels)


def pulled_reader(settings: Settings) -> str | None:
    """Return the name of the pulled model that reads pages; None if no pulled model does."""
    best = best_reader(settings)
    if best == "labels":
        model = reading_model(settings)
        return model.folder.name if model is not None and model.folder is not None else None
    return ENTAILMENT if best == "entailment" else None


@lru_cache(maxsize=2)
def _loaded_inference(folder: Path) -> OnnxInference:
    from factible_assets.reasoners.readers.entailment import OnnxInference

    return OnnxInference(folder)
