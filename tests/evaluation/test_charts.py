"""Charts that the UI shows where they stand."""

from __future__ import annotations

import base64
import re

from lxml import etree

from factible_assets.evaluation.charts import INLINE_CHARACTERS, bars, counted, curves
from factible_assets.records import METHOD


def drawing(markdown: str) -> etree._Element:
    found = re.fullmatch(r"!\[[^\]]*\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", markdown)
    assert found
    return etree.fromstring(base64.b64decode(found[1]))


def test_the_longest_chart_is_short_enough_not_to_be_folded_away() -> None:
    longest = bars("seconds by stage", dict.fromkeys(METHOD, 1234.5), " s")
    assert len(longest) < INLINE_CHARACTERS


def test_lines_are_drawn_where_they_are_known_and_short_enough_to_be_seen() -> None:
    depths = range(1, 41)
    shares: list[float | None] = [0.123] * 40
    late: list[float | None] = [None, *shares[1:]]
    lines = {"precision": shares, "recall": late}
    markdown = curves("precision and recall by max_claims", depths, lines)
    assert len(markdown) < INLINE_CHARACTERS
    found = drawing(markdown).iter("{http://www.w3.org/2000/svg}polyline")
    points = [each.attrib["points"].split() for each in found]
    assert [len(each) for each in points] == [8, 7]
    assert points[0][0] == "0,88"
    assert points[0][-1] == "200,88"
    assert curves("nothing", depths, {"F1": [None] * 40}) == ""
    assert "0,50" in drawing(curves("one", [1], {"F1": [0.5]}))[0].attrib["points"]


def test_every_value_has_its_label_its_number_and_a_bar_of_its_length() -> None:
    drawn = drawing(bars("stances", {"supports": 4, "very_low": 1, "mixed": 0.5}))
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["supports 4", "very low 1", "mixed 0.5"]
    paths = [each.attrib["d"] for each in drawn.iter("{http://www.w3.org/2000/svg}path")]
    lengths = [int(path.split("h")[1].split("v")[0]) for path in paths]
    assert lengths[0] > 3 * lengths[1] > 0
    assert lengths[1] > lengths[2] > 0


def test_nothing_is_drawn_of_nothing() -> None:
    assert bars("stances", {}) == ""
    assert bars("stances", {"supports": 0}) == ""


def test_labels_cannot_break_out_of_the_drawing() -> None:
    drawn = drawing(bars("x", {"<script>a&b": 1}))
    assert [each.tag for each in drawn.iter() if each.tag.endswith("script")] == []


def test_values_are_counted_in_a_given_order() -> None:
    words = ["low", "very_low", "low"]
    assert list(counted(words, ("high", "low", "very_low")).items()) == [
        ("low", 2),
        ("very low", 1),
    ]
