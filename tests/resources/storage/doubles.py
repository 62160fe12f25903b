"""Small clients that count their calls and return the answers of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import BaseModel

from resources.llm.base import Answer, ModelAnswer, ModelCall, ModelRequest, OnCall
from resources.llm.limits import Budget
from resources.llm.structured import StructuredModel
from resources.pages.base import FetchedPage
from resources.promises import Promise
from resources.ratings.base import DomainAge
from resources.search.base import SearchAnswer, SearchRequest

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    """A present that a test moves on."""

    now: float = 1_770_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class CountingSearch:
    answers: Callable[[], Sequence[SearchAnswer]]
    asked: list[str] = field(default_factory=list)
    pause: float = 0.0
    may_answer: asyncio.Event | None = None

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        self.asked.append(f"{request.query} {request.page}")
        await asyncio.sleep(self.pause)
        if self.may_answer is not None:
            await self.may_answer.wait()
        return self.answers()


@dataclass
class CountingFetcher:
    page: Callable[[str, FetchedPage | None], FetchedPage]
    asked: list[FetchedPage | None] = field(default_factory=list)

    async def fetch(
        self, url: str, known: FetchedPage | None = None, *, promise: Promise | None = None
    ) -> FetchedPage:
        self.asked.append(known)
        await asyncio.sleep(0)
        return self.page(url, known)


@dataclass
class CountingAges:
    found: DomainAge
    asked: int = 0

    async def age(self, domain: str) -> DomainAge:
        del domain
        self.asked += 1
        return self.found


class Reading(BaseModel):
    """The output type of the tests' model requests."""

    stance: str
    score: float = 0.0


PAID = ModelCall(
    provider="openai",
    model="gpt-test",
    attempt=2,
    input_tokens=120,
    output_tokens=30,
    cost_usd=0.25,
    latency_seconds=1.5,
    outcome="ok",
    cached_tokens=4,
)
FAILED = PAID.model_copy(
    update={
        "attempt": 1,
        "cost_usd": 0.1,
        "outcome": "invalid",
        "reason": "no stance",
        "request_id": "failed",
    }
)


@dataclass
class CountingModel(StructuredModel):
    answer: Callable[[Budget | None], BaseModel]
    asked: int = 0
    pause: float = 0.0
    identity: str = "openai https://api.example gpt-test"
    provider: str = "openai"
    model: str = "gpt-test"
    spends: Sequence[ModelCall] = ()

    async def complete(
        self,
        request: ModelRequest[Answer],
        *,
        budget: Budget | None = None,
        on_call: OnCall | None = None,
    ) -> ModelAnswer[Answer]:
        self.asked += 1
        for call in self.spends if on_call is not None else ():
            assert on_call is not None
            await on_call(call)
        await asyncio.sleep(self.pause)
        value = self.answer(budget)
        assert isinstance(value, request.output_type)
        return ModelAnswer(value, (FAILED, PAID))
