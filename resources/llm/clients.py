"""The door to all models: by name, with their provider's limits, closed together.

What belongs here: putting a model's backend, price, window and limits together. What does not:
which model a stage uses, and where keys come from; both are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from pydantic import SecretStr

from resources.llm.backend import Backend, Batching, CallPolicy, Server
from resources.llm.limits import RateLimiter, RateLimits
from resources.llm.prompt import PromptFolder
from resources.llm.registry import ModelInfo, ModelRegistry
from resources.llm.structured import StructuredModel

_MOST_TOGETHER = 50_000
"""Requests of one batch."""


class ModelClients:
    """Makes each model once, and one rate limiter for each provider. Nothing is opened yet.

    Args:
        registry: The models and providers.
        keys: By the provider's name.
        base_urls: By the provider's name; in place of the registry's.
        policy: How patient to be.
        kept: Where prompts and answers are kept; nowhere if None.
        batches: How to ask OpenAI's models in batches; at once if None.
    """

    def __init__(
        self,
        registry: ModelRegistry,
        *,
        keys: Mapping[str, SecretStr] | None = None,
        base_urls: Mapping[str, str] | None = None,
        policy: CallPolicy | None = None,
        kept: PromptFolder | None = None,
        batches: Batching | None = None,
    ) -> None:
        self._registry = registry
        self._keys = keys or {}
        self._base_urls = base_urls or {}
        self._policy = policy or CallPolicy()
        self._kept = kept
        self._batches = batches
        self._limiters: dict[str, RateLimiter] = {}
        self._models: dict[tuple[str, str], StructuredModel] = {}

    def __repr__(self) -> str:
        return f"ModelClients({', '.join(name for _, name in self._models) or 'none made'})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def model(self, name: str, *, provider: str | None = None) -> StructuredModel:
        """Return a model, the same one each time.

        Raises:
            RegistryError: The model or the provider is not known (see `ModelRegistry.model`).
            ValueError: The provider's key cannot be sent in a header.
        """
        info = self._registry.model(name, provider=provider)
        key = (info.provider, info.name)
        if key not in self._models:
            self._models[key] = self._make(info)
        return self._models[key]

    def _make(self, info: ModelInfo) -> StructuredModel:
        # Imported late: the libraries take seconds to load, and one of them is enough.
        provider, policy = self._registry.provider(info.provider), self._policy
        limiter = self._limiters.setdefault(provider.name, RateLimiter(provider.limits))
        server: Server = {
            "base_url": self._base_urls.get(provider.name, provider.base_url),
            "api_key": self._keys.get(provider.name),
            "policy": policy,
        }
        backend: Backend
        if provider.protocol == "ollama":
            from resources.llm.ollama import DEFAULT_CONTEXT, OllamaBackend  # noqa: PLC0415

            context = min(DEFAULT_CONTEXT, info.context_window or DEFAULT_CONTEXT)
            backend = OllamaBackend(info, context=context, **server)
            info = replace(info, context_window=context)
        elif self._batches and not provider.api_version:
            from resources.llm.openai_batch import PRICE, OpenAIBatches  # noqa: PLC0415

            backend = OpenAIBatches(info, batching=self._batches, **server)
            info = replace(info, price=info.price and info.price.times(PRICE), batched=True)
            # Each request waits for its whole batch, beside all others of it.
            seconds = self._batches.wait_seconds
            patience = seconds + policy.answer_seconds
            policy = replace(policy, answer_seconds=patience, patience_seconds=seconds)
            limiter = RateLimiter(RateLimits(max_concurrent=_MOST_TOGETHER))
        else:
            from resources.llm.openai import OpenAIBackend  # noqa: PLC0415

            backend = OpenAIBackend(info, api_version=provider.api_version, **server)
        return StructuredModel(backend, info, limiter=limiter, policy=policy, kept=self._kept)

    async def aclose(self) -> None:
        """Close what the running event loop has opened."""
        for model in self._models.values():
            await model.aclose()
