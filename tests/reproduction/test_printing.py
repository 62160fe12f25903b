"""`python -m benchmarks.reproduction` on a small published evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from benchmarks.reproduction.__main__ import app
from tests.reproduction.published_folder import VIDEO, evaluation, write_json, write_published


def recompute(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "published"
    place.mkdir()
    return write_published(place)


def test_a_published_evaluation_is_recomputed_in_a_table(folder: Path) -> None:
    result = recompute(folder)
    assert result.exit_code == 0, result.stderr
    assert "greedy, cosine of all-MiniLM-L6-v2-int8 above 0.70" in result.stdout
    assert "max_claims = 3, 1 videos" in result.stdout
    assert "Values that differ" not in result.stdout
    assert "32 reproduced" in result.stdout


def test_the_values_that_differ_are_listed_with_their_reason(folder: Path) -> None:
    recorded = evaluation()
    recorded["query_generation"]["avg_sources_per_query"] = 0.66
    write_json(folder / "eval_results" / "max_claims_3" / f"{VIDEO}.json", recorded)
    result = recompute(folder)
    assert "Values that differ" in result.stdout
    assert "query_generation.avg_sources_per_query: 0.66 > 0.666667, 1" in result.stdout
    assert "the published files contradict it" in result.stdout


def test_details_list_every_value(folder: Path) -> None:
    result = recompute(folder, "--matcher", "recorded", "--details")
    assert result.exit_code == 0, result.stderr
    for metric in evaluation()["claim_extraction"]:
        assert f"claim_extraction.{metric}" in result.stdout


def test_json_carries_every_cell_and_the_matcher(folder: Path) -> None:
    result = recompute(folder, "--matcher", "recorded", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["matcher"]["assignment"] == "recorded"
    (setting,) = document["settings"]
    (video,) = setting["videos"]
    cells = {cell["metric"]: cell for cell in video["cells"]}
    assert cells["claim_extraction.recall"]["digits"] == 15
    assert cells["end_to_end.claim_quality_avg"]["published"] is None
    accuracy = next(row for row in setting["metrics"] if row["metric"] == "stance accuracy")
    assert accuracy["recomputed"]["baseline"] == 0.5


def test_a_folder_of_another_layout_is_refused_with_a_sentence(tmp_path: Path) -> None:
    result = recompute(tmp_path)
    assert result.exit_code == 4
    assert str(tmp_path) in result.stderr
    assert "eval_results" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_path_without_a_model_is_refused_with_a_sentence(folder: Path, tmp_path: Path) -> None:
    result = recompute(folder, "--model", tmp_path)
    assert result.exit_code == 5
    assert "model.safetensors" in result.stderr
