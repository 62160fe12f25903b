"""The probabilities of label words, from servers of both dialects."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from resources.llm.base import (
    ModelAnswer,
    ModelError,
    ModelOutageError,
    ModelRequest,
    NextToken,
    Part,
    Token,
)
from resources.llm.clients import ModelClients
from resources.llm.labels import LabelChances, LabelModel
from resources.llm.registry import PROJECT_MODELS, ModelRegistry
from tests.resources.llm.servers import (
    CANARY,
    PATIENT,
    Dialect,
    Gate,
    bodies,
    fail,
    ollama_answer,
    openai_answer,
)
from tests.servers import Behaviour, MisbehavingServer, respond_json

LABELS = ("true", "false", "neither")


def tokens(chances: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"token": text, "logprob": math.log(chance)} for text, chance in chances.items()]


def next_token(dialect: Dialect, chances: Mapping[str, float] | None) -> Behaviour:
    """Answer with one token and its alternatives, or without alternatives."""
    if dialect == "ollama":
        said = ollama_answer("x", finish="length")
        if chances is not None:
            said["logprobs"] = [{"token": "x", "logprob": -1.0, "top_logprobs": tokens(chances)}]
        return respond_json(said)
    said = openai_answer("x", finish="length")
    if chances is not None:
        said["choices"][0]["logprobs"] = {
            "content": [{"token": "x", "logprob": -1.0, "top_logprobs": tokens(chances)}]
        }
    return respond_json(said)


def path(dialect: Dialect) -> str:
    return "/v1/chat/completions" if dialect == "openai" else "/api/chat"


async def ask(
    server: MisbehavingServer, dialect: Dialect = "openai", *, together: int = 1
) -> LabelChances:
    root = f"http://127.0.0.1:{server.port}"
    async with ModelClients(
        ModelRegistry.load(PROJECT_MODELS),
        keys={dialect: SecretStr(CANARY)},
        base_urls={"openai": f"{root}/v1", "ollama": root},
        policy=PATIENT,
    ) as clients:
        label_model = LabelModel(clients.model("small", provider=dialect), "small")
        parts = [(Part(f"Claim: it is so {number}"),) for number in range(together)]
        found = await asyncio.gather(*(label_model.ask("Judge.", each, LABELS) for each in parts))
        return found[0]


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
async def test_label_probabilities_are_normalised(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    said = {"true": 0.3, " True": 0.1, "ne": 0.2, "False": 0.2, "It": 0.1, "n": 0.05}
    server.on(path(dialect), next_token(dialect, said))
    found = await ask(server, dialect)
    assert found.chances["true"] == pytest.approx(0.4 / 0.85)
    assert found.chances["false"] == pytest.approx(0.2 / 0.85)
    assert sum(found.chances.values()) == pytest.approx(1)
    (call,) = found.calls
    assert (call.outcome, call.input_tokens) == ("ok", 120)


async def test_the_request_is_for_one_token_with_alternatives_and_no_thoughts(
    server: MisbehavingServer,
) -> None:
    server.on(path("openai"), next_token("openai", {"true": 1.0}))
    await ask(server)
    (sent,) = bodies(server)
    assert (sent["max_tokens"], sent["temperature"]) == (1, 1.0)
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 20)
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert "response_format" not in sent


async def test_ollama_is_asked_for_one_token_without_thoughts(server: MisbehavingServer) -> None:
    server.on(path("ollama"), next_token("ollama", {"true": 1.0}))
    await ask(server, "ollama")
    (sent,) = bodies(server, "ollama")
    assert (sent["think"], sent["logprobs"], sent["top_logprobs"]) == (False, True, 20)
    assert (sent["options"]["num_predict"], sent["options"]["temperature"]) == (1, 1.0)


async def test_a_server_that_rejects_template_arguments_gets_none(
    server: MisbehavingServer,
) -> None:
    refused = fail(400, "Unknown parameter: chat_template_kwargs", param="chat_template_kwargs")
    server.on(path("openai"), refused, next_token("openai", {"true": 0.9, "false": 0.1}))
    assert (await ask(server)).chances["true"] == pytest.approx(0.9)
    assert "chat_template_kwargs" not in bodies(server)[-1]


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
async def test_a_model_without_probabilities_says_so_once(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    server.on(path(dialect), next_token(dialect, None))
    with pytest.raises(ModelOutageError, match="gives no probabilities of tokens") as caught:
        await ask(server, dialect)
    assert caught.value.lasting
    assert len(bodies(server, dialect)) == 1


async def test_a_refusal_of_logprobs_is_reported(server: MisbehavingServer) -> None:
    words = "You are not allowed to request logprobs from this model: unsupported."
    server.on(path("openai"), fail(403, words), fail(400, words, param="logprobs"))
    with pytest.raises(ModelOutageError):
        await ask(server)
    with pytest.raises(ModelOutageError, match="gives no probabilities of tokens"):
        await ask(server)


async def test_a_model_that_answers_with_other_words_is_an_error(server: MisbehavingServer) -> None:
    server.on(path("openai"), next_token("openai", {"<think>": 0.9, "true": 0.05}))
    with pytest.raises(ModelError, match="does not answer with one of the words true, false"):
        await ask(server)


@pytest.mark.parametrize(("props", "most"), [(respond_json({"total_slots": 3}), 3), (fail(404), 8)])
async def test_a_local_server_gets_as_many_requests_at_once_as_it_has_slots_else_eight(
    server: MisbehavingServer, props: Behaviour, most: int
) -> None:
    gate = Gate(next_token("openai", {"true": 1.0}), least=most)
    server.on("/props", props)
    server.on(path("openai"), gate)
    await ask(server, together=12)
    assert gate.most == most


class Says:
    def __init__(self, *said: tuple[str, float]) -> None:
        self._tokens = [Token(text=text, probability=chance) for text, chance in said]

    async def complete(self, request: ModelRequest[Any]) -> ModelAnswer[Any]:
        assert json.loads(NextToken(tokens=self._tokens).model_dump_json())
        return ModelAnswer(NextToken(tokens=self._tokens))


@given(st.lists(st.tuples(st.text(max_size=8), st.floats(0, 1)), max_size=20))
async def test_whatever_the_tokens_are_chances_are_probabilities(
    said: list[tuple[str, float]],
) -> None:
    found = await LabelModel(Says(("true", 0.5), *said), "any").ask("", (), LABELS)
    assert sum(found.chances.values()) == pytest.approx(1)
    assert all(0 <= each <= 1 for each in found.chances.values())
