from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.exchange.json_items import (
    MAX_BYTES,
    MAX_LINE_BYTES,
    JsonItem,
    items_of_lines,
    items_of_list,
    read_lines,
    whole,
)
from resources.lines import PlacedError, read_text

FILE = Path("given.json")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 1]))
def test_a_list_is_read_item_by_item(values: list[object], indent: int | None) -> None:
    text = json.dumps(values, indent=indent)
    items = list(items_of_list(text))
    assert [item.value for item in items] == values
    assert [json.loads(item.text) for item in items] == values
    assert [item.number for item in items] == list(range(1, len(values) + 1))
    lines = text.split("\n")
    assert all(item.text.split("\n")[0] in lines[item.line - 1] for item in items)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("", 1, "not a JSON list"),
        ("\n{}", 2, "not a JSON list"),
        ("[1,\n2,\n nope]", 3, "not valid JSON"),
        ("[1\n2]", 2, "comma or the end is missing"),
        ("[1", 1, "comma or the end is missing"),
        ("[1,\n]", 2, "No item follows the comma"),
        ('[{"a": 1, "a": 2}]', 1, "'a' is written twice"),
        ("[NaN]", 1, "NaN is no number"),
        ("[" + "9" * 5000 + "]", 1, "cannot be used"),
        ("[" * 200_000, 1, "nested too deeply"),
        ('[{"a":' * 100_000, 1, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_list_of_json_is_told_with_its_line(
    text: str, line: int, sentence: str
) -> None:
    with pytest.raises(PlacedError) as failed:
        list(items_of_list(text))
    assert failed.value.line == line
    assert sentence in failed.value.sentence


def test_lines_go_on_after_one_that_is_no_json() -> None:
    raw = [b'\xef\xbb\xbf{"a": 1}\n', b"\n", b"nope\n", b"\xff\n", b"1 2\n", b"2"]
    read = list(items_of_lines(raw, FILE))
    assert [each.value for each in read if isinstance(each, JsonItem)] == [{"a": 1}, 2]
    problems = [each for each in read if not isinstance(each, JsonItem)]
    assert [problem.line for problem in problems] == [3, 4, 5]
    assert "UTF-8" in problems[1].sentence
    assert "More than one value" in problems[2].sentence


def test_a_line_without_end_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "huge.jsonl"
    with file.open("wb") as stream:
        stream.write(b'{"a": 1}\n')
        stream.truncate(10 * MAX_LINE_BYTES)
    lines = list(read_lines(file))
    assert [len(line) for line in lines] == [9, MAX_LINE_BYTES + 1]
    first, second = items_of_lines(lines, file)
    assert isinstance(first, JsonItem)
    assert not isinstance(second, JsonItem)
    assert "longer than 4 MB" in second.sentence


def test_a_file_that_is_too_large_or_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    with pytest.raises(PlacedError, match="larger than 64 MB"):
        read_text(huge, MAX_BYTES)
    with pytest.raises(PlacedError, match="no such file"):
        read_text(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'["a",\n"\xe9"]')
    with pytest.raises(PlacedError, match="UTF-8"):
        read_text(tmp_path / "latin.json")
    with pytest.raises(PlacedError, match="no such file"):
        list(read_lines(tmp_path / "none.jsonl"))


def test_what_follows_a_value_is_told() -> None:
    assert whole(' {"a": 1}\n').value == {"a": 1}
    with pytest.raises(PlacedError, match="More text"):
        whole("{}\n{}")
