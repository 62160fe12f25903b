"""Charts that the UI shows where they stand."""

from __future__ import annotations

import base64
import re

from lxml import etree

from factible_assets.evaluation.charts import bars, counts_in_order, curves, dots, inline_charts
from factible_assets.evaluation.scoring import score
from factible_assets.records.tables import METHOD
from tests.evaluation.outcomes import call, outcome
from tests.evaluation.test_scoring import CHEESE, MATCHER, MOON, two_videos

INLINE_CHARACTERS = 1_000
"""Longer Markdown is folded away (MetadataEntry.tsx in Dagster's UI, 1.13)."""


def drawing(picture: str) -> etree._Element:
    found = re.fullmatch(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", picture)
    assert found
    return etree.fromstring(base64.b64decode(found[1]))


def test_the_longest_chart_is_short_enough_not_to_be_folded_away() -> None:
    longest = bars(dict.fromkeys(METHOD, 1234.5), " s")
    assert len(f"![seconds by stage]({longest})") < INLINE_CHARACTERS


def test_lines_skip_unknown_values_and_stay_short() -> None:
    depths = range(1, 41)
    shares: list[float | None] = [0.123] * 40
    late: list[float | None] = [None, *shares[1:]]
    lines = {"precision": shares, "recall": late}
    picture = curves(depths, lines)
    assert len(f"![precision and recall by max_claims]({picture})") < INLINE_CHARACTERS
    found = drawing(picture).iter("{http://www.w3.org/2000/svg}polyline")
    points = [each.attrib["points"].split() for each in found]
    assert [len(each) for each in points] == [8, 7]
    assert points[0][0] == "0,88"
    assert points[0][-1] == "200,88"
    assert curves(depths, {"F1": [None] * 40}) == ""
    assert "0,50" in drawing(curves([1], {"F1": [0.5]}))[0].attrib["points"]


def test_every_value_has_its_label_its_number_and_a_bar_of_its_length() -> None:
    drawn = drawing(bars({"supports": 4, "very_low": 1, "mixed": 0.5}))
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["supports 4", "very low 1", "mixed 0.5"]
    paths = [each.attrib["d"] for each in drawn.iter("{http://www.w3.org/2000/svg}path")]
    lengths = [int(path.split("h")[1].split("v")[0]) for path in paths]
    assert lengths[0] > 3 * lengths[1] > 0
    assert lengths[1] > lengths[2] > 0


def test_points_are_drawn_from_zero_on_and_one_alone_is_not() -> None:
    assert dots({"1": (1.0, 1.0)}) == ""
    drawn = drawing(dots({"1": (2.0, 0.5), "2": (4.0, 1.0), "3": (0.0, 0.0)}))
    circles = drawn.iter("{http://www.w3.org/2000/svg}circle")
    places = [(each.attrib["cx"], each.attrib["cy"]) for each in circles]
    assert places == [("100", "50"), ("200", "0"), ("0", "100")]
    assert dots({"1": (0.0, 0.0), "2": (0.0, 0.0)})


def test_empty_data_gives_no_picture() -> None:
    assert bars({}) == ""
    assert bars({"supports": 0}) == ""


def test_labels_cannot_break_out_of_the_drawing() -> None:
    drawn = drawing(bars({"<script>a&b": 1}))
    assert [each.tag for each in drawn.iter() if each.tag.endswith("script")] == []


def test_values_are_counted_in_a_given_order() -> None:
    words = ["low", "very_low", "low"]
    assert list(counts_in_order(words, ("high", "low", "very_low")).items()) == [
        ("low", 2),
        ("very low", 1),
    ]


def test_only_defined_charts_are_drawn() -> None:
    drawn = inline_charts(two_videos())
    assert {"precision and recall by max_claims", "share that is right, by confidence"} <= set(
        drawn
    )
    assert "n=3" in "".join(drawing(drawn["share that is right, by confidence"]).itertext())
    undefined = score([outcome("one", [MOON], None)], matcher=MATCHER, bootstrap=100)
    assert set(inline_charts(undefined)) <= {"seconds by stage"}


def test_costs_are_drawn_by_stage_and_model() -> None:
    paid = outcome("one", [CHEESE], None, llm_calls=(call("one", cost=0.03),))
    drawn = inline_charts(score([paid], matcher=MATCHER, bootstrap=100))
    words = "".join(drawing(drawn["cost by stage and model"]).itertext())
    assert words == "claims, small 0.03 $"
