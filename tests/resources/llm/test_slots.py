"""A local server gets as many requests at once as it has slots: none waits inside the server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from factible_assets.services.reasoning import model_clients, plan_models
from factible_assets.settings import Settings
from resources.llm.clients import slots_of
from tests.resources.llm.servers import CHAT, ask, say
from tests.servers import Exchange, MisbehavingServer, respond, respond_json


class Slots:
    """Answers each question after a moment, and counts how many it has at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __call__(self, exchange: Exchange) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.05)
        self.now -= 1
        await say("openai")(exchange)


@pytest.mark.parametrize("slots", [1, 2])
async def test_concurrent_requests_do_not_exceed_the_slots_of_a_local_server(
    server: MisbehavingServer, tmp_path: Path, slots: int
) -> None:
    counting = Slots()
    server.on(CHAT["openai"], counting)
    server.on("/props", respond_json({"total_slots": slots, "model_path": "x.gguf"}))
    settings = Settings.model_validate(
        {
            "home": tmp_path,
            "model": "openai/own-model",
            "openai_base_url": f"http://127.0.0.1:{server.port}/v1",
            "openai_api_key": SecretStr("k"),
        }
    )
    async with model_clients(settings, plan_models(settings)) as clients:
        model = clients.model("own-model", provider="openai")
        answers = await asyncio.gather(*(model.complete(ask()) for _ in range(6)))
    assert counting.most == slots
    # The time in our own queue is none of an answer's.
    assert max(each.calls[-1].latency_seconds for each in answers) < 6 * 0.05
    assert [each.path for each in server.asked].count("/props") == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        respond("no such page", status=404),
        respond("<html>"),
        respond_json([1]),
        respond_json({"total_slots": "four"}),
        respond_json({"total_slots": 0}),
    ],
)
async def test_a_server_without_slots_has_unknown_slots(
    server: MisbehavingServer, behaviour: object
) -> None:
    server.on("/props", behaviour)  # type: ignore[arg-type]
    assert await slots_of(f"http://127.0.0.1:{server.port}/v1") is None


async def test_remote_or_missing_servers_have_unknown_slots() -> None:
    assert await slots_of("https://api.openai.com/v1") is None
    assert await slots_of("http://127.0.0.1:9/v1") is None
