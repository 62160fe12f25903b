"""Models behind the OpenAI protocol: OpenAI, Azure, OpenRouter, vLLM, llama.cpp, gateways.

Answers follow a strict JSON Schema (`response_format`). For a server that rejects it, the backend
falls back to JSON, then to plain text, with the schema in the prompt; it also leaves out parameters
that the server rejects. It remembers these lessons for the life of the process.

Reasoning models count their thoughts into `max_completion_tokens` and accept no `max_tokens`. Most
accept no temperature; without it a seed would fix nothing, so the request leaves out both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from pydantic import SecretStr

from resources.llm.answers import strict_schema
from resources.llm.backend import (
    ALTERNATIVES,
    NO_PROBABILITIES,
    Backend,
    BackendError,
    Probe,
    Question,
)
from resources.llm.base import AnswerMode, ModelRequest, NextToken
from resources.llm.prompt import Message
from resources.llm.wire import ErrorBody

_NEXT_MODE: Final[dict[AnswerMode, AnswerMode]] = {
    "json_schema": "json_object",
    "json_object": "text",
}
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|not allowed|unexpected|extra",
    re.IGNORECASE,
)
_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_TEMPLATE: Final = "chat_template_kwargs"
_OPTIONAL: Final = (
    *(_TEMPLATE, "temperature", "seed", "reasoning_effort", "maxItems", "maxLength"),
    *("stream_options", "stream"),
)
_NO_SUCH_MODEL: Final = frozenset({"model_not_found", "invalid_model", "model_not_available"})
_SHAPE = re.compile(
    r"response_format|json_schema|structured output|grammar|\bschema\b", re.IGNORECASE
)
_OTHER_INTERFACE = re.compile(r"\bv1/(?:responses|completions)\b")
_NO_CHAT = "OperationNotSupported"
"""Azure's error code for a model without chat completions."""
_REJECTIONS = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED}
)


class OpenAIBackend(Backend):
    """One model of a server that speaks the OpenAI protocol.

    At Azure the model's name is the deployment's. The provider's `base_url` includes the version,
    as in https://api.openai.com/v1; with an `api_version` (Azure's older addresses) it is the
    resource's address.
    """

    chat = "/chat/completions"
    models = "/models", "data", "id"

    def prepare(self) -> None:
        self._model = self.info.name
        self._modes: dict[type[Any], AnswerMode] = {}
        self._omitted = set(self.info.refuses)
        self._limit_name = _LIMITS[bool(self.info.efforts)]
        self._limits_tried = {self._limit_name}
        self.remedy = f"check the base URL and the model's name {self._model!r}"

    def key_header(self, key: SecretStr) -> dict[str, str]:
        if self._provider.api_version:
            return {"api-key": key.get_secret_value()}
        return super().key_header(key)

    def path(self, path: str) -> str:
        """Return the path of an interface; Azure's older addresses name deployment and version."""
        if version := self._provider.api_version:
            place = f"/deployments/{self._model}" if path == self.chat else ""
            return f"/openai{place}{path}?api-version={version}"
        return path

    def mode(self, output_type: type[Any]) -> AnswerMode:
        default: AnswerMode = "next_token" if output_type is NextToken else "json_schema"
        return self._modes.get(output_type, default)

    def body(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> dict[str, Any]:
        samples = "temperature" not in self._omitted
        shape = {
            "name": re.sub(r"\W", "_", request.output_type.__name__)[:64],
            "schema": strict_schema(request.output_type)
            if {"maxItems", "maxLength"} & self._omitted
            else self.schema(request),
            "strict": True,
        }
        formats: dict[AnswerMode, dict[str, Any]] = {
            "json_schema": {"type": "json_schema", "json_schema": shape},
            "json_object": {"type": "json_object"},
        }
        wanted: dict[str, Any] = {
            "model": self._model,
            "messages": list(messages),
            "temperature": request.temperature,
            "seed": request.seed if samples else None,
            "reasoning_effort": request.effort,
            self._limit_name: 1 if mode == "next_token" else request.max_tokens,
            "response_format": formats.get(mode),
            "stream": True if request.listen and mode == "json_schema" else None,
        }
        if wanted["stream"]:
            wanted["stream_options"] = {"include_usage": True}
        if mode == "next_token":
            wanted |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
            if _TEMPLATE not in self._omitted and self.host != "api.openai.com":
                # llama.cpp and vLLM then keep a model from opening its answer with thoughts.
                wanted[_TEMPLATE] = {"enable_thinking": False}
        return {
            name: value
            for name, value in wanted.items()
            if value is not None and name not in self._omitted
        }

    def learn(self, error: ErrorBody, question: Question) -> BackendError | None:
        is_refused = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        other = _OTHER_INTERFACE.search(error.message)
        if is_refused and (other or error.code == _NO_CHAT):
            named = f" (the server names {other[0]})" if other else ""
            return BackendError(
                "lasting",
                f"chat completions, the only interface that is used here, do not serve the model "
                f"{self._model!r}{named}; choose another model",
            )
        adapted = self._adapt(error, question.request, question.mode)
        return BackendError("adapted", adapted) if adapted is not None else None

    def _adapt(self, body: ErrorBody, request: ModelRequest[Any], mode: AnswerMode) -> str | None:
        """Learn from a rejection what the server does not accept; None if it teaches nothing."""
        vendor, slash, name = self._model.partition("/")
        unknown = body.status == HTTPStatus.NOT_FOUND and self._model in body.message
        if (unknown or body.code in _NO_SUCH_MODEL) and slash and vendor == "openai":
            # Gateways want the vendor in front of the name; OpenAI itself does not.
            self._model = name
            return f"the server knows no {vendor}/{name}; asked again for {name}"
        no_provider = body.status == HTTPStatus.NOT_FOUND and "requested parameters" in body.message
        if body.status not in _REJECTIONS and not no_provider:
            return None
        if mode == "next_token" and (
            self._rejects("logprobs", body) or self._rejects("top_logprobs", body)
        ):
            raise BackendError("lasting", NO_PROBABILITIES)
        other = _LIMITS[self._limit_name == _LIMITS[0]]
        if other not in self._limits_tried and (
            f"Use '{other}'" in body.message or self._rejects(self._limit_name, body)
        ):
            self._limits_tried.add(other)
            self._limit_name = other
            return f"the server wants the limit as {other}; asked again so"
        for parameter in _OPTIONAL:
            if parameter not in self._omitted and self._rejects(parameter, body):
                self._omitted.add(parameter)
                return f"the server does not take {parameter}; asked again without"
        following = _NEXT_MODE.get(mode)
        if following is None or not (no_provider or _SHAPE.search(f"{body.param} {body.message}")):
            return None
        if self.mode(request.output_type) == mode:
            self._modes[request.output_type] = following
        return f"the server does not take {mode}; asked again with {following}"

    @staticmethod
    def _rejects(parameter: str, body: ErrorBody) -> bool:
        named = body.param == parameter or re.search(rf"\b{parameter}\b", body.message)
        sampled = parameter in {"temperature", "seed"} and body.param == parameter
        return bool(named and (sampled or _UNSUPPORTED.search(f"{body.code} {body.message}")))

    def found(self, names: set[str]) -> Probe:
        if self._model not in names:
            # Gateways and Azure list other names than they serve, so this is no failure.
            return Probe(
                True, f"{self.host} answers; {self._model} is not among its listed models."
            )
        return Probe(True, f"{self.host} answers and lists {self._model}.")
