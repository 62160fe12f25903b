"""The calibration of label probabilities."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.readers.calibration import (
    LABELS,
    SHIPPED,
    UNCALIBRATED,
    AnsweredPair,
    Calibration,
    Label,
    auc,
    calibration_error,
    cross_validate,
    find_calibration,
    fit,
)
from factible_assets.reasoners.readers.labels import labels_prompt
from factible_assets.reasoners.readers.pairs import shipped_pairs


def answers(count: int, *, bias: float = 0.0, seed: int = 1) -> list[AnsweredPair]:
    """Draw pairs and the answers of a noisy model with a bias towards "true"."""
    draw = random.Random(seed)
    found = []
    for place in range(count):
        label: Label = LABELS[place % 3]
        side = {"true": 1.5, "false": -1.5, "neither": 0.0}[label] + draw.gauss(bias, 1.0)
        settles = (-1.5 if label == "neither" else 1.5) + draw.gauss(0.0, 1.0)
        true = 1 / (1 + math.exp(-side))
        bears = 1 / (1 + math.exp(-settles))
        chances = {"true": bears * true, "false": bears * (1 - true), "neither": 1 - bears}
        found.append(AnsweredPair(label, f"group {place // 6}", chances))
    return found


def test_a_bias_towards_true_is_taken_out() -> None:
    curves = fit(answers(600, bias=2.0))
    lean = 1 / (1 + math.exp(-2.0))
    judged = curves.judge({"true": 0.8 * lean, "false": 0.8 * (1 - lean), "neither": 0.2})
    assert abs(judged.supports - judged.refutes) < 0.3 < 0.8 * lean - 0.8 * (1 - lean)


def test_calibrated_probabilities_hold_on_held_out_pairs() -> None:
    found = cross_validate(answers(900, bias=1.0))
    assert found.ece < 0.07
    assert found.auc > 0.9
    assert found.precision >= 0.8
    assert 0.2 < found.decided < 0.9


def test_a_higher_precision_needs_a_higher_threshold() -> None:
    pairs = answers(600)
    lax, strict = (fit(pairs, least_precision=least).threshold for least in (0.75, 0.95))
    assert lax < strict


def test_a_fit_needs_every_label() -> None:
    with pytest.raises(ValueError, match="every label"):
        fit([each for each in answers(60) if each.label != "neither"])


@given(st.tuples(*[st.floats(0, 1)] * 3))
def test_judgements_are_probabilities_whatever_a_model_says(chances: tuple[float, ...]) -> None:
    judged = UNCALIBRATED.judge(dict(zip(LABELS, chances, strict=True)))
    assert 0 <= judged.supports <= 1
    assert 0 <= judged.refutes <= 1
    assert judged.bearing <= 1


def test_areas_and_errors_are_those_of_the_textbook() -> None:
    assert auc([3, 2], [1, 2]) == pytest.approx(0.875)
    assert calibration_error([(0.9, True)] * 9 + [(0.9, False)], bins=1) == pytest.approx(0.0)
    assert calibration_error([(0.9, False)] * 10) == pytest.approx(0.9)


def test_a_calibration_is_found_by_model_and_prompt_alone(tmp_path: Path) -> None:
    fitted = UNCALIBRATED.model_copy(update={"identity": "abc", "prompt_version": "labels-1"})
    (tmp_path / "one.json").write_text(fitted.model_dump_json(), encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    assert find_calibration("abc", "labels-1", [tmp_path]) == fitted
    assert find_calibration("abc", "labels-2", [tmp_path]) is None
    assert find_calibration("abd", "labels-1", [tmp_path]) is None


def test_the_measured_reader_ships_with_a_calibration_for_the_current_prompt() -> None:
    kept = [Calibration.model_validate_json(path.read_bytes()) for path in SHIPPED.glob("*.json")]
    assert labels_prompt().version in {each.prompt_version for each in kept}


def test_supporting_and_refuting_pairs_are_balanced() -> None:
    labels = [pair.label for pair in shipped_pairs()]
    assert labels.count("true") == labels.count("false") >= 100
    assert labels.count("neither") >= 60


def test_pairs_of_one_source_share_a_group_and_no_pair_stands_twice() -> None:
    pairs = shipped_pairs()
    assert len({(pair.claim, pair.source) for pair in pairs}) == len(pairs)
    for source in {pair.source for pair in pairs}:
        assert len({pair.group for pair in pairs if pair.source == source}) == 1
