"""Servers on loopback that enforce their vendors' documented rules.

They cover OpenAI (strict schemas, reasoning models), Azure, OpenRouter, vLLM, llama.cpp and Ollama.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.resources.llm.servers import GOOD, depending, fail, ollama_answer, openai_answer
from tests.servers import Asked, Behaviour, Exchange, respond_json

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
    "stream",
    "stream_options",
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
BOUNDS = frozenset({"maxItems", "maxLength"})
"""Keywords that grammars enforce and OpenAI rejects."""


def strictness(schema: Any, path: str = "$", also: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield every place where a schema leaves the strict subset; `also` allows more keywords."""
    if not isinstance(schema, dict):
        return
    strange = schema.keys() - _KEYWORDS - also
    yield from (f"{path}: {name} is not permitted" for name in sorted(strange))
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
            yield from strictness(each, f"{path}.{key}", also)
    yield from strictness(schema.get("items"), f"{path}.items", also)
    for each in schema.get("anyOf", ()):
        yield from strictness(each, f"{path}.anyOf", also)


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


def openrouter() -> Behaviour:
    """Behave as openrouter.ai does: vendors in names, and a bill with each answer."""

    def choose(sent: dict[str, Any]) -> Behaviour:
        if "/" not in sent["model"]:
            return fail(400, f"{sent['model']} is not a valid model ID", code=400)
        body = openai_answer(json.dumps(GOOD))
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


# --- Servers of the OpenAI protocol with rules of their own --------------------------------------

WINDOW = 4_096
"""The window of own servers; a token is four bytes here."""

KEY = "sk-house-2f61"
Rule = Callable[[Asked, dict[str, Any]], Behaviour | None]


def _ruled(*rules: Rule) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        sent = exchange.asked.json
        assert isinstance(sent, dict)
        refused = next(filter(None, (rule(exchange.asked, sent) for rule in rules)), None)
        answer = openai_answer(json.dumps(GOOD), usage=(_tokens(sent), 30))
        await (refused or respond_json(answer))(exchange)

    return behave


def _tokens(sent: dict[str, Any]) -> int:
    size = sum(len(message["content"].encode()) for message in sent["messages"])
    return (size + len(json.dumps(sent.get("response_format", "")))) // 4


def _room(sent: dict[str, Any]) -> int:
    return int(sent.get("max_completion_tokens") or sent.get("max_tokens") or 0)


def vllm(model: str) -> Behaviour:
    """Behave as `vllm serve MODEL --api-key KEY --max-model-len WINDOW` does."""

    def key(asked: Asked, _: dict[str, Any]) -> Behaviour | None:
        wrong = asked.headers.get("authorization") != f"Bearer {KEY}"
        return respond_json({"error": "Unauthorized"}, status=401) if wrong else None

    def name(_: Asked, sent: dict[str, Any]) -> Behaviour | None:
        words = f"The model `{sent['model']}` does not exist."
        return None if sent["model"] == model else fail(404, words, type="NotFoundError", code=404)

    def window(_: Asked, sent: dict[str, Any]) -> Behaviour | None:
        read, room = _tokens(sent), _room(sent)
        words = f"This model's maximum context length is {WINDOW} tokens"
        if read >= WINDOW:
            words += f". However, your request has {read} input tokens. Please reduce the length."
        elif read + room > WINDOW:
            words = (
                f"'max_tokens' or 'max_completion_tokens' is too large: {room}. {words} and your "
                f"request has {read} input tokens ({room} > {WINDOW} - {read})."
            )
        else:
            return None
        return fail(400, words, type="BadRequestError", code=400)

    def shape(_: Asked, sent: dict[str, Any]) -> Behaviour | None:
        # A JSON Schema in the strict subset is always a valid grammar.
        wanted = sent["response_format"]
        problems = list(strictness(wanted["json_schema"]["schema"], also=BOUNDS))
        return fail(400, f"Grammar error: {problems[0]}", code=400) if problems else None

    return _ruled(key, name, window, shape)


def llama_cpp() -> Behaviour:
    """Behave as `llama-server -c WINDOW` does."""

    def window(_: Asked, sent: dict[str, Any]) -> Behaviour | None:
        read = _tokens(sent)
        if read < WINDOW:
            return None
        return fail(
            400,
            "the request exceeds the available context size, try increasing it",
            type="exceed_context_size_error",
            code=400,
            n_prompt_tokens=read,
            n_ctx=WINDOW,
        )

    def shape(_: Asked, sent: dict[str, Any]) -> Behaviour | None:
        schema = sent["response_format"]["json_schema"]["schema"]
        return None if isinstance(schema, dict) else fail(400, '"json_schema" must be an object')

    return _ruled(window, shape)


def azure(deployment: str, model: str = "gpt-5-mini") -> Behaviour:
    """Behave as a resource of Azure OpenAI does at its v1 address: OpenAI's rules, own names."""

    def key(asked: Asked, _: dict[str, Any]) -> Behaviour | None:
        given = asked.headers.get("api-key") or asked.headers.get("authorization", "")
        words = "Access denied due to invalid subscription key or wrong API endpoint."
        return None if given.removeprefix("Bearer ") == KEY else fail(401, words, code="401")

    def name(asked: Asked, sent: dict[str, Any]) -> Behaviour | None:
        older = re.fullmatch(r"/openai/deployments/([^/]+)/chat/completions", asked.path)
        if older and "api-version=" not in asked.target:
            return fail(404, "Resource not found", code="404")
        words = "The API deployment for this resource does not exist."
        found = older[1] if older else sent["model"]
        return None if found == deployment else fail(404, words, code="DeploymentNotFound")

    def content(_: Asked, sent: dict[str, Any]) -> Behaviour | None:
        if "build a bomb" not in json.dumps(sent):
            return None
        words = "The response was filtered due to the prompt triggering Azure OpenAI's policy."
        return fail(400, words, code="content_filter", param="prompt", innererror={"code": "R"})

    return _ruled(key, name, content, lambda _, sent: against_openai(sent | {"model": model}))
