"""Targets: read with file and line in every problem, and compared with figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from factible_assets.corpora.reading import load_corpora
from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.measures import CATALOGUE
from factible_assets.evaluation.targets import FILE_NAME, Targets, assess, load_targets

ROOT = Path(__file__).resolve().parents[2]


def written(folder: Path, text: str) -> Targets:
    (folder / FILE_NAME).write_text(text, encoding="utf-8")
    return load_targets([folder])


def macro(name: str, value: float | None, n: int = 5) -> Figure:
    return Figure(name, value, n, "videos", averaging="macro")


PRECISION = "targets:\n  precision: {target: 0.7, floor: 0.5}\n"


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (0.7, "reached"),
        (0.69, "below target"),
        (0.5, "below target"),
        (0.49, "below floor"),
        (0.0, "below floor"),
        (None, "undefined"),
    ],
)
def test_a_figure_warns_below_its_target_and_fails_below_its_floor(
    tmp_path: Path, value: float | None, outcome: str
) -> None:
    targets = written(tmp_path, PRECISION)
    (assessed,) = assess("any", [macro("precision", value)], targets)
    assert assessed.outcome == outcome


@pytest.mark.parametrize(
    ("value", "outcome"), [(0.1, "reached"), (0.2, "below target"), (0.4, "below floor")]
)
def test_a_metric_may_be_better_if_lower(tmp_path: Path, value: float, outcome: str) -> None:
    text = "targets:\n  infrastructure failure rate: {target: 0.1, floor: 0.3}\n"
    figures = [macro("infrastructure failure rate", value)]
    (assessed,) = assess("any", figures, written(tmp_path, text))
    assert assessed.outcome == outcome


def test_too_few_items_are_not_judged(tmp_path: Path) -> None:
    text = "targets:\n  precision: {target: 0.7, floor: 0.5, min_n: 6}\n"
    (assessed,) = assess("any", [macro("precision", 0.1)], written(tmp_path, text))
    assert assessed.outcome == "too few"


def test_a_corpus_may_have_other_targets_or_none(tmp_path: Path) -> None:
    text = PRECISION + (
        "overrides:\n  hard: {precision: {target: 0.3, floor: 0.1}}\n  odd: {precision: {}}\n"
    )
    targets = written(tmp_path, text)
    assert targets.problems == ()
    assert targets.of("hard")["precision"].target == 0.3
    assert targets.of("odd") == {}
    assert targets.of("any")["precision"].target == 0.7


def test_a_later_folder_replaces_targets_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / FILE_NAME).write_text(PRECISION + "  recall: {target: 0.5, floor: 0.1}\n")
    (tmp_path / "own" / FILE_NAME).write_text("targets:\n  recall: {target: 0.9, floor: 0.8}\n")
    targets = load_targets([tmp_path, tmp_path / "own", tmp_path / "nowhere"])
    assert targets.of("any")["recall"].target == 0.9
    assert targets.of("any")["precision"].target == 0.7


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("targets:\n  precison: {target: 1, floor: 0}\n", 2, "Did you mean 'precision'?"),
        ("targets:\n  precision: {target: 0.2, floor: 0.5}\n", 2, "Swap them"),
        ("targets:\n  precision:\n    target: high\n    floor: 0\n", 3, "target is 'high'"),
        ("targets:\n  precision: {target: 0.2}\n", 2, "floor is missing"),
        ("targets:\n  precision: {target: 1, floor: 0, goal: 3}\n", 2, "goal"),
        ("targets:\n  precision: {target: 1, floor: 0, averaging: mean}\n", 2, "averaging"),
        ("targets:\n  evidence per claim: {target: 1, floor: 0}\n", 2, "has no better direction"),
        ("targets: [precision]\n", 1, "targets is no mapping"),
    ],
)
def test_a_problem_has_its_file_line_and_remedy(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    problems = [str(problem) for problem in written(tmp_path, text).problems]
    place = f"{tmp_path / FILE_NAME}:{line}: "
    assert any(told.startswith(place) and words in told for told in problems), problems


def test_a_file_with_problems_sets_no_target_and_tells_them_all(tmp_path: Path) -> None:
    text = "goals: {}\n" + PRECISION + "  precison: {target: 1, floor: 0}\n"
    targets = written(tmp_path, text)
    assert {problem.line for problem in targets.problems} == {1, 4}
    assert targets.of("any") == {}


def test_the_targets_that_come_with_the_project_can_be_used_and_are_no_corpus() -> None:
    targets = load_targets([ROOT / "corpora"])
    assert targets.problems == ()
    assert set(targets.metrics) == set(targets.by_corpus[""])
    assert set(targets.metrics) <= set(CATALOGUE)
    assert len(targets.metrics) >= 10
    reading = load_corpora([ROOT / "corpora"])
    assert reading.problems == ()
    assert ROOT / "corpora" / FILE_NAME in reading.ignored
