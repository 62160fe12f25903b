"""What servers write: the JSON of answers, streams and errors, in both protocols.

Answers of Ollama have other names and no list of choices; the rest is alike. The patterns for
context errors cover OpenAI, vLLM, llama.cpp and its Python binding, and Ollama.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

import httpx
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from resources.llm.answers import GrowingAnswer

EVENTS = "text/event-stream"
STREAMS = (EVENTS, "application/x-ndjson")
"""Media types of streamed answers."""

Tokens: TypeAlias = Annotated[int | None, Field(ge=0)]


class Usage(BaseModel):
    """Tokens and cost as the server reported them; None for missing values.

    Output tokens include thoughts. Input tokens include cached ones. Some versions of Ollama leave
    fully cached prompts out of the count.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    input_tokens: Annotated[Tokens, AfterValidator(lambda count: count or None)] = Field(
        None, validation_alias=AliasChoices("prompt_tokens", "prompt_eval_count")
    )
    output_tokens: Tokens = Field(
        None, validation_alias=AliasChoices("completion_tokens", "eval_count")
    )
    cached_tokens: Tokens = Field(
        None, validation_alias=AliasPath("prompt_tokens_details", "cached_tokens")
    )
    thought_tokens: Tokens = Field(
        None, validation_alias=AliasPath("completion_tokens_details", "reasoning_tokens")
    )
    cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False, validation_alias="cost")

    @classmethod
    def of(cls, answer: Any) -> Usage:
        """Return the usage that an answer reports, an empty one for an invalid report."""
        try:
            return cls.model_validate(answer.get("usage") or answer)
        except (AttributeError, ValidationError):
            return cls()


class Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    thinking: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _join(cls, message: Any) -> Any:
        """Join content in parts: texts, without thoughts, and refusals."""
        if not isinstance(message, dict) or not isinstance(parts := message.get("content"), list):
            return message
        typed = [
            {"type": "text", "text": part} if isinstance(part, str) else part
            for part in parts
            if isinstance(part, str | dict)
        ]
        joined = {
            kind: "".join(
                part[kind]
                for part in typed
                if str(part.get("type", kind)).endswith(kind) and isinstance(part.get(kind), str)
            )
            for kind in ("text", "refusal")
        }
        refusal = message.get("refusal") or joined["refusal"] or None
        return {"content": joined["text"] or None, "refusal": refusal}


class Completion(BaseModel):
    """A whole answer, or a piece of a streamed one."""

    message: Message | None = Field(
        None,
        validation_alias=AliasChoices(
            AliasPath("choices", 0, "message"), AliasPath("choices", 0, "delta"), "message"
        ),
    )
    finish: str | None = Field(
        None, validation_alias=AliasChoices(AliasPath("choices", 0, "finish_reason"), "done_reason")
    )
    alternatives: Any = Field(
        None,
        validation_alias=AliasChoices(
            AliasPath("choices", 0, "logprobs", "content", 0, "top_logprobs"),
            AliasPath("logprobs", 0, "top_logprobs"),
        ),
    )


async def joined(events: AsyncIterator[Any], growing: GrowingAnswer[Any]) -> dict[str, Any]:
    """Read a streamed answer, and return it as one that came whole, in OpenAI's form.

    Raises httpx.HTTPError if the stream breaks off, ValueError or AttributeError if an event has no
    such form.
    """
    refusal, thinking, finish, usage = "", "", None, None
    async for event in events:
        if error := event.get("error"):
            if not growing.text:
                return {"error": error, "usage": usage}
            finish = "error"
            break
        piece = Completion.model_validate(event)
        message = piece.message or Message()
        growing.add(message.content or "")
        refusal += message.refusal or ""
        thinking += message.thinking or ""
        finish, usage = piece.finish or finish, event.get("usage") or usage
        if event.get("done"):
            finish, usage = finish or "stop", event
            break
    if finish is None:
        raise httpx.RemoteProtocolError("The stream ended before the answer.")
    whole = {"content": growing.text or None, "refusal": refusal or None, "thinking": thinking}
    return {"choices": [{"message": whole, "finish_reason": finish}], "usage": usage}


async def events_of(response: httpx.Response) -> AsyncIterator[Any]:
    """Yield the JSON values of a stream: its lines, or the data of its events.

    Raises ValueError for anything else.
    """
    mark = b"data:" if response.headers["content-type"].startswith(EVENTS) else b""
    async for line in _lines(response):
        value = line.removeprefix(mark).strip() if line.startswith(mark) else b""
        if value == b"[DONE]":
            return
        if value:
            yield json.loads(value)


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield lines that end with a line feed; other separators of lines may stand in a text."""
    rest = b""
    async for chunk in response.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
    yield rest


def parsed(content: bytes) -> Any:
    """Return the JSON value of a body, or its text if it is none."""
    text = content.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# --- Errors -------------------------------------------------------------------------------------

_LEAST_WINDOW = 64
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_PASSING = frozenset({408, 409, 425, 429})
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
}
"""Documented error types and codes (OpenAI, Anthropic) that gateways pass on without a status."""
_LASTING_5XX = frozenset({501, 505})
_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_CONTEXT = re.compile(
    r"maximum context length|context length is only|exceeds? the (available )?context|"
    r"exceeds? (the |maximum )?context (length|window|size)|exceed(ed)? max context length|"
    r"prompt (is )?too long|larger than the (max )?context size",
    re.IGNORECASE,
)
_WINDOW = r"context (?:length|window|size)(?: is| of)?(?: only)?[ (]{1,2}(\d[\d,]*)"
_PROMPT_TOKENS = (
    r"\((\d+) in the messages",
    r"messages resulted in (\d+) tokens",
    r"passed (\d+) input tokens",
    r"requested tokens \((\d+)\)",
    r"request has (\d+) input tokens",
)


def _count(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text, re.IGNORECASE)
    number = int(found[1].replace(",", "")) if found else 0
    return number if number >= _LEAST_WINDOW else None


_STATUS_NAMES = ("code", "status", "status_code", "type")
_ERROR_STATUS = re.compile("[45][0-9]{2}")


def _carried(content: Any) -> Any:
    """Return the error of an answer or of its first choice; None without one."""
    if not isinstance(content, dict):
        return None
    choices = content.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return content.get("error") or (first.get("error") if isinstance(first, dict) else None) or None


class ErrorBody:
    """An error answer: `{"error": {...}}`, `{"error": "..."}`, `{"message": …}`, or text.

    Missing values are empty, None or false. `flagged`: moderation stopped the prompt before it
    reached the model (OpenRouter).
    """

    def __init__(self, status: int, content: Any) -> None:
        error = _carried(content) or content
        words = error if isinstance(error, str) else json.dumps(content)
        fields = error if isinstance(error, dict) else {"message": words}
        self.status = status
        message, detail, self.code, self.type, self.param = (
            str(value) if isinstance(value, str | int) else ""
            for value in map(fields.get, ("message", "detail", "code", "type", "param"))
        )
        self.message = message or detail
        n_ctx, n_prompt_tokens = (
            value if isinstance(value, int) and value >= _LEAST_WINDOW else None
            for value in map(fields.get, ("n_ctx", "n_prompt_tokens"))
        )
        counts = (_count(each, self.message) for each in _PROMPT_TOKENS)
        self.window = n_ctx or _count(_WINDOW, self.message)
        self.prompt_tokens = n_prompt_tokens or next(filter(None, counts), None)
        metadata = fields.get("metadata")
        self.flagged = isinstance(metadata, dict) and "flagged_input" in metadata

    @classmethod
    def in_success(cls, content: Any) -> ErrorBody | None:
        """Return the error inside an answer of status 200, or None.

        The error names its status by a number or by its type; otherwise the status is 200.
        """
        error = _carried(content)
        if error is None:
            return None
        places = [error, content] if isinstance(error, dict) else [content]
        named = [str(each.get(name)) for each in places for name in _STATUS_NAMES]
        numbers = [int(each) for each in named if _ERROR_STATUS.fullmatch(each)]
        types = [_STATUS_OF_TYPE[each] for each in named if each in _STATUS_OF_TYPE]
        return cls(next(iter(numbers + types), HTTPStatus.OK), content)

    @property
    def is_filtered(self) -> bool:
        return self.flagged or self.code in _FILTERED

    @property
    def is_broke(self) -> bool:
        """Whether the account has no credit left."""
        return self.status == HTTPStatus.PAYMENT_REQUIRED or bool(
            {self.code, self.type} & _NO_CREDIT
        )

    @property
    def is_passing(self) -> bool:
        """Whether a repeated request may succeed."""
        # Status 200: an error in a successful answer that names no status of its own.
        return self.status in {*_PASSING, HTTPStatus.OK} or (
            self.status >= HTTPStatus.INTERNAL_SERVER_ERROR and self.status not in _LASTING_5XX
        )

    @property
    def context_exceeded(self) -> bool:
        return (
            self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            or bool({self.code, self.type} & _CONTEXT_CODES)
            or bool(_CONTEXT.search(self.message))
        )
