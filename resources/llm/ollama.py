"""Models behind Ollama's own protocol.

What belongs here: the wire format of /api/chat with a JSON Schema as `format`. What does not:
retries, limits, budgets, validation (structured.py).

Ollama's own protocol is used, and not the OpenAI protocol that it speaks too, because only here can
the size of the context be set: without it a server reads 4,096 tokens or fewer, whatever the model
could, and drops the beginning of longer prompts without a word.

Source: https://docs.ollama.com/api
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, Literal, Unpack

from pydantic import BaseModel, SecretStr, ValidationError

from resources.llm.answers import strict_schema
from resources.llm.backend import Backend, Probe, Reply, Server, Usage, malformed
from resources.llm.base import AnswerMode, Effort, ModelRequest
from resources.llm.prompt import Message
from resources.llm.registry import ModelInfo

DEFAULT_CONTEXT: Final = 16_384
"""Tokens. The whole window of a long-context model would fill a small machine's memory."""
_LEVELS: Final[dict[Effort, Literal["low", "medium", "high"]]] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class _Message(BaseModel):
    content: str | None = None


class _Chat(BaseModel):
    message: _Message
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None


class _Listed(BaseModel):
    model: str


class _Models(BaseModel):
    models: list[_Listed]


class OllamaBackend(Backend):
    """One model of an Ollama server, named as `ollama list` shows it. All enforce a schema.

    The model's window are tokens of prompt and answer together, the same in every request: another
    value makes the server load the model anew. A key is for hosted servers; without one that of
    OLLAMA_API_KEY is sent, as Ollama's own client does.
    """

    cuts_silently = True

    def __init__(self, info: ModelInfo, **server: Unpack[Server]) -> None:
        if not server.get("api_key") and (ambient := os.environ.get("OLLAMA_API_KEY")):
            server["api_key"] = SecretStr(ambient)
        super().__init__(info, **server)
        self._remedy = f"fetch the model with `ollama pull {self._model}`, or check the address"

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        """Send one request; see Backend.ask."""
        del mode  # there is only one
        # Off is said to those without levels too: a model that thinks unasked would spend the
        # answer's room.
        think: bool | str = request.effort not in {None, "none"}
        if think and len([each for each in self._info.efforts or () if each != "none"]) > 1:
            think = _LEVELS[request.effort or "low"]
        options: dict[str, Any] = {
            "temperature": request.temperature,
            "num_predict": request.max_tokens,
            "num_ctx": self._info.context_window or DEFAULT_CONTEXT,
        }
        if request.seed is not None:
            options["seed"] = request.seed
        body = {
            "model": self._model,
            "messages": [{"role": each.role, "content": each.content} for each in messages],
            "think": think,
            "format": strict_schema(request.output_type),
            "options": options,
            "stream": False,
        }
        answer = await self._call("POST", "api/chat", self._remedy, json=body)
        try:
            chat = _Chat.model_validate_json(answer.content)
        except ValidationError:
            raise malformed("chat answer") from None
        return Reply(
            chat.message.content,
            "length" if chat.done_reason == "length" else "stop",
            # Fully cached prompts are left out of the count by some versions.
            usage=Usage(chat.prompt_eval_count or None, chat.eval_count),
        )

    async def probe(self) -> Probe:
        """Ask for the list of models on the server."""
        answer = await self._call("GET", "api/tags", self._remedy)
        try:
            names = {each.model for each in _Models.model_validate_json(answer.content).models}
        except ValidationError:
            raise malformed("list of models") from None
        if not {self._model, f"{self._model}:latest"} & names:
            remedy = f"Fetch it with `ollama pull {self._model}`."
            return Probe(False, f"{self.host} answers, but has no model {self._model}. {remedy}")
        return Probe(True, f"{self.host} answers and has {self._model}.")
