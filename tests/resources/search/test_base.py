"""The restrictions that hold for every provider."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.search.base import SearchRequest


@pytest.mark.parametrize(
    ("url", "admitted"),
    [
        ("https://blog.example/a", False),
        ("https://WWW.Blog.Example./a", False),
        ("https://blog.example:8080/a", False),
        ("https://user@blog.example/", False),
        ("https://myblog.example/a", True),
        ("https://blog.example.org/", True),
        ("https://other.example/blog.example", True),
        ("https://other.example/a.pdf", False),
        ("https://other.example/a.PDF?download=1#page=2", False),
        ("https://other.example/a%2Epdf", False),
        ("https://other.example/a.pdf/read", True),
        ("https://other.example/?file=a.pdf", True),
        ("https://pdf/", True),
        ("not a url", True),
        ("http://[broken", True),
    ],
)
def test_domains_and_file_types_are_left_out(url: str, admitted: bool) -> None:
    request = SearchRequest(
        "q", limit=1, exclude_domains=("Blog.example",), exclude_file_types=(".PDF",)
    )
    assert request.admits_url(url) is admitted


@pytest.mark.parametrize(
    ("day", "admitted"),
    [
        (date(2019, 12, 31), False),
        (date(2020, 1, 1), True),
        (date(2020, 12, 31), True),
        (date(2021, 1, 1), False),
        (None, True),
    ],
)
def test_the_first_day_belongs_to_a_period_and_the_last_does_not(
    day: date | None, admitted: bool
) -> None:
    request = SearchRequest("q", limit=1, after=date(2020, 1, 1), before=date(2021, 1, 1))
    assert request.admits_day(day) is admitted


@given(st.text(), st.text(min_size=1), st.text(min_size=1))
def test_any_url_is_admitted_or_not(url: str, domain: str, kind: str) -> None:
    assert SearchRequest("q", limit=1).admits_url(url)
    request = SearchRequest("q", limit=1, exclude_domains=(domain,), exclude_file_types=(kind,))
    assert request.admits_url(url) in {True, False}
