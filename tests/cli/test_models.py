from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from factible_assets.reasoners.readers import pairs
from factible_assets.reasoners.readers.calibration import LABELS
from resources.models.base import known_models, model_path
from tests.cli.conftest import Run
from tests.resources.models.hub_server import CONFIG, MODEL, TOKENIZER, WEIGHTS, FakeHub
from tests.servers import MisbehavingServer

PAIRS = pairs.shipped_pairs()[::8]
"""Enough of the project's pairs to fit a model on."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that has the inference model, served beside the command line's own event loop."""
    found: list[FakeHub] = []
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with MisbehavingServer() as server:
            found.append(FakeHub(server))
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    assert ready.wait()
    monkeypatch.setenv("FACTIBLE_ENDPOINTS", f"hugging_face={found[0].url}")
    models = {**known_models(), "nli": MODEL}
    monkeypatch.setattr("factible_assets.cli.models.known_models", lambda: models)
    yield found[0]
    done.set()
    thread.join()


def listed(factible: Run, name: str) -> dict[str, object]:
    rows = json.loads(factible("models", "list", "--json").stdout)
    return {row["name"]: row for row in rows}[name]  # type: ignore[no-any-return]  # JSON


def test_licence_source_and_size_are_shown_before_anything_is_fetched(
    factible: Run, hub: FakeHub, home: Path
) -> None:
    result = factible("models", "pull", "nli")
    assert result.exit_code == 2
    size = (len(WEIGHTS) + len(TOKENIZER) + len(CONFIG)) / 1e6
    for words in ("Apache-2.0", "https://hub.example/someone/tiny-nli", f"{size:.1f} MB", "--yes"):
        assert words in result.stderr
    assert not hub.server.asked
    assert not (home / "models").exists()


def test_a_model_is_pulled_listed_and_removed(factible: Run, hub: FakeHub, home: Path) -> None:
    pulled = factible("models", "pull", "nli", "--yes", "--json")
    assert pulled.exit_code == 0, pulled.stderr
    told = json.loads(pulled.stdout)
    assert told["path"] == str(home / "models" / "nli")
    assert told["licence"] == "Apache-2.0"
    assert model_path(home, "nli") == home / "models" / "nli"
    assert listed(factible, "nli") == told
    assert "tiny inference" in factible("models", "list").stdout
    assert factible("models", "remove", "nli").stdout.strip() == "Removed nli."
    assert listed(factible, "nli")["pulled"] is False
    assert (
        factible("models", "remove", "nli").stdout.strip()
        == "The model nli is not on this machine."
    )


def test_the_list_names_the_reader_in_use(factible: Run) -> None:
    row = listed(factible, "nli")
    assert row["pulled"] is False
    assert row["in_use"] == "not used: the plain reader reads pages"


# --- Reading by labels --------------------------------------------------------------------------


def test_a_file_that_is_no_file_of_the_model_is_not_added(
    factible: Run, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "other.gguf"
    file.write_bytes(WEIGHTS)
    result = factible("models", "add", "reader", str(file))
    assert result.exit_code == 1
    assert "is no file of Qwen2.5-Coder-1.5B-Instruct" in result.stderr
    assert model_path(home, "reader") is None


@pytest.fixture
def labelling(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A server whose model knows the labels of the project's pairs, mostly; the claims it read."""
    asked: list[str] = []
    monkeypatch.setattr(pairs, "shipped_pairs", lambda: PAIRS)
    labels = {(pair.claim, pair.source): pair.label for pair in PAIRS}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({"total_slots": 8})

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told = dict(
                line.split(": ", 1)
                for line in sent["messages"][-1]["content"].split("\n")
                if ": " in line
            )
            asked.append(told["Claim"])
            label = labels[told["Claim"], told["Source"]]
            others = [each for each in LABELS if each != label]
            wrong = len(told["Claim"]) % 7 == 0
            order = [*others, label] if wrong else [label, *others]
            logprobs = zip(order, (-0.3, -1.7, -2.6), strict=True)
            top = [{"token": each, "logprob": chance} for each, chance in logprobs]
            chosen = {"token": order[0], "logprob": -0.3, "top_logprobs": top}
            message = {"role": "assistant", "content": order[0]}
            choice = {
                "index": 0,
                "message": message,
                "finish_reason": "length",
                "logprobs": {"content": [chosen]},
            }
            self.reply(
                {"choices": [choice], "usage": {"prompt_tokens": 300, "completion_tokens": 1}}
            )

        def reply(self, said: object) -> None:
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        yield asked
        server.shutdown()
        thread.join()


def test_a_servers_model_is_calibrated_once_and_its_figures_are_shown(
    factible: Run, home: Path, labelling: list[str]
) -> None:
    result = factible("models", "calibrate", "openai/small", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["model"], told["pairs"]) == ("openai/small", len(PAIRS))
    assert told["figures"]["auc"] > 0.7
    assert told["figures"]["decided"] > 0.3
    assert told["path"] == str(home / "calibrations" / "openai-small.json")
    assert len(labelling) == len(PAIRS)
    shown = factible("models", "calibrate", "openai/small").stdout
    assert "supports against refutes, AUC" in shown
    assert len(labelling) == len(PAIRS)


def test_without_a_model_there_is_nothing_to_calibrate(factible: Run) -> None:
    result = factible("models", "calibrate")
    assert result.exit_code == 2
    assert "factible models pull reader" in result.stderr


def test_a_pulled_model_that_is_not_there_cannot_be_calibrated(factible: Run) -> None:
    result = factible("models", "calibrate", "reader-large")
    assert result.exit_code == 5
    assert "factible models pull reader-large" in result.stderr
