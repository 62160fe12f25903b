"""Opens models by name, with one rate limiter for each provider."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from resources.llm import backend
from resources.llm.limits import RateLimiter
from resources.llm.prompt import PromptFolder
from resources.llm.registry import ModelInfo, ModelRegistry, ProviderInfo
from resources.llm.structured import StructuredModel

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LOCAL_CONCURRENT = 8
"""The most requests at once to a server on this machine that replaces a provider's own."""
_LOCAL_ANSWER_SECONDS = 600.0
"""Its time for an answer, if neither the registry nor the caller's policy states another."""
_MAX_BATCH = 50_000
_SLOTS_SECONDS = 5.0


class ModelClients(AbstractAsyncContextManager["ModelClients"]):
    """Opens each model once, and closes all of them at exit.

    `keys` and `base_urls` map a provider's name to its key, and to an address that replaces the
    registry's. With `batches`, models of OpenAI's protocol work in batches.
    """

    def __init__(
        self,
        registry: ModelRegistry,
        *,
        keys: Mapping[str, SecretStr | None] | None = None,
        base_urls: Mapping[str, str] | None = None,
        policy: backend.CallPolicy | None = None,
        prompt_folder: PromptFolder | None = None,
        batches: backend.Batching | None = None,
    ) -> None:
        self._registry, self._keys, self._base_urls = registry, keys or {}, base_urls or {}
        self._policy, self._batches = policy or backend.CallPolicy(), batches
        self._prompt_folder = prompt_folder
        self._limiters: dict[str, RateLimiter] = {}
        self._models: dict[tuple[str, str], StructuredModel] = {}

    async def __aexit__(self, *_: object) -> None:
        for model in self._models.values():
            await model.aclose()

    def model(self, name: str, *, provider: str | None = None) -> StructuredModel:
        """Return a model, the same object each time.

        Raises RegistryError for an unknown model or provider (see `ModelRegistry.model`), and
        SetupError if a header cannot carry the provider's key.
        """
        info = self._registry.model(name, provider=provider)
        key = (info.provider, info.name)
        if key not in self._models:
            self._models[key] = self._open(info, self._provider(info))
        return self._models[key]

    def _provider(self, info: ModelInfo) -> ProviderInfo:
        """Return a model's provider with its replaced address, if any.

        A replaced address on this machine is probably a slow server's: it gets fewer requests at
        once, more time, and limits for lists, unless a price shows that it is a gateway.
        """
        listed = self._registry.provider(info.provider)
        address = self._base_urls.get(listed.name, listed.base_url)
        provider = replace(listed, base_url=address)
        if address == listed.base_url or urlsplit(address).hostname not in _LOOPBACK:
            return provider
        seconds = listed.answer_seconds
        if self._policy == backend.CallPolicy():
            seconds = seconds or _LOCAL_ANSWER_SECONDS
        return replace(
            provider,
            max_concurrent=min(listed.max_concurrent, _LOCAL_CONCURRENT),
            answer_seconds=seconds,
            bounds_lists=listed.bounds_lists or info.price is None,
        )

    def _open(self, info: ModelInfo, provider: ProviderInfo) -> StructuredModel:
        # Late imports: the libraries take seconds to load, and most runs need only one.
        arguments = (info, provider, self._keys.get(provider.name), self._policy)
        server: backend.Backend
        if provider.protocol == "ollama":
            from resources.llm.ollama import OllamaBackend  # noqa: PLC0415

            server = OllamaBackend(*arguments)
        elif self._batches:
            from resources.llm.openai_batch import OpenAIBatches  # noqa: PLC0415

            server = OpenAIBatches(*arguments, self._batches)
            limiter = RateLimiter(max_concurrent=_MAX_BATCH)
            return StructuredModel(server, limiter=limiter, prompt_folder=self._prompt_folder)
        else:
            from resources.llm.openai import OpenAIBackend  # noqa: PLC0415

            server = OpenAIBackend(*arguments)
        limiter = self._limiters.setdefault(
            provider.name,
            RateLimiter(
                requests_per_minute=provider.requests_per_minute,
                tokens_per_minute=provider.tokens_per_minute,
                max_concurrent=provider.max_concurrent,
                slots=partial(slots_of, provider.base_url)
                if provider.protocol == "openai"
                else None,
            ),
        )
        return StructuredModel(server, limiter=limiter, prompt_folder=self._prompt_folder)


async def slots_of(base_url: str) -> int | None:
    """Return how many requests a llama.cpp server on this machine handles at once; None if unknown.

    Further requests would wait inside the server, and that would count as answering time. Other
    machines are not asked. Every failure is None.
    """
    address = urlsplit(base_url)
    if address.hostname not in _LOOPBACK:
        return None
    try:
        async with httpx.AsyncClient(timeout=_SLOTS_SECONDS, follow_redirects=False) as client:
            answer = await client.get(f"{address.scheme}://{address.netloc}/props")
            properties = answer.json() if answer.is_success else {}
    except (httpx.HTTPError, ValueError):
        return None
    slots = properties.get("total_slots") if isinstance(properties, dict) else None
    return slots if isinstance(slots, int) and slots >= 1 else None
