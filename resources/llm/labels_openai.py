"""The next token of a model behind the OpenAI protocol, with its alternatives.

The request for one token with `logprobs` belongs here. The sum over labels does not (labels.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import AliasPath, BaseModel, Field, ValidationError

from resources.llm import backend, base
from resources.llm.labels import ALTERNATIVES, SILENT, worded
from resources.llm.openai import OpenAIBackend
from resources.llm.prompt import Message

_TEMPLATE: Final = "chat_template_kwargs"


class _Alternative(BaseModel):
    token: str
    logprob: float


class _Chosen(BaseModel):
    alternatives: list[_Alternative] | None = Field(
        None, validation_alias=AliasPath("choices", 0, "logprobs", "content", 0, "top_logprobs")
    )


class OpenAILabels(OpenAIBackend):
    """One model of a server that speaks the OpenAI protocol, asked for its next token."""

    def _body(
        self, messages: Sequence[Message], request: base.ModelRequest[Any], mode: base.AnswerMode
    ) -> dict[str, Any]:
        del mode  # a token has no shape
        body = super()._body(messages, replace(request, max_tokens=1), "text")
        body |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        if _TEMPLATE not in self._omitted and not self._is_openai:
            # So llama.cpp and vLLM keep a model from opening its answer with its thoughts.
            body["extra_body"] = {_TEMPLATE: {"enable_thinking": False}}
        return body

    @property
    def _is_openai(self) -> bool:
        return self.host == "api.openai.com"

    def _reply(
        self,
        content: bytes,
        headers: Mapping[str, str],
        request: base.ModelRequest[Any],
        mode: base.AnswerMode,
    ) -> backend.Reply:
        reply = super()._reply(content, headers, request, mode)
        if reply.finish == "refused":
            return reply
        try:
            said = _Chosen.model_validate_json(content).alternatives or []
        except ValidationError:
            said = []
        return worded([(each.token, each.logprob) for each in said], reply.usage)

    def _adapt(
        self, body: backend.ErrorBody, request: base.ModelRequest[Any], mode: base.AnswerMode
    ) -> str | None:
        if _TEMPLATE not in self._omitted and self._rejects(_TEMPLATE, body):
            self._omitted.add(_TEMPLATE)
            return f"the server does not take {_TEMPLATE}; asked again without"
        if self._rejects("logprobs", body) or self._rejects("top_logprobs", body):
            raise backend.BackendError("lasting", SILENT)
        return super()._adapt(body, request, mode)
