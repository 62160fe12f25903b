"""Models behind Ollama's own protocol, /api/chat.

Ollama also speaks the OpenAI protocol, but only its own can set the size of the context. Without it
a server reads 4,096 tokens or fewer and silently drops the beginning of longer prompts. If a prompt
exceeds the size that is set, the server keeps half of the window, which its token count reveals.

Some models ignore `format` while thinking is off; some always ignore it. An answer that is no JSON
object reveals that. The backend then says nothing about thinking, and at last sends no `format` but
the schema in the prompt. It remembers this for the life of the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final, Literal

from pydantic import SecretStr

from resources.llm.answers import UnreadableAnswerError, read_answer
from resources.llm.backend import (
    ALTERNATIVES,
    Backend,
    BackendError,
    HttpAnswer,
    Probe,
    Question,
    Reply,
)
from resources.llm.base import AnswerMode, Effort, ModelRequest, NextToken
from resources.llm.prompt import Message
from resources.llm.wire import ErrorBody

DEFAULT_CONTEXT: Final = 16_384
"""Tokens. The full window of a long-context model would fill a small machine's memory."""
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


@dataclass(frozen=True, slots=True)
class _Way:
    """Whether a request mentions thinking, and whether it sends a format."""

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


class OllamaBackend(Backend):
    """One model of an Ollama server, named as `ollama list` shows it.

    Every request sets the same context size, because another makes the server reload the model. A
    key is for hosted servers; without one OLLAMA_API_KEY counts.
    """

    chat = "/api/chat"
    models = "/api/tags", "models", "model"

    def prepare(self) -> None:
        context = min(DEFAULT_CONTEXT, self.info.context_window or DEFAULT_CONTEXT)
        self.info = replace(self.info, context_window=context)
        self.remedy = f"fetch the model with `ollama pull {self.info.name}`, or check the address"
        if self._key is None and (ambient := os.environ.get("OLLAMA_API_KEY")):
            self._key = SecretStr(ambient)
        self._ways = [_Way(True, True), _Way(False, True), _Way(True, False)]

    def mode(self, output_type: type[Any]) -> AnswerMode:
        if output_type is NextToken:
            return "next_token"
        return "json_schema" if self._ways[0].formats else "text"

    def cut_to(self, counted: int, expected: int) -> int | None:
        """Recognise the token count of a cut prompt: half of the window, or all of it.

        The model's own window may be smaller than the one we set. It is a power of two, and counts
        only if the prompt should have exceeded it.
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

    def body(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> dict[str, Any]:
        options: dict[str, Any] = {
            "temperature": request.temperature,
            "num_predict": request.max_tokens,
            "num_ctx": self.info.context_window,
        }
        body: dict[str, Any] = {
            "model": self.info.name,
            "messages": [*messages],
            "options": options,
        }
        if mode == "next_token":  # from Ollama 0.12.11 on
            alone = {"think": False, "logprobs": True, "top_logprobs": ALTERNATIVES}
            return {**body, **alone, "stream": False}
        if request.seed is not None:
            options["seed"] = request.seed
        formats = mode == "json_schema"
        # Another request may have learnt in the meantime that this way does not work.
        way = next((each for each in self._ways if each.formats == formats), _Way(False, formats))
        if way.thinks:
            body["think"] = self._think(request.effort)
        if formats:
            body["format"] = self.schema(request)
        return {**body, "stream": formats and request.listen is not None}

    def reply(self, answer: HttpAnswer, question: Question) -> Reply:
        reply = super().reply(answer, question)
        way = _Way("think" in question.body, "format" in question.body)
        is_ended = reply.finish == "length" or reply.is_silent
        if way.formats and not is_ended and not _is_object(reply.text, question.request):
            # Change to the next way of asking, unless another request already has.
            if way == self._ways[0] and len(self._ways) > 1:
                del self._ways[0]
            if way != self._ways[0]:
                reason = "the model ignored the format; asked again otherwise"
                raise BackendError("adapted", reason, lost=True, usage=reply.usage)
        return reply

    def learn(self, error: ErrorBody, question: Question) -> BackendError | None:
        """Learn from a rejection not to mention thinking."""
        is_rejection = error.status == HTTPStatus.BAD_REQUEST and "think" in question.body
        if not is_rejection or not re.search(r"\bthink", error.message):
            return None
        self._ways = [
            _Way(False, formats) for formats in dict.fromkeys(w.formats for w in self._ways)
        ]
        return BackendError("adapted", "the server does not take think; asked again without")

    def _think(self, effort: Effort | None) -> bool | Literal["low", "medium", "high"]:
        """Return the value of `think`: a level if the model has several, else on or off.

        Off is explicit, because a model that thinks unasked would use up the answer's tokens.
        """
        if effort is None or effort == "none":
            return False
        levels = [each for each in self.info.efforts or () if each != "none"]
        return _LEVELS[effort] if len(levels) > 1 else True

    def found(self, names: set[str]) -> Probe:
        name = self.info.name
        if not {name, f"{name}:latest"} & names:
            remedy = f"Fetch it with `ollama pull {name}`."
            return Probe(False, f"{self.host} answers, but has no model {name}. {remedy}")
        return Probe(True, f"{self.host} answers and has {name}.")
