"""The next token of a model of an Ollama server, with its alternatives.

The request for one token belongs here: Ollama's own protocol gives alternatives from 0.12.11. The
sum over labels does not (labels.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resources.llm import backend, base
from resources.llm.labels import ALTERNATIVES, worded
from resources.llm.ollama import FAILURES, OllamaBackend
from resources.llm.prompt import Message


class OllamaLabels(OllamaBackend):
    """One model of an Ollama server, asked for its next token."""

    async def ask(
        self, messages: Sequence[Message], request: base.ModelRequest[Any], mode: base.AnswerMode
    ) -> backend.Reply:
        """Send one request; see Backend.ask."""
        del mode
        try:
            answer = await self._client.chat(
                model=self.info.name,
                messages=messages,
                think=False,
                logprobs=True,
                top_logprobs=ALTERNATIVES,
                options={"temperature": 1.0, "num_predict": 1, "num_ctx": self.info.context_window},
            )
        except FAILURES as error:
            failure = self._failure(error, "chat answer")
        else:
            said = [
                each for first in (answer.logprobs or [])[:1] for each in first.top_logprobs or []
            ]
            usage = backend.Usage(answer.prompt_eval_count or None, answer.eval_count)
            return worded([(each.token, each.logprob) for each in said], usage)
        raise failure from None
