"""Models behind Ollama's own protocol, /api/chat.

Ollama also speaks the OpenAI protocol, but only its own can set the size of the context. Without it
a server reads 4,096 tokens or fewer and silently drops the beginning of longer prompts. If a prompt
exceeds the size that is set, the server keeps half of the window, which its token count reveals.

Some models ignore `format` while thinking is off; some always ignore it. An answer that is no JSON
object reveals that. The backend then leaves out `think`; if that does not help, it leaves out
`format` and puts the schema into the prompt. It remembers this for the life of the process.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Literal

import httpx
import ollama
from pydantic import SecretStr

from resources.llm import backend
from resources.llm.answers import GrowingAnswer, UnreadableAnswerError, read_answer
from resources.llm.base import AnswerMode, Effort, ModelRequest, NextToken
from resources.llm.prompt import Message

DEFAULT_CONTEXT: Final = 16_384
"""Tokens. The full window of a long-context model would fill a small machine's memory."""
_FAILED = 300
_LEAST_WINDOW = 2_048
_KEPT_TOKENS = 8
"""A cut prompt has up to this many tokens more than half of the window: Ollama keeps its first."""
_LEVELS: Final[dict[Effort, Literal["low", "medium", "high"]]] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class _StatusError(Exception):
    """An error status with its headers, which the library's own exception leaves out."""

    def __init__(self, response: httpx.Response, body: backend.ErrorBody) -> None:
        super().__init__(f"status {response.status_code}")
        self.headers, self.body = response.headers, body


_FAILURES = (
    _StatusError,
    httpx.HTTPError,
    httpx.StreamError,
    ConnectionError,
    ValueError,
    TypeError,
    AttributeError,
    ollama.ResponseError,
)
_STREAM: Final = "application/x-ndjson"


async def _raise_for_status(response: httpx.Response) -> None:
    if response.is_success and response.headers.get("content-type", "").startswith(_STREAM):
        return
    content = await response.aread()
    if response.status_code >= _FAILED:
        raise _StatusError(response, backend.ErrorBody(response.status_code, content))
    if (carried := backend.ErrorBody.in_success(content)) is not None:
        raise _StatusError(response, carried)


@dataclass(frozen=True, slots=True)
class _Way:
    """A form of request: whether it has the parameters `think` and `format`."""

    thinks: bool
    formats: bool


def _is_object(text: str | None, request: ModelRequest[Any]) -> bool:
    """Tell whether an answer follows the format, or is at least readable."""
    if (text or "").lstrip().startswith("{"):
        return True
    with suppress(UnreadableAnswerError):
        read_answer(text, request.output_type)
        return True
    return False


class OllamaBackend(backend.Backend):
    """One model of an Ollama server, named as `ollama list` shows it.

    Every request sets the same context size, because another makes the server reload the model. A
    key is for hosted servers; the library falls back on OLLAMA_API_KEY.
    """

    _client: ollama.AsyncClient

    def _prepare(self) -> None:
        context = min(DEFAULT_CONTEXT, self.info.context_window or DEFAULT_CONTEXT)
        self.info = replace(self.info, context_window=context)
        ambient = os.environ.get("OLLAMA_API_KEY")
        self._secrets = (self._key, SecretStr(ambient) if ambient else None)
        self._ways = [_Way(True, True), _Way(False, True), _Way(True, False)]

    def mode(self, output_type: type[Any]) -> AnswerMode:
        if output_type is NextToken:
            return "next_token"
        return "json_schema" if self._ways[0].formats else "text"

    def silent_cut(self, counted: int, expected: int) -> int | None:
        """Recognise the token count of a cut prompt: half of the window, or all of it.

        The model's own window may be smaller than the one we set. It is a power of two, and counts
        only if the prompt should have exceeded it.
        """
        windows = [requested := self.info.context_window or DEFAULT_CONTEXT]
        smaller = _LEAST_WINDOW
        while smaller < min(requested, expected):
            windows.append(smaller)
            smaller *= 2
        for window in windows:
            if 0 < counted - window // 2 <= _KEPT_TOKENS or counted in {window - 1, window}:
                return window
        return None

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> backend.Reply:
        if mode == "next_token":
            return await self._next_token(messages)
        formats = mode == "json_schema"
        # Another request may have learnt in the meantime that this way does not work.
        ways = (way for way in self._ways if way.formats == formats)
        way = next(ways, _Way(False, formats))
        chat = partial(
            self._client.chat,
            model=self.info.name,
            messages=messages,
            think=self._think(request.effort) if way.thinks else None,
            format=dict(self.schema(request)) if way.formats else None,
            options={
                "temperature": request.temperature,
                "num_predict": request.max_tokens,
                "num_ctx": self.info.context_window,
                **({} if request.seed is None else {"seed": request.seed}),
            },
        )
        try:
            if request.listen and way.formats:
                parts: Any = await chat(stream=True)
                answer = await _streamed(parts, request)
            else:
                answer = await chat()
        except _FAILURES as error:
            failure = self._adapt(error, way) or self._failure(error, "chat answer")
            raise failure from None
        text, cut = answer.message.content, answer.done_reason == "length"
        reply = backend.Reply(text, "length" if cut else "stop", usage=_usage(answer))
        is_silent = not text and not answer.message.thinking
        if way.formats and not (cut or is_silent or _is_object(text, request)):
            # Another request may have dropped this way already.
            if way is self._ways[0] and len(self._ways) > 1:
                del self._ways[0]
            if way is not self._ways[0]:
                reason = "the model ignored the format; asked again otherwise"
                raise backend.BackendError("adapted", reason, lost=True, usage=reply.usage)
        return reply

    async def _next_token(self, messages: Sequence[Message]) -> backend.Reply:
        """Ask for one token with its alternatives, which Ollama gives from 0.12.11."""
        try:
            answer = await self._client.chat(
                model=self.info.name,
                messages=messages,
                think=False,
                logprobs=True,
                top_logprobs=backend.ALTERNATIVES,
                options={"temperature": 1.0, "num_predict": 1, "num_ctx": self.info.context_window},
            )
        except _FAILURES as error:
            raise self._failure(error, "chat answer") from None
        tokens = (answer.logprobs or [])[:1]
        listed = [(top.token, top.logprob) for token in tokens for top in token.top_logprobs or []]
        return backend.next_token(listed, _usage(answer))

    def _adapt(self, error: Exception, way: _Way) -> backend.BackendError | None:
        """Learn from a rejection not to mention thinking."""
        if not isinstance(error, _StatusError) or error.body.status != HTTPStatus.BAD_REQUEST:
            return None
        if not way.thinks or not re.search(r"\bthink", error.body.message):
            return None
        self._ways = [
            _Way(False, formats) for formats in dict.fromkeys(w.formats for w in self._ways)
        ]
        return backend.BackendError(
            "adapted", "the server does not take think; asked again without"
        )

    def _think(self, effort: Effort | None) -> bool | Literal["low", "medium", "high"]:
        """Return the value of `think`: a level if the model has several, else on or off.

        Off is explicit, because a model that thinks unasked would use up the answer's tokens.
        """
        if effort is None or effort == "none":
            return False
        levels = [level for level in self.info.efforts or () if level != "none"]
        return _LEVELS[effort] if len(levels) > 1 else True

    def _failure(self, error: Exception, expected: str) -> backend.BackendError:
        if isinstance(error, _StatusError):
            remedy = f"fetch the model with `ollama pull {self.info.name}`, or check the address"
            return self._status_error(error.body, error.headers, remedy)
        if isinstance(error, ollama.ResponseError):
            carried = backend.ErrorBody(HTTPStatus.OK, json.dumps({"error": error.error}).encode())
            failure = self._status_error(carried, {}, "")
            failure.lost = True
            return failure
        if isinstance(error, ValueError | TypeError | AttributeError):
            return backend.malformed(expected)
        return self._broken(error)

    async def probe(self) -> backend.Probe:
        try:
            listed = await self._client.list()
            names = {model.model for model in listed.models}
        except _FAILURES as error:
            raise self._failure(error, "list of models") from None
        name = self.info.name
        if not {name, f"{name}:latest"} & names:
            remedy = f"Fetch it with `ollama pull {name}`."
            return backend.Probe(False, f"{self.host} answers, but has no model {name}. {remedy}")
        return backend.Probe(True, f"{self.host} answers and has {name}.")

    def _make_client(self) -> ollama.AsyncClient:
        key = {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else {}
        return ollama.AsyncClient(
            host=self._provider.base_url,
            headers=key,
            follow_redirects=False,
            verify=backend.tls_context(),
            timeout=httpx.Timeout(**self._timeouts),
            event_hooks={"response": [_raise_for_status]},
        )


async def _streamed(
    parts: AsyncIterator[ollama.ChatResponse], request: ModelRequest[Any]
) -> ollama.ChatResponse:
    """Read a streamed answer; the last part has the counts.

    Raises httpx.RemoteProtocolError if there is no last part.
    """
    growing = GrowingAnswer(request.output_type, request.listen or (lambda _: None))
    thoughts = ""
    async for part in parts:
        growing.add(part.message.content or "")
        thoughts += part.message.thinking or ""
        if part.done:
            part.message.content, part.message.thinking = growing.text, thoughts or None
            return part
    raise httpx.RemoteProtocolError("The stream ended before the answer.")


def _usage(answer: ollama.ChatResponse) -> backend.Usage:
    # Some versions leave fully cached prompts out of the count.
    return backend.Usage(answer.prompt_eval_count or None, answer.eval_count)
