"""Words and tables that several packages print."""

from __future__ import annotations

import pytest

from factible_assets.wording import cell


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("R&D | <b>", r"R&amp;D \| &lt;b&gt;"),
        (r"C:\<b>\&", r"C:\\&lt;b&gt;\\&amp;"),
        ("a\nb\u202e*c*", r"a b \*c\*"),
    ],
)
def test_a_cell_shows_hostile_text_as_it_is_written(text: str, escaped: str) -> None:
    assert cell(text) == escaped
