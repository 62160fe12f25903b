from __future__ import annotations

from pathlib import Path

import pytest

from factible_assets.exchange.json_items import (
    MAX_BYTES,
    MAX_LINE_BYTES,
    JsonItem,
    items_of_lines,
    items_of_list,
    read_lines,
)
from resources.text_files import PlacedError, read_text

FILE = Path("given.json")


def test_the_items_of_a_list_have_numbers_and_lines() -> None:
    text = '\n[ 1,\n {"a":\n 2}\n, 3]\n'
    assert list(items_of_list(text)) == [
        JsonItem(1, 1, 2),
        JsonItem({"a": 2}, 2, 3),
        JsonItem(3, 3, 5),
    ]
    assert list(items_of_list(" [ ] ")) == []


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("\n{}", 1, "not a JSON list"),
        ("[1,\n2,\n nope]", 3, "not JSON"),
        ("[1,\n2\n", 2, "A comma or the closing bracket is missing"),
        ("[1,]", 1, "not JSON"),
        ("[1] [2]", None, "Text follows the list"),
        ("[" * 200_000, None, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_list_of_json_is_refused(
    text: str, line: int | None, sentence: str
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
    assert "Extra data" in problems[2].sentence


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
