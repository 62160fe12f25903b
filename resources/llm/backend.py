"""What a model's server is to its client: it is asked once, and answers or fails.

What belongs here: the base of all backends, the values that cross their door, what a server's
failure means whatever its dialect, and keeping keys out of sentences. What does not: any wire
format (openai.py, ollama.py), asking again (structured.py).

The wordings of context errors are those of OpenAI, vLLM, llama.cpp, its Python binding, and Ollama.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import httpx
from pydantic import SecretStr

from resources.errors import SetupError
from resources.http import RetryPolicy, failed_handshake, retry_after_seconds
from resources.llm.answers import strict_schema
from resources.llm.base import AnswerMode, ModelRequest
from resources.llm.prompt import Message
from resources.llm.registry import ModelInfo, ProviderInfo


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How patient a model's client is. Times in seconds."""

    retry: RetryPolicy = RetryPolicy(  # noqa: RUF009 - frozen
        attempts=5, first_delay_seconds=1.0, max_delay_seconds=20.0, max_retry_after_seconds=60.0
    )
    patience_seconds: float = 180.0
    """No attempt begins later than this after the first one failed."""
    connect_seconds: float = 10.0
    write_seconds: float = 30.0
    answer_seconds: float = 180.0
    """From sending to the last byte; models answer all at once, so silence is no sign."""
    validation_retries: int = 1


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


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a model can be used right now, in a sentence for a person."""

    ok: bool
    sentence: str


@dataclass(eq=False)
class BackendError(Exception):
    """A request without a reply. `reason` is a sentence that ends without a full stop.

    What is `passing` may succeed if repeated, `lasting` will not, `adapted` is asked otherwise, now
    that the backend has learnt something about the server; `context`: the prompt was too long;
    `refused`: the server's filter declined. `lost`: the server may have worked on it, and billed
    it. `crowded`: it is asked too much at once (429, or no answer in time). `pause` is in seconds,
    `window` and `prompt_tokens` are what the server reads and was given.
    """

    kind: Literal["passing", "lasting", "adapted", "context", "refused"]
    reason: str
    pause: float | None = None
    crowded: bool = False
    lost: bool = False
    window: int | None = None
    prompt_tokens: int | None = None
    usage: Usage | None = None


class Backend(ABC):
    """One server and model, asked once at a time and without retries.

    `host` is the server, for sentences; `base_url` its address without credentials. `info` is the
    model, named as the server calls it, and `policy` how long the server is waited for. A key that
    cannot be sent in a header is a SetupError, which does not repeat it.
    """

    def __init__(
        self,
        info: ModelInfo,
        provider: ProviderInfo,
        api_key: SecretStr | None = None,
        policy: CallPolicy | None = None,
        batching: Batching | None = None,
    ) -> None:
        self.info, self.policy, self._provider = info, policy or CallPolicy(), provider
        if provider.answer_seconds is not None:
            self.policy = replace(self.policy, answer_seconds=provider.answer_seconds)
        self._timeouts: dict[str, float | None] = {
            "connect": self.policy.connect_seconds,
            "read": self.policy.answer_seconds,
            "write": self.policy.write_seconds,
            "pool": None,  # who waits for a connection of its own has all the time
        }
        url = httpx.URL(provider.base_url)
        self.host = url.netloc.decode("ascii")
        self.base_url = f"{url.scheme}://{self.host}{url.path}".rstrip("/")
        value = api_key.get_secret_value().strip() if api_key else ""
        if not value.isascii() or not value.isprintable():
            raise SetupError(
                f"The API key for {self.host} holds characters that no key has. Copy it again."
            )
        self._key = SecretStr(value) if value else None
        self._secrets: tuple[SecretStr | None, ...] = (self._key,)
        self._batching = batching
        self._begin()
        self._client: Any = self._open()

    def schema(self, request: ModelRequest[Any]) -> Mapping[str, Any]:
        """Return the schema of a request's answer, as this server is sent it."""
        bounded = self._provider.bounds_lists
        return strict_schema(request.output_type, bounded=bounded, most=request.most)

    @abstractmethod
    def _begin(self) -> None:
        """Make ready what this kind of server needs."""

    @abstractmethod
    def _open(self) -> Any:
        """Make a client."""

    def mode(self, output_type: type[Any]) -> AnswerMode:
        """Return the strictest mode that the server is not known to reject for this type."""
        return "json_schema"

    def cut_to(self, counted: int, expected: int) -> int | None:
        """Return the window that the server cut a prompt to without a word; None if it did not.

        `counted` are the prompt's tokens as the server counted them, `expected` as estimated here.
        """
        return None

    def request_id(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> str:
        """Return a name for a request: the same one only where it is sent and billed once."""
        return uuid4().hex

    @abstractmethod
    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        """Send these messages once; BackendError if there is no reply.

        The request's `max_tokens` are those of thoughts and answer together, and its `effort` is
        one that the model takes.
        """

    @abstractmethod
    async def probe(self) -> Probe:
        """Say whether the server answers and knows the model."""

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.close()

    def _clean(self, text: str) -> str:
        """Return what a server said on one line, without keys, and not endless."""
        for secret in filter(None, self._secrets):
            text = text.replace(secret.get_secret_value(), "…")
        return one_line(text)

    def _status_error(
        self, body: ErrorBody, headers: Mapping[str, str], remedy: str
    ) -> BackendError:
        """Sort an error status. `remedy`: what to check if address or model are not found."""
        status, said = body.status, self._clean(body.message)
        what = f": {said.rstrip('.')}" if said else ""
        if body.context_exceeded:
            counts = (_count(each, body.message) for each in _PROMPT_TOKENS)
            return BackendError(
                "context",
                f"the prompt is too long (status {status}){what}",
                window=body.n_ctx or _count(_WINDOW, body.message),
                prompt_tokens=body.n_prompt_tokens or next(filter(None, counts), None),
            )
        if body.code in _FILTERED or body.flagged:
            return BackendError(
                "refused", f"the service's content filter stopped the prompt: {said}"
            )
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return BackendError(
                "lasting", f"it sends elsewhere (status {status}); {remedy} in the settings"
            )
        # What a person can put right is named without the server's words: they may hold the key.
        broke = status == HTTPStatus.PAYMENT_REQUIRED or {body.code, body.type} & _NO_CREDIT
        known = {
            401: "it refused the API key (status 401); check the key",
            403: "the API key may not use this model or service (status 403)",
            404: f"it knows no such model or address (status 404); {remedy}",
        }.get(status)
        if broke or known:
            return BackendError("lasting", _BROKE if broke else known or "")
        # Status 200 is an error in a success that names no status of its own.
        if status in {*_PASSING, HTTPStatus.OK} or (
            status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LASTING_5XX
        ):
            many = status == HTTPStatus.TOO_MANY_REQUESTS
            failed = "too many requests" if many else "it failed"
            reason, pause = f"{failed} (status {status}){what}", retry_after_seconds(headers)
            return BackendError("passing", reason, pause, crowded=many)
        return BackendError("lasting", f"it rejected the request (status {status}){what}")

    def _broken(self, error: BaseException, cause: BaseException | None = None) -> BackendError:
        """Sort a broken connection. Nothing of the library's own words is repeated: they hold keys.

        `cause` is what broke, if that is not the error: it goes by the names of its classes, which
        are the same in both versions of the library for HTTP.
        """
        handshake = failed_handshake(error)
        if handshake is not None:
            return BackendError("lasting", f"the secure connection failed: {handshake}")
        names = {each.__name__ for each in type(cause or error).__mro__}
        if names & {"ConnectTimeout", "PoolTimeout"}:
            seconds = self.policy.connect_seconds
            return BackendError("passing", f"it could not be reached within {seconds:g} seconds")
        if "TimeoutException" in names:
            return BackendError("passing", "it fell silent", lost=True)
        if names & {"ConnectError", "ConnectionError"}:
            reason = "no connection could be made; the server may not be running"
            return BackendError("passing", reason)
        reason = "the connection broke off before the answer was complete"
        return BackendError("passing", reason, lost=True)


def one_line(text: str) -> str:
    """Return a server's words on one line, and not endless."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"


def malformed(what: str) -> BackendError:
    """Name an answer that is not in the protocol's form. It may have been billed."""
    return BackendError("passing", f"its answer is no {what}", lost=True)


# --- What a failure means -----------------------------------------------------------------------

_SHOWN = 200
_LEAST_WINDOW = 64
_BROKE = "the account has no credit left; top it up or use another key"
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_PASSING = frozenset({408, 409, 425, 429})
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
}
"""Documented types and codes of errors (OpenAI, Anthropic) that gateways pass on without status."""
_LASTING_5XX = frozenset({501, 505})
_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_CONTEXT = re.compile(
    r"maximum context length|context length is only|exceeds? the (available )?context|"
    r"exceeds? (the |maximum )?context (length|window|size)|exceed(ed)? max context length|"
    r"prompt (is )?too long|larger than the (max )?context size",
    re.IGNORECASE,
)
_WINDOW = r"context (?:length|window|size)(?: is| of)?(?: only)?[ (]{1,2}(\d[\d,]*)"
_PROMPT_TOKENS = (
    r"\((\d+) in the messages",
    r"messages resulted in (\d+) tokens",
    r"passed (\d+) input tokens",
    r"requested tokens \((\d+)\)",
    r"request has (\d+) input tokens",
)


def _count(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text, re.IGNORECASE)
    number = int(found[1].replace(",", "")) if found else 0
    return number if number >= _LEAST_WINDOW else None


_STATUS_NAMES = ("code", "status", "status_code", "type")
_ERROR_STATUS = re.compile("[45][0-9]{2}")


def _carried(content: Any) -> Any:
    """Return the error in an answer: its own, or that of its only choice; None without one."""
    if not isinstance(content, dict):
        return None
    choices = content.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return content.get("error") or (first.get("error") if isinstance(first, dict) else None) or None


class ErrorBody:
    """What an error answer said: `{"error": {...}}`, `{"error": "..."}`, `{"message": …}`, text.

    What it did not say in a known form is empty, None or false. `flagged`: a moderation before the
    model stopped the prompt, as OpenRouter words it.
    """

    def __init__(self, status: int, body: bytes) -> None:
        text = body.decode("utf-8", "replace")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = text
        error = _carried(content) or content
        words = error if isinstance(error, str) else text
        said = error if isinstance(error, dict) else {"message": words}
        self.status = status
        message, detail, self.code, self.type, self.param = (
            str(value) if isinstance(value, str | int) else ""
            for value in map(said.get, ("message", "detail", "code", "type", "param"))
        )
        self.message = message or detail
        self.n_ctx, self.n_prompt_tokens = (
            value if isinstance(value, int) and value >= _LEAST_WINDOW else None
            for value in map(said.get, ("n_ctx", "n_prompt_tokens"))
        )
        metadata = said.get("metadata")
        self.flagged = isinstance(metadata, dict) and "flagged_input" in metadata

    @classmethod
    def in_success(cls, body: bytes) -> ErrorBody | None:
        """Return the error that an answer of status 200 carries; None if it carries none.

        Its status is the one that the error names, in a number or by its type; else 200.
        """
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return None
        error = _carried(content)
        if error is None:
            return None
        places = [error, content] if isinstance(error, dict) else [content]
        named = [str(each.get(name)) for each in places for name in _STATUS_NAMES]
        numbers = [int(each) for each in named if _ERROR_STATUS.fullmatch(each)]
        types = [_STATUS_OF_TYPE[each] for each in named if each in _STATUS_OF_TYPE]
        return cls(next(iter(numbers + types), HTTPStatus.OK), body)

    @property
    def context_exceeded(self) -> bool:
        """Whether the prompt was too long for the model."""
        return (
            self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            or bool({self.code, self.type} & _CONTEXT_CODES)
            or bool(_CONTEXT.search(self.message))
        )


tls_context = cache(httpx.create_ssl_context)
"""Loads the trusted authorities once: that takes longer than everything else about a client.

For clients of HTTP/1.1 alone, since connections write the protocols that they offer into it.
SSL_CERT_FILE and SSL_CERT_DIR are honoured."""
