from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from factible_assets.services.models import model_clients, plan_models
from factible_assets.settings import Settings
from resources.llm.base import ModelOutageError, ModelRequest, Part
from resources.llm.clients import ModelClients, slots_of
from resources.llm.registry import PROJECT_MODELS, ModelRegistry, RegistryError
from tests.resources.llm.servers import CANARY, CHAT, PATIENT, Gate, ask, bodies, say
from tests.servers import Behaviour, MisbehavingServer, hang, respond, respond_json


class Searches(BaseModel):
    searches: list[str]


def clients(server: MisbehavingServer, *registries: Path) -> ModelClients:
    address = f"http://127.0.0.1:{server.port}"
    return ModelClients(
        ModelRegistry.load(PROJECT_MODELS, *registries),
        keys={"openai": SecretStr(CANARY)},
        base_urls={"openai": f"{address}/v1", "ollama": address},
        policy=PATIENT,
    )


async def test_each_model_is_asked_at_its_provider_with_that_providers_key_only(
    server: MisbehavingServer,
) -> None:
    server.on(CHAT["openai"], say("openai", usage=(1_000_000, 0)))
    server.on(CHAT["ollama"], say("ollama"))
    async with clients(server) as models:
        paid = await models.model("gpt-4o-mini").complete(ask())
        free = await models.model("qwen3:8b").complete(ask())
        assert CANARY not in repr(models)
    assert paid.calls[0].cost_usd == pytest.approx(0.15)
    assert (free.calls[0].cost_usd, free.calls[0].price_known) == (0.0, True)
    first, second = (each for each in server.asked if each.path != "/props")
    assert first.headers["authorization"] == f"Bearer {CANARY}"
    assert "authorization" not in second.headers


async def test_ollama_requests_set_a_context_within_the_models_window(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.on(CHAT["ollama"], say("ollama"))
    own = tmp_path / "models.yaml"
    own.write_text("models: {small: {provider: ollama, context_window: 8192}}\n")
    async with clients(server, own) as models:
        for name in ("qwen3:8b", "small"):
            await models.model(name).complete(ask())
        assert models.model("qwen3:8b").context_window == 16_384
    assert [b["options"]["num_ctx"] for b in bodies(server, "ollama")] == [16_384, 8_192]


async def test_lists_are_limited_if_the_server_enforces_it(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    for dialect in ("openai", "ollama"):
        server.on(CHAT[dialect], say(dialect, {"searches": ["tides"]}))
    listed = tmp_path / "models.yaml"
    listed.write_text(
        "providers:\n"
        f"  lab: {{protocol: openai, base_url: 'http://127.0.0.1:{server.port}/v1'}}\n"
        "models: {remote: {provider: lab, context_window: 8000}}\n"
    )
    question = ModelRequest("You search.", (Part("How?"),), Searches, 2, max_tokens=200)
    async with clients(server, listed) as models:
        await models.model("own", provider="openai").complete(question)
        for name in ("gpt-4o-mini", "qwen3:8b", "remote"):
            await models.model(name).complete(question)
    own, *others = (
        body["response_format"]["json_schema"]["schema"] for body in bodies(server, "openai")
    )
    (ollama,) = (body["format"] for body in bodies(server, "ollama"))
    most = [each["properties"]["searches"].get("maxItems") for each in (own, ollama, *others)]
    assert most == [2, 2, None, None]


async def test_the_registry_sets_the_time_limit_of_a_provider(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.on(CHAT["ollama"], hang(3_600))
    own = tmp_path / "models.yaml"
    own.write_text(
        "providers: {ollama: {protocol: ollama, base_url: 'http://x', answer_seconds: 0.2}}\n"
    )
    async with clients(server, own) as models:
        with pytest.raises(ModelOutageError, match=r"not done after 0\.2 seconds"):
            await models.model("qwen3:8b").complete(ask())


async def test_a_model_is_made_once_and_an_unknown_one_is_refused(
    server: MisbehavingServer,
) -> None:
    async with clients(server) as models:
        assert models.model("gpt-4o") is models.model("gpt-4o", provider="openai")
        with pytest.raises(RegistryError, match="did you mean"):
            models.model("gpt-40")


# --- Slots of a local server --------------------------------------------------------------------


@pytest.mark.parametrize("slots", [1, 2])
async def test_concurrent_requests_do_not_exceed_the_slots_of_a_local_server(
    server: MisbehavingServer, tmp_path: Path, slots: int
) -> None:
    gate = Gate(say("openai", after=0.1), least=slots)
    server.on(CHAT["openai"], gate)
    server.on("/props", respond_json({"total_slots": slots, "model_path": "x.gguf"}))
    settings = Settings.model_validate(
        {
            "home": tmp_path,
            "model": "openai/own-model",
            "openai_base_url": f"http://127.0.0.1:{server.port}/v1",
            "openai_api_key": SecretStr("k"),
        }
    )
    async with model_clients(settings, plan_models(settings).registry) as clients:
        model = clients.model("own-model", provider="openai")
        answers = await asyncio.gather(*(model.complete(ask()) for _ in range(6)))
    assert gate.most == slots
    # Waiting in our own queue is not part of the latency.
    assert max(each.calls[-1].latency_seconds for each in answers) < 6 * 0.1
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
    server: MisbehavingServer, behaviour: Behaviour
) -> None:
    server.on("/props", behaviour)
    assert await slots_of(f"http://127.0.0.1:{server.port}/v1") is None


async def test_remote_or_missing_servers_have_unknown_slots() -> None:
    assert await slots_of("https://api.openai.com/v1") is None
    assert await slots_of("http://127.0.0.1:9/v1") is None
