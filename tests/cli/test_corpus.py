from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

VTT = "WEBVTT\n\n00:00.000 --> 00:04.000\nHoney keeps for years in a closed jar.\n"

WRONG_AT_LINE_7 = """\
corpus: mine
description: a corpus with a wrong key
videos:
  - id: first-talk
    title: The first
    transcript: talk.vtt
    chanel: Kitchen Table
"""


def talk(folder: Path) -> Path:
    """Write a small transcript."""
    path = folder / "talk.vtt"
    path.write_text(VTT, encoding="utf-8")
    return path


def test_a_wrong_key_is_named_with_its_file_and_line(factible: Run, tmp_path: Path) -> None:
    talk(tmp_path)
    file = tmp_path / "mine.yaml"
    file.write_text(WRONG_AT_LINE_7, encoding="utf-8")
    result = factible("corpus", "validate", file)
    assert result.exit_code == 4
    (line,) = result.stdout.splitlines()
    assert line.startswith(f"{file}:7: ")
    assert "chanel" in line
    assert "channel" in line


def test_problems_can_be_read_as_json(factible: Run, tmp_path: Path) -> None:
    talk(tmp_path)
    file = tmp_path / "mine.yaml"
    file.write_text(WRONG_AT_LINE_7, encoding="utf-8")
    result = factible("corpus", "validate", file, "--json")
    (problem,) = json.loads(result.stdout)
    assert (problem["file"], problem["line"]) == (str(file), 7)
    assert result.exit_code == 4


def test_the_corpora_of_the_project_have_no_problems(factible: Run) -> None:
    result = factible("corpus", "validate")
    assert result.stdout == ""
    assert result.exit_code == 0
    assert "no problems" in result.stderr


def test_a_file_that_is_no_corpus_is_a_problem_when_it_is_named(
    factible: Run, tmp_path: Path
) -> None:
    file = tmp_path / "ratings.yaml"
    file.write_text("ratings:\n  - domain: a.example\n", encoding="utf-8")
    assert factible("corpus", "validate", file).exit_code == 4


def test_a_video_that_is_added_is_listed(factible: Run, home: Path, tmp_path: Path) -> None:
    added = factible(
        "corpus", "add", "my-talk", "--transcript", talk(tmp_path), "--title", "A talk", "--json"
    )
    assert added.exit_code == 0, added.stderr
    assert json.loads(added.stdout) == {
        "video_id": "my-talk",
        "corpus": str(home / "corpora" / "local.yaml"),
    }
    entries = json.loads(factible("corpus", "list", "--json").stdout)
    listed = {entry["video_id"]: entry for entry in entries}
    assert listed["my-talk"]["title"] == "A talk"
    assert Path(listed["my-talk"]["transcript"]).read_text(encoding="utf-8") == VTT
    assert "everyday-beliefs-talk" in listed
    assert factible("corpus", "validate").exit_code == 0


def test_an_id_that_begins_with_a_dash_can_be_added(factible: Run, tmp_path: Path) -> None:
    result = factible("corpus", "add", "--transcript", talk(tmp_path), "--", "-LDjqcvSbP4")
    assert result.exit_code == 0, result.stderr
    assert "-LDjqcvSbP4" in factible("corpus", "list").stdout


def test_a_video_is_listed_only_once(factible: Run, tmp_path: Path) -> None:
    result = factible("corpus", "add", "everyday-beliefs-talk", "--transcript", talk(tmp_path))
    assert result.exit_code == 4
    assert "listed already" in result.stderr
    assert "everyday_beliefs.yaml" in result.stderr


def test_a_video_without_words_and_link_cannot_be_added(factible: Run, home: Path) -> None:
    result = factible("corpus", "add", "my-talk")
    assert result.exit_code == 4
    assert "transcript" in result.stderr
    assert not (home / "corpora" / "local.yaml").exists()


def test_a_wrong_date_is_wrong_usage(factible: Run, tmp_path: Path) -> None:
    result = factible(
        "corpus", "add", "my-talk", "--transcript", talk(tmp_path), "--published-on", "someday"
    )
    assert result.exit_code == 2
    assert "--published-on" in result.stderr


def test_a_folder_that_is_not_there_cannot_be_imported(factible: Run) -> None:
    result = factible("corpus", "import", "nowhere")
    assert result.exit_code == 4
    assert "There is no folder nowhere" in result.stderr


def test_a_folder_of_another_layout_is_refused_with_a_sentence(
    factible: Run, tmp_path: Path
) -> None:
    result = factible("corpus", "import", tmp_path)
    assert result.exit_code == 4
    assert str(tmp_path) in result.stderr
    assert "Traceback" not in result.stderr
