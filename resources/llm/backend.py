"""The base of all model backends: one request to one server, and what its failures mean.

It also removes keys from error messages.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from http import HTTPStatus
from typing import Any, ClassVar, Final, Literal
from uuid import uuid4

import httpx
from pydantic import SecretStr, ValidationError

from resources.errors import SetupError
from resources.http import RetryPolicy, failed_handshake, retry_after_seconds
from resources.llm.answers import GrowingAnswer, strict_schema
from resources.llm.base import AnswerMode, ModelRequest, NextToken, Token
from resources.llm.prompt import Message
from resources.llm.registry import ModelInfo, ProviderInfo
from resources.llm.wire import STREAMS, Completion, ErrorBody, Usage, events_of, joined, parsed


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
    validation_retries: int = 1


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer. `refusal` is its explanation if it declined.

    `is_silent`: the model neither wrote nor thought anything.
    """

    text: str | None
    finish: Literal["stop", "length", "refused"] = "stop"
    refusal: str | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    is_silent: bool = False


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
    usage: Usage = Usage()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A server's answer of any status. `value` is its JSON, or its text if that is none."""

    status: int
    headers: Mapping[str, str]
    value: Any
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Question:
    """What a server is asked: the request, its mode, and the body to send.

    Two questions share an `id` only if the server bills them once.
    """

    request: ModelRequest[Any]
    mode: AnswerMode
    body: Mapping[str, Any]
    id: str


class Backend(ABC):
    """One model of one server; sends single requests without retries.

    `host` names the server in messages; `base_url` is its address without credentials. `info.name`
    is the server's own name for the model. Raises SetupError, without showing the key, for a key
    that a header cannot carry.
    """

    chat: ClassVar[str]
    """The path of the interface that answers questions."""
    models: ClassVar[tuple[str, str, str]]
    """The path of the list of models, the name of the list, and the name of a model's name."""
    remedy: str
    """The advice if the address or the model is unknown."""

    def __init__(
        self,
        info: ModelInfo,
        provider: ProviderInfo,
        api_key: SecretStr | None = None,
        policy: CallPolicy | None = None,
    ) -> None:
        self.info, self.policy, self._provider = info, policy or CallPolicy(), provider
        if provider.answer_seconds is not None:
            self.policy = replace(self.policy, answer_seconds=provider.answer_seconds)
        timeout = httpx.Timeout(
            connect=self.policy.connect_seconds,
            read=self.policy.answer_seconds,
            write=self.policy.write_seconds,
            pool=None,  # the rate limiter already bounds the number of connections
        )
        url = httpx.URL(provider.base_url)
        self.host = url.netloc.decode("ascii")
        self.base_url = f"{url.scheme}://{self.host}{url.path}".rstrip("/")
        value = api_key.get_secret_value().strip() if api_key else ""
        if not value.isascii() or not value.isprintable():
            raise SetupError(
                f"The API key for {self.host} holds characters that no key has. Copy it again."
            )
        self._key = SecretStr(value) if value else None
        self.prepare()
        # A redirect would carry the prompt, and at Azure the key, to another host.
        self._client = httpx.AsyncClient(
            base_url=provider.base_url,
            headers=self.key_header(self._key) if self._key else {},
            timeout=timeout,
            limits=httpx.Limits(max_connections=None),
            follow_redirects=False,
            verify=tls_context(),
        )

    def schema(self, request: ModelRequest[Any]) -> Mapping[str, Any]:
        bounded = self._provider.bounds_lists
        return strict_schema(request.output_type, bounded=bounded, most=request.most)

    @abstractmethod
    def prepare(self) -> None:
        """Set up the state of this kind of backend, before its client exists."""

    def key_header(self, key: SecretStr) -> dict[str, str]:
        return {"Authorization": f"Bearer {key.get_secret_value()}"}

    @abstractmethod
    def mode(self, output_type: type[Any]) -> AnswerMode:
        """Return the strictest mode that the server has not rejected for this type."""

    def cut_to(self, counted: int, expected: int) -> int | None:
        """Return the window if the server silently cut the prompt to fit it, else None.

        `counted` is the server's count of the prompt's tokens, `expected` our estimate.
        """
        return None

    def question(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Question:
        """Word a request for this server.

        Its `max_tokens` include thoughts, and the model supports its `effort`.
        """
        body = self.body(messages, request, mode)
        return Question(request, mode, body, self.identify(body))

    def identify(self, body: Mapping[str, Any]) -> str:
        """Return the id of a question; see `Question`."""
        return uuid4().hex

    @abstractmethod
    def body(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> dict[str, Any]:
        """Return the body of a request. One with `stream` asks for a streamed answer."""

    def path(self, path: str) -> str:
        """Return the path of an interface."""
        return path

    @abstractmethod
    def learn(self, error: ErrorBody, question: Question) -> BackendError | None:
        """Learn from an error how to ask this server; None if the error teaches nothing."""

    async def ask(self, question: Question) -> Reply:
        """Send a question once. Raises BackendError if there is no reply."""
        request, growing = question.request, None
        if request.listen is not None and question.body.get("stream"):
            growing = GrowingAnswer(request.output_type, request.listen)
        answer = await self.exchange("POST", self.path(self.chat), growing, json=question.body)
        return self.reply(answer, question)

    def reply(self, answer: HttpAnswer, question: Question) -> Reply:
        """Read the answer to a question; raise the error that it is."""
        self.check(answer, question)
        try:
            completion = Completion.model_validate(answer.value)
        except ValidationError:
            completion = Completion()
        message, ended, usage = completion.message, completion.finish, Usage.of(answer.value)
        if message is None:
            raise malformed("chat completion", usage)
        if ended == "error":
            # OpenRouter's mark for an answer that its provider broke off.
            raise BackendError("passing", "the answer broke off", lost=True, usage=usage)
        refusal = message.refusal
        if ended == "content_filter":
            refusal = refusal or "the service's content filter stopped the answer"
        if question.mode == "next_token" and not refusal:
            return _next_token(completion.alternatives, usage)
        return Reply(
            message.content,
            "length" if ended == "length" else "refused" if refusal else "stop",
            refusal,
            usage,
            is_silent=not (message.content or message.thinking),
        )

    async def probe(self) -> Probe:
        """Find out whether the server answers and knows the model; BackendError if not."""
        path, listed, name = self.models
        answer = await self.exchange("GET", self.path(path))
        self.check(answer)
        try:
            return self.found({each[name] for each in answer.value[listed]})
        except (TypeError, LookupError):
            raise malformed("list of models") from None

    @abstractmethod
    def found(self, names: set[str]) -> Probe:
        """Say whether the model is among the names of a server's models."""

    async def aclose(self) -> None:
        await self._client.aclose()

    async def exchange(
        self, method: str, path: str, growing: GrowingAnswer[Any] | None = None, **sent: Any
    ) -> HttpAnswer:
        """Send one request and return its answer; a streamed one goes into `growing`.

        Raises BackendError if the connection fails, or a stream breaks the protocol.
        """
        try:
            async with self._client.stream(method, path, **sent) as response:
                status, headers = response.status_code, response.headers
                kind = headers.get("content-type", "")
                if growing is not None and response.is_success and kind.startswith(STREAMS):
                    return HttpAnswer(status, headers, await joined(events_of(response), growing))
                content = await response.aread()
                return HttpAnswer(status, headers, parsed(content), content)
        except httpx.HTTPError as error:
            raise self._broken(error) from None
        except (ValueError, AttributeError, RecursionError):
            raise malformed("stream of answers") from None

    def check(self, answer: HttpAnswer, question: Question | None = None) -> None:
        """Raise the error that an answer is.

        An answer to a question may hold an error in spite of its status: gateways do so.
        """
        is_success = HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES
        body: ErrorBody | None = None
        if not is_success:
            body = ErrorBody(answer.status, answer.value)
        elif question is not None:
            body = ErrorBody.in_success(answer.value)
        if body is None:
            return
        error = None
        if question is not None and not body.context_exceeded:
            error = self.learn(body, question)
        error = error or self._status_error(body, answer.headers)
        if is_success:
            error.usage = Usage.of(answer.value)
            error.lost = body.status == HTTPStatus.OK or error.usage.input_tokens is not None
        raise error

    def _clean(self, text: str) -> str:
        """Return a server's message on one line, shortened and without the key."""
        if self._key is not None:
            text = text.replace(self._key.get_secret_value(), "…")
        return one_line(text)

    def _status_error(self, body: ErrorBody, headers: Mapping[str, str]) -> BackendError:
        """Classify an error status."""
        status, message = body.status, self._clean(body.message)
        detail = f": {message.rstrip('.')}" if message else ""
        if body.context_exceeded:
            reason = f"the prompt is too long (status {status}){detail}"
            window, counted = body.window, body.prompt_tokens
            return BackendError("context", reason, window=window, prompt_tokens=counted)
        if body.is_filtered:
            return BackendError(
                "refused", f"the service's content filter stopped the prompt: {message}"
            )
        # The sentences of these leave out the server's words, which may repeat the key.
        known = {
            401: "it refused the API key (status 401); check the key",
            403: "the API key may not use this model or service (status 403)",
            404: f"it knows no such model or address (status 404); {self.remedy}",
        }
        if body.is_broke:
            reason = "the account has no credit left; top it up or use another key"
        elif HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            reason = f"it redirects elsewhere (status {status}); {self.remedy} in the settings"
        elif status in known:
            reason = known[status]
        elif body.is_passing:
            many = status == HTTPStatus.TOO_MANY_REQUESTS
            failed = "too many requests" if many else "it failed"
            reason, pause = f"{failed} (status {status}){detail}", retry_after_seconds(headers)
            return BackendError("passing", reason, pause, crowded=many)
        else:
            reason = f"it rejected the request (status {status}){detail}"
        return BackendError("lasting", reason)

    def _broken(self, error: httpx.HTTPError) -> BackendError:
        """Classify a broken connection, without the library's words, which may contain keys."""
        handshake = failed_handshake(error)
        if handshake is not None:
            return BackendError("lasting", f"the secure connection failed: {handshake}")
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            seconds = self.policy.connect_seconds
            return BackendError("passing", f"it could not be reached within {seconds:g} seconds")
        if isinstance(error, httpx.TimeoutException):
            return BackendError("passing", "it fell silent", lost=True)
        if isinstance(error, httpx.ConnectError):
            reason = "no connection could be made; the server may not be running"
            return BackendError("passing", reason)
        reason = "the connection broke off before the answer was complete"
        return BackendError("passing", reason, lost=True)


_SHOWN = 200


def one_line(text: str) -> str:
    """Return a server's words on one line, shortened."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"


def malformed(expected: str, usage: Usage = Usage()) -> BackendError:  # noqa: B008 - frozen
    """Return the error for an answer that breaks the protocol. The server may bill it."""
    return BackendError("passing", f"its answer is no {expected}", lost=True, usage=usage)


ALTERNATIVES: Final = 20
"""How many alternatives of a token a backend requests. OpenAI and vLLM give no more."""
NO_PROBABILITIES: Final = (
    "it gives no probabilities of tokens (logprobs), so it cannot read by labels; llama.cpp, vLLM, "
    "Ollama from 0.12.11, and OpenAI's models that do not reason give them"
)


def _next_token(alternatives: Any, usage: Usage) -> Reply:
    """Return tokens and their log-probabilities as JSON of `NextToken`; BackendError if none."""
    try:
        tokens = [
            Token(text=each["token"], probability=min(1.0, math.exp(each["logprob"])))
            for each in alternatives or ()
        ]
    except (TypeError, KeyError, ValueError):
        tokens = []
    if not tokens:
        raise BackendError("lasting", NO_PROBABILITIES, usage=usage)
    return Reply(NextToken(tokens=tokens).model_dump_json(), usage=usage)


tls_context = cache(httpx.create_ssl_context)
"""Loads the trusted authorities once, because that is the slowest step in making a client.

For clients of HTTP/1.1 alone, because connections write the protocols they offer into the context.
It honours SSL_CERT_FILE and SSL_CERT_DIR."""
