"""Plots are pictures that say what they show, undefined included."""

from __future__ import annotations

import re
import struct

import pytest

from factible_assets.evaluation.charts import all_plots
from factible_assets.evaluation.scoring import Evaluation, score
from tests.evaluation.outcomes import call, outcome
from tests.evaluation.test_scoring import CHEESE, MATCHER, MOON, two_videos

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def undefined() -> Evaluation:
    return score([outcome("one", [MOON], None)], matcher=MATCHER, bootstrap=100)


def words(picture: bytes) -> str:
    """Return the comments of an SVG, in which matplotlib repeats each text that it draws."""
    return " ".join(re.findall(r"<!-- (.*?) -->", picture.decode("utf-8")))


@pytest.mark.parametrize("evaluation", [two_videos(), undefined()], ids=["defined", "undefined"])
def test_every_plot_is_a_png_of_a_readable_size(evaluation: Evaluation) -> None:
    plots = all_plots(evaluation)
    assert len(plots) == 4
    for picture in plots.values():
        assert picture.startswith(SIGNATURE)
        width, height = struct.unpack(">II", picture[16:24])
        assert width >= 600
        assert height >= 400
        assert len(picture) < 100_000


def test_plots_are_labelled_and_the_same_figures_give_the_same_bytes() -> None:
    plots = all_plots(two_videos(), form="svg")
    assert plots == all_plots(two_videos(), form="svg")
    said = {title: words(picture) for title, picture in plots.items()}
    for word in ("max_claims", "precision", "recall", "F1"):
        assert word in said["precision and recall"]
    for word in ("annotated", "answered", "supports", "refutes", "mixed", "unclear"):
        assert word in said["confusion of stances"]
    assert "perfectly calibrated" in said["reliability of confidence"]
    assert "n=3" in said["reliability of confidence"]
    assert "reliability_ratings" in said["latency and cost by stage"]


def test_what_is_undefined_is_said_to_be_undefined() -> None:
    plots = all_plots(undefined(), form="svg")
    for title in ("precision and recall", "confusion of stances", "reliability of confidence"):
        assert "undefined" in words(plots[title])
    assert "no model was asked" in words(plots["latency and cost by stage"])


def test_costs_are_drawn_by_stage_and_model() -> None:
    paid = outcome("one", [CHEESE], None, llm_calls=(call("one", cost=0.03),))
    picture = all_plots(score([paid], matcher=MATCHER, bootstrap=100), form="svg")
    assert "claims, small" in words(picture["latency and cost by stage"])
    assert "$0.0300, 110 tokens" in words(picture["latency and cost by stage"])
