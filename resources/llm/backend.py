"""The base of all model backends, which send one request to one server and classify failures.

It also removes keys from error messages. The patterns for context errors cover OpenAI, vLLM,
llama.cpp and its Python binding, and Ollama.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Literal
from uuid import uuid4

import httpx
from pydantic import SecretStr

from resources.errors import SetupError
from resources.http import RetryPolicy, failed_handshake, retry_after_seconds
from resources.llm.answers import strict_schema
from resources.llm.base import AnswerMode, ModelRequest, NextToken, Token
from resources.llm.prompt import Message
from resources.llm.registry import ModelInfo, ProviderInfo


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """Retries and time limits of a model's client. Times in seconds."""

    retry: RetryPolicy = RetryPolicy(  # noqa: RUF009 - frozen
        attempts=5, first_delay_seconds=1.0, max_delay_seconds=20.0, max_retry_after_seconds=60.0
    )
    patience_seconds: float = 180.0
    """No attempt begins later than this after the first attempt."""
    connect_seconds: float = 10.0
    write_seconds: float = 30.0
    answer_seconds: float = 180.0
    """From sending to the last byte. Models answer all at once, so silence proves nothing."""


@dataclass(frozen=True, slots=True)
class Batching:
    """How batches of requests work. Times in seconds.

    `folder` records which batch each request is in. A batch starts `gather_seconds` after its last
    request. A run polls it every `poll_seconds` and gives up after `wait_seconds`.
    """

    folder: Path
    wait_seconds: float
    gather_seconds: float = 15.0
    poll_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost as the server reported them; None for missing values.

    Output tokens include thoughts. Input tokens include cached ones.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    thought_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer. `refusal` is its explanation if it declined."""

    text: str | None
    finish: Literal["stop", "length", "refused"] = "stop"
    refusal: str | None = None
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a model is usable right now, and a sentence about that for a person."""

    ok: bool
    sentence: str


@dataclass(eq=False)
class BackendError(Exception):
    """A request without a reply. `reason` is a sentence without a full stop.

    `passing`: a repeated request may succeed. `lasting`: it will not. `adapted`: the backend has
    learnt something about the server and will word the next request differently. `context`: the
    prompt was too long. `refused`: the server's filter declined.

    `lost`: the server may have processed and billed the request. `crowded`: it had too many
    requests at once (429, or no answer in time). `pause` is in seconds. `window` and
    `prompt_tokens` are the server's limit and its count.
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
    """One model of one server; sends single requests without retries.

    `host` names the server in messages; `base_url` is its address without credentials. `info.name`
    is the server's own name for the model. Raises SetupError, without showing the key, for a key
    that a header cannot carry.
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
            "pool": None,  # the rate limiter already bounds the number of connections
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
        self._prepare()
        self._client: Any = self._make_client()

    def schema(self, request: ModelRequest[Any]) -> Mapping[str, Any]:
        bounded = self._provider.bounds_lists
        return strict_schema(request.output_type, bounded=bounded, most=request.most)

    @abstractmethod
    def _prepare(self) -> None:
        """Set up the state of this kind of backend, before its client exists."""

    @abstractmethod
    def _make_client(self) -> Any: ...

    @abstractmethod
    def mode(self, output_type: type[Any]) -> AnswerMode:
        """Return the strictest mode that the server has not rejected for this type."""

    def silent_cut(self, counted: int, expected: int) -> int | None:
        """Return the window if the server silently cut the prompt to fit it, else None.

        `counted` is the server's count of the prompt's tokens, `expected` our estimate.
        """
        return None

    def request_id(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> str:
        """Return an id for a request. Two requests share it only if the server bills them once."""
        return uuid4().hex

    @abstractmethod
    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        """Send these messages once. Raises BackendError if there is no reply.

        The request's `max_tokens` include thoughts, and the model supports its `effort`.
        """

    @abstractmethod
    async def probe(self) -> Probe:
        """Find out whether the server answers and knows the model; BackendError if not."""

    async def aclose(self) -> None:
        await self._client.close()

    def _clean(self, text: str) -> str:
        """Return a server's message on one line, shortened and without keys."""
        for secret in filter(None, self._secrets):
            text = text.replace(secret.get_secret_value(), "…")
        return one_line(text)

    def _status_error(
        self, body: ErrorBody, headers: Mapping[str, str], remedy: str
    ) -> BackendError:
        """Classify an error status. `remedy`: the advice if address or model are unknown."""
        status, message = body.status, self._clean(body.message)
        detail = f": {message.rstrip('.')}" if message else ""
        if body.context_exceeded:
            counts = (_count(pattern, body.message) for pattern in _PROMPT_TOKENS)
            return BackendError(
                "context",
                f"the prompt is too long (status {status}){detail}",
                window=body.n_ctx or _count(_WINDOW, body.message),
                prompt_tokens=body.n_prompt_tokens or next(filter(None, counts), None),
            )
        if body.code in _FILTERED or body.flagged:
            return BackendError(
                "refused", f"the service's content filter stopped the prompt: {message}"
            )
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return BackendError(
                "lasting", f"it redirects elsewhere (status {status}); {remedy} in the settings"
            )
        # Without the server's own words, which may repeat the key.
        lasting = {
            401: "it refused the API key (status 401); check the key",
            402: _BROKE,
            403: "the API key may not use this model or service (status 403)",
            404: f"it knows no such model or address (status 404); {remedy}",
        }
        is_broke = bool({body.code, body.type} & _NO_CREDIT)
        if is_broke or status in lasting:
            return BackendError("lasting", _BROKE if is_broke else lasting[status])
        # Status 200: an error in a successful answer that names no status of its own.
        if status in {*_PASSING, HTTPStatus.OK} or (
            status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LASTING_5XX
        ):
            is_crowded = status == HTTPStatus.TOO_MANY_REQUESTS
            problem = "too many requests" if is_crowded else "it failed"
            reason, pause = f"{problem} (status {status}){detail}", retry_after_seconds(headers)
            return BackendError("passing", reason, pause, crowded=is_crowded)
        return BackendError("lasting", f"it rejected the request (status {status}){detail}")

    def _broken(self, error: BaseException, cause: BaseException | None = None) -> BackendError:
        """Classify a broken connection, without the library's words, which may contain keys.

        `cause` is the underlying error, if any. Only class names count, because they are the same
        in both versions of the HTTP library.
        """
        handshake = failed_handshake(error)
        if handshake is not None:
            return BackendError("lasting", f"the secure connection failed: {handshake}")
        names = {kind.__name__ for kind in type(cause or error).__mro__}
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
    """Return a server's words on one line, shortened."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"


def malformed(expected: str) -> BackendError:
    """Return the error for an answer that breaks the protocol. The server may bill it."""
    return BackendError("passing", f"its answer is no {expected}", lost=True)


def next_token(alternatives: Sequence[tuple[str, float]], usage: Usage) -> Reply:
    """Return tokens and their log-probabilities as JSON of `NextToken`; BackendError if none."""
    if not alternatives:
        raise BackendError("lasting", NO_PROBABILITIES, usage=usage)
    tokens = [Token(text=text, probability=min(1.0, math.exp(log))) for text, log in alternatives]
    return Reply(NextToken(tokens=tokens).model_dump_json(), usage=usage)


ALTERNATIVES: Final = 20
"""How many alternatives of a token a backend requests. OpenAI and vLLM give no more."""
NO_PROBABILITIES: Final = (
    "it gives no probabilities of tokens (logprobs), so it cannot read by labels; llama.cpp, vLLM, "
    "Ollama from 0.12.11, and OpenAI's models that do not reason give them"
)


# --- Errors of servers --------------------------------------------------------------------------

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
"""Documented error types and codes (OpenAI, Anthropic) that gateways pass on without a status."""
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
    """Return the number of tokens in an error message; None if it has none of a usual size."""
    match = re.search(pattern, text, re.IGNORECASE)
    number = int(match[1].replace(",", "")) if match else 0
    return number if number >= _LEAST_WINDOW else None


_STATUS_NAMES = ("code", "status", "status_code", "type")
_ERROR_STATUS = re.compile("[45][0-9]{2}")


def _error_in(content: Any) -> Any:
    """Return the error of an answer or of its first choice; None without one."""
    if not isinstance(content, dict):
        return None
    choices = content.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return content.get("error") or (first.get("error") if isinstance(first, dict) else None) or None


class ErrorBody:
    """An error answer: `{"error": {...}}`, `{"error": "..."}`, `{"message": …}`, or text.

    Missing values are empty, None or false. `flagged`: moderation stopped the prompt before it
    reached the model (OpenRouter).
    """

    def __init__(self, status: int, body: bytes) -> None:
        text = body.decode("utf-8", "replace")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = text
        error = _error_in(content) or content
        words = error if isinstance(error, str) else text
        fields = error if isinstance(error, dict) else {"message": words}
        self.status = status
        message, detail, self.code, self.type, self.param = (
            str(value) if isinstance(value, str | int) else ""
            for value in map(fields.get, ("message", "detail", "code", "type", "param"))
        )
        self.message = message or detail
        self.n_ctx, self.n_prompt_tokens = (
            value if isinstance(value, int) and value >= _LEAST_WINDOW else None
            for value in map(fields.get, ("n_ctx", "n_prompt_tokens"))
        )
        metadata = fields.get("metadata")
        self.flagged = isinstance(metadata, dict) and "flagged_input" in metadata

    @classmethod
    def in_success(cls, body: bytes) -> ErrorBody | None:
        """Return the error inside an answer of status 200, or None.

        The error names its status by a number or by its type; otherwise the status is 200.
        """
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return None
        error = _error_in(content)
        if error is None:
            return None
        objects = [error, content] if isinstance(error, dict) else [content]
        values = [str(fields.get(name)) for fields in objects for name in _STATUS_NAMES]
        statuses = [int(value) for value in values if _ERROR_STATUS.fullmatch(value)]
        statuses += [_STATUS_OF_TYPE[value] for value in values if value in _STATUS_OF_TYPE]
        return cls(next(iter(statuses), HTTPStatus.OK), body)

    @property
    def context_exceeded(self) -> bool:
        return (
            self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            or bool({self.code, self.type} & _CONTEXT_CODES)
            or bool(_CONTEXT.search(self.message))
        )


tls_context = cache(httpx.create_ssl_context)
"""Loads the trusted authorities once, because that is the slowest step in making a client.

For clients of HTTP/1.1 alone, because connections write the protocols they offer into the context.
It honours SSL_CERT_FILE and SSL_CERT_DIR."""
