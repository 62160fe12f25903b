"""Models behind Ollama's own protocol.

What belongs here: the wire format of /api/chat with a JSON Schema as `format`. What does not:
retries, limits, budgets, validation (structured.py).

Ollama's own protocol is used, and not the OpenAI protocol that it speaks too, because only here can
the size of the context be set: without it a server reads 4,096 tokens or fewer, whatever the model
could, and drops the beginning of longer prompts without a word. Of a prompt that is longer still, a
server keeps half of the window, which its count of tokens shows.

Some models ignore `format` while they are kept from thinking, and some always. An answer that is no
JSON object shows it: the server is then asked without a word about thinking, and then without
`format`, with the schema in the prompt. What was learnt so is kept for the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final, Literal

import httpx
import ollama
from pydantic import SecretStr

from resources.llm import backend
from resources.llm.answers import UnreadableAnswerError, read_answer
from resources.llm.base import AnswerMode, Effort, ModelRequest
from resources.llm.prompt import Message

DEFAULT_CONTEXT: Final = 16_384
"""Tokens. The whole window of a long-context model would fill a small machine's memory."""
_FAILED = 300
_LEAST_WINDOW = 2_048
_KEPT_TOKENS = 8
"""More than a cut prompt's count exceeds half of the window: it keeps its first tokens as well."""
_LEVELS: Final[dict[Effort, Literal["low", "medium", "high"]]] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class _StatusError(Exception):
    """An error, with the headers that the library's own exception leaves out."""

    def __init__(self, response: httpx.Response, body: backend.ErrorBody) -> None:
        super().__init__(f"status {response.status_code}")
        self.headers, self.body = response.headers, body


FAILURES = (
    _StatusError,
    httpx.HTTPError,
    httpx.StreamError,
    ConnectionError,
    ValueError,
    TypeError,
)


async def _raise_for_status(response: httpx.Response) -> None:
    content = await response.aread()
    if response.status_code >= _FAILED:
        raise _StatusError(response, backend.ErrorBody(response.status_code, content))
    if (carried := backend.ErrorBody.in_success(content)) is not None:
        raise _StatusError(response, carried)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way of asking: whether something is said about thinking, and whether a format is sent."""

    thinks: bool
    formats: bool


def _is_object(text: str | None, request: ModelRequest[Any]) -> bool:
    """Tell whether an answer is what an enforced format leads to, or can be used all the same."""
    if (text or "").lstrip().startswith("{"):
        return True
    with suppress(UnreadableAnswerError):
        read_answer(text, request.output_type)
        return True
    return False


class OllamaBackend(backend.Backend):
    """One model of an Ollama server, named as `ollama list` shows it.

    The context is the same in every request: another makes the server load the model anew. A key is
    for hosted servers; the library falls back on OLLAMA_API_KEY.
    """

    _client: ollama.AsyncClient

    def _begin(self) -> None:
        context = min(DEFAULT_CONTEXT, self.info.context_window or DEFAULT_CONTEXT)
        self.info = replace(self.info, context_window=context)
        ambient = os.environ.get("OLLAMA_API_KEY")
        self._secrets = (self._key, SecretStr(ambient) if ambient else None)
        self._ways = [_Way(True, True), _Way(False, True), _Way(True, False)]

    def mode(self, output_type: type[Any]) -> AnswerMode:
        """Return what was learnt of the model; see Backend.mode."""
        return "json_schema" if self._ways[0].formats else "text"

    def cut_to(self, counted: int, expected: int) -> int | None:
        """Recognise the counts of a cut prompt: half of the window, or all of it.

        A window smaller than the one that was asked for is the model's own. It is a power of two,
        and only believed in if the prompt was expected to exceed it.
        """
        windows = [own := self.info.context_window or DEFAULT_CONTEXT]
        smaller = _LEAST_WINDOW
        while smaller < own and smaller < expected:
            windows.append(smaller)
            smaller *= 2
        for window in windows:
            if 0 < counted - window // 2 <= _KEPT_TOKENS or counted in {window - 1, window}:
                return window
        return None

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> backend.Reply:
        """Send one request; see Backend.ask."""
        formats = mode == "json_schema"
        # Another request may have learnt meanwhile that there is no such way any more.
        known = (way for way in self._ways if way.formats == formats)
        way = next(known, _Way(False, formats))
        try:
            answer = await self._client.chat(
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
        except FAILURES as error:
            failure = self._adapt(error, way) or self._failure(error, "chat answer")
            raise failure from None
        reply = backend.Reply(
            answer.message.content,
            "length" if answer.done_reason == "length" else "stop",
            # Fully cached prompts are left out of the count by some versions.
            usage=backend.Usage(answer.prompt_eval_count or None, answer.eval_count),
        )
        is_silent = not reply.text and not answer.message.thinking
        if (
            way.formats
            and reply.finish == "stop"
            and not (is_silent or _is_object(reply.text, request))
        ):
            self._leave(way)
            if way is not self._ways[0]:
                reason = "the model ignored the format; asked again otherwise"
                raise backend.BackendError("adapted", reason, lost=True, usage=reply.usage)
        return reply

    def _leave(self, way: _Way) -> None:
        """Go on to the next way of asking, unless another request already has."""
        if way is self._ways[0] and len(self._ways) > 1:
            del self._ways[0]

    def _adapt(self, error: Exception, way: _Way) -> backend.BackendError | None:
        """Learn from a rejection that the model is told nothing about thinking."""
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
        """Return what /api/chat is told: a level where the model has several, else on or off.

        Off is said to all others too: a model that thinks unasked would spend the answer's room.
        """
        if effort is None or effort == "none":
            return False
        levels = [each for each in self.info.efforts or () if each != "none"]
        return _LEVELS[effort] if len(levels) > 1 else True

    def _failure(self, error: Exception, wanted: str) -> backend.BackendError:
        if isinstance(error, _StatusError):
            remedy = f"fetch the model with `ollama pull {self.info.name}`, or check the address"
            return self._status_error(error.body, error.headers, remedy)
        if isinstance(error, ValueError | TypeError):
            return backend.malformed(wanted)
        return self._broken(error)

    async def probe(self) -> backend.Probe:
        """Ask for the list of models on the server."""
        try:
            listed = await self._client.list()
            names = {model.model for model in listed.models}
        except FAILURES as error:
            raise self._failure(error, "list of models") from None
        name = self.info.name
        if not {name, f"{name}:latest"} & names:
            remedy = f"Fetch it with `ollama pull {name}`."
            return backend.Probe(False, f"{self.host} answers, but has no model {name}. {remedy}")
        return backend.Probe(True, f"{self.host} answers and has {name}.")

    def _open(self) -> ollama.AsyncClient:
        key = {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else {}
        return ollama.AsyncClient(
            host=self._provider.base_url,
            headers=key,
            follow_redirects=False,
            verify=backend.tls_context(),
            timeout=httpx.Timeout(**self._timeouts),
            event_hooks={"response": [_raise_for_status]},
        )
