"""An answer that arrives in pieces, from real servers on loopback that break and talk nonsense."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from resources.llm.answers import GrowingAnswer
from resources.llm.base import ModelOutageError, ModelRequest, Part
from tests.resources.llm.servers import CHAT, Dialect, bodies, bound, openai_answer, say
from tests.servers import Behaviour, Exchange, MisbehavingServer, head, respond_json

EACH = pytest.mark.parametrize("dialect", ["openai", "ollama"])


class Item(BaseModel):
    text: str
    more: list[str]


class Listed(BaseModel):
    title: str
    items: list[Item]


THREE = Listed(
    title="A } title",
    items=[Item(text=f'the {each}, "}}]" it says', more=["x", "}"]) for each in "abc"],
)
TEXT = THREE.model_dump_json()


def test_a_long_list_of_short_items_is_read_a_few_hundred_times() -> None:
    heard: list[int] = []
    growing = GrowingAnswer(Listed, lambda value: heard.append(len(value.items)))
    growing.add('{"title": "A", "items": [')
    for _ in range(3_000):
        growing.add(", " * (growing.text[-1] != "[") + '{"text": "x", "more": []}')
    assert heard[:40] == list(range(1, 41))
    assert len(heard) < 300
    assert heard[-1] > 2_900


def asking(heard: list[Listed] | None) -> ModelRequest[Listed]:
    listen = None if heard is None else heard.append
    return ModelRequest("You list.", (Part("List."),), Listed, max_tokens=200, listen=listen)


def event(dialect: Dialect, piece: str, **last: Any) -> bytes:
    """Return one event of a streamed answer; `last` ends it."""
    if dialect == "ollama":
        body: dict[str, Any] = {
            "model": "m",
            "message": {"role": "assistant", "content": piece},
            "done": bool(last),
        }
        if last:
            body |= {"done_reason": "stop", "prompt_eval_count": 120, "eval_count": 30}
        return json.dumps(body).encode() + b"\n"
    finish = "stop" if last else None
    choice = {"index": 0, "delta": {"content": piece}, "finish_reason": finish}
    chunk: dict[str, Any] = {"id": "1", "object": "chat.completion.chunk", "choices": [choice]}
    sent = f"data: {json.dumps(chunk)}\n\n"
    if last:
        usage = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}
        sent += f"data: {json.dumps(chunk | {'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n"
    return sent.encode()


def streamed(dialect: Dialect, pieces: Sequence[str | bytes], *, ends: bool = True) -> Behaviour:
    """Send an answer in pieces; without `ends` the connection breaks after the last one."""
    kind = "text/event-stream" if dialect == "openai" else "application/x-ndjson"

    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        promised = {} if ends else {"Content-Length": "100000"}
        await exchange.send(head(200, {"Content-Type": kind, "Connection": "close", **promised}))
        for piece in pieces:
            await exchange.send(piece if isinstance(piece, bytes) else event(dialect, piece))
            await asyncio.sleep(0)
        if ends:
            await exchange.send(event(dialect, "", done=True))

    return behave


def slices(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_each_complete_item_is_heard_once_it_closes(size: int) -> None:
    heard: list[Listed] = []
    growing = GrowingAnswer(Listed, heard.append)
    for piece in slices(TEXT, size):
        growing.add(piece)
    assert [len(each.items) for each in heard] == [1, 2, 3]
    assert heard[-1] == THREE
    assert growing.text == TEXT


@pytest.mark.parametrize("text", ["", "}}}}", f"<think>{TEXT}</think>", '{"items": [{"text": 1}]}'])
def test_text_that_is_no_such_answer_is_not_heard(text: str) -> None:
    heard: list[Listed] = []
    GrowingAnswer(Listed, heard.append).add(text)
    assert heard == []


@EACH
async def test_a_listener_hears_items_while_the_model_writes(dialect: Dialect) -> None:
    heard: list[Listed] = []
    async with MisbehavingServer() as server, bound(server, dialect) as model:
        server.on(CHAT[dialect], streamed(dialect, slices(TEXT)))
        answer = await model.complete(asking(heard))
    assert answer.value == THREE
    assert [len(each.items) for each in heard] == [1, 2, 3]
    (call,) = answer.calls
    assert (call.input_tokens, call.output_tokens, call.usage_reported) == (120, 30, True)


@EACH
async def test_a_question_without_a_listener_asks_for_a_whole_answer(dialect: Dialect) -> None:
    async with MisbehavingServer() as server, bound(server, dialect) as model:
        server.on(CHAT[dialect], say(dialect, THREE.model_dump()))
        assert (await model.complete(asking(None))).value == THREE
        assert not bodies(server, dialect)[0].get("stream")


@EACH
async def test_a_server_that_answers_whole_all_the_same_is_understood(dialect: Dialect) -> None:
    heard: list[Listed] = []
    async with MisbehavingServer() as server, bound(server, dialect) as model:
        server.on(CHAT[dialect], say(dialect, THREE.model_dump()))
        assert (await model.complete(asking(heard))).value == THREE


BREAKS: dict[str, Any] = {
    "the connection breaks": lambda d: streamed(d, slices(TEXT)[:12], ends=False),
    "an event is garbage": lambda d: streamed(d, [b"data: \x00{nonsense\n\n"]),
    "an event is a list": lambda d: streamed(d, [b"data: [1]\n\n" if d == "openai" else b"[1]\n"]),
    "the server reports an error": lambda d: streamed(
        d,
        [
            *slices(TEXT)[:12],
            b'data: {"error": {"message": "overloaded", "code": 502}}\n\n'
            if d == "openai"
            else b'{"error": "the runner stopped"}\n',
        ],
    ),
}


@EACH
@pytest.mark.parametrize("broken", BREAKS)
async def test_a_broken_stream_is_asked_again_and_recorded(dialect: Dialect, broken: str) -> None:
    heard: list[Listed] = []
    async with MisbehavingServer() as server, bound(server, dialect) as model:
        server.on(CHAT[dialect], BREAKS[broken](dialect), streamed(dialect, slices(TEXT)))
        answer = await model.complete(asking(heard))
    assert answer.value == THREE
    assert heard[-1] == THREE
    lost, good = answer.calls
    assert (lost.outcome, good.outcome) == ("infra_error", "ok")
    assert lost.request_id != good.request_id
    assert lost.input_tokens > 0
    assert not lost.usage_reported


@EACH
async def test_streams_that_always_break_are_an_outage(dialect: Dialect) -> None:
    async with MisbehavingServer() as server, bound(server, dialect) as model:
        server.on(CHAT[dialect], streamed(dialect, slices(TEXT)[:12], ends=False))
        with pytest.raises(ModelOutageError, match="broke off") as failed:
            await model.complete(asking([]))
    assert len(failed.value.calls) == 3


async def test_a_server_that_refuses_streams_is_asked_for_a_whole_answer() -> None:
    refusal = {"error": {"message": "stream is not supported", "param": "stream", "code": None}}
    heard: list[Listed] = []
    async with MisbehavingServer() as server, bound(server, "openai") as model:
        whole = openai_answer(TEXT)
        server.on(CHAT["openai"], respond_json(refusal, status=400), respond_json(whole))
        answer = await model.complete(asking(heard))
        first, second = bodies(server)
    assert answer.value == THREE
    assert first["stream"]
    assert first["stream_options"] == {"include_usage": True}
    assert "stream" not in second
