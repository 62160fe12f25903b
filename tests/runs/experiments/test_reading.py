"""Reading experiment files, and the problems of invalid ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factible_assets.corpora.reading import load_corpora
from factible_assets.runs.experiments.files import (
    experiment_files,
    experiment_json_schema,
    load_experiments,
)
from factible_assets.settings import Settings
from tests.runs.experiments.material import corpora_of, experiment_of, problems_of, settings_in

ROOT = Path(__file__).resolve().parents[3]
SIX = "[1, 2, 3, 4, 5, 6]"
CONTRADICTORY = """\
experiment: e
settings:
  published_before: 2020-01-01
  published_after: 2021-01-01
"""
TOO_MANY = f"""experiment: e
settings: {{max_claims: {SIX}, max_queries: {SIX}, max_results: {SIX}}}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


def test_a_file_names_videos_options_and_a_baseline(settings: Settings) -> None:
    one = experiment_of(
        "experiment: e\ntags: [second]\nsettings: {max_claims: [1, 3], reasoner: embedded}\n"
        "baseline: max_claims=3\n",
        settings,
    )
    assert [variant.name for variant in one.variants] == ["max_claims=1", "max_claims=3"]
    assert one.baseline == "max_claims=3"
    assert [listed.video.video_id for listed in one.videos] == ["talk-two"]


def test_without_filters_all_videos_are_included(settings: Settings) -> None:
    assert len(experiment_of("experiment: e\n", settings).videos) == 2


def test_filters_are_combined(settings: Settings) -> None:
    text = "experiment: e\nvideos: [talk-one]\ntags: [second]\n"
    (problem,) = problems_of(text, settings)
    assert problem.startswith("3: No video of the corpora passes these filters.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: The file is empty. Begin with experiment: and its name."),
        ("- a\n", "1: The file is not a mapping. Begin with experiment: and its name."),
        ("settings: {}\n", "1: experiment is missing. Add it."),
        ("experiment: No Good\n", "small letters, digits, hyphens"),
        (
            "experiment: e\nsetings: {}\n",
            "2: 'setings' is not a key here. Did you mean 'settings'?",
        ),
        (
            "experiment: e\nsettings:\n  max_claim: 3\n",
            "3: There is no option 'max_claim'. Did you mean 'max_claims'?",
        ),
        ("experiment: e\nsettings:\n  max_claims: 0\n", "3: max_claims is '0': It should be"),
        (
            "experiment: e\nsettings:\n  max_claims:\n    - 1\n    - 99\n",
            "5: max_claims is '99': It should be less than or equal to 50.",
        ),
        (
            "experiment: e\nsettings:\n  max_claims: [1, 3, 1]\n",
            "3: The list has the value 1 twice. Remove one.",
        ),
        ("experiment: e\nsettings:\n  max_claims: []\n", "3: The list of max_claims is empty."),
        (
            "experiment: e\none_at_a_time:\n  max_claims: 3\n",
            "3: max_claims is one value here. Give a list, or put it in settings.",
        ),
        (
            "experiment: e\nsettings:\n  model: gpt-4o-minni\n",
            "3: model: The model 'gpt-4o-minni' is not in the registry (did you mean",
        ),
        (
            "experiment: e\nvideos:\n  - talk-one\n  - talk-on\n",
            "4: No corpus has a video 'talk-on'. Did you mean 'talk-one'?",
        ),
        (
            "experiment: e\ntags: [shorts]\n",
            "2: No corpus has a tag 'shorts'. Did you mean 'short'?",
        ),
        (
            "experiment: e\nstrategies: [minimal, wide]\n",
            "2: There is no strategy 'wide'. Known: broad, deep, minimal.",
        ),
        ("experiment: e\nstrategies: [deep, deep]\n", "2: The list has the strategy 'deep' twice."),
        ("experiment: e\nvariants: {deep: {}}\n", "2: A variant cannot be called 'deep'."),
        (
            "experiment: e\nvariants:\n  a:\n    max_clams: 3\n",
            "4: There is no option 'max_clams'. Did you mean 'max_claims'?",
        ),
        (
            "experiment: e\nbaseline: x\nsettings: {max_claims: [1, 3]}\n",
            "2: There is no variant 'x'. Known: max_claims=1, max_claims=3.",
        ),
        (
            "experiment: e\nsettings: {max_claims: [1, 3]}\nstrategies: [deep]\n",
            "3: deep sets max_claims, which is swept under settings. Keep one of the two.",
        ),
        (
            "experiment: e\nsettings: {max_claims: [1, 3]}\none_at_a_time:\n  max_claims: [5]\n",
            "4: max_claims is swept under settings as well. Keep one of the two lists.",
        ),
        (
            "experiment: e\nsettings: {model: gpt-4o, reasoner: embedded}\n",
            "2: The variant base names a model and wants the reasoner embedded",
        ),
        (
            CONTRADICTORY,
            "2: In the variant base, published_after is '2021-01-01': It leaves no day",
        ),
        ("experiment: e\nvideos: talk-one\n", "2: videos is 'talk-one', and no list."),
        ("experiment: e\nexperiment: f\n", "2: The key 'experiment' is written twice here."),
        (TOO_MANY, "1: These lists make more than 200 variants, which are the most."),
    ],
)
def test_a_problem_has_its_line_and_the_remedy(
    settings: Settings, text: str, expected: str
) -> None:
    problems = problems_of(text, settings)
    assert any(expected in problem for problem in problems), problems


def test_all_problems_of_a_file_are_reported_at_once(settings: Settings) -> None:
    text = "experiment: e\nsettings: {a: 1, b: 2}\ntags: [none]\n"
    assert len(problems_of(text, settings)) == 3


def test_of_two_experiments_of_one_name_the_second_is_a_problem(
    settings: Settings, tmp_path: Path
) -> None:
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for file in files:
        file.write_text("experiment: same\n")
    reading = load_experiments(files, corpora_of(settings), settings)
    assert [one.file for one in reading.experiments] == files[:1]
    assert str(reading.problems[0]).startswith(
        f"{files[1]}:1: The experiment 'same' exists already"
    )


def test_the_shipped_experiments_can_be_read_and_need_no_key() -> None:
    settings = Settings(home=ROOT / "nowhere")
    reading = load_experiments(
        experiment_files(settings), load_corpora([settings.project_corpora]), settings
    )
    assert reading.problems == ()
    assert {one.name for one in reading.experiments} == {
        "strategies",
        "max-claims",
        "one-at-a-time",
        "methods",
        "alone-or-together",
        "prompts",
    }
    asked = {v.reasoners.reasoner for one in reading.experiments for v in one.variants}
    assert asked == {"embedded", "llm"}


def test_an_experiment_is_never_taken_for_a_corpus(tmp_path: Path) -> None:
    shipped = load_corpora([ROOT / "corpora"])
    assert not any("experiments" in str(corpus.file.parent) for corpus in shipped.corpora)
    misplaced = tmp_path / "e.yaml"
    misplaced.write_text("experiment: e\nvideos: [talk-one]\n")
    reading = load_corpora([tmp_path])
    assert (reading.corpora, reading.problems, reading.ignored) == ((), (), (misplaced,))


def test_the_published_schema_is_that_of_the_format() -> None:
    published = json.loads((ROOT / "corpora" / "experiment.schema.json").read_text())
    assert published == experiment_json_schema(), (
        "Write it anew: factible experiment schema > corpora/experiment.schema.json"
    )
