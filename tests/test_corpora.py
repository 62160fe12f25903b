from __future__ import annotations

import contextlib
import json
import stat
import textwrap
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.corpora.editing import add_video, remove_video
from factible_assets.corpora.format import (
    ClaimEntry,
    CorpusError,
    VideoEntry,
    corpus_json_schema,
    is_usable_id,
)
from factible_assets.corpora.reading import (
    CorporaReading,
    load_corpora,
    load_corpus,
    load_ground_truth,
)
from factible_assets.exchange.importing import import_corpus
from resources.text_files import PlacedError, parse_document
from resources.transcripts.file import read_transcript
from tests.shared_data import shared_data

GOOD = """\
# The first corpus.
corpus: beliefs
description: Talks on beliefs.
web: miniature
videos:
  - id: a-talk
    title: No
    channel: Somebody
    language: en
    category: health
    tags: [demo, short]
    published_on: 2026-01-15
    duration_seconds: 300
    transcript: talk.txt
    claims:
      - text: Sugar makes children hyperactive.
        checkable: true
        importance: 0.9
        stance: refutes
        reasoning: Trials found nothing.
      - text: I like sugar.
        checkable: no
  - url: https://youtu.be/-LDjqcvSbP4?t=3
    web: archive:mine
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "talk.txt").write_text("Sugar makes children hyperactive.")
    return tmp_path


def corpus(folder: Path, text: str, name: str = "beliefs.yaml") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def problems(reading: CorporaReading) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.sentence) for problem in reading.problems]


# --- Reading ------------------------------------------------------------------------------------


def test_a_corpus_is_read_with_everything_that_it_says(folder: Path) -> None:
    reading = load_corpus(corpus(folder, GOOD))
    assert not reading.problems
    (read,) = reading.corpora
    assert (read.name, read.web) == ("beliefs", "miniature")
    talk, linked = read.videos
    assert talk.video.video_id == "a-talk"
    assert talk.video.title == "No"
    assert talk.video.tags == ("demo", "short")
    assert talk.video.published_on == date(2026, 1, 15)
    assert talk.video.duration_seconds == 300
    assert talk.video.corpus == "beliefs"
    assert (talk.web, talk.transcript, talk.line) == ("miniature", folder / "talk.txt", 6)
    assert talk.claims is not None
    assert [claim.stance for claim in talk.claims] == ["refutes", None]
    assert [claim.checkable for claim in talk.claims] == [True, False]
    assert linked.video.video_id == "-LDjqcvSbP4"
    assert (linked.web, linked.transcript, linked.claims) == ("archive:mine", None, None)


def test_plain_values_stay_text(folder: Path) -> None:
    text = """\
    videos:
      - {id: 1e10, title: 2026-01-15, channel: null, transcript: talk.txt}
      - {id: 007, title: yes, transcript: talk.txt}
    """
    first, second = load_corpus(corpus(folder, text)).videos()
    assert (first.video.video_id, first.video.title, first.video.channel) == (
        "1e10",
        "2026-01-15",
        None,
    )
    assert (second.video.video_id, second.video.title) == ("007", "yes")


def test_the_name_of_a_corpus_is_by_default_that_of_its_file(folder: Path) -> None:
    reading = load_corpus(corpus(folder, "videos: []", "climate talks.yml"))
    assert [each.name for each in reading.corpora] == ["climate talks"]


def test_ids_that_differ_by_case_are_two_videos(folder: Path) -> None:
    text = "videos:\n  - {id: abc, transcript: talk.txt}\n  - {id: ABC, transcript: talk.txt}\n"
    assert [each.video.video_id for each in load_corpus(corpus(folder, text)).videos()] == [
        "abc",
        "ABC",
    ]


@pytest.mark.parametrize("video_id", ["-LDjqcvSbP4", "_x", "a.b-c_d", "7"])
def test_an_id_may_be_anything_that_keys_and_file_names_allow(video_id: str) -> None:
    assert is_usable_id(video_id)


@pytest.mark.parametrize("video_id", ["", "a b", "a/b", "..", "a..b", "a\n", "a:b", "é", "x" * 129])
def test_an_id_must_be_safe_in_keys_and_paths(video_id: str) -> None:
    assert not is_usable_id(video_id)


# --- Problems -----------------------------------------------------------------------------------

ENTRY = "videos:\n  - id: v\n    transcript: talk.txt\n"


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (ENTRY + "    titel: x\n", 4, "'titel' is not a key here. Did you mean 'title'?"),
        (ENTRY + "    qqq: x\n", 4, "Known keys: id, url"),
        ("corpus: c\nvideo: []\n", 2, "Did you mean 'videos'?"),
        (ENTRY + "    claims:\n      - text: a\n        stanse: x\n", 6, "Did you mean 'stance'?"),
        (
            ENTRY + "    claims:\n      - text: a\n        importance: 1.2\n",
            6,
            "importance is '1.2'",
        ),
        (ENTRY + "    claims:\n      - text: a\n        importance: high\n", 6, "'high'"),
        (
            ENTRY + "    claims:\n      - text: a\n        stance: false\n",
            6,
            "'supports', 'refutes'",
        ),
        (ENTRY + "    claims:\n      - importance: 1\n", 5, "text is missing"),
        (ENTRY + "    claims:\n      - just words\n", 5, "This is no mapping of keys"),
        (
            ENTRY + "    claims:\n      - text: Ice melts.\n      - text: ice  melts\n",
            6,
            "stands before, on line 5",
        ),
        (ENTRY + "    published_on: soon\n", 4, "is 'soon': write a day as 2026-01-31."),
        (ENTRY + "    published_on: 20240101\n", 4, "is '20240101': write a day as 2026-01-31."),
        (ENTRY + "    claims:\n      - text: ''\n", 5, "text is '': it is empty; fill it in."),
        (ENTRY + "    duration_seconds: -1\n", 4, "duration_seconds is '-1'"),
        (ENTRY + "    web: moon\n", 4, "miniature"),
        (ENTRY + "    claims: []\n    ground_truth: talk.txt\n", 2, "not in both"),
        (ENTRY + "    title: a\n    title: b\n", 5, "The key 'title' is written twice"),
        (ENTRY + ENTRY.removeprefix("videos:\n"), 4, "listed before"),
        ("videos:\n  - id: v\n    transcript: none.vtt\n", 3, "There is no file 'none.vtt'"),
        ("videos:\n  - id: a b\n    transcript: talk.txt\n", 2, "'a b' is not usable"),
        ("videos:\n  - title: x\n", 2, "A video needs an id"),
        ("videos:\n  - id: my-talk\n", 2, "neither a transcript nor a recording"),
        ("videos:\n  - url: https://vimeo.com/1\n", 2, "is not a YouTube link"),
        (
            "videos:\n  - id: v\n    url: https://youtu.be/AAAAAAAAAAA\n",
            2,
            "is that of 'AAAAAAAAAAA'",
        ),
        ("videos:\n  - just words\n", 2, "This is no mapping of keys"),
        ("corpus: x\nvideos: many\n", 2, "videos is not a list"),
        ("corpus: x\nweb: moon\n", 2, "miniature"),
        ("", 1, "The file is empty"),
        ("- id: v\n", 1, "not a mapping"),
        ("videos:\n\t- id: v\n", 2, "This is not valid YAML"),
        ("a: &x [1]\nvideos: *x\n", 2, "Aliases"),
        ("videos: []\n---\nvideos: []\n", 2, "found another document"),
        ("videos: " + "[" * 5000, 1, "nested too deeply"),
        ("corpus: a\x01b\n", 1, "a character here that YAML does not allow"),
        ("? [a]\n: b\n", 1, "is not a word"),
        ("videos: !!python/object:os.system [x]\n", 1, "This is no mapping of keys"),
    ],
)
def test_a_problem_names_its_line_and_a_remedy(
    folder: Path, text: str, line: int, sentence: str
) -> None:
    reading = load_corpus(corpus(folder, text))
    assert len(reading.problems) == 1
    assert reading.problems
    assert reading.problems[0].line == line
    assert sentence in reading.problems[0].sentence
    assert str(reading.problems[0]).startswith(f"{folder / 'beliefs.yaml'}:{line}: ")


def test_all_problems_of_a_file_are_reported(folder: Path) -> None:
    text = """\
    descripton: x
    videos:
      - id: one
        transcript: gone.vtt
        claims:
          - {text: a, importance: 2, stance: maybe}
      - {id: two, colour: red, transcript: talk.txt}
      - {id: three}
    """
    found = problems(load_corpus(corpus(folder, text)))
    assert sorted(line or 0 for line, _ in found) == [1, 4, 6, 6, 7, 8]


def test_an_entry_with_a_problem_is_withheld_and_the_others_stay(folder: Path) -> None:
    reading = load_corpus(corpus(folder, ENTRY + "  - id: w\n    colour: red\n"))
    assert [each.video.video_id for each in reading.videos()] == ["v"]
    assert reading.problems


def test_a_broken_file_makes_no_other_files_videos_vanish(folder: Path) -> None:
    corpus(folder, ENTRY, "a.yaml")
    corpus(folder, "videos: [", "b.yaml")
    corpus(folder, ENTRY.replace("id: v", "id: w"), "c.yaml")
    (folder / "d.yaml").write_bytes(b"corpus: d\nvideos: \xff\n")
    reading = load_corpora([folder, folder / "none"])
    assert [each.video.video_id for each in reading.videos()] == ["v", "w"]
    assert [(each.file.name, each.line) for each in reading.problems] == [
        ("b.yaml", 2),
        ("d.yaml", 2),
    ]
    assert reading.find("v") is not None
    assert reading.find("V") is None


def test_a_video_in_two_files_counts_once_and_is_reported(folder: Path) -> None:
    corpus(folder, ENTRY, "a.yaml")
    corpus(folder, ENTRY, "b.yaml")
    reading = load_corpora([folder])
    assert [each.file.name for each in reading.videos()] == ["a.yaml"]
    ((line, sentence),) = problems(reading)
    assert line == 2
    assert "a.yaml, line 2" in sentence


def test_yaml_of_another_kind_is_ignored_and_not_a_problem(folder: Path) -> None:
    corpus(folder, "dataset: ratings\ndomains: []\n", "ratings.yaml")
    reading = load_corpora([folder])
    assert not reading.problems
    assert reading.ignored == (folder / "ratings.yaml",)


@given(st.text(alphabet="videos:corpus \n-[]{}'\"#&*!|>%@`?,ab0~\t", max_size=80))
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(PlacedError):
        assert parse_document(text).line(("videos", 0)) >= 1


def test_a_character_that_yaml_forbids_is_named_with_its_line_after_any_text() -> None:
    with pytest.raises(PlacedError) as refusal:
        parse_document("title: Über Käse\nname: Ärzte\nid: \x07\nurl: x\nday: y\n")
    assert refusal.value.line == 3


def test_the_projects_own_corpora_have_no_problems() -> None:
    reading = load_corpora([Path(__file__).resolve().parents[1] / "corpora"])
    assert [str(problem) for problem in reading.problems] == []


# --- Ground truth -------------------------------------------------------------------------------

PUBLISHED = """\
video_id: {}
video_title: A title
video_duration_seconds: 235
claims:
- claim_text: Ice melts
  is_checkable: true
  importance: {}
  verdict:
    overall_stance: {}
    reasoning: Physics.
"""


def test_ground_truth_of_the_published_layout_reads_as_the_projects_own(folder: Path) -> None:
    (folder / "truth.yaml.txt").write_text(PUBLISHED.format("v", 0.7, "SUPPORTS"))
    text = ENTRY + "    ground_truth: truth.yaml.txt\n"
    (entry,) = load_corpus(corpus(folder, text)).videos()
    assert entry.claims == (
        ClaimEntry(
            text="Ice melts",
            checkable=True,
            importance=0.7,
            stance="supports",
            reasoning="Physics.",
        ),
    )


def test_problems_of_ground_truth_name_its_own_file_and_line(folder: Path) -> None:
    truth = folder / "truth.txt"
    truth.write_text(PUBLISHED.format("v", 1.7, "PERHAPS"))
    found = load_ground_truth(truth).problems
    assert [problem.line for problem in found] == [7, 9]
    assert all(problem.file == truth for problem in found)


def test_ground_truth_for_another_video_is_reported(folder: Path) -> None:
    (folder / "truth.txt").write_text(PUBLISHED.format("w", 0.5, "MIXED"))
    text = ENTRY + "    ground_truth: truth.txt\n  - id: w\n    transcript: talk.txt\n"
    reading = load_corpus(corpus(folder, text))
    ((line, sentence),) = problems(reading)
    assert line == 1
    assert "for the video 'w', and the entry of 'v' in" in sentence
    assert reading.problems[0].file == folder / "truth.txt"


# --- On demand, and annotations that arrive by themselves --------------------------------------

ON_DEMAND = (
    "on_demand: true\nvideos:\n  - {id: v, transcript: talk.txt, title: T, claim_count: 3}\n"
)


def test_a_corpus_on_demand_is_known_and_not_listed(folder: Path) -> None:
    corpus(folder, ON_DEMAND)
    reading = load_corpora([folder])
    assert not reading.problems
    assert list(reading.videos()) == []
    found = reading.find("v")
    assert found is not None
    assert (found.video.title, found.entry.claim_count) == ("T", 3)
    assert [each.video.video_id for each in reading.everything()] == ["v"]


@pytest.mark.parametrize("name", ["a.yaml", "z.yaml"])
def test_an_entry_on_demand_gives_way_without_a_word(folder: Path, name: str) -> None:
    corpus(folder, ON_DEMAND, "m.yaml")
    corpus(folder, ENTRY, name)
    reading = load_corpora([folder])
    assert not reading.problems
    assert [each.file.name for each in reading.everything()] == [name]


def test_a_video_on_demand_can_be_added_to_another_file(folder: Path) -> None:
    on_demand = corpus(folder, ON_DEMAND)
    entry = VideoEntry(id="v", transcript="talk.txt")
    with pytest.raises(CorpusError, match="listed already"):
        add_video(on_demand, entry)
    add_video(folder / "mine.yaml", entry)
    found = load_corpora([folder]).find("v")
    assert found is not None
    assert found.file.name == "mine.yaml"


def annotate(folder: Path, video_id: str, name: str = "v.yaml", stance: str = "MIXED") -> Path:
    file = folder / "ground_truth" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(PUBLISHED.format(video_id, 0.5, stance))
    return file


@pytest.mark.parametrize("text", [ENTRY, ON_DEMAND])
def test_annotations_beside_the_corpora_are_merged_by_video(folder: Path, text: str) -> None:
    corpus(folder, text)
    annotate(folder, "v", "any name.yaml")
    reading = load_corpora([folder])
    assert reading.problems == ()
    found = reading.find("v")
    assert found is not None
    assert found.claims is not None
    assert found.claims[0].stance == "mixed"


def test_annotations_of_one_folder_reach_the_corpora_of_another(folder: Path) -> None:
    corpus(folder, ON_DEMAND)
    other = folder / "other"
    other.mkdir()
    annotate(other, "v")
    found = load_corpora([folder, other]).find("v")
    assert found is not None
    assert found.claims is not None


def test_ground_truth_for_an_unlisted_video_is_reported(folder: Path) -> None:
    corpus(folder, ENTRY)
    file = annotate(folder, "stranger")
    (problem,) = load_corpora([folder]).problems
    assert (problem.file, problem.line) == (file, 1)
    assert "'stranger', which no corpus lists. List the video" in problem.sentence


def test_two_annotations_of_one_video_must_agree(folder: Path) -> None:
    corpus(folder, ENTRY)
    annotate(folder, "v", "a.yaml")
    annotate(folder, "v", "b.yaml")
    assert load_corpora([folder]).problems == ()
    file = annotate(folder, "v", "c.yaml", "REFUTES")
    (problem,) = load_corpora([folder]).problems
    assert (problem.file, problem.line) == (file, 1)
    assert "Keep one of the two" in problem.sentence


def test_merged_annotations_with_mistakes_are_reported_and_ignored(folder: Path) -> None:
    corpus(folder, ENTRY)
    file = annotate(folder, "v", stance="PERHAPS")
    reading = load_corpora([folder])
    (problem,) = reading.problems
    assert (problem.file, problem.line) == (file, 9)
    found = reading.find("v")
    assert found is not None
    assert found.claims is None


def test_date_limits_and_questions_of_annotators_are_read(folder: Path) -> None:
    text = """\
    videos:
      - id: v
        transcript: talk.txt
        published_before: 2020-10-31
        claims:
          - text: Honey keeps.
            speaker: A beekeeper
            said_on: 2020-10-30
            questions:
              - text: How long?
                answers:
                  - {text: Years, kind: Extractive, source_url: "https://a.example"}
            passages:
              - {source: Honey, text: It keeps., stance: SUPPORTS}
    """
    (entry,) = load_corpus(corpus(folder, text)).videos()
    assert entry.entry.published_before == date(2020, 10, 31)
    assert entry.claims is not None
    (claim,) = entry.claims
    assert claim.questions[0].answers[0].kind == "extractive"
    assert claim.passages[0].stance == "supports"


@pytest.mark.parametrize(
    ("line", "text", "sentence"),
    [
        (
            8,
            "questions:\n          - text: a\n            answer: b",
            "'answer' is not a key here. Did you mean 'answers'?",
        ),
        (8, "questions:\n          - text: a\n            answers: [{txt: b}]", "text is missing"),
        (
            7,
            "passages:\n          - {source: a, stanse: b}",
            "'stanse' is not a key here. Did you mean 'stance'?",
        ),
    ],
)
def test_mistakes_in_a_claim_are_reported_at_their_lines(
    folder: Path, line: int, text: str, sentence: str
) -> None:
    found = problems(
        load_corpus(corpus(folder, ENTRY + f"    claims:\n      - text: c\n        {text}\n"))
    )
    assert any(sentence in told and place == line for place, told in found)


# --- Schema -------------------------------------------------------------------------------------


SHIPPED = sorted((Path(__file__).resolve().parents[1] / "corpora").glob("*.yaml"))


def as_editors_read(file: Path) -> object:
    """Read YAML 1.2 as editors do, for which a date is a text."""

    class Loader(yaml.SafeLoader):
        """A safe loader that leaves dates alone."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if "timestamp" not in tag]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return yaml.load(file.read_text(), Loader=Loader)  # noqa: S506


def test_the_shipped_schema_is_that_of_the_models() -> None:
    shipped = SHIPPED[0].parent / "corpus.schema.json"
    assert shipped.read_text() == corpus_json_schema(), (
        "Write it again: factible corpus schema -o corpora/corpus.schema.json"
    )


def test_every_shipped_corpus_fits_the_schema_and_names_it_for_editors() -> None:
    corpora = [file for file in SHIPPED if load_corpus(file).corpora]
    assert {file.name for file in corpora} >= {"everyday_beliefs.yaml", "factible_published.yaml"}
    validator = jsonschema_rs.validator_for(json.loads(corpus_json_schema()))
    for file in corpora:
        first = file.read_text().split("\n", 1)[0]
        assert first == "# yaml-language-server: $schema=corpus.schema.json", file
        validator.validate(as_editors_read(file))


@pytest.mark.parametrize(
    "change",
    [
        {"importance": 1.2},
        {"stance": "perhaps"},
        {"stanse": "mixed"},
        {"questions": [{"answers": []}]},
    ],
)
def test_the_json_schema_agrees_with_the_reader(change: dict[str, object]) -> None:
    validator = jsonschema_rs.validator_for(json.loads(corpus_json_schema()))
    claim = {"text": "Ice melts.", "importance": 0.5, "stance": "supports"}
    assert validator.is_valid({"videos": [{"id": "v", "claims": [claim]}]})
    assert not validator.is_valid({"videos": [{"id": "v", "claims": [claim | change]}]})


# --- Writing ------------------------------------------------------------------------------------

NEW = VideoEntry(
    id="-LDjqcvSbP5",
    title='A "quoted": title',
    transcript="talk.txt",
    tags=("x",),
    duration_seconds=9,
)


def test_a_new_entry_leaves_comments_and_style_of_the_rest_as_they_are(folder: Path) -> None:
    before = GOOD + "  # the last remark\n"
    file = corpus(folder, before)
    assert add_video(file, NEW) == "-LDjqcvSbP5"
    after = file.read_text()
    assert after.startswith(before)
    added = load_corpus(file).find("-LDjqcvSbP5")
    assert added is not None
    assert added.video.title == 'A "quoted": title'
    assert added.video.duration_seconds == 9


@pytest.mark.parametrize(
    "before",
    [
        "videos:\n",
        "videos: []\n",
        "videos: []  # none yet\ncorpus: beliefs\n",
        "corpus: beliefs\n",
        "corpus: beliefs",
        ENTRY.rstrip("\n"),
        "videos:\n- id: v\n  transcript: talk.txt\n",
        ENTRY + "\n# About the name:\ncorpus: beliefs\n",
        ENTRY + "    notes: |\n      a\n      # no comment\n\ncorpus: beliefs\n",
        ENTRY.replace("\n", "\r\n"),
        "\ufeff" + ENTRY,
    ],
)
def test_an_entry_finds_its_place_in_every_form_of_a_file(folder: Path, before: str) -> None:
    file = folder / "beliefs.yaml"
    file.write_bytes(before.encode())
    listed = [each.video.video_id for each in load_corpus(file).videos()]
    add_video(file, NEW)
    reading = load_corpus(file)
    assert not reading.problems
    assert [each.video.video_id for each in reading.videos()] == [*listed, "-LDjqcvSbP5"]
    after = file.read_bytes()
    for line in before.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"):
        assert line.replace(" []", "").encode() in after
    assert after.count(b"\r\n") in {0, after.count(b"\n")}


LISTED = """\
# Videos of one channel.
corpus: mine
videos:
  # The first one.
  - id: first
    transcript: talk.txt
    notes: |
      a
      # no comment

  # The second one.
  - id: second
    transcript: second.txt  # hers
  - url: https://youtu.be/dQw4w9WgXcQ
    title: "Third: x"
# What it is for:
description: Talks
"""


@pytest.mark.parametrize(
    ("video_id", "gone", "beside"),
    [
        (
            "first",
            LISTED[LISTED.index("  - id: first") : LISTED.index("\n  # The second")],
            ["talk.txt"],
        ),
        ("second", "  - id: second\n    transcript: second.txt  # hers\n", ["second.txt"]),
        ("dQw4w9WgXcQ", '  - url: https://youtu.be/dQw4w9WgXcQ\n    title: "Third: x"\n', []),
    ],
)
@pytest.mark.parametrize("form", ["\n", "\r\n"])
def test_an_entry_is_taken_out_and_the_rest_stays_as_it_is(
    folder: Path, video_id: str, gone: str, beside: list[str], form: str
) -> None:
    file = folder / "mine.yaml"
    file.write_bytes(LISTED.replace("\n", form).encode())
    assert [each.name for each in remove_video(file, video_id)] == beside
    assert file.read_bytes().decode() == LISTED.replace(gone, "").replace("\n", form)


def test_the_last_entry_leaves_an_empty_list_to_which_one_can_be_added(folder: Path) -> None:
    file = corpus(folder, ENTRY)
    (video,) = load_corpus(file).videos()
    remove_video(file, video.video.video_id)
    assert list(load_corpus(file).videos()) == []
    assert add_video(file, NEW) == "-LDjqcvSbP5"


def test_a_video_that_cannot_be_taken_out_alone_changes_nothing(folder: Path) -> None:
    written = "videos: [{id: v, transcript: talk.txt}, {id: u, transcript: talk.txt}]\n"
    file = corpus(folder, written)
    for video_id, sentence in (("v", "by hand"), ("w", "does not list")):
        with pytest.raises(CorpusError, match=sentence):
            remove_video(file, video_id)
    assert file.read_text() == written


def test_a_missing_file_is_created(folder: Path) -> None:
    file = folder / "deep" / "mine.yaml"
    file.parent.mkdir()
    (file.parent / "talk.txt").write_text("words")
    add_video(file, NEW)
    assert load_corpus(file).find("-LDjqcvSbP5") is not None


def test_a_video_that_is_listed_here_or_beside_is_refused(folder: Path) -> None:
    file = corpus(folder, GOOD)
    for target in (file, folder / "other.yaml"):
        with pytest.raises(CorpusError, match="listed already"):
            add_video(target, VideoEntry(id="a-talk", transcript="talk.txt"))
    assert file.read_text() == GOOD
    assert not (folder / "other.yaml").exists()


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ("videos: [{id: v, transcript: talk.txt}]\n", "beginning with a dash"),
        (ENTRY + "    colour: red\n", "'colour' is not a key here"),
        ("videos: [\n", "not valid YAML"),
        ("- a\n", "not a mapping"),
    ],
)
def test_a_file_that_cannot_be_extended_is_unchanged(
    folder: Path, before: str, sentence: str
) -> None:
    file = corpus(folder, before)
    with pytest.raises(CorpusError, match=sentence):
        add_video(file, NEW)
    visible = {path.name for path in folder.iterdir() if path.suffix != ".lock"}
    assert visible == {"beliefs.yaml", "talk.txt"}


def test_replacing_a_file_keeps_its_rights_and_follows_its_link(folder: Path) -> None:
    real = folder / "real.yaml.d" / "corpus.yaml"
    real.parent.mkdir()
    (real.parent / "talk.txt").write_text("words")
    real.write_text(ENTRY)
    real.chmod(0o640)
    link = folder / "link.yaml"
    link.symlink_to(real)
    add_video(link, NEW)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "LDjqcvSbP5" in real.read_text()


def test_a_place_that_cannot_be_written_is_named(folder: Path) -> None:
    blocked = folder / "talk.txt" / "corpus.yaml"
    with pytest.raises(CorpusError, match=r"corpus\.yaml"):
        add_video(blocked, NEW)


WORDS = st.text(
    alphabet=st.characters(categories=("L", "N", "P", "S", "Zs"), include_characters="\n\t"),
    min_size=1,
    max_size=120,
)


@given(title=WORDS, notes=WORDS, claim=WORDS)
def test_any_entry_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, title: str, notes: str, claim: str
) -> None:
    folder = tmp_path_factory.mktemp("written")
    (folder / "talk.txt").write_text("words")
    file = folder / "c.yaml"
    file.write_text(ENTRY + "# end\n")
    entry = VideoEntry(
        id="x", title=title, notes=notes, transcript="talk.txt", claims=(ClaimEntry(text=claim),)
    )
    add_video(file, entry)
    read = load_corpus(file).find("x")
    assert read is not None
    assert (read.video.title, read.video.notes) == (title, notes)
    assert read.claims == entry.claims


# --- The published layout -----------------------------------------------------------------------


def published(folder: Path) -> Path:
    source = folder / "evaluation"
    run = source / "runs" / "k1" / "20250101_000000_-LDjqcvSbP4"
    failed = source / "runs" / "k0" / "20250101_000000_-LDjqcvSbP4"
    (source / "ground_truth").mkdir(parents=True)
    run.mkdir(parents=True)
    failed.mkdir(parents=True)
    (source / "videos.csv").write_text(
        "video_id,slug,category,kind\n-LDjqcvSbP4,juice,health,factual\nAAAAAAAAAAA,none,x,y\n"
    )
    (source / "ground_truth" / "-LDjqcvSbP4.yaml").write_text(
        PUBLISHED.format("-LDjqcvSbP4", 0.7, "MIXED")
    )
    (source / "ground_truth" / "BBBBBBBBBBB.yaml").write_text("claims: []\n")
    segments = [{"text": "Juice\nis sweet.", "start": 1.5, "duration": 2}]
    output = {"final_output": {"transcript_data": {"segments": segments}}}
    (run / "outputs.json").write_text(json.dumps(output))
    (failed / "outputs.json").write_text('{"extracted_claims": {}}')
    return source


def test_a_published_folder_becomes_a_corpus_with_transcripts_and_ground_truth(
    tmp_path: Path,
) -> None:
    destination = tmp_path / "home" / "corpora"
    done = import_corpus(published(tmp_path), destination)
    assert (len(done.video_ids), done.claims, done.transcripts) == (1, 1, 1)
    assert len(done.left_out) == 2
    assert "AAAAAAAAAAA" in " ".join(done.left_out)
    assert "BBBBBBBBBBB" in " ".join(done.left_out)
    reading = load_corpora([destination])
    assert not reading.problems
    (entry,) = reading.videos()
    assert entry.video.url == "https://www.youtube.com/watch?v=-LDjqcvSbP4"
    assert (entry.video.title, entry.video.category) == ("A title", "health")
    assert (entry.video.tags, entry.web) == (("factual",), "archive")
    assert entry.claims is not None
    assert entry.claims[0].stance == "mixed"
    assert entry.transcript is not None
    assert read_transcript(entry.transcript).cues[0].text == "Juice is sweet."


def test_importing_again_changes_nothing_and_another_corpus_is_not_overwritten(
    tmp_path: Path,
) -> None:
    source = published(tmp_path)
    file = import_corpus(source, tmp_path / "home").file
    content = file.read_bytes()
    import_corpus(source, tmp_path / "home")
    assert file.read_bytes() == content
    file.write_text("videos: []\n")
    with pytest.raises(CorpusError, match="different corpus of this name"):
        import_corpus(source, tmp_path / "home")
    import_corpus(source, tmp_path / "home", replace=True)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "index", [None, "", "video_id\n", "video_id\na/b\n", "video_id\na\na\n", "other\nx\n"]
)
def test_a_folder_of_another_layout_is_refused(tmp_path: Path, index: str | None) -> None:
    source = tmp_path / "evaluation"
    source.mkdir()
    if index is not None:
        (source / "videos.csv").write_text(index)
    with pytest.raises(CorpusError, match=r"videos\.csv"):
        import_corpus(source, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_the_real_published_folder_is_imported_whole(tmp_path: Path) -> None:
    done = import_corpus(shared_data("factible"), tmp_path)
    assert (len(done.video_ids), done.left_out) == (18, ())
    reading = load_corpora([tmp_path])
    assert not reading.problems
    assert sum(len(entry.claims or ()) for entry in reading.videos()) == done.claims == 304
    assert not list(tmp_path.glob(".*"))


def test_many_additions_to_one_file_at_once_lose_none(folder: Path) -> None:
    file = folder / "local.yaml"
    entries = [
        VideoEntry(id=f"video-{number}", title=f"Video {number}", transcript="talk.txt")
        for number in range(12)
    ]
    with ThreadPoolExecutor(max_workers=6) as pool:
        added = list(pool.map(lambda entry: add_video(file, entry), entries))
    assert {entry.video.video_id for entry in load_corpus(file).videos()} == set(added)


# --- The list of the published videos ---------------------------------------------------------

LISTING = Path(__file__).resolve().parents[1] / "corpora" / "factible_published.yaml"

COUNTS_THAT_AGREE = {"7bMfGXPRIig", "BHY0FxzoKZE"}
"""Of the 18 videos whose annotations are at hand, those with as many claims as the table says."""


def test_the_list_of_published_videos_has_the_shape_of_the_papers_table() -> None:
    reading = load_corpus(LISTING)
    assert reading.problems == ()
    (listed,) = reading.corpora
    assert listed.on_demand
    assert len(listed.videos) == 30
    kinds = Counter((each.video.category, each.video.tags) for each in listed.videos)
    assert set(kinds.values()) == {5}
    assert {category for category, _ in kinds} == {"climate", "health", "politics"}
    assert {tags for _, tags in kinds} == {("factual",), ("misinformation",)}
    # The rows of table 22 add up to 489, where table 11 and appendix A say 503.
    assert sum(each.entry.claim_count or 0 for each in listed.videos) == 489
    assert all(each.claims is None and each.transcript is None for each in listed.videos)


def test_the_list_agrees_with_the_published_data_but_for_numbers_of_claims(tmp_path: Path) -> None:
    imported = import_corpus(shared_data("factible"), tmp_path)
    own = load_corpus(LISTING)
    agreeing = set()
    for entry in load_corpus(imported.file).videos():
        listed = own.corpora[0].videos
        (same,) = (each for each in listed if each.video.video_id == entry.video.video_id)
        assert same.video.category == entry.video.category
        assert same.video.tags == entry.video.tags
        if same.entry.claim_count == len(entry.claims or ()):
            agreeing.add(entry.video.video_id)
    assert agreeing == COUNTS_THAT_AGREE


def test_annotations_of_listed_videos_are_merged_from_a_folder_of_ones_own(tmp_path: Path) -> None:
    truths = shared_data("factible", "ground_truth")
    (tmp_path / "ground_truth").symlink_to(truths)
    reading = load_corpora([LISTING.parent, tmp_path])
    assert reading.problems == ()
    annotated = [each for each in reading.everything() if each.claims and each.entry.claim_count]
    assert len(annotated) == 18
    assert sum(len(each.claims or ()) for each in annotated) == 304


def test_a_folder_of_annotations_is_imported_with_the_entries_of_its_list(tmp_path: Path) -> None:
    source = tmp_path / "given"
    source.mkdir()
    (source / "ground_truth").symlink_to(shared_data("factible", "ground_truth"))
    done = import_corpus(source, tmp_path / "home", listing=load_corpora([LISTING.parent]))
    assert (len(done.video_ids), done.claims, done.transcripts) == (18, 304, 0)
    found = load_corpora([tmp_path / "home"]).find("-LDjqcvSbP4")
    assert found is not None
    assert (found.video.category, found.video.tags) == ("health", ("factual",))


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside.vtt", "linked.vtt"])
def test_a_transcript_outside_the_corpus_folder_is_refused(folder: Path, name: str) -> None:
    (folder.parent / "outside.vtt").write_text("WEBVTT\n", encoding="utf-8")
    (folder / "linked.vtt").symlink_to(folder.parent / "outside.vtt")
    text = f"videos:\n  - id: v\n    transcript: {name}\n"
    (problem,) = load_corpus(corpus(folder, text)).problems
    assert (problem.line, "leads out of the folder" in problem.sentence) == (3, True)
