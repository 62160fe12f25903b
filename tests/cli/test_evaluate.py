from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_sample
from tests.reproduction.published_folder import VIDEO, evaluation, write_json, write_published


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "published"
    place.mkdir()
    return write_published(place)


def test_a_published_evaluation_is_recomputed_in_a_table(factible: Run, folder: Path) -> None:
    result = factible("evaluate", "--published", folder, "--matcher", "tf-idf")
    assert result.exit_code == 0, result.stderr
    assert "greedy, cosine of tf-idf above 0.22" in result.stdout
    assert "max_claims = 3, 1 videos" in result.stdout
    assert "Values that differ" not in result.stdout
    assert "32 reproduced" in result.stdout


def test_the_values_that_differ_are_listed_with_their_reason(factible: Run, folder: Path) -> None:
    recorded = evaluation()
    recorded["query_generation"]["avg_sources_per_query"] = 0.66
    write_json(folder / "eval_results" / "max_claims_3" / f"{VIDEO}.json", recorded)
    result = factible("evaluate", "--published", folder, "--matcher", "tf-idf")
    assert "Values that differ" in result.stdout
    assert "query_generation.avg_sources_per_query: 0.66 > 0.666667, 1" in result.stdout
    assert "the published files contradict it" in result.stdout


def test_details_list_every_value(factible: Run, folder: Path) -> None:
    result = factible("evaluate", "--published", folder, "--matcher", "recorded", "--details")
    assert result.exit_code == 0, result.stderr
    for metric in evaluation()["claim_extraction"]:
        assert f"claim_extraction.{metric}" in result.stdout


def test_json_carries_every_cell_and_the_matcher(factible: Run, folder: Path) -> None:
    result = factible("evaluate", "--published", folder, "--matcher", "recorded", "--json")
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


def test_a_folder_of_another_layout_is_refused_with_a_sentence(
    factible: Run, tmp_path: Path
) -> None:
    result = factible("evaluate", "--published", tmp_path)
    assert result.exit_code == 4
    assert str(tmp_path) in result.stderr
    assert "eval_results" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_installation_without_the_source_says_where_the_recomputation_is(
    factible: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "benchmarks.reproduction.printing", None)
    result = factible("evaluate", "--published", folder)
    assert result.exit_code == 5
    assert "benchmarks/reproduction" in result.stderr


def test_a_path_without_a_model_is_refused_with_a_sentence(
    factible: Run, folder: Path, tmp_path: Path
) -> None:
    result = factible("evaluate", "--published", folder, "--model", tmp_path)
    assert result.exit_code == 5
    assert "model.safetensors" in result.stderr


def test_a_model_is_of_no_use_to_a_lexical_matcher(
    factible: Run, folder: Path, tmp_path: Path
) -> None:
    result = factible("evaluate", "--published", folder, "--model", tmp_path, "--matcher", "tf-idf")
    assert result.exit_code == 2


def test_evaluate_measures_the_warehouse(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("evaluate")
    assert result.exit_code == 0, result.stderr
    assert "Corpus unlisted" in result.stdout
    assert "undefined" in result.stdout
    assert "optimal, cosine of all-MiniLM-L6-v2-int8 above 0.7" in result.stdout
    assert "inflates" not in result.stderr
    assert "0 of them annotated" in result.stdout
    assert "No video of this corpus has annotations" in result.stderr


def test_json_of_the_warehouse_has_null_for_undefined(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("evaluate", "--matcher", "tf-idf", "--json")
    assert result.exit_code == 0, result.stderr
    corpus = json.loads(result.stdout)["corpora"]["unlisted"]
    figures = {(each["name"], each["averaging"]): each for each in corpus["figures"]}
    assert figures["precision", "macro"]["value"] is None
    assert figures["evidence per claim", "micro"]["value"] is not None
    assert corpus["matcher"]["threshold"] == 0.22
    assert list(corpus["per_video"]) == [VIDEO_ID]


def test_the_tf_idf_matcher_warns_about_its_figures(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("evaluate", "--matcher", "tf-idf")
    assert "optimal, cosine of tf-idf above 0.22" in result.stdout
    assert "inflates" in result.stderr


def test_each_video_is_listed_on_request(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("evaluate", "--matcher", "tf-idf", "--details")
    assert "Video by video" in result.stdout
    assert VIDEO_ID in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["--corpus", "nowhere"], "No video of the corpus 'nowhere' has been checked", 4),
        (["--matcher", "recorded"], "Only published evaluations have recorded matches", 2),
    ],
)
def test_evaluate_refuses_with_a_sentence(
    factible: Run, home: Path, arguments: list[str], said: str, code: int
) -> None:
    store_sample(home)
    result = factible("evaluate", *arguments)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stdout == ""
