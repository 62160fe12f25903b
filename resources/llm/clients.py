"""The door to all models: by name, with their provider's limits, closed together.

What belongs here: putting a model's backend, price, window and limits together. What does not:
which model a stage uses, and where keys come from; both are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from pydantic import SecretStr

from resources.llm.backend import Backend, Batching, CallPolicy
from resources.llm.limits import RateLimiter, RateLimits
from resources.llm.prompt_folder import PromptFolder
from resources.llm.registry import ModelInfo, ModelRegistry, ProviderInfo
from resources.llm.structured import StructuredModel

_MOST_TOGETHER = 50_000
"""Requests of one batch."""


class ModelClients:
    """Makes each model once, and one rate limiter for each provider."""

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
        """Remember what models are made from; nothing is opened yet.

        Args:
            registry: The models and providers.
            keys: By the provider's name.
            base_urls: By the provider's name; in place of the registry's.
            policy: How patient to be.
            kept: Where prompts and answers are kept; nowhere if None.
            batches: How to ask OpenAI's models in batches; at once if None.
        """
        self._registry = registry
        self._keys = dict(keys or {})
        self._base_urls = dict(base_urls or {})
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
        provider = self._registry.provider(info.provider)
        provider = replace(provider, base_url=self._base_urls.get(provider.name, provider.base_url))
        if self._batches and provider.protocol == "openai" and not provider.api_version:
            return self._make_batched(info, provider, self._batches)
        limiter = self._limiters.setdefault(provider.name, RateLimiter(provider.limits))
        backend, info = self._backend(info, provider)
        return StructuredModel(backend, info, limiter=limiter, policy=self._policy, kept=self._kept)

    def _make_batched(
        self, info: ModelInfo, provider: ProviderInfo, batches: Batching
    ) -> StructuredModel:
        from resources.llm.openai_batch import PRICE, OpenAIBatches  # noqa: PLC0415 - a big library

        backend = OpenAIBatches(
            info,
            base_url=provider.base_url,
            batching=batches,
            api_key=self._keys.get(provider.name),
            policy=self._policy,
        )
        price = info.price and info.price.times(PRICE)
        seconds = batches.wait_seconds
        # Each request waits for its whole batch, beside all others of it.
        policy = replace(
            self._policy,
            answer_seconds=seconds + self._policy.answer_seconds,
            patience_seconds=seconds,
        )
        limiter = RateLimiter(RateLimits(max_concurrent=_MOST_TOGETHER))
        info = replace(info, price=price, batched=True)
        return StructuredModel(backend, info, limiter=limiter, policy=policy, kept=self._kept)

    def _backend(self, info: ModelInfo, provider: ProviderInfo) -> tuple[Backend, ModelInfo]:
        # Imported late: the libraries take seconds to load, and one of them is enough.
        key = self._keys.get(provider.name)
        if provider.protocol == "ollama":
            from resources.llm.ollama import DEFAULT_CONTEXT, OllamaBackend  # noqa: PLC0415

            context = min(DEFAULT_CONTEXT, info.context_window or DEFAULT_CONTEXT)
            made: Backend = OllamaBackend(
                info,
                base_url=provider.base_url,
                context=context,
                api_key=key,
                policy=self._policy,
            )
            return made, replace(info, context_window=context)
        from resources.llm.openai import OpenAIBackend  # noqa: PLC0415

        made = OpenAIBackend(
            info,
            base_url=provider.base_url,
            api_key=key,
            api_version=provider.api_version,
            policy=self._policy,
        )
        return made, info

    async def aclose(self) -> None:
        """Close what the running event loop has opened."""
        for model in self._models.values():
            await model.aclose()
