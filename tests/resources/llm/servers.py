"""Servers on loopback that speak the wire formats of OpenAI and Ollama, and models bound to them.

tests/servers.py has the misbehaviour below HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal

from pydantic import BaseModel, Field, SecretStr

from resources.http import RetryPolicy
from resources.llm.backend import CallPolicy
from resources.llm.base import Effort, ModelRequest, Part
from resources.llm.limits import RateLimiter
from resources.llm.ollama import OllamaBackend
from resources.llm.openai import OpenAIBackend
from resources.llm.registry import ModelInfo, Price, ProviderInfo
from resources.llm.structured import StructuredModel
from tests.patience import A_DAY
from tests.servers import Behaviour, Exchange, MisbehavingServer, respond

CANARY = "sk-canary-5d1f0c7e9b2a4d68"
CHAT = {"openai": "/v1/chat/completions", "ollama": "/api/chat"}
USAGE = (120, 30)

PATIENT = CallPolicy(
    retry=RetryPolicy(
        attempts=3, first_delay_seconds=0.01, max_delay_seconds=0.02, max_retry_after_seconds=0.5
    ),
    patience_seconds=A_DAY,
    connect_seconds=A_DAY,
    answer_seconds=A_DAY,
)
"""Quick to ask again, and patient enough for a machine that is busy with something else."""

Dialect = Literal["openai", "ollama"]


class Leaning(BaseModel):
    stance: Literal["supports", "refutes"]
    score: int = Field(ge=0, le=10)
    note: str | None = None


GOOD = {"stance": "refutes", "score": 7, "note": None}


def ask(
    user: str | tuple[Part, ...] = "What do you say?", *, max_tokens: int = 200
) -> ModelRequest[Leaning]:
    parts = (Part(user),) if isinstance(user, str) else user
    return ModelRequest("You judge.", parts, Leaning, max_tokens=max_tokens, seed=11)


def openai_answer(
    content: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    usage: tuple[int, int] | None = USAGE,
    cached: int | None = None,
) -> dict[str, Any]:
    """Return a chat completion as api.openai.com words it."""
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "gpt-test",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
    }
    if usage is not None:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
            "prompt_tokens_details": {"cached_tokens": cached or 0, "audio_tokens": 0},
        }
    return body


def ollama_answer(
    content: str | None, *, finish: str = "stop", usage: tuple[int, int] | None = USAGE
) -> dict[str, Any]:
    """Return an answer of /api/chat; it knows neither refusals nor cached tokens."""
    body: dict[str, Any] = {
        "model": "qwen-test",
        "created_at": "2026-11-01T10:00:00.000000Z",
        "message": {"role": "assistant", "content": content or ""},
        "done": True,
        "done_reason": finish,
        "total_duration": 5_000_000,
    }
    if usage is not None:
        body |= {"prompt_eval_count": usage[0], "eval_count": usage[1]}
    return body


ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "openai": openai_answer,
    "ollama": ollama_answer,
}


def say(
    dialect: Dialect, content: object = None, *, after: float = 0.0, **details: Any
) -> Behaviour:
    """Answer with a JSON value, or with a text as it is."""
    text = content if isinstance(content, str) else json.dumps(content or GOOD)
    body = json.dumps(ANSWERS[dialect](text, **details))
    return respond(body, content_type="application/json", after=after)


def fail(
    status: int,
    message: str = "The server is unwell.",
    *,
    headers: dict[str, str] | None = None,
    dialect: Dialect = "openai",
    **fields: Any,
) -> Behaviour:
    """Fail with an error body in the dialect's form."""
    error = {"message": message, "type": None, "param": None, "code": None, **fields}
    body = {"error": error if dialect == "openai" else message}
    return respond(
        json.dumps(body), status=status, content_type="application/json", headers=headers
    )


def depending(choose: Callable[[dict[str, Any]], Behaviour]) -> Behaviour:
    """Choose the behaviour by the request."""

    async def behave(exchange: Exchange) -> None:
        asked = exchange.asked.json
        assert isinstance(asked, dict)
        await choose(asked)(exchange)

    return behave


class Gate:
    """Counts the requests that are in flight at once, and opens once there were `least` of them."""

    def __init__(self, behaviour: Behaviour, *, least: int = 1) -> None:
        self._behaviour = behaviour
        self._least = least
        self.now = 0
        self.most = 0

    async def __call__(self, exchange: Exchange) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        while self.most < self._least:  # noqa: ASYNC110 - the caller has a limit
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        self.now -= 1
        await self._behaviour(exchange)


async def arrival(server: MisbehavingServer) -> None:
    """Wait until a first request is in."""
    while not server.asked:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.005)


def shapes_asked(server: MisbehavingServer) -> list[str | None]:
    """Return the requested types of response format, None for a request without one."""
    return [body.get("response_format", {}).get("type") for body in bodies(server)]


def bodies(server: MisbehavingServer, dialect: Dialect = "openai") -> list[dict[str, Any]]:
    """Return the bodies of the requests to the model, in order."""
    found = []
    for asked in server.asked:
        if asked.path == CHAT[dialect]:
            assert isinstance(asked.json, dict)
            found.append(asked.json)
    return found


@asynccontextmanager
async def bound(
    server: MisbehavingServer,
    dialect: Dialect = "openai",
    *,
    window: int | None = 8_000,
    price: Price | None = Price(1.0, 2.0, 0.5),  # noqa: B008 - frozen
    limiter: RateLimiter | None = None,
    policy: CallPolicy = PATIENT,
    key: str | None = CANARY,
    scheme: str = "http",
    efforts: tuple[Effort, ...] | None = (),
    name: str | None = None,
) -> AsyncIterator[StructuredModel]:
    """Yield a model that asks the server, and close it."""
    secret = SecretStr(key) if key else None
    address = f"{scheme}://127.0.0.1:{server.port}"
    called = name or {"openai": "gpt-test", "ollama": "qwen-test"}[dialect]
    info = ModelInfo(called, dialect, window, price, efforts)
    made, path = (OpenAIBackend, "/v1") if dialect == "openai" else (OllamaBackend, "")
    backend = made(info, ProviderInfo(dialect, dialect, address + path), secret, policy)
    async with aclosing(StructuredModel(backend, limiter=limiter)) as model:
        yield model
