"""The values and the protocol between a caller and a language model: requests, answers, errors.

Every HTTP request to a server is one `ModelCall`, failed ones included. Answers and errors both
carry their calls, so that no cost is lost.
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
AnswerMode = Literal["json_schema", "json_object", "text", "next_token"]
"""How the server shapes the answer: by an enforced schema, as some JSON, or not at all; or as the
alternatives for one token."""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard a reasoning model thinks before it answers, from least to most."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt. A trimmable piece may lose its end if the window is too small."""

    text: str
    trimmable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Options of a request that do not depend on its question.

    `max_tokens` limits the answer; thoughts have their own limit, which follows from the effort.
    `temperature` is 0 to 2. With `effort` None the model's usual effort applies. `remedy` completes
    the error message if the answer exceeds its limit.
    """

    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    effort: Effort | None = None
    remedy: str = "Raise the limit"


@dataclass(frozen=True, slots=True)
class ModelRequest(CallOptions, Generic[Answer]):
    """One question, and the type of its answer.

    `parts` form the user's message. `most` limits the length of the answer's lists if the server
    can enforce that. `examples` are questions with answers; the model sees them as earlier turns.
    `listen` receives the answer while the model writes it, each time with one more complete item of
    its last list; an attempt that fails in the middle begins again. A stored answer comes at once.
    """

    system: str
    parts: tuple[Part, ...]
    output_type: type[Answer]
    most: int | None = None
    examples: tuple[tuple[str, str], ...] = ()
    listen: Callable[[Answer], None] | None = field(default=None, compare=False)

    @property
    def fingerprint(self) -> str:
        """The SHA-256, in hexadecimal, of everything here that changes the answer.

        Token limits are not part of it: a complete answer is the same under any limit.
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


class Token(BaseModel, frozen=True):
    """One alternative for the next token, and its probability in [0, 1]."""

    text: str
    probability: float = Field(ge=0, le=1)


class NextToken(BaseModel, frozen=True):
    """The likeliest alternatives for the next token."""

    tokens: list[Token]


class ModelCall(BaseModel):
    """One request to a model's server, its cost and its outcome.

    The server reported the tokens. `output_tokens` include `thought_tokens` (None if the server
    does not count them apart); `input_tokens` include `cached_tokens`, read from the provider's
    cache. Without `usage_reported`, tokens and cost are estimates: of the input alone if the answer
    was lost, and 0 for a rejected request. Without `price_known` the cost is 0. Latency is in
    seconds; it excludes waiting for a slot, a rate limit or a retry.

    `request_id` identifies the request in every report. A `cache_hit` is an earlier call: nothing
    was sent, and the cost is the original one. `trimmed_characters` counts the characters that the
    request left out; a `batched` request costs half the price.
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
        return self.model_copy(update={"cache_hit": True, "latency_seconds": 0.0})


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[Answer]):
    """A valid answer, and all calls it took; the last call is the successful one."""

    value: Answer
    calls: tuple[ModelCall, ...] = field(default=())


OnCall = Callable[[ModelCall], Awaitable[None]]
"""Receives each request before it is sent, recorded as if its answer were lost, and again, with the
same `request_id`, if it led to no answer."""


class LanguageModel(Protocol):
    """A model that answers in the requested shape."""

    async def complete(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Ask until the answer is valid, or until further requests are pointless.

        Raises a ModelError: ModelOutageError, RefusedError, ContextTooLongError,
        BudgetExhaustedError, or ModelError itself for an answer that stayed too long or invalid.
        """


@runtime_checkable
class RememberingModel(Protocol):
    """A model that stores answers, including parts of an answer to another question."""

    async def recall(self, request: ModelRequest[Answer]) -> Answer | None:
        """Return the stored answer to a question, or None. Sends no request."""

    async def remember(self, request: ModelRequest[Answer], value: Answer) -> None:
        """Store an answer to a question. Another request reported its calls."""


class ModelError(Exception):
    """No answer. `reason` is a sentence for a person, without secrets; `calls` are the attempts.

    `lasting`: a repeated request would fail in the same way until somebody changes something.
    """

    lasting = True

    def __init__(
        self, reason: str, calls: Sequence[ModelCall] = (), *, lasting: bool | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.calls = reason, tuple(calls)
        self.lasting = type(self).lasting if lasting is None else lasting


class ModelOutageError(ModelError):
    """The service failed. It may answer later, or with other settings."""

    lasting = False


class RefusedError(ModelError):
    """The model or the service's content filter declined to answer."""


class ContextTooLongError(ModelError):
    """The prompt exceeds the model's context window, even after trimming."""


class BudgetExhaustedError(ModelError):
    """A limit on cost does not allow the next call."""
