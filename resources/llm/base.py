"""What a language model is asked and what it answers: requests, answers, calls, and errors.

What belongs here: the shapes that cross the door between a caller and a model client, and the
protocol of that door. What does not: any provider's wire format (openai.py, ollama.py), how an
answer is got (structured.py), prices (registry.py), ceilings (limits.py).

Every HTTP request that was sent to a server is one `ModelCall`, the failed ones included. An
answer carries its calls, and so does every error: what was paid for is never lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, Self, TypeVar, get_args, runtime_checkable
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

Answer = TypeVar("Answer", bound=BaseModel)

CallOutcome = Literal["ok", "invalid", "truncated", "refused", "infra_error"]
AnswerMode = Literal["json_schema", "json_object", "text"]
"""How the shape was asked for: enforced by the server, JSON only, or by words alone."""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard a reasoning model is to think before it answers, from least to most."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt. A trimmable piece may lose its end when the window is too small."""

    text: str
    trimmable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How questions are asked, whatever they ask.

    `max_tokens` bounds the answer; thoughts have room of their own, `thought_tokens`, as much as
    the effort needs if it is None. `temperature` is 0 to 2. `effort` None leaves it to what is
    usual for the model. `remedy` is what to raise where the answer has no room, for sentences.
    """

    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    effort: Effort | None = None
    thought_tokens: int | None = None
    remedy: str = "Raise the limit"


@dataclass(frozen=True, slots=True)
class ModelRequest(Manner, Generic[Answer]):
    """One question, and the type that its answer must have.

    Of the user's `parts` the trimmable ones (a page, say) give way to the context window. `most`
    bounds the lists of the answer where the server can hold a model to it. `examples` are questions
    with their answers, which the model is shown as turns before its own.
    """

    system: str
    parts: tuple[Part, ...]
    output_type: type[Answer]
    most: int | None = None
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def fingerprint(self) -> str:
        """The SHA-256, in hexadecimal, of what in the request changes its answer, but the model.

        A whole answer is the same under any limit: raising one asks nothing anew.
        """
        content = [
            self.system,
            [[part.text, part.trimmable] for part in self.parts],
            self.output_type.model_json_schema(),
            self.temperature,
            self.seed,
            self.effort,
            *self.examples,
        ]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class ModelCall(BaseModel):
    """One request to a model's server, and what came of it: in the ledger, a row says whose.

    Tokens are those that the server reported; `output_tokens` include `thought_tokens`, None where
    it does not tell them apart, and `input_tokens` include `cached_tokens`, read from the
    provider's own cache. Without `usage_reported` the tokens and the cost are estimated: where
    the answer was lost, of what was read alone, and 0 for a request that was turned away; without
    `price_known` the cost is 0 for want of a figure. Latency is in seconds, without the waiting for
    a slot, a rate limit or a retry.

    `request_id` is the request's own, wherever the call is told of again. A `cache_hit` was made by
    an earlier question: nothing was sent, and the cost is what it once was. `trimmed_characters`
    were left out of the request; what is `batched` went into a batch, at half the price.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    model: str
    attempt: int = Field(ge=1)
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cost_usd: float = Field(ge=0)
    latency_seconds: float = Field(ge=0)
    outcome: CallOutcome
    reason: str | None = None
    cached_tokens: int | None = Field(default=None, ge=0)
    thought_tokens: int | None = Field(default=None, ge=0)
    usage_reported: bool = True
    price_known: bool = True
    cache_hit: bool = False
    trimmed_characters: int = Field(default=0, ge=0)
    batched: bool = False
    request_id: str | None = Field(default_factory=lambda: uuid4().hex)

    def as_cache_hit(self) -> Self:
        """Return the call as one that was made earlier: it keeps its id and its cost."""
        return self.model_copy(update={"cache_hit": True, "latency_seconds": 0.0})


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[Answer]):
    """A valid answer, and all the calls that it took, the last of which is the good one."""

    value: Answer
    calls: tuple[ModelCall, ...] = field(default=())


Spent = Callable[[ModelCall], Awaitable[None]]
"""Told of each request before it is sent, as if its answer were lost, and again if it came to
nothing; both times by the same `request_id`."""


class LanguageModel(Protocol):
    """A model that answers in the shape that it is asked for."""

    async def complete(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Ask until the answer is valid, or until it is clear that there will be none.

        Raises a ModelError that says why there is none: ModelOutageError, RefusedError,
        ContextTooLongError, BudgetExhaustedError, or the base alone for an answer that had no room
        even when it got more, or no valid shape even after corrections.
        """


@runtime_checkable
class RememberingModel(Protocol):
    """A model that keeps answers, also such as came as a part of the answer to another question."""

    async def recall(self, request: ModelRequest[Answer]) -> Answer | None:
        """Return the kept answer to a question, None if there is none; nothing is asked."""

    async def remember(self, request: ModelRequest[Answer], value: Answer) -> None:
        """Keep an answer to a question, whose calls were reported elsewhere."""


class ModelError(Exception):
    """No answer. `reason` is a sentence for a person without secrets; `calls` is what was tried.

    `lasting`: asking again would end in the same way, until somebody changes something.
    """

    lasting = True

    def __init__(
        self, reason: str, calls: Sequence[ModelCall] = (), *, lasting: bool | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.calls = reason, tuple(calls)
        self.lasting = type(self).lasting if lasting is None else lasting


class ModelOutageError(ModelError):
    """The service failed; another time, or with other settings, it may answer."""

    lasting = False


class RefusedError(ModelError):
    """The model, or the filter before it, declined to answer."""


class ContextTooLongError(ModelError):
    """The prompt does not fit into the model's context window, trimmed as far as it may be."""


class BudgetExhaustedError(ModelError):
    """A ceiling on cost or tokens does not allow the next call."""
