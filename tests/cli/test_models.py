from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from resources.models.base import model_path
from tests.cli.conftest import Run
from tests.resources.models.hub_server import CONFIG, TOKENIZER, WEIGHTS, FakeHub
from tests.servers import MisbehavingServer


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that has the inference model, served beside the command line's own event loop."""
    found: list[FakeHub] = []
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with MisbehavingServer() as server:
            found.append(
                FakeHub(
                    server,
                    large={
                        "onnx/model_quantized.onnx": WEIGHTS,
                        "onnx/model_quint8_avx2.onnx": WEIGHTS,
                    },
                )
            )
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    assert ready.wait()
    monkeypatch.setenv("FACTIBLE_MODEL_HUB", found[0].url)
    yield found[0]
    done.set()
    thread.join()


def listed(factible: Run, name: str) -> dict[str, object]:
    rows = json.loads(factible("models", "list", "--json").stdout)
    return {row["name"]: row for row in rows}[name]  # type: ignore[no-any-return]  # JSON


def test_licence_source_and_size_are_shown_before_anything_is_fetched(
    factible: Run, hub: FakeHub, home: Path
) -> None:
    result = factible("models", "pull", "nli-base")
    assert result.exit_code == 2
    size = (len(WEIGHTS) + len(TOKENIZER) + len(CONFIG)) / 1e6
    for words in ("Apache-2.0", "cross-encoder/nli-deberta-v3-base", f"{size:.1f} MB", "--yes"):
        assert words in result.stderr
    assert {asked.method for asked in hub.server.asked} == {"HEAD"}
    assert not (home / "models").exists()


def test_a_model_is_pulled_listed_and_removed(factible: Run, hub: FakeHub, home: Path) -> None:
    pulled = factible("models", "pull", "nli-base", "--yes", "--json")
    assert pulled.exit_code == 0, pulled.stderr
    told = json.loads(pulled.stdout)
    assert told["path"] == str(home / "models" / "nli-base")
    assert told["licence"] == "Apache-2.0"
    assert model_path(home, "nli-base") == home / "models" / "nli-base"
    assert listed(factible, "nli-base") == told
    assert "nli-deberta-v3-base" in factible("models", "list").stdout
    assert factible("models", "remove", "nli-base").stdout.strip() == "nli-base was removed."
    assert listed(factible, "nli-base")["pulled"] is False
    assert factible("models", "remove", "nli-base").stdout.strip() == "nli-base is not there."


def test_a_file_that_factible_does_not_know_is_not_fetched(
    factible: Run, hub: FakeHub, home: Path
) -> None:
    result = factible("models", "pull", "mpnet", "--yes")
    assert result.exit_code == 1
    assert "offers another onnx/model_quint8_avx2.onnx" in result.stderr
    assert hub.asked("cdn") == 0
    assert model_path(home, "mpnet") is None


def test_a_hub_that_has_no_such_model_is_a_sentence(factible: Run, hub: FakeHub) -> None:
    hub.large.clear()
    result = factible("models", "pull", "nli-base", "--yes")
    assert result.exit_code == 1
    assert "does not have onnx/model_quantized.onnx (404)" in result.stderr


def test_a_hub_without_https_is_not_asked(factible: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTIBLE_MODEL_HUB", "http://hub.example")
    result = factible("models", "pull", "nli-base", "--yes")
    assert result.exit_code == 1
    assert "not https" in result.stderr


def test_the_list_says_what_serves_without_any_pull(factible: Run) -> None:
    row = listed(factible, "mpnet")
    assert row["pulled"] is False
    assert row["in_use"] == "not used: MiniLM, as installed, reads pages"


def test_a_model_that_does_not_exist_is_wrong_usage(factible: Run) -> None:
    assert factible("models", "pull", "gpt").exit_code == 2
