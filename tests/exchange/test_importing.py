from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factible_assets.corpora import writing
from factible_assets.corpora.format import ClaimEntry, CorpusError
from factible_assets.corpora.reading import load_corpora
from factible_assets.exchange.importing import detect, import_corpus
from tests.exchange.test_averitec import given_as
from tests.exchange.test_claim_review import REVIEW

PROJECT = Path(__file__).resolve().parents[2] / "corpora"
FEVER = '{"id": 1, "claim": "Honey keeps.", "label": "SUPPORTS"}\n'

CONTENTS: dict[str, tuple[str, str]] = {
    "averitec": ("a.json", given_as({})),
    "fever": ("a.jsonl", FEVER),
    "claimreview": ("a.json", json.dumps(REVIEW)),
    "corpus": ("a.yaml", "videos:\n  - {id: -LDjqcvSbP4}\n"),
}


@pytest.fixture
def given(tmp_path: Path) -> Callable[[str], Path]:
    def write(form: str) -> Path:
        name, content = CONTENTS[form]
        file = tmp_path / "given" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
        return file

    return write


@pytest.mark.parametrize("form", CONTENTS)
def test_a_format_is_told_by_name_and_beginning(given: Callable[[str], Path], form: str) -> None:
    assert detect(given(form)) == form


def test_a_folder_is_a_published_one_and_json_lines_need_no_suffix(tmp_path: Path) -> None:
    assert detect(tmp_path) == "published"
    file = tmp_path / "lines.json"
    file.write_text(FEVER * 2)
    assert detect(file) == "fever"


@pytest.mark.parametrize("content", ["", "words", "{\n}", '{"a": 1}'])
def test_what_is_none_of_them_is_told_with_the_names_of_the_formats(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "a.json"
    file.write_text(content)
    with pytest.raises(CorpusError, match=r"--format on the command line\): published, corpus"):
        detect(file)


@pytest.mark.parametrize("form", CONTENTS)
def test_an_import_lists_what_was_given_and_a_second_one_changes_nothing(
    given: Callable[[str], Path], tmp_path: Path, form: str
) -> None:
    home = tmp_path / "home"
    done = import_corpus(given(form), home, name="mine")
    assert done.file == home / "mine.yaml"
    before = done.file.read_bytes()
    assert import_corpus(given(form), home, name="mine") == done
    assert done.file.read_bytes() == before
    reading = load_corpora([home])
    assert [str(problem) for problem in reading.problems] == []
    (listed,) = reading.videos()
    assert done.video_ids == (listed.video.video_id,)
    if form != "corpus":
        assert listed.claims is not None
        assert listed.claims[0].stance == "supports"


def test_only_the_first_claims_are_taken_if_so_asked(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("".join(FEVER.replace("1", str(n), 1) for n in range(10)))
    done = import_corpus(file, tmp_path / "home", limit=3)
    assert done.video_ids == ("many.0", "many.1", "many.2")
    assert done.left_out == ()


@pytest.mark.parametrize("form", ["corpus", "published"])
def test_a_limit_of_claims_is_refused_where_videos_are_listed(
    given: Callable[[str], Path], tmp_path: Path, form: Any
) -> None:
    with pytest.raises(CorpusError, match=r"counts the claims of a list.*Leave the limit out"):
        import_corpus(given("corpus"), tmp_path / "home", form=form, limit=1)
    assert not (tmp_path / "home").exists()


def test_a_file_that_lies_among_the_corpora_is_listed_already(given: Callable[[str], Path]) -> None:
    file = given("corpus")
    before = file.read_bytes()
    with pytest.raises(CorpusError, match=r"a\.yaml is listed already.*Edit it there"):
        import_corpus(file, file.parent)
    assert file.read_bytes() == before


def test_what_cannot_be_used_is_left_out_and_told(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text(FEVER + "nope\n" + FEVER + '{"id": 2, "claim": "B", "label": "X"}\n')
    done = import_corpus(file, tmp_path / "home")
    assert len(done.video_ids) == 1
    text = " ".join(done.left_out)
    assert f"{file}:2: " in text
    assert f"{file}:4: " in text
    assert f"{file}:3: The claim 'Honey keeps.' stands on line 1 too" in text


def test_an_id_that_two_claims_share_is_told_from_a_claim_that_stands_twice(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("id,claim\na,Honey keeps.\na,The seas rise.\n")
    (told,) = import_corpus(file, tmp_path / "home").left_out
    assert "The claim 'The seas rise.' has the id a of another, on line 2" in told


def test_a_corpus_that_another_folder_has_is_not_named_twice(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text(FEVER)
    import_corpus(file, tmp_path / "shipped", name="beliefs")
    listing = load_corpora([tmp_path / "shipped"])
    with pytest.raises(CorpusError, match="there is a corpus 'beliefs' already"):
        import_corpus(file, tmp_path / "home", name="beliefs", listing=listing)
    import_corpus(file, tmp_path / "shipped", name="beliefs", listing=listing)


def test_of_a_million_mistakes_the_first_are_told(tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(FEVER + "nope\n" * 5000)
    done = import_corpus(file, tmp_path / "home")
    assert len(done.left_out) == 21
    assert done.left_out[-1] == "4,980 more problems like these."


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", "nope\n", r"a\.jsonl:1: .*Nothing was imported"),
        ("a.jsonl", "\n", "no claim in this file"),
        ("a.json", "[]", "no claim in this file"),
        (
            "a.json",
            '[\n {"claim": "A.",\n  "label": "Perhaps"}]',
            r"a\.json:2: Item 1 \('A\.'\): label",
        ),
        ("a.yaml", "videos: [{id: a b}]", r"a\.yaml:1: .*not usable"),
        ("a.yaml", "ratings: []", r"a\.yaml:1: This is no corpus"),
        ("a.yaml", "videos: []", "nothing to write"),
    ],
)
def test_where_nothing_can_be_used_nothing_is_written(
    tmp_path: Path, name: str, content: str, sentence: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(CorpusError, match=sentence):
        import_corpus(file, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_name_that_breaks_paths_is_refused(given: Callable[[str], Path], tmp_path: Path) -> None:
    for name in ("../x", "a.b", "", "a" * 61):
        with pytest.raises(CorpusError, match="letters, digits"):
            import_corpus(given("fever"), tmp_path / "home", name=name)


def test_a_different_corpus_of_the_name_is_not_overwritten_unless_asked(
    given: Callable[[str], Path], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    import_corpus(given("fever"), home, name="mine")
    with pytest.raises(CorpusError, match=r"different corpus .*set replace \(--replace on"):
        import_corpus(given("averitec"), home, name="mine")
    done = import_corpus(given("averitec"), home, name="mine", replace=True)
    assert [each.video.video_id for each in load_corpora([home]).videos()] == list(done.video_ids)


def test_a_video_that_another_file_of_the_folder_lists_is_refused(
    given: Callable[[str], Path], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    import_corpus(given("corpus"), home, name="one")
    with pytest.raises(CorpusError, match=r"-LDjqcvSbP4.*listed already.*one\.yaml"):
        import_corpus(given("corpus"), home, name="two")
    assert not (home / "two.yaml").exists()


def test_a_corpus_too_large_for_one_file_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_BYTES", 1 << 20)
    file = tmp_path / "large.jsonl"
    with file.open("w") as stream:
        for number in range(5):
            stream.write(json.dumps({"id": number, "claim": f"C{number} " + "x" * 250_000}) + "\n")
    with pytest.raises(CorpusError, match=r"has at most 1\. Import a part: set a limit"):
        import_corpus(file, tmp_path / "home")


def test_importing_a_corpus_on_demand_puts_it_in_use_with_the_annotations_of_its_folder(
    tmp_path: Path,
) -> None:
    done = import_corpus(PROJECT / "factible_published.yaml", tmp_path)
    assert (done.name, len(done.video_ids), done.claims) == ("factible-published", 30, 0)
    reading = load_corpora([PROJECT, tmp_path])
    assert reading.problems == ()
    assert set(done.video_ids) <= {each.video.video_id for each in reading.videos()}


def test_the_recordings_of_a_corpus_come_along(tmp_path: Path) -> None:
    (tmp_path / "talk.mp3").write_bytes(b"sound")
    (tmp_path / "mine.yaml").write_text("videos:\n  - id: talk\n    media: talk.mp3\n")
    done = import_corpus(tmp_path / "mine.yaml", tmp_path / "home")
    (listed,) = load_corpora([done.file.parent]).videos()
    assert listed.media is not None
    assert listed.media.read_bytes() == b"sound"


def test_the_transcripts_of_a_corpus_come_along(tmp_path: Path) -> None:
    done = import_corpus(PROJECT / "everyday_beliefs.yaml", tmp_path)
    assert (done.name, len(done.video_ids), done.claims, done.transcripts) == (
        "everyday-beliefs",
        1,
        18,
        1,
    )
    (listed,) = load_corpora([tmp_path]).videos()
    assert listed.transcript is not None
    assert listed.transcript.parent == tmp_path / "everyday-beliefs"
    assert listed.transcript.read_text().startswith("WEBVTT")
    assert listed.claims is not None
    assert all(isinstance(claim, ClaimEntry) for claim in listed.claims)


def test_a_claim_of_an_impossible_day_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    ancient = {"claimReviewed": "Rome burns.", "itemReviewed": {"datePublished": "0064-07-18"}}
    file = tmp_path / "reviews.jsonld"
    file.write_text(json.dumps([REVIEW, REVIEW | ancient]), encoding="utf-8")
    written = import_corpus(file, tmp_path / "corpora")
    assert written.claims == 1
    (left_out,) = written.left_out
    assert "'Rome burns.': published_on is" in left_out
