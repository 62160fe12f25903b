from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_sample


def test_evaluate_measures_the_warehouse(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("evaluate")
    assert result.exit_code == 0, result.stderr
    assert "Corpus unlisted" in result.stdout
    assert "undefined" in result.stdout
    assert "optimal, cosine of all-MiniLM-L6-v2-int8 above 0.7" in result.stdout
    assert "0 of them annotated" in result.stdout
    assert "No video of this corpus has annotations" in result.stderr


def test_json_of_the_warehouse_has_null_for_undefined(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("evaluate", "--json")
    assert result.exit_code == 0, result.stderr
    corpus = json.loads(result.stdout)["corpora"]["unlisted"]
    figures = {(each["name"], each["averaging"]): each for each in corpus["figures"]}
    assert figures["precision", "macro"]["value"] is None
    assert figures["evidence per claim", "micro"]["value"] is not None
    assert corpus["matcher"]["threshold"] == 0.7
    assert list(corpus["per_video"]) == [VIDEO_ID]


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [(["--corpus", "nowhere"], "No video of the corpus 'nowhere' has been checked", 4)],
)
def test_evaluate_refuses_with_a_sentence(
    factible: Run, home: Path, arguments: list[str], said: str, code: int
) -> None:
    store_sample(home)
    result = factible("evaluate", *arguments)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stdout == ""
