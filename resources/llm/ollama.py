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
from typing import Any, Final, Literal

import httpx
import ollama
from pydantic import SecretStr

from resources.llm.answers import strict_schema
from resources.llm.backend import Backend, BackendError, CallPolicy, Reply, Usage
from resources.llm.base import AnswerMode, Effort, ModelRequest, Probe
from resources.llm.failures import (
    Break,
    ErrorBody,
    Redactor,
    broken,
    host_and_address,
    malformed,
    status_error,
    usable_key,
)
from resources.llm.loops import PerLoop, tls_context
from resources.llm.prompt import Message
from resources.llm.registry import ModelInfo

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
        self.body = ErrorBody.read(response.status_code, response.content)


async def _raise_for_status(response: httpx.Response) -> None:
    if response.status_code >= _FAILED:
        await response.aread()
        raise _StatusError(response)


async def _close(client: ollama.AsyncClient) -> None:
    await client.close()  # type: ignore[no-untyped-call]  # the library's own gap


class OllamaBackend(Backend):
    """One model of an Ollama server. Every one that can chat enforces a schema."""

    cuts_silently = True

    def __init__(
        self,
        info: ModelInfo,
        *,
        base_url: str,
        context: int = DEFAULT_CONTEXT,
        api_key: SecretStr | None = None,
        policy: CallPolicy | None = None,
    ) -> None:
        """Describe the server; nothing is opened yet.

        Args:
            info: The model, named as `ollama list` shows it.
            base_url: As in http://127.0.0.1:11434.
            context: Tokens of prompt and answer together. The same in every request: another
                value makes the server load the model anew.
            api_key: For hosted servers; the library falls back on OLLAMA_API_KEY.
            policy: Its timeouts are used.

        Raises:
            ValueError: The key cannot be sent in a header.
        """
        self._model = info.name
        self._efforts = info.efforts
        self.host, self.base_url = host_and_address(base_url)
        self._url = base_url
        self._context = context
        self._key = usable_key(api_key, self.host)
        self._policy = policy or CallPolicy()
        ambient = os.environ.get("OLLAMA_API_KEY")
        self._redactor = Redactor(self._key, SecretStr(ambient) if ambient else None)
        self._clients = PerLoop(self._open, _close)

    def __repr__(self) -> str:
        return f"OllamaBackend({self._model!r} at {self.base_url})"

    def open(self) -> None:
        """Make the running event loop's client."""
        self._clients.get()

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        """Send one request.

        Raises:
            BackendError: There is no reply.
        """
        del mode  # there is only one
        try:
            answer = await self._clients.get().chat(
                model=self._model,
                messages=[{"role": m.role, "content": m.content} for m in messages],
                think=self._think(request.effort),
                format=dict(strict_schema(request.output_type)),
                options={
                    "temperature": request.temperature,
                    "num_predict": request.max_tokens,
                    "num_ctx": self._context,
                    **({} if request.seed is None else {"seed": request.seed}),
                },
            )
        except _StatusError as error:
            failure = self._status_failure(error)
        except (httpx.HTTPError, httpx.StreamError, ConnectionError) as error:
            failure = self._transport_failure(error)
        except (ValueError, TypeError):
            failure = malformed("chat answer")
        else:
            return Reply(
                answer.message.content,
                "length" if answer.done_reason == "length" else "stop",
                # Fully cached prompts are left out of the count by some versions.
                usage=Usage(answer.prompt_eval_count or None, answer.eval_count),
            )
        raise failure from None

    def _think(self, effort: Effort | None) -> bool | Literal["low", "medium", "high"]:
        """Return what /api/chat is told: a level where the model has several, else on or off.

        Off is said to all others too: a model that thinks unasked would spend the answer's room.
        """
        if effort is None or effort == "none":
            return False
        levels = [each for each in self._efforts or () if each != "none"]
        return _LEVELS[effort] if len(levels) > 1 else True

    def _status_failure(self, error: _StatusError) -> BackendError:
        remedy = f"fetch the model with `ollama pull {self._model}`, or check the address"
        return status_error(error.body, error.headers, self._redactor, remedy=remedy)

    def _transport_failure(self, error: Exception) -> BackendError:
        if isinstance(error, httpx.TimeoutException):
            connecting = isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
            return broken(
                "connect_timeout" if connecting else "timeout",
                error,
                connect_seconds=self._policy.connect_seconds,
            )
        kind: Break = "connect" if isinstance(error, ConnectionError) else "lost"
        return broken(kind, error, connect_seconds=self._policy.connect_seconds)

    async def probe(self) -> Probe:
        """Ask for the list of models on the server."""
        try:
            listed = await self._clients.get().list()
            names = {model.model for model in listed.models}
        except _StatusError as error:
            raise self._status_failure(error) from None
        except (httpx.HTTPError, httpx.StreamError, ConnectionError) as error:
            raise self._transport_failure(error) from None
        except (ValueError, TypeError):
            raise malformed("list of models") from None
        if not {self._model, f"{self._model}:latest"} & names:
            remedy = f"Fetch it with `ollama pull {self._model}`."
            return Probe(False, f"{self.host} answers, but has no model {self._model}. {remedy}")
        return Probe(True, f"{self.host} answers and has {self._model}.")

    async def aclose(self) -> None:
        """Close the running event loop's connections."""
        await self._clients.aclose()

    def _open(self) -> ollama.AsyncClient:
        policy = self._policy
        key = {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else {}
        return ollama.AsyncClient(
            host=self._url,
            headers=key,
            follow_redirects=False,
            verify=tls_context(),
            timeout=httpx.Timeout(
                connect=policy.connect_seconds,
                read=policy.answer_seconds,
                write=policy.write_seconds,
                pool=None,
            ),
            event_hooks={"response": [_raise_for_status]},
        )
