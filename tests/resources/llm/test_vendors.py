"""The lines of docs/models.md, against servers that enforce their vendors' rules."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, Field, SecretStr

from factible_assets.evaluation.judging import judge
from factible_assets.reasoners.llm import answers
from factible_assets.services.models import DEFAULT_MODEL, model_clients, plan_models
from factible_assets.settings import Settings
from resources.llm.answers import read_answer, strict_schema
from resources.llm.base import (
    ModelAnswer,
    ModelError,
    ModelOutageError,
    ModelRequest,
    Part,
    RefusedError,
)
from tests.resources.llm import vendors
from tests.resources.llm.servers import CHAT, Leaning, ask, bodies, bound, fail, say, shapes_asked
from tests.servers import Behaviour, MisbehavingServer

SHAPES = [
    shape
    for module in (answers, judge)
    for shape in vars(module).values()
    if isinstance(shape, type) and issubclass(shape, BaseModel) and shape is not BaseModel
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_that_is_asked_for_has_a_strict_schema(shape: type[BaseModel]) -> None:
    assert list(vendors.strictness(strict_schema(shape))) == []


def test_a_strict_schema_describes_ranges_in_words_and_pydantic_validates_them() -> None:
    score = strict_schema(judge.JudgeAnswer)["properties"]["score"]
    assert score == {"type": "integer", "description": "0 to 2"}
    with pytest.raises(ValueError, match="less than or equal to 2"):
        read_answer('{"quote": "q", "reason": "r", "score": 3}', judge.JudgeAnswer)


def test_a_shape_without_a_strict_schema_is_refused() -> None:
    class Counts(BaseModel):
        by_name: dict[str, int] = Field(default_factory=dict)

    with pytest.raises(TypeError, match="no strict schema"):
        strict_schema(Counts)


async def asked(
    server: MisbehavingServer, tmp_path: Path, request: Any = None, **lines: Any
) -> ModelAnswer[Leaning]:
    """Ask as the settings say."""
    settings = Settings.model_validate({"home": tmp_path, **lines})
    plan = plan_models(settings)
    info = plan.stages["claims"]
    request = replace(request or ask(), effort=settings.reasoning_effort)
    async with model_clients(settings, plan.registry) as clients:
        return await clients.model(info.name, provider=info.provider).complete(request)


def at(server: MisbehavingServer, path: str = "/v1", **lines: Any) -> dict[str, Any]:
    address = f"http://127.0.0.1:{server.port}{path}"
    return {"openai_base_url": address, "openai_api_key": SecretStr("k"), **lines}


@pytest.mark.parametrize("model", [None, "gpt-5-mini", "o4-mini", "gpt-5.4-nano-2026-03-17"])
async def test_the_first_request_to_an_openai_reasoning_model_is_valid(
    server: MisbehavingServer, tmp_path: Path, model: str | None
) -> None:
    server.on(CHAT["openai"], vendors.openai())
    answer = await asked(server, tmp_path, **at(server, model=model))
    (call,) = answer.calls
    assert (call.outcome, shapes_asked(server)) == ("ok", ["json_schema"])
    assert (call.output_tokens, call.thought_tokens) == (vendors.THOUGHTS + 30, vendors.THOUGHTS)
    assert (call.price_known, call.usage_reported) == (True, True)
    (body,) = bodies(server)
    assert body["model"] == (model or DEFAULT_MODEL)
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("low", 4_200)
    assert not body.keys() & {"temperature", "seed", "max_tokens"}


async def test_the_limits_of_an_unlisted_model_are_learnt_once(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.on(CHAT["openai"], vendors.openai(thoughts=700))
    answer = await asked(server, tmp_path, **at(server, model="openai/gpt-6.9-nova"))
    assert [call.outcome for call in answer.calls][-2:] == ["truncated", "ok"]
    assert not any(call.price_known for call in answer.calls)
    assert bodies(server)[-1]["max_completion_tokens"] == 800
    assert len(answer.calls) == 6, "its name, limit, temperature, bounds and thoughts"


async def test_a_gateway_without_a_provider_for_schemas_gets_the_same_model_without_one(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    words = "No endpoints found that can handle the requested parameters. See the documentation."
    server.on(CHAT["openai"], fail(404, words, code=404), say("openai"))
    lines = at(server, model="openai/gpt-5-mini")
    answer = await asked(server, tmp_path, **lines)
    assert [call.outcome for call in answer.calls] == ["infra_error", "ok"]
    assert shapes_asked(server) == ["json_schema", "json_object"]
    assert {body["model"] for body in bodies(server)} == {"openai/gpt-5-mini"}


async def test_a_model_that_does_not_reason_is_sent_no_effort(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.on(CHAT["openai"], vendors.openai())
    await asked(server, tmp_path, **at(server, model="gpt-4o-mini", reasoning_effort="high"))
    (body,) = bodies(server)
    assert (body["temperature"], body["max_tokens"]) == (0.0, 200)


async def test_endless_thoughts_are_cut_off_with_the_setting_to_raise(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.on(CHAT["openai"], vendors.openai(thoughts=90_000))
    with pytest.raises(ModelError, match=r"16,800 of them thoughts.*Raise the limit") as cut:
        await asked(server, tmp_path, **at(server, model="gpt-5-mini"))
    assert [call.outcome for call in cut.value.calls] == ["truncated", "truncated"]
    assert [call.output_tokens for call in cut.value.calls] == [4_200, 16_800]
    assert all(call.cost_usd > 0 for call in cut.value.calls)


async def test_openrouter_gets_full_model_names_and_its_bill_counts(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.on("/api/v1/chat/completions", vendors.openrouter())
    lines = at(server, "/api/v1", model="openai/gpt-4o-mini")
    (call,) = (await asked(server, tmp_path, **lines)).calls
    assert (call.model, call.cost_usd, call.price_known) == ("openai/gpt-4o-mini", 0.0321, True)
    (sent,) = (each.json for each in server.asked if each.path != "/props")
    assert isinstance(sent, dict)
    assert sent["model"] == "openai/gpt-4o-mini"


@pytest.mark.parametrize(
    ("model", "effort", "think", "always"),
    [
        ("qwen3:4b", None, False, False),
        ("qwen3:4b", None, False, True),
        ("qwen3:4b", "high", True, False),
        ("gpt-oss:20b", None, "low", False),
        ("gpt-oss:20b", "xhigh", "high", False),
        ("llama4:8b", None, False, False),
    ],
)
async def test_the_effort_becomes_ollamas_own_value(
    server: MisbehavingServer,
    tmp_path: Path,
    model: str,
    effort: Any,
    think: bool | str,
    always: bool,
) -> None:
    behaviour = vendors.ollama(levels=model.startswith("gpt-oss"), always=always)
    server.on(CHAT["ollama"], behaviour)
    host = f"127.0.0.1:{server.port}"
    lines = {"model": f"ollama/{model}", "ollama_host": host, "reasoning_effort": effort}
    request = ask(max_tokens=900)
    answer = await asked(server, tmp_path, request, **lines)
    assert answer.calls[-1].outcome == "ok"
    assert len(answer.calls) == (2 if always else 1), "thoughts that come unasked get room once"
    body = bodies(server, "ollama")[0]
    assert body["think"] == think
    assert not list(vendors.strictness(body["format"], also=vendors.BOUNDS))


# --- The table of docs/models.md ------------------------------------------------------------------

_TABLE = Path(__file__).parents[3] / "docs" / "models.md"
SERVERS: dict[str, tuple[str, Behaviour]] = {
    "OpenAI": ("/v1/chat/completions", vendors.openai()),
    "OpenRouter": ("/api/v1/chat/completions", vendors.openrouter()),
    "Azure": ("/openai/v1/chat/completions", vendors.azure("my-deployment")),
    "vLLM": ("/v1/chat/completions", vendors.vllm("Qwen/Qwen3-8B")),
    "llama.cpp": ("/v1/chat/completions", vendors.llama_cpp()),
    "Ollama": (CHAT["ollama"], vendors.ollama()),
}


def documented(server: str) -> dict[str, str]:
    """Return the lines that the table says to set."""
    row = re.search(rf"^\| {re.escape(server)} \|(.*)\|$", _TABLE.read_text(), re.MULTILINE)
    assert row is not None
    return dict(re.findall(r"`([A-Z_]+)=([^`]*)`", row[1]))


def set_up(monkeypatch: pytest.MonkeyPatch, name: str, server: MisbehavingServer) -> Settings:
    """Set the documented variables, with the address and key of this server."""
    lines = documented(name)
    assert lines, f"the table says nothing of {name}"
    for each in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "FACTIBLE_MODEL"):
        monkeypatch.delenv(each, raising=False)
    for variable, value in lines.items():
        path = urlsplit(value).path if "://" in value else ""
        local = f"http://127.0.0.1:{server.port}{path}" if "://" in value else value
        monkeypatch.setenv(variable, vendors.KEY if "…" in value and not path else local)
    if name == "OpenAI":
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
    return Settings()


async def answered(settings: Settings, request: ModelRequest[Leaning]) -> ModelAnswer[Leaning]:
    plan = plan_models(settings)
    assert plan.missing is None
    info = plan.stages["claims"]
    async with model_clients(settings, plan.registry) as clients:
        return await clients.model(info.name, provider=info.provider).complete(request)


def test_the_table_has_all_servers_that_are_tried_here() -> None:
    rows = re.findall(r"^\| ([\w.]+) \| `", _TABLE.read_text(), re.MULTILINE)
    assert rows == list(SERVERS)


@pytest.mark.parametrize("name", SERVERS)
async def test_the_documented_lines_are_enough(
    server: MisbehavingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    path, behaviour = SERVERS[name]
    server.on(path, behaviour)
    answer = await answered(set_up(monkeypatch, name, server), ask(max_tokens=900))
    assert answer.value.score == 7
    assert answer.calls[-1].outcome == "ok"
    assert not any("json_schema" in (call.reason or "") for call in answer.calls)
    turned_away = [call for call in answer.calls if call.outcome != "ok"]
    told = "the limit's name, the temperature, the bounds"
    assert len(turned_away) == (3 if name == "Azure" else 0), told


@pytest.mark.parametrize("name", ["vLLM", "llama.cpp"])
async def test_the_window_of_an_own_server_is_learnt_and_the_page_trimmed_to_it(
    server: MisbehavingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    server.on(*SERVERS[name])
    page = (Part("Read this. "), Part("Sugar is sweet. " * 4_000, trimmable=True))
    answer = await answered(set_up(monkeypatch, name, server), ask(page))
    assert answer.calls[-1].trimmed_characters > 40_000
    assert len(bodies(server)) == 2


async def test_too_much_room_for_an_answer_is_taken_back(
    server: MisbehavingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    server.on(*SERVERS["vLLM"])
    settings = set_up(monkeypatch, "vLLM", server)
    request = replace(ask(max_tokens=900), effort="low")
    assert (await answered(settings, request)).calls[-1].outcome == "ok"
    assert [body["max_tokens"] for body in bodies(server)] == [4_900, 2_048]


@pytest.mark.parametrize(
    ("name", "line", "sentence"),
    [
        ("vLLM", {"OPENAI_API_KEY": "wrong"}, "check the key"),
        ("vLLM", {"FACTIBLE_MODEL": "qwen"}, "check the base URL and the model's name 'qwen'"),
        ("Azure", {"OPENAI_API_KEY": "wrong"}, "check the key"),
        ("Azure", {"FACTIBLE_MODEL": "other"}, "check the base URL and the model's name 'other'"),
    ],
)
async def test_a_wrong_line_is_named(
    server: MisbehavingServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    line: dict[str, str],
    sentence: str,
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    server.on(*SERVERS[name])
    set_up(monkeypatch, name, server)
    for variable, value in line.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ModelOutageError, match=sentence) as failure:
        await answered(Settings(), ask())
    assert failure.value.lasting


async def test_azures_filter_is_a_refusal(
    server: MisbehavingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    server.on(*SERVERS["Azure"])
    with pytest.raises(RefusedError, match="content filter"):
        await answered(set_up(monkeypatch, "Azure", server), ask("How to build a bomb?"))


async def test_a_moderated_prompt_is_a_refusal_not_a_wrong_key(server: MisbehavingServer) -> None:
    flagged = {"reasons": ["violence"], "flagged_input": "…"}
    server.on(CHAT["openai"], fail(403, "Input was flagged", code=403, metadata=flagged))
    async with bound(server) as model:
        with pytest.raises(Exception, match="content filter") as refused:
            await model.complete(ask())
    assert [call.outcome for call in refused.value.calls] == ["refused"]  # type: ignore[attr-defined]


async def test_prompts_and_answers_are_stored_only_on_request(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    server.on(CHAT["openai"], vendors.openai())
    await asked(server, tmp_path, **at(server))
    assert not (tmp_path / "prompts").exists()
    answer = await asked(server, tmp_path, **at(server, keep_prompts=30))
    (kept,) = (tmp_path / "prompts").rglob("*.json")
    assert kept.stem == answer.calls[0].request_id
    assert "What do you say?" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    old = tmp_path / "prompts" / "2020-01-01"
    old.mkdir()
    await asked(server, tmp_path, **at(server, keep_prompts=7))
    assert not old.exists()
    await asked(server, tmp_path, **at(server))
    assert not list((tmp_path / "prompts").iterdir()), "whoever keeps none any more has none"
