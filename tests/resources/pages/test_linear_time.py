"""Reading takes time in proportion to the content, of any kind."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from resources.pages.extract import clean, decode, extract_html, extract_plain, storable
from resources.pages.scraper import without_marks

PIECES = ["A. ", "\n ", "[", "![a](", "**a", "<a ", "</", "&#", "\u202e", "Ã©", "location=", "糖。"]
READERS: list[Callable[[str], object]] = [
    storable,
    clean,
    without_marks,
    extract_plain,
    lambda text: decode(text.encode("utf-8"), "utf-8"),
    lambda text: decode(text.encode("cp1252", "replace")),
    lambda text: extract_html(text, "http://x.test/"),
    lambda text: extract_html(f"<html><body><p>{text}</p></body></html>", "http://x.test/"),
]


@pytest.mark.parametrize("piece", PIECES)
def test_a_text_of_one_piece_is_read_in_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    for read in READERS:
        read(text)
    assert time.process_time() - started < 15
