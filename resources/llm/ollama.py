"""Models behind Ollama's own protocol.

What belongs here: the wire format of /api/chat with a JSON Schema as `format`. What does not:
retries, limits, budgets, validation (structured.py).

Ollama's own protocol is used, and not the OpenAI protocol that it speaks too, because only here can
the size of the context be set: without it a server reads 4,096 tokens or fewer, whatever the model
could, and drops the beginning of longer prompts without a word.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import httpx
import ollama
from pydantic import SecretStr

from resources.llm import backend
from resources.llm.base import AnswerMode, Effort, ModelRequest
from resources.llm.prompt import Message

DEFAULT_CONTEXT: Final = 16_384
"""Tokens. The whole window of a long-context model would fill a small machine's memory."""
_FAILED = 300
_LEVELS: Final[dict[Effort, Literal["low", "medium", "high"]]] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class _StatusError(Exception):
    """An error status, with the headers that the library's own exception leaves out."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.headers = response.headers
        self.body = backend.ErrorBody(response.status_code, response.content)


FAILURES = (
    _StatusError,
    httpx.HTTPError,
    httpx.StreamError,
    ConnectionError,
    ValueError,
    TypeError,
)


async def _raise_for_status(response: httpx.Response) -> None:
    if response.status_code >= _FAILED:
        await response.aread()
        raise _StatusError(response)


class OllamaBackend(backend.Backend):
    """One model of an Ollama server, named as `ollama list` shows it. All enforce a schema.

    The context is the same in every request: another makes the server load the model anew. A key is
    for hosted servers; the library falls back on OLLAMA_API_KEY.
    """

    cuts_silently = True
    _client: ollama.AsyncClient

    def _begin(self) -> None:
        context = min(DEFAULT_CONTEXT, self.info.context_window or DEFAULT_CONTEXT)
        self.info = replace(self.info, context_window=context)
        ambient = os.environ.get("OLLAMA_API_KEY")
        self._secrets = (self._key, SecretStr(ambient) if ambient else None)

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> backend.Reply:
        """Send one request; see Backend.ask."""
        del mode  # there is only one
        try:
            answer = await self._client.chat(
                model=self.info.name,
                messages=messages,
                think=self._think(request.effort),
                format=dict(self.schema(request)),
                options={
                    "temperature": request.temperature,
                    "num_predict": request.max_tokens,
                    "num_ctx": self.info.context_window,
                    **({} if request.seed is None else {"seed": request.seed}),
                },
            )
        except FAILURES as error:
            failure = self._failure(error, "chat answer")
        else:
            return backend.Reply(
                answer.message.content,
                "length" if answer.done_reason == "length" else "stop",
                # Fully cached prompts are left out of the count by some versions.
                usage=backend.Usage(answer.prompt_eval_count or None, answer.eval_count),
            )
        raise failure from None

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
