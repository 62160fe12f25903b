from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

VTT = "WEBVTT\n\n00:00.000 --> 00:04.000\nHoney keeps for years in a closed jar.\n"


def talk(folder: Path) -> Path:
    """Write a small transcript."""
    path = folder / "talk.vtt"
    path.write_text(VTT, encoding="utf-8")
    return path


def test_validate_reports_the_problems_of_all_videos_at_once(factible: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.vtt").touch()
    file = tmp_path / "mine.yaml"
    file.write_text(
        "corpus: m\nvideos:\n  - id: talk one\n    transcript: no.vtt\n    claims:\n"
        "      - text: A\n        stance: maybe\n  - id: t2\n    transcript: no.vtt\n"
        "  - id: t2\n    transcript: empty.vtt\n  - id: t3\n    chanel: x\n"
        "    transcript: no.vtt\n",
        encoding="utf-8",
    )
    problems = json.loads(factible("corpus", "validate", file, "--json").stdout)
    told = [(each["line"], each["problem"]) for each in problems]
    for line, words in (
        *((4, "no file"), (7, "stance"), (9, "no file")),
        *((10, "listed before"), (11, "is empty"), (13, "chanel"), (14, "no file")),
    ):
        assert sum(at == line and words in problem for at, problem in told) == 1, told
    assert len(told) == 7


def test_a_file_that_is_no_corpus_is_a_problem_when_it_is_named(
    factible: Run, tmp_path: Path
) -> None:
    file = tmp_path / "ratings.yaml"
    file.write_text("ratings:\n  - domain: a.example\n", encoding="utf-8")
    assert factible("corpus", "validate", file).exit_code == 4


def test_a_video_that_is_added_is_listed(factible: Run, home: Path, tmp_path: Path) -> None:
    added = factible(
        *("corpus", "add", "my-talk", "--transcript", talk(tmp_path)),
        *("--title", "A talk", "--channel", "Talks", "--json"),
    )
    assert added.exit_code == 0, added.stderr
    assert json.loads(added.stdout) == {
        "video_id": "my-talk",
        "corpus": str(home / "corpora" / "local.yaml"),
    }
    entries = json.loads(factible("corpus", "list", "--json").stdout)
    listed = {entry["video_id"]: entry for entry in entries}
    assert (listed["my-talk"]["title"], listed["my-talk"]["channel"]) == ("A talk", "Talks")
    assert Path(listed["my-talk"]["transcript"]).read_text(encoding="utf-8") == VTT
    assert "everyday-beliefs-talk" in listed
    assert factible("corpus", "validate").exit_code == 0


def test_a_transcript_file_is_added_by_its_name(factible: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "bat_talk.txt").write_text("Ann Berg: Bats are blind.\nAnn Berg: They fly.")
    added = factible("corpus", "add", str(tmp_path / "bat_talk.txt"), "--json")
    video = json.loads(added.stdout)["video_id"]
    assert video.startswith("bat-talk-")
    assert (home / "corpora" / "transcripts" / f"{video}.txt").is_file()


def test_an_id_that_begins_with_a_dash_can_be_added(factible: Run, tmp_path: Path) -> None:
    result = factible("corpus", "add", "--transcript", talk(tmp_path), "--", "-LDjqcvSbP4")
    assert result.exit_code == 0, result.stderr
    assert "-LDjqcvSbP4" in factible("corpus", "list").stdout


def test_a_video_without_words_and_link_cannot_be_added(factible: Run, home: Path) -> None:
    result = factible("corpus", "add", "my-talk.vtt")
    assert result.exit_code == 4
    assert "'my-talk.vtt' is neither a video on YouTube nor a file" in result.stderr
    assert not (home / "corpora" / "local.yaml").exists()


def test_a_wrong_date_is_wrong_usage(factible: Run, tmp_path: Path) -> None:
    result = factible(
        "corpus", "add", "my-talk", "--transcript", talk(tmp_path), "--published-on", "someday"
    )
    assert result.exit_code == 2
    assert "published_on is 'someday'" in result.stderr


def test_a_path_that_is_not_there_cannot_be_imported(factible: Run) -> None:
    result = factible("corpus", "import", "nowhere")
    assert result.exit_code == 4
    assert "There is no file or folder nowhere" in result.stderr


# --- Other formats ------------------------------------------------------------------------------

FEVER = """\
{"id": 1, "claim": "Honey keeps for years.", "label": "SUPPORTS"}
{"id": 2, "claim": "Tea cures a cough.", "label": "PERHAPS"}
"""


def test_claims_are_imported_listed_and_exported_again(
    factible: Run, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text(FEVER, encoding="utf-8")
    done = factible("corpus", "import", file, "--name", "tried", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["name"], told["videos"], told["claims"]) == ("tried", 1, 1)
    assert f"{file}:2: " in told["left_out"][0]
    assert "tried.1" in factible("corpus", "list").stdout
    again = factible("corpus", "import", file, "--name", "tried")
    assert "1 video with 1 annotated claim → " in again.stdout
    written = tmp_path / "again.jsonl"
    result = factible("corpus", "export", "tried", "-f", "fever", "-o", written, "--json")
    assert json.loads(result.stdout)["claims"] == 1
    assert json.loads(written.read_text())["label"] == "SUPPORTS"
    printed = factible("corpus", "export", "tried", "--format", "averitec")
    assert json.loads(printed.stdout)[0]["label"] == "Supported"
    assert factible("corpus", "validate").exit_code == 0


def test_the_demos_annotations_can_be_written_in_every_form(factible: Run) -> None:
    averitec = json.loads(factible("corpus", "export", "everyday-beliefs", "-f", "averitec").stdout)
    reviews = json.loads(
        factible("corpus", "export", "everyday-beliefs", "-f", "claimreview").stdout
    )
    lines = factible("corpus", "export", "everyday-beliefs", "-f", "fever").stdout.splitlines()
    assert len(averitec) == len(reviews["@graph"]) == len(lines) == 18


def test_export_refuses_an_unknown_corpus_and_one_without_annotations(factible: Run) -> None:
    bare = factible("corpus", "export", "factible-published", "-f", "fever")
    assert (bare.exit_code, bare.stdout) == (4, "")
    assert "no annotated claims" in bare.stderr
    unknown = factible("corpus", "export", "nothing", "-f", "fever")
    assert unknown.exit_code == 4
    assert "everyday-beliefs" in unknown.stderr


def test_the_schema_is_written_as_it_is_printed(factible: Run, tmp_path: Path) -> None:
    written = tmp_path / "schema.json"
    assert factible("corpus", "schema", "-o", written).exit_code == 0
    assert written.read_text(encoding="utf-8") == factible("corpus", "schema").stdout


def test_videos_on_demand_are_listed_when_asked_for_and_give_way(
    factible: Run, tmp_path: Path
) -> None:
    plain = factible("corpus", "list")
    assert "KdMqCUa7XJk" not in plain.stdout
    assert "factible-published has 30 more" in plain.stderr
    everything = json.loads(factible("corpus", "list", "--all", "--json").stdout)
    assert len(everything) == 31
    added = factible("corpus", "add", "--transcript", talk(tmp_path), "KdMqCUa7XJk")
    assert added.exit_code == 0, added.stderr
    assert "KdMqCUa7XJk" in factible("corpus", "list").stdout
    assert factible("corpus", "validate").exit_code == 0
