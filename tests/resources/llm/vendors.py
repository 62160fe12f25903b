"""Servers on loopback that enforce their vendors' rules: what is not documented is refused.

What belongs here: the rules of OpenAI (strict schemas, reasoning models), OpenRouter and Ollama.
What does not: answers and failures in general (servers.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.resources.llm.servers import GOOD, depending, fail, ollama_answer, openai_answer
from tests.servers import Behaviour, respond_json

THOUGHTS = 2_600
"""Tokens that a model that thinks takes before it answers."""

_PARAMETERS = {
    "messages",
    "model",
    "temperature",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "response_format",
}
_KEYWORDS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "$ref",
    "$defs",
    "description",
}


def strictness(schema: Any, path: str = "$") -> Iterator[str]:
    """Yield every place where a schema leaves the strict subset."""
    if not isinstance(schema, dict):
        return
    yield from (f"{path}: {name} is not permitted" for name in schema.keys() - _KEYWORDS)
    if "$ref" in schema and len(schema) > 1:
        yield f"{path}: $ref cannot have siblings"
    if schema.get("type") == "object":
        names = list(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False:
            yield f"{path}: additionalProperties is required to be supplied and to be false"
        if schema.get("required") != names:
            yield f"{path}: required is required to include every key in properties"
    for name in ("properties", "$defs"):
        for key, each in schema.get(name, {}).items():
            yield from strictness(each, f"{path}.{key}")
    yield from strictness(schema.get("items"), f"{path}.items")
    for each in schema.get("anyOf", ()):
        yield from strictness(each, f"{path}.anyOf")


def _refused(parameter: str, words: str, code: str) -> Behaviour:
    return fail(400, words, type="invalid_request_error", param=parameter, code=code)


def _unsupported(name: str) -> Behaviour:
    return _refused(
        name, f"Unsupported parameter: '{name}' is not supported with this model.", "unsupported"
    )


def against_openai(sent: dict[str, Any]) -> Behaviour | None:  # noqa: PLR0911 - a rule each
    """Return how api.openai.com refuses a request; None if it does not.

    Models from gpt-5 on, and the o-series, reason.
    """
    model = sent["model"]
    for name in sent.keys() - _PARAMETERS:
        return _refused(name, f"Unknown parameter: '{name}'.", "unknown_parameter")
    if "/" in model:
        return fail(404, f"The model '{model}' does not exist.", code="model_not_found")
    reasons = _reasons(model)
    if reasons and "max_tokens" in sent:
        return _refused(
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "unsupported_parameter",
        )
    if reasons and sent.get("temperature", 1) != 1:
        return _unsupported("temperature")
    if not reasons and "reasoning_effort" in sent:
        return _unsupported("reasoning_effort")
    for problem in strictness(sent["response_format"]["json_schema"]["schema"]):
        return _refused("response_format", f"Invalid schema: {problem}", "invalid_json_schema")
    return None


def _reasons(model: str) -> bool:
    return model.startswith(("gpt-5", "gpt-6", "o"))


def openai(answer: Any = None, *, thoughts: int = THOUGHTS) -> Behaviour:
    """Behave as api.openai.com does: rules first, then thoughts, then the answer."""

    def choose(sent: dict[str, Any]) -> Behaviour:
        refused = against_openai(sent)
        if refused is not None:
            return refused
        thinks = (
            thoughts if _reasons(sent["model"]) and sent.get("reasoning_effort") != "none" else 0
        )
        limit = int(sent.get("max_completion_tokens", sent.get("max_tokens", 0)))
        if limit < thinks + 30:
            cut = openai_answer("", finish="length", usage=(120, limit))
            return respond_json(_thinking(cut, min(limit, thinks)))
        whole = openai_answer(json.dumps(answer or GOOD), usage=(120, thinks + 30))
        return respond_json(_thinking(whole, thinks))

    return depending(choose)


def _thinking(body: dict[str, Any], thoughts: int) -> dict[str, Any]:
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": thoughts}
    return body


def openrouter(answer: Any = None) -> Behaviour:
    """Behave as openrouter.ai does: vendors in names, and a bill with each answer."""

    def choose(sent: dict[str, Any]) -> Behaviour:
        if "/" not in sent["model"]:
            return fail(400, f"{sent['model']} is not a valid model ID", code=400)
        body = openai_answer(json.dumps(answer or GOOD))
        body["usage"]["cost"] = 0.0321
        return respond_json(body)

    return depending(choose)


def ollama(answer: Any = None, *, levels: bool = False, always: bool = False) -> Behaviour:
    """Behave as Ollama's /api/chat does: thoughts in a field of their own, within num_predict."""

    def choose(sent: dict[str, Any]) -> Behaviour:
        unknown = sent.keys() - {
            "model", "messages", "stream", "format", "options", "think", "tools", "keep_alive"
        }  # fmt: skip
        think = sent.get("think")
        if unknown or not isinstance(sent["format"], dict) or sent["stream"]:
            return fail(400, f"unknown fields {sorted(unknown)}", dialect="ollama")
        if levels and think not in {"low", "medium", "high"}:
            return fail(400, f"invalid think value: {think}", dialect="ollama")
        if isinstance(think, str) and not levels:
            return fail(400, "this model has no levels of thinking", dialect="ollama")
        thinks = THOUGHTS if think or always else 0
        limit = sent["options"]["num_predict"]
        if limit < thinks + 30:
            return respond_json(ollama_answer("", finish="length", usage=(120, limit)))
        body = ollama_answer(json.dumps(answer or GOOD), usage=(120, thinks + 30))
        body["message"]["thinking"] = "Hm." if thinks else ""
        return respond_json(body)

    return depending(choose)
