"""What a model's server is to its client: it is asked once, and answers or fails.

What belongs here: the protocol of a backend, what most of them have in common,
and the values that cross it. What does not: any wire
format (openai.py, ollama.py), asking again (structured.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

from resources.http import RetryPolicy
from resources.llm.base import AnswerMode, ModelRequest, Probe
from resources.llm.prompt import Message

_RETRY = RetryPolicy(
    attempts=5, first_delay_seconds=1.0, max_delay_seconds=20.0, max_retry_after_seconds=60.0
)


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How patient a model's client is. Times in seconds."""

    retry: RetryPolicy = _RETRY
    patience_seconds: float = 180.0
    """No attempt begins later than this after the first one failed."""
    connect_seconds: float = 10.0
    write_seconds: float = 30.0
    answer_seconds: float = 180.0
    """From sending to the last byte; models answer all at once, so silence is no sign."""
    validation_retries: int = 3


@dataclass(frozen=True, slots=True)
class Batching:
    """How requests wait that are asked in batches. Times in seconds.

    `folder` is where it is written down which batch a request is in. A batch is waited for so long,
    begins so long after its last request, and is looked at so often.
    """

    folder: Path
    wait_seconds: float
    company_seconds: float = 15.0
    look_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as a server reported them, and what it says that they cost; None for what it left out.

    Output tokens include thoughts, input tokens include cached ones.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    thought_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered. `refusal` is its sentence, if it declined."""

    text: str | None
    finish: Literal["stop", "length", "refused"] = "stop"
    refusal: str | None = None
    usage: Usage = Usage()


class BackendError(Exception):
    """A request without a reply. `reason` is a sentence that ends without a full stop.

    kind: `passing` may succeed if repeated, `lasting` will not, `adapted` means that the backend
    has learnt something about the server and wants to ask otherwise, `context` that the prompt
    was too long, `refused` that the server's filter declined. `lost`: the server may have worked
    on it, and billed it, all the same.
    """

    def __init__(
        self,
        kind: Literal["passing", "lasting", "adapted", "context", "refused"],
        reason: str,
        *,
        pause: float | None = None,
        lost: bool = False,
        window: int | None = None,
        prompt_tokens: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.pause = pause
        self.lost = lost
        self.window = window
        self.prompt_tokens = prompt_tokens
        self.usage = usage


class Backend(Protocol):
    """One server and model, asked once at a time and without retries."""

    host: str
    """The server, for sentences."""
    base_url: str
    """The server's address without credentials."""
    cuts_silently: bool = False
    """Whether the server may drop part of a prompt that is too long without saying so."""

    def mode(self, output_type: type[Any]) -> AnswerMode:
        """Return the strictest mode that the server is not known to reject for this type."""
        return "json_schema"

    def request_id(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> str:
        """Return a name for a request: the same one only where it is sent and billed once."""
        return uuid4().hex

    def open(self) -> None:
        """Make ready for the running event loop, so that the first answer's time is its own."""
        ...

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        """Send these messages once, with the request's settings as they are.

        `max_tokens` are then those of thoughts and answer together, and `effort` is one that the
        model takes.

        Raises:
            BackendError: There is no reply.
        """
        ...

    async def probe(self) -> Probe:
        """Say whether the server answers and knows the model."""
        ...

    async def aclose(self) -> None:
        """Close what the running event loop has opened."""
        ...
