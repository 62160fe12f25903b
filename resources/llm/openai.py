"""Models behind the OpenAI protocol: OpenAI, Azure, OpenRouter, vLLM, llama.cpp, gateways.

Answers follow a strict JSON Schema (`response_format`). For a server that rejects it, the backend
falls back to JSON, then to plain text, with the schema in the prompt; it also leaves out parameters
that the server rejects. It remembers these lessons for the life of the process.

Reasoning models take the limit `max_completion_tokens`, which counts their thoughts too, and reject
`max_tokens`. Most also reject a temperature. A request without one has no seed, because a seed
alone would fix nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import httpx2
import openai
from pydantic import AliasPath, BaseModel, Field, ValidationError, model_validator

from resources.llm import backend
from resources.llm.answers import GrowingAnswer, strict_schema
from resources.llm.base import AnswerMode, ModelRequest, NextToken
from resources.llm.prompt import Message

_NEXT_MODE: Final[dict[AnswerMode, AnswerMode]] = {
    "json_schema": "json_object",
    "json_object": "text",
}
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|not allowed|unexpected|extra",
    re.IGNORECASE,
)
_ANSWER_LIMIT: Final = "max_tokens"
_REASONING_LIMIT: Final = "max_completion_tokens"
_TEMPLATE: Final = "chat_template_kwargs"
_DISPENSABLE: Final = (
    *(_TEMPLATE, "temperature", "seed", "reasoning_effort", "maxItems", "maxLength"),
    *("stream_options", "stream"),
)
"""Parameters, and keywords of the schema, that a request can do without. A rejection removes the
first of them that it names."""
_EVENTS: Final = "text/event-stream"
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
_CACHED = AliasPath("prompt_tokens_details", "cached_tokens")
_THOUGHTS = AliasPath("completion_tokens_details", "reasoning_tokens")


class _Usage(BaseModel):
    input_tokens: int | None = Field(None, ge=0, validation_alias="prompt_tokens")
    output_tokens: int | None = Field(None, ge=0, validation_alias="completion_tokens")
    cached_tokens: int | None = Field(None, ge=0, validation_alias=_CACHED)
    thought_tokens: int | None = Field(None, ge=0, validation_alias=_THOUGHTS)
    cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False, validation_alias="cost")


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _join(cls, message: Any) -> Any:
        """Join content in parts: texts, without thoughts, and refusals."""
        if not isinstance(message, dict) or not isinstance(parts := message.get("content"), list):
            return message
        joined = {"text": "", "refusal": message.get("refusal") or ""}
        for part in ({"text": item} if isinstance(item, str) else item for item in parts):
            for kind in joined if isinstance(part, dict) else ():
                if str(part.get("type", kind)).endswith(kind) and isinstance(part.get(kind), str):
                    joined[kind] += part[kind]
        return {"content": joined["text"] or None, "refusal": joined["refusal"] or None}


class _Alternative(BaseModel):
    token: str
    logprob: float


class _Completion(BaseModel):
    message: _Message | None = Field(None, validation_alias=AliasPath("choices", 0, "message"))
    finish: str | None = Field(None, validation_alias=AliasPath("choices", 0, "finish_reason"))
    alternatives: list[_Alternative] | None = Field(
        None, validation_alias=AliasPath("choices", 0, "logprobs", "content", 0, "top_logprobs")
    )
    usage: Any = None


class _Chunk(BaseModel):
    """A piece of a streamed answer; the last one has the usage and no choices."""

    delta: _Message = Field(_Message(), validation_alias=AliasPath("choices", 0, "delta"))
    finish: str | None = Field(None, validation_alias=AliasPath("choices", 0, "finish_reason"))
    usage: Any = None


class OpenAIBackend(backend.Backend):
    """One model of a server that speaks the OpenAI protocol.

    At Azure the model's name is the deployment's. The provider's `base_url` includes the version,
    as in https://api.openai.com/v1.
    """

    _client: openai.AsyncOpenAI

    def _prepare(self) -> None:
        self._model = self.info.name
        self._modes: dict[type[Any], AnswerMode] = {}
        self._omitted = set(self.info.refuses)
        self._limit_name = _REASONING_LIMIT if self.info.efforts else _ANSWER_LIMIT
        self._limits_tried = {self._limit_name}

    def mode(self, output_type: type[Any]) -> AnswerMode:
        default: AnswerMode = "next_token" if output_type is NextToken else "json_schema"
        return self._modes.get(output_type, default)

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> backend.Reply:
        body, chat = self._body(messages, request, mode), self._client.chat.completions
        headers: Mapping[str, str]
        try:
            if "stream" in body:
                async with chat.with_streaming_response.create(**body) as raw:
                    headers = raw.headers
                    if headers.get("content-type", "").startswith(_EVENTS):
                        content = await self._streamed(await raw.parse(), request)
                    else:
                        content = await raw.read()
            else:
                whole = await chat.with_raw_response.create(**body)
                content, headers = whole.http_response.content, whole.http_response.headers
        except openai.OpenAIError as error:
            failure = self._failure(error, request, mode)
        except (ValueError, AttributeError):
            failure = backend.malformed("chat completion")
        else:
            return self._reply(content, headers, request, mode)
        raise failure

    async def _streamed(self, stream: Any, request: ModelRequest[Any]) -> bytes:
        """Read a streamed answer, and return it as the body of one that came whole.

        Raises openai.OpenAIError if the stream breaks off, ValueError if an event has no such form.
        """
        growing = GrowingAnswer(request.output_type, request.listen or (lambda _: None))
        refusal, finish, usage = "", None, None
        try:
            async for event in stream:
                chunk = _Chunk.model_validate(event.to_dict(warnings=False))
                growing.add(chunk.delta.content or "")
                refusal += chunk.delta.refusal or ""
                finish, usage = chunk.finish or finish, chunk.usage or usage
        except openai.APIError as error:
            if isinstance(error, openai.APIStatusError | openai.APIConnectionError):
                raise
            # An event reports an error, in place of the answer or in the middle of it.
            if not growing.text:
                return json.dumps({"error": error.body, "usage": usage}).encode()
            finish = "error"
        if finish is None:
            raise openai.APIConnectionError(request=stream.response.request)
        message = {"content": growing.text or None, "refusal": refusal or None}
        choice = {"message": message, "finish_reason": finish}
        return json.dumps({"choices": [choice], "usage": usage}).encode()

    def _body(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> dict[str, Any]:
        is_unbounded = {"maxItems", "maxLength"} & self._omitted
        schema = strict_schema(request.output_type) if is_unbounded else self.schema(request)
        name = re.sub(r"\W", "_", request.output_type.__name__)[:64]
        shape = {"name": name, "schema": schema, "strict": True}
        formats: dict[AnswerMode, dict[str, Any]] = {
            "json_schema": {"type": "json_schema", "json_schema": shape},
            "json_object": {"type": "json_object"},
        }
        body: dict[str, Any] = {
            "model": self._model,
            "messages": list(messages),
            "temperature": request.temperature,
            "seed": request.seed if "temperature" not in self._omitted else None,
            "reasoning_effort": request.effort,
            self._limit_name: 1 if mode == "next_token" else request.max_tokens,
            "response_format": formats.get(mode),
            "stream": True if request.listen and mode == "json_schema" else None,
        }
        if body["stream"]:
            body["stream_options"] = {"include_usage": True}
        if mode == "next_token":
            body |= {"logprobs": True, "top_logprobs": backend.ALTERNATIVES}
            if _TEMPLATE not in self._omitted and self.host != "api.openai.com":
                # llama.cpp and vLLM then keep a model from opening its answer with thoughts.
                body["extra_body"] = {_TEMPLATE: {"enable_thinking": False}}
        omitted = {name for name, value in body.items() if value is None} | self._omitted
        return {name: value for name, value in body.items() if name not in omitted}

    def _reply(
        self,
        content: bytes,
        headers: Mapping[str, str],
        request: ModelRequest[Any],
        mode: AnswerMode,
    ) -> backend.Reply:
        """Read an answer of status 200; raise the error that a gateway may have put into it."""
        try:
            completion = _Completion.model_validate_json(content)
        except ValidationError:
            completion = _Completion()
        message, ended = completion.message, completion.finish
        try:
            usage = backend.Usage(**_Usage.model_validate(completion.usage).model_dump())
        except ValidationError:
            usage = backend.Usage()
        reported = usage if usage.input_tokens is not None else None
        carried = backend.ErrorBody.in_success(content)
        if carried is not None:
            error = self._rejected(carried, headers, request, mode)
            error.usage = reported
            error.lost = carried.status == HTTPStatus.OK or reported is not None
            raise error
        if message is None:
            error = backend.malformed("chat completion")
            error.usage = reported
            raise error
        if ended == "error":
            # OpenRouter's mark for an answer that its provider broke off.
            raise backend.BackendError("passing", "the answer broke off", lost=True, usage=reported)
        refusal = message.refusal
        if ended == "content_filter":
            refusal = refusal or "the service's content filter stopped the answer"
        if mode == "next_token" and not refusal:
            listed = completion.alternatives or []
            return backend.next_token([(token.token, token.logprob) for token in listed], usage)
        finish: Literal["stop", "length", "refused"] = "refused" if refusal else "stop"
        finish = "length" if ended == "length" else finish
        return backend.Reply(message.content, finish, refusal, usage)

    def _failure(
        self,
        error: openai.OpenAIError,
        request: ModelRequest[Any] | None = None,
        mode: AnswerMode = "text",
    ) -> backend.BackendError:
        if isinstance(error, openai.APIStatusError):
            body = backend.ErrorBody(error.status_code, error.response.content)
            return self._rejected(body, error.response.headers, request, mode)
        if isinstance(error, openai.APIConnectionError):
            return self._broken(error, error.__cause__)
        return backend.BackendError("lasting", f"the client failed with {type(error).__name__}")

    def _rejected(
        self,
        body: backend.ErrorBody,
        headers: Mapping[str, str],
        request: ModelRequest[Any] | None,
        mode: AnswerMode,
    ) -> backend.BackendError:
        other = _OTHER_INTERFACE.search(body.message)
        if HTTPStatus.BAD_REQUEST <= body.status < HTTPStatus.INTERNAL_SERVER_ERROR and (
            other or body.code == _NO_CHAT
        ):
            named = f" (the server names {other[0]})" if other else ""
            return backend.BackendError(
                "lasting",
                f"chat completions, the only interface that is used here, do not serve the model "
                f"{self._model!r}{named}; choose another model",
            )
        if request is not None and not body.context_exceeded:
            adapted = self._adapt(body, request, mode)
            if adapted is not None:
                return backend.BackendError("adapted", adapted)
        return self._status_error(
            body, headers, f"check the base URL and the model's name {self._model!r}"
        )

    def _adapt(
        self, body: backend.ErrorBody, request: ModelRequest[Any], mode: AnswerMode
    ) -> str | None:
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
            raise backend.BackendError("lasting", backend.NO_PROBABILITIES)
        other = _REASONING_LIMIT if self._limit_name == _ANSWER_LIMIT else _ANSWER_LIMIT
        if other not in self._limits_tried and (
            f"Use '{other}'" in body.message or self._rejects(self._limit_name, body)
        ):
            self._limits_tried.add(other)
            self._limit_name = other
            return f"the server wants the limit as {other}; asked again so"
        for parameter in _DISPENSABLE:
            if parameter not in self._omitted and self._rejects(parameter, body):
                self._omitted.add(parameter)
                return f"the server does not take {parameter}; asked again without"
        looser = _NEXT_MODE.get(mode)
        if looser is None or not (no_provider or _SHAPE.search(f"{body.param} {body.message}")):
            return None
        if self.mode(request.output_type) == mode:
            self._modes[request.output_type] = looser
        return f"the server does not take {mode}; asked again with {looser}"

    @staticmethod
    def _rejects(parameter: str, body: backend.ErrorBody) -> bool:
        """Tell whether an error names a parameter as one that the server does not take.

        An error about the value of the temperature or the seed is enough: the request can leave
        them out, but has no other value for them.
        """
        named = body.param == parameter or re.search(rf"\b{parameter}\b", body.message)
        is_sampling = parameter in {"temperature", "seed"} and body.param == parameter
        return bool(named and (is_sampling or _UNSUPPORTED.search(f"{body.code} {body.message}")))

    async def probe(self) -> backend.Probe:
        try:
            raw = await self._client.models.with_raw_response.list()
            listed = {model["id"] for model in json.loads(raw.http_response.content)["data"]}
        except openai.OpenAIError as error:
            raise self._failure(error) from None
        except (ValueError, TypeError, LookupError):
            raise backend.malformed("list of models") from None
        if self._model not in listed:
            # Gateways and Azure list other names than they serve, so this is no failure.
            return backend.Probe(
                True, f"{self.host} answers; {self._model} is not among its listed models."
            )
        return backend.Probe(True, f"{self.host} answers and lists {self._model}.")

    def _make_client(self) -> openai.AsyncOpenAI:
        timeout = httpx2.Timeout(**self._timeouts)
        # A redirect would carry the prompt to another host.
        transport = openai.DefaultAsyncHttpxClient(
            timeout=timeout, follow_redirects=False, verify=backend.tls_context()
        )
        client = openai.AsyncOpenAI(
            base_url=self._provider.base_url,
            # Local servers need no key, but the library does.
            api_key=self._key.get_secret_value() if self._key else "none",
            max_retries=0,
            timeout=timeout,
            http_client=transport,
        )
        # The library loads its parts on first use: not during the first request.
        _ = client.chat.completions.with_raw_response
        return client
