"""The server process of a model file: shared, started on demand, ended with its last user.

A small HTTP server stands in for llama.cpp's, under the name of its package. `make
test-real-model` tests the real one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from resources.llm.backend import BackendError
from resources.llm.base import ModelOutageError, Part
from resources.llm.labels import LabelModel
from resources.llm.local import LocalServer, local_model
from tests.patience import eventually

LABELS = ("true", "false")

STAND_IN = """
import json, os, pathlib, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(),
                         cpuparams_batch=SimpleNamespace())

class Server:
    def __init__(self, params):
        weights = pathlib.Path(params.model.path)
        with (weights.parent / "loads").open("a") as file:
            file.write(f"{os.getpid()}\\n")
        if weights.read_text() == "broken":
            raise RuntimeError("the weights are broken")
        time.sleep(float(weights.read_text()))
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                known = self.headers["Authorization"] == f"Bearer {params.api_keys[0]}"
                top = [{"token": "true", "logprob": -0.5}, {"token": "false", "logprob": -0.9}]
                chosen = {**top[0], "top_logprobs": top}
                body = json.dumps({
                    "choices": [{"message": {"role": "assistant", "content": "true"},
                                 "finish_reason": "length", "logprobs": {"content": [chosen]}}],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
                }).encode()
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200 if known else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def log_message(self, *_):
                pass
        served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=served.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{served.server_port}"
"""

ASK_AND_STAY = """
import asyncio, sys
from pathlib import Path
from resources.llm.local import LocalServer

async def main():
    server = LocalServer(Path(sys.argv[1]), Path(sys.argv[2]), linger_seconds=0.5)
    async with server.use():
        print("held", flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model file that loads at once, with the stand-in as llama.cpp's package."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "xllamacpp.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    file = tmp_path / "model.gguf"
    file.write_text("0", encoding="utf-8")
    return file


def write(weights: Path, said: str) -> None:
    """Set the seconds that the model takes to load, or break it."""
    weights.write_text(said, encoding="utf-8")


def serving(weights: Path) -> LocalServer:
    return LocalServer(weights, weights.parent / "serving", linger_seconds=0.2)


def loads(weights: Path) -> list[int]:
    """Return the processes that have loaded the model, in order."""
    file = weights.parent / "loads"
    return [*map(int, file.read_text().split())] if file.exists() else []


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@asynccontextmanager
async def model_of(server: LocalServer) -> AsyncIterator[LabelModel]:
    async with aclosing(local_model("small", "sha", server)) as model:
        yield LabelModel(model, "small")


async def ask(model: LabelModel) -> float:
    return (await model.ask("Judge.", (Part("It is so."),), LABELS)).chances["true"]


async def test_several_users_share_one_process(weights: Path) -> None:
    write(weights, "0.5")
    async with model_of(serving(weights)) as one, model_of(serving(weights)) as other:
        chances = await asyncio.gather(ask(one), ask(other), ask(one))
    assert chances == pytest.approx([0.599] * 3, abs=0.001)
    assert len(loads(weights)) == 1


async def test_the_process_ends_with_its_last_user(weights: Path) -> None:
    first = serving(weights)
    async with model_of(first) as one:
        await ask(one)
        async with model_of(serving(weights)) as other:
            await ask(other)
        (pid,) = loads(weights)
        await asyncio.sleep(0.5)
        assert is_alive(pid)
    await asyncio.to_thread(eventually, lambda: not is_alive(pid))
    async with model_of(serving(weights)) as later:
        await ask(later)
    assert len(loads(weights)) == 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_process_ends_however_its_user_ends(weights: Path, how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ASK_AND_STAY, weights, weights.parent / "serving"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"held\n"
        (pid,) = loads(weights)
        user.send_signal(how)
    eventually(lambda: not is_alive(pid))


async def test_a_process_that_was_killed_is_started_again(weights: Path) -> None:
    async with model_of(serving(weights)) as model:
        await ask(model)
        os.kill(loads(weights)[0], signal.SIGKILL)
        assert await ask(model) == pytest.approx(0.599, abs=0.001)
    assert len(loads(weights)) == 2


async def test_a_model_that_fails_to_load_is_reported_with_the_log(weights: Path) -> None:
    write(weights, "broken")
    async with model_of(serving(weights)) as model:
        with pytest.raises(ModelOutageError, match=r"model\.gguf could not be loaded.*broken"):
            await ask(model)


async def test_slow_loading_is_reported(
    weights: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("resources.llm.local._REPORT_SECONDS", 0.2)
    write(weights, "0.8")
    async with model_of(serving(weights)) as model:
        await ask(model)
    assert "Waiting for the model model.gguf to load" in caplog.text


async def test_an_idle_user_does_not_keep_the_process_alive(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.llm.local._IDLE_SECONDS", 0.2)
    async with model_of(serving(weights)) as model:
        await ask(model)
        (pid,) = loads(weights)
        await asyncio.to_thread(eventually, lambda: not is_alive(pid))


def test_a_system_that_does_not_list_its_cores_has_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert LocalServer(tmp_path / "model", tmp_path).slots == 2


async def test_a_missing_package_names_the_install_command(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "model.gguf", tmp_path / "serving")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("resources.llm.local.is_installed", lambda: False)
        with pytest.raises(BackendError) as caught:
            async with server.use():
                pass
    server.close()
    assert "pip install 'xllamacpp" in caught.value.reason


async def test_only_the_user_can_read_the_servers_address(weights: Path) -> None:
    async with model_of(serving(weights)) as model:
        await ask(model)
        folder = weights.parent / "serving"
        assert folder.stat().st_mode & 0o077 == 0
        assert (folder / "server.lock").stat().st_mode & 0o077 == 0
