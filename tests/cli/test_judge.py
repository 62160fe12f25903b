from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_sample
from tests.end_to_end.loopback import loopback_world
from tests.evaluation.judging.scripted import scoring
from tests.report.samples import SENTENCES


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "FACTIBLE_MODEL", "FACTIBLE_STAGE_MODELS", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_model_judge_names_the_remedy(factible: Run, home: Path) -> None:
    store = store_sample(home)
    result = factible("judge")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert "FACTIBLE_STAGE_MODELS=judge=ollama/qwen3:4b" in result.stderr
    assert store.query("FROM judgements").is_empty()


def test_a_dry_run_estimates_calls_and_cost(
    factible: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_sample(home)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-is-asked")
    result = factible("judge", VIDEO_ID, "--dry-run", "--criteria", "claim_quality")
    assert result.exit_code == 0, result.stderr
    assert "To be judged by openai/gpt-6-luna" in result.stdout
    assert re.search(
        r"5 calls, about \$0\.\d+, estimated from the length of the questions", result.stdout
    )
    document = json.loads(factible("judge", "--dry-run", "--json").stdout)
    assert document["calls"] == sum(each["calls"] for each in document["criteria"])
    assert len(document["criteria"]) == 7


def test_a_wrong_criterion_a_wrong_video_and_a_wrong_corpus_are_named(
    factible: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_sample(home)
    monkeypatch.setenv("FACTIBLE_STAGE_MODELS", "judge=ollama/qwen3:8b")
    charm = factible("judge", "--criteria", "charm,claim_quality")
    assert charm.exit_code == 2
    assert "'charm'" in charm.stderr
    assert factible("judge", "no-such-video").exit_code == 4
    corpus = factible("judge", "--corpus", "nowhere")
    assert corpus.exit_code == 4
    assert "nowhere" in corpus.stderr


def test_scores_are_shown_with_their_agreement_and_come_from_the_store_the_next_time(
    tmp_path: Path,
) -> None:
    with loopback_world(tmp_path) as world:
        world.server.on("/v1/chat/completions", scoring(lambda _: 2))
        store_sample(world.home)
        corpora = world.home / "corpora"
        corpora.mkdir()
        claims = "".join(
            f"      - text: {sentence}\n        human_scores: {{claim_quality: {score}}}\n"
            for sentence, score in zip(SENTENCES[:3], (2, 2, 1), strict=True)
        )
        (corpora / "own.yaml").write_text(
            f"videos:\n  - id: {VIDEO_ID}\n    claims:\n{claims}", encoding="utf-8"
        )
        code, stdout, stderr = world.factible("judge", "--criteria", "claim_quality")
        assert code == 0, stderr
        assert "unusable 0, flawed 0, good 5" in stdout
        assert "Agreement with people" in stdout
        assert re.search(r"exact agreement\W+0\.667\W+–\W+0\.667\W+3", stdout)
        assert re.search(r"Spearman\W+undefined", stdout)
        assert "5 questions asked" in stderr
        asked = len(world.server.asked)
        code, stdout, stderr = world.factible(
            "judge", "--criteria", "claim_quality", "--json", "--quiet"
        )
        assert code == 0, stderr
        assert len(world.server.asked) == asked
        (quality,) = json.loads(stdout)["criteria"]
        assert (quality["n"], quality["mean_normalised"]) == (5, 1.0)
        assert quality["agreement"][2] == {
            "name": "Spearman",
            "averaging": "micro",
            "value": None,
            "n": 3,
            "unit": "scores",
            "interval": None,
            "baseline": None,
        }
