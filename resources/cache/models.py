"""A language model that is paid for the same question only once.

What belongs here: keeping valid answers. What does not: asking (resources.llm).
"""

from __future__ import annotations

from typing import Any

from resources.cache.flights import Flights
from resources.cache.store import DiskCache
from resources.cache.values import cache_key, from_json, to_json
from resources.llm.base import (
    Answer,
    BudgetExhaustedError,
    LanguageModel,
    ModelAnswer,
    ModelCall,
    ModelError,
    ModelRequest,
    PriceUnknownError,
    Probe,
)
from resources.llm.budget import Budget

_VERSION = 1
"""Raise it whenever the same question would now be asked otherwise."""

_Calls = tuple[ModelCall, ...]


class CachingModel:
    """A `LanguageModel` that keeps what another one answered; errors are never kept.

    A kept answer has the calls that led to it with their tokens, marked as cache hits, and cost
    nothing. So has the answer of whoever waits for a question that another one is asking already:
    each call is paid, and reported as paid, once.
    """

    def __init__(self, model: LanguageModel, cache: DiskCache) -> None:
        """Wrap a model. The owner of the cache closes it."""
        self._model = model
        self._cache = cache
        self._flights: Flights[ModelAnswer[Any]] = Flights()

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._model.provider

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model.model

    @property
    def identity(self) -> str:
        """Provider, address and model in one line. Holds no key."""
        return self._model.identity

    async def probe(self) -> Probe:
        """Find out whether the service answers; never from the cache."""
        return await self._model.probe()

    async def aclose(self) -> None:
        """Close what the wrapped model has opened."""
        await self._model.aclose()

    async def complete(
        self, request: ModelRequest[Answer], *, budget: Budget | None = None
    ) -> ModelAnswer[Answer]:
        """Return the kept answer, or ask; see `LanguageModel.complete` for the errors."""
        key = cache_key("models", _VERSION, self._model.identity, request.fingerprint)

        led = False

        async def work() -> ModelAnswer[Answer]:
            nonlocal led
            led = True
            kept = await self._kept(key, request.output_type)
            if kept is not None:
                return kept
            answer = await self._model.complete(request, budget=budget)
            await self._keep(key, answer, request.output_type)
            return answer

        while True:
            landed = await self._flights.join(key, work)
            try:
                answer = landed.result()
            except (BudgetExhaustedError, PriceUnknownError):
                if led:
                    raise
                continue  # it was another's ceiling; ask under one's own
            except ModelError as error:
                if landed.first:
                    raise
                raise type(error)(error.reason) from error
            return answer if landed.first else answer.as_cache_hit()

    async def _kept(self, key: str, kind: type[Answer]) -> ModelAnswer[Answer] | None:
        kept = await self._cache.get("models", key)
        if kept is None or not self._cache.is_fresh(kept, self._cache.policy.models):
            return None
        if not isinstance(kept.value, dict):
            return None
        value = from_json(kind, kept.value.get("answer"))
        calls = from_json(_Calls, kept.value.get("calls"))
        if value is None or calls is None:
            return None
        return ModelAnswer(value, calls).as_cache_hit()

    async def _keep(self, key: str, answer: ModelAnswer[Answer], kind: type[Answer]) -> None:
        value, calls = to_json(kind, answer.value), to_json(_Calls, answer.calls)
        if value is not None and calls is not None:
            keep = self._cache.policy.models
            await self._cache.put("models", key, {"answer": value, "calls": calls}, keep=keep)
