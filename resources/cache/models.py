"""A language model that is paid for the same question only once.

What belongs here: keeping valid answers, and what was paid on the way to them. What does not:
asking (resources.llm).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from resources.cache.flights import Flights
from resources.cache.store import DiskCache, cache_key, from_json, to_json
from resources.llm.base import (
    Answer,
    BudgetExhaustedError,
    ModelAnswer,
    ModelCall,
    ModelError,
    ModelRequest,
    Spent,
)
from resources.llm.limits import Budget

_VERSION = 2
"""Raise it whenever the same question would now be asked otherwise."""

_Calls = tuple[ModelCall, ...]


class Client(Protocol):
    """A model that can be asked within a budget, and tells of what was spent in vain."""

    identity: str
    """Provider, address and model in one line: what the cache must tell apart. Holds no key."""

    async def complete(
        self,
        request: ModelRequest[Answer],
        *,
        budget: Budget | None = None,
        spent: Spent | None = None,
    ) -> ModelAnswer[Answer]:
        """Ask; see `StructuredModel.complete`."""
        ...


class CachingModel:
    """A `LanguageModel` that keeps what another one answered; errors are never kept.

    A kept answer has all calls that led to it with their tokens and what they once cost, marked as
    cache hits: a run that was killed before it recorded them is made good by the next one. So are
    calls that led to no answer, and, with an estimate of what was read, those that were on their
    way when the run was killed. Whoever waits for a question that another one is asking already
    gets the answer without its calls: each is paid, and reported, once. `budget` bounds what is
    asked anew. The owner of the cache closes it.
    """

    def __init__(self, model: Client, cache: DiskCache, budget: Budget | None = None) -> None:
        self._model = model
        self._cache = cache
        self._budget = budget
        self._flights: Flights[ModelAnswer[Any]] = Flights()

    async def complete(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Return the kept answer, or ask; see `LanguageModel.complete` for the errors."""
        key = cache_key("models", _VERSION, self._model.identity, request.fingerprint)
        task, first = await self._flights.join(key, lambda: self._answer(key, request))
        try:
            answer = task.result()
        except ModelError as error:
            if first:
                raise
            again = type(error)(error.reason)
            again.lasting = error.lasting
            raise again from error
        return answer if first else replace(answer, calls=())

    async def _answer(self, key: str, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        kept = await self._cache.get("models", key)
        is_fresh = kept is not None and self._cache.is_fresh(kept, self._cache.policy.models)
        found = kept.value if kept is not None and is_fresh else None
        known = found if isinstance(found, dict) else {}
        calls = from_json(_Calls, known.get("calls")) or ()
        restored = tuple(call.as_cache_hit() for call in calls)
        if known.get("answer") is not None:
            value = from_json(request.output_type, known["answer"])
            if value is not None:
                return ModelAnswer(value, restored)
        made: dict[str | None, ModelCall] = {}

        async def spent(call: ModelCall) -> None:
            made[call.request_id] = call
            if not (call.input_tokens or call.output_tokens):
                del made[call.request_id]  # it was turned away, and cost nothing
            await self._keep(key, None, (*calls, *made.values()))

        try:
            answer = await self._model.complete(request, budget=self._budget, spent=spent)
        except ModelError as error:
            restored = _beside(error.calls, restored)
            if restored and not isinstance(error, BudgetExhaustedError):
                # Whoever is told of this error records them; what is new is told of once more.
                await self._keep(key, None, tuple(made.values()))
            error.calls = (*restored, *error.calls)
            raise
        answer = replace(answer, calls=(*_beside(answer.calls, restored), *answer.calls))
        await self._keep(key, to_json(request.output_type, answer.value), answer.calls)
        return answer

    async def _keep(self, key: str, value: Any, calls: _Calls) -> None:
        written = to_json(_Calls, calls)
        if written is not None:
            keep = self._cache.policy.models
            await self._cache.put("models", key, {"answer": value, "calls": written}, keep=keep)


def _beside(new: _Calls, restored: _Calls) -> _Calls:
    """Leave out what is told of anew: a request that was on its way, and of which this is the end.

    So it is with batches, for which whoever comes next goes on waiting.
    """
    told = {call.request_id for call in new}
    return tuple(call for call in restored if call.request_id not in told)
