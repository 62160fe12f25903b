"""The door to a language model, as this reasoner needs it.

What belongs here: the question, the reply, the error, and the protocol between them. What does not:
any client (resources.llm; factible_assets/model_door.py joins the two), any prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A piece of a prompt. A trimmable one may lose its end if the context window is too small."""

    text: str
    trimmable: bool = False


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer]):
    """What a model is asked, and the type that its answer must have."""

    system: str
    parts: tuple[PromptPart, ...]
    output_type: type[Answer]
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None


class CallReport(Protocol):
    """What a client reports of one request to a model's server."""

    @property
    def provider(self) -> str:
        """Who serves the model."""
        ...

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def attempt(self) -> int:
        """Which request of one question this was, from 1."""
        ...

    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt, as the server counted them."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens of the answer, as the server counted them."""
        ...

    @property
    def cost_usd(self) -> float:
        """What it cost, in US dollars."""
        ...

    @property
    def price_known(self) -> bool:
        """Whether the model has a listed price; where it has none, the cost is 0 for that."""
        ...

    @property
    def latency_seconds(self) -> float:
        """Seconds from sending to the last byte."""
        ...

    @property
    def outcome(self) -> Literal["ok", "invalid", "truncated", "refused", "infra_error"]:
        """What came of it."""
        ...

    @property
    def reason(self) -> str | None:
        """What was wrong, in a sentence without secrets."""
        ...

    @property
    def cache_hit(self) -> bool:
        """Whether the answer was kept from an earlier request."""
        ...


@dataclass(frozen=True, slots=True)
class Reply(Generic[Answer]):
    """A valid answer and every request that it took."""

    value: Answer
    calls: Sequence[CallReport] = ()


class ModelFailureError(Exception):
    """There is no answer. `reason` is a sentence for a person; `calls` is what was tried."""

    def __init__(self, reason: str, calls: Sequence[CallReport] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.calls = tuple(calls)


class PromptTooLongError(ModelFailureError):
    """The question does not fit into the model's context window; a shorter one may."""


class OverBudgetError(ModelFailureError):
    """The question was not asked, because its ceiling does not allow it."""


class LanguageModel(Protocol):
    """A model that answers in the shape that it is asked for."""

    async def ask(self, question: Question[Answer]) -> Reply[Answer]:
        """Ask until the answer is valid.

        Raises:
            PromptTooLongError: The question does not fit into the context window.
            OverBudgetError: A ceiling of its costs does not allow the question.
            ModelFailureError: The service failed, or the model declined, was cut off, or never
                answered in the right shape.
        """
        ...
