from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.end_to_end.loopback import (
    BOOTSTRAP,
    EXPERT,
    MODELS,
    PAPERS,
    SEARCH,
    LoopbackWorld,
    loopback_world,
)
from tests.resources.transcripts.fake_youtube import CAPTIONS, PLAYER
from tests.servers import respond

KEYS = {
    "SERPER_API_KEY": "canary-serper",
    "OPENAI_API_KEY": "canary-openai",
    "SEMANTIC_SCHOLAR_API_KEY": "canary-scholar",
    "PERPLEXITY_API_KEY": "canary-perplexity",
    "FACTIBLE_SEARCH": "serper,semantic_scholar,perplexity",
}
NOTHING_SET = {"OPENAI_BASE_URL": ""}


def findings(out: str) -> dict[str, dict[str, Any]]:
    return {finding["service"]: finding for finding in json.loads(out)}


def paths(world: LoopbackWorld) -> list[str]:
    return sorted(asked.path for asked in world.server.asked)


def test_without_any_key_nothing_is_asked_and_nothing_is_wrong(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = NOTHING_SET
        code, out, _ = world.factible("doctor", "--json")
        assert code == 0
        assert world.server.asked == []
        found = findings(out)
        for service in ("language model", "serper", "searxng", "wikipedia", "perplexity", "jina"):
            assert found[service]["state"] == "not set up"
        assert "SERPER_API_KEY" in found["serper"]["remedy"]
        assert found["data folder"]["state"] == "works"
        assert not world.home.exists()


def test_offline_the_doctor_names_the_ways_without_a_network(
    factible: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTIBLE_SEARXNG_URL", "http://nowhere.invalid")
    monkeypatch.setenv("FACTIBLE_SEARCH", "searxng")
    result = factible("doctor", "--json")
    assert result.exit_code == 1
    found = findings(result.stdout)
    assert "--pages FOLDER" in found["network"]["remedy"]


def test_each_service_that_is_set_up_is_asked_once(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = KEYS
        code, out, err = world.factible("doctor", "--json")
        assert code == 0, err
        assert paths(world) == sorted([SEARCH, PAPERS, EXPERT, MODELS])
        found = findings(out)
        for service in ("serper", "semantic_scholar", "perplexity", "model gpt-6-luna"):
            assert found[service]["state"] == "works"
        assert "canary" not in out + err


def test_services_without_a_key_are_asked_only_with_network(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {**NOTHING_SET, "SERPER_API_KEY": "k"}
        code, out, _ = world.factible("doctor", "--json", "--network")
        assert code == 0
        assert {CAPTIONS, BOOTSTRAP} <= set(paths(world))
        found = findings(out)
        assert found["youtube"]["state"] == "works"
        assert found["domain registries"]["state"] == "works"


def test_a_refusal_by_youtube_is_a_finding(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {**NOTHING_SET, "SERPER_API_KEY": "k"}
        world.server.on(PLAYER, respond(status=429))
        _, out, _ = world.factible("doctor", "--json", "--network")
        found = findings(out)["youtube"]
        assert found["state"] == "fails"
        assert "YouTube refused the request" in str(found)


def test_a_failing_service_is_named_without_its_key(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = KEYS
        world.server.on(SEARCH, respond("canary-serper", status=403))
        world.server.on(MODELS, respond("no", status=401))
        code, out, err = world.factible("doctor")
        assert code == 1
        assert "not working: model gpt-6-luna, serper." in err
        assert "check SERPER_API_KEY" in " ".join(out.split())
        assert "canary" not in out + err


def test_an_unlisted_model_is_a_finding(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {**KEYS, "FACTIBLE_MODEL": "gpt-4o-mimi"}
        code, out, _ = world.factible("doctor", "--json")
        assert code == 0
        assert "not among its listed models" in findings(out)["model gpt-4o-mimi"]["sentence"]
        asked = len(world.server.asked)
        world.settings = {**NOTHING_SET, "FACTIBLE_MODEL": "gpt-4o"}
        code, out, _ = world.factible("doctor", "--json")
        assert code == 0
        assert findings(out)["language model"]["sentence"] == "OPENAI_API_KEY is not set."
        assert len(world.server.asked) == asked


def test_an_unusable_data_folder_or_warehouse_is_a_finding(factible: Run, home: Path) -> None:
    home.mkdir()
    (home / "warehouse.duckdb").write_text("this is no database, and it is long enough" * 99)
    (home / "archive.sqlite").write_text("nor is this, and it is long enough" * 99)
    (home / "cache").write_text("a file in the way")
    result = factible("doctor", "--json")
    assert result.exit_code == 1
    found = findings(result.stdout)
    assert found["data folder"]["state"] == "works"
    assert found["warehouse"]["state"] == "fails"
    assert "file is not a database" in found["archive"]["sentence"]
    assert found["cache"]["state"] == "fails"
    assert "warehouse, archive, cache" in result.stderr


def test_a_missing_browser_is_a_finding(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {**NOTHING_SET, "FACTIBLE_BROWSER": "/no/such/browser"}
        code, out, _ = world.factible("doctor", "--json")
        finding = findings(out)["browser"]
        if finding["sentence"] == "The extra is not installed.":
            assert (code, finding["state"]) == (0, "not set up")
        else:
            assert (code, finding["state"]) == (1, "fails")


@pytest.mark.parametrize(("user", "is_said"), [(0, True), (1000, False)])
def test_a_browser_without_its_sandbox_is_a_finding(
    factible: Run, monkeypatch: pytest.MonkeyPatch, user: int, is_said: bool
) -> None:
    pytest.importorskip("playwright", reason="the extra [browser], Playwright, is not installed")
    monkeypatch.setenv("FACTIBLE_BROWSER", "/bin/sh")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    told = json.loads(factible("doctor", "--json").stdout)
    assert ("without its sandbox" in json.dumps(told)) is is_said
