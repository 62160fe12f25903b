"""Days in the words of search engines, of many languages."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.dates import read_day

NOW = datetime(2025, 6, 15, 2, tzinfo=UTC)
TODAY = NOW.date()
FIFTH = date(2021, 3, 5)


@pytest.mark.parametrize(
    "words",
    [
        "Mar 5, 2021",
        "March 5, 2021",
        "5 Mar 2021",
        "2021-03-05",
        "2021-03-05T23:59:00+01:00",
        "Fri, 05 Mar 2021 10:00:00 GMT",
        "5. März 2021",
        "5 mars 2021",
        "5 de marzo de 2021",
        "5 марта 2021",
        "2021年3月5日",
        "05.03.2021",
        "5.3.21",
        "2021/03/05",
    ],
)
def test_a_date_is_read_in_any_language(words: str) -> None:
    assert read_day(words, NOW) == FIFTH


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("an hour ago", 0),
        ("5 hours ago", 1),
        ("Yesterday", 1),
        ("3 days ago", 3),
        ("vor 3 Tagen", 3),
        ("il y a 2 jours", 2),
        ("hace 2 días", 2),
        ("3天前", 3),
        ("2日前", 2),
        ("1 week ago", 7),
        ("1 month ago", 31),
    ],
)
def test_a_relative_date_counts_from_now(words: str, days: int) -> None:
    assert read_day(words, NOW) == TODAY - timedelta(days=days)


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("March 2021", date(2021, 3, 31)),
        ("2021", date(2021, 12, 31)),
        ("05/03/2021", date(2021, 5, 3)),
        ("25/03/2021", date(2021, 3, 25)),
        ("Sept 5", date(2024, 9, 5)),
    ],
)
def test_an_open_date_is_the_last_past_day_that_it_allows(words: str, day: date) -> None:
    assert read_day(words, NOW) == day


@pytest.mark.parametrize(
    "words",
    ["", "5", "12:30", "Feb 30, 2021", "yesterday-ish", "10+ answers", "5 Mar 2031", "a" * 99],
)
def test_words_that_name_no_past_day_are_none(words: str) -> None:
    assert read_day(words, NOW) is None


@given(st.text(max_size=60) | st.from_regex(r"\d{1,6} (day|year|month)s? ago", fullmatch=True))
def test_any_text_is_a_day_that_has_come_or_none(words: str) -> None:
    day = read_day(words, NOW)
    assert day is None or words[:10] == day.isoformat() or day <= TODAY + timedelta(days=1)
