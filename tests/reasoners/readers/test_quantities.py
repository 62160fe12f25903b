"""Numbers of a page agree or conflict with those of a claim."""

from __future__ import annotations

import pytest

from factible_assets.reasoners.readers.quantities import compare_quantities, find_quantities


@pytest.mark.parametrize(
    ("claim", "page", "agreement"),
    [
        ("there are 70 countries", "there are 70 countries", "agrees"),
        ("it is 8,849 metres high", "it is 8,848.86 m high", "agrees"),
        ("it weighs 5 kg", "it weighs 5,000 grams", "agrees"),
        ("more than 4 million people", "4.5 million people", "agrees"),
        ("over 40 percent", "60%", "agrees"),
        ("more than 4.1 million people", "3.9 million people", "conflicts"),
        ("more than 4.1 million people", "over 3.9 million people", "agrees"),
        ("less than 740 cases", "747 officially confirmed cases", "conflicts"),
        ("Over 30 cases", "45 cases", "agrees"),
        ("less than 740 cases", "more than 740 cases", "silent"),
        ("less than 740 cases", "35 died", "silent"),
        ("over 30 critics", "72 out of 100", "silent"),
        ("over 30 critics", "40 out of 100", "agrees"),
        ("seven bones", "only seven bones", "agrees"),
        ("in 1969", "in 1968", "conflicts"),
        ("before 2017", "in 2016", "agrees"),
        ("after 1956", "in 1957", "agrees"),
        ("since 2010", "in 2005", "conflicts"),
        ("in the 1980s", "in 1984", "agrees"),
        ("it ended in 1945", "it ended by 1950", "silent"),
        ("it ended in 1960", "it ended by 1950", "conflicts"),
        ("it opened before 2000", "it opened before 2017", "silent"),
        ("it opened after 1900", "it opened before 2000", "silent"),
        ("it costs $3", "it costs $30", "conflicts"),
        ("it grew by -3%", "it grew by 3%", "conflicts"),
        ("it is \u221260 degrees", "it is minus 60 degrees", "agrees"),
        ("aged 20-25 years", "aged 20 -25 years", "agrees"),
        ("no more than 50 cars", "120 cars", "conflicts"),
        ("No more than 50 cars", "40 cars", "agrees"),
        ("it doesn't exceed 50 cars", "at most 50 cars", "agrees"),
        ("no fewer than 50 cars", "80 cars", "agrees"),
        ("over the past 10 years", "over the past 25 years", "conflicts"),
        ("6 feet 2 inches", "188 cm", "agrees"),
        ("2 hours and 30 minutes", "150 minutes", "agrees"),
        ("1 m 88 cm", "188 cm", "agrees"),
        ("10 percent", "between 30 and 50 percent, or 70 percent", "silent"),
        ("40 percent", "45 percent", "silent"),
        ("up to 15 hours", "between 18 and 22 hours", "silent"),
        ("18 hours", "18 to 22 hours", "agrees"),
        ("five chambers", "four chambers", "conflicts"),
        ("40 percent", "a lot", "silent"),
        ("in 1990 it was 40 percent", "in 2010 it was 80 percent", "silent"),
        ("a lot", "40 percent", "agrees"),
        ("Apollo 11 landed", "Apollo 11 landed", "agrees"),
        ("Apollo 11 landed", "Apollo 12 landed", "silent"),
        ("a Boeing 747 flew", "a Boeing 737 flew", "silent"),
        ("Section 230 protects", "Section 512 protects", "silent"),
        ("Only 3 hearts beat", "Only 2 hearts beat", "conflicts"),
        ("5 cats", f"{'9' * 400} cats", "silent"),
        (f"5 {'million ' * 60}cats", f"{'9' * 306} km", "agrees"),
    ],
)
def test_numbers_agree_within_tolerance_and_conflict_only_when_far(
    claim: str, page: str, agreement: str
) -> None:
    assert compare_quantities(find_quantities(claim), find_quantities(page)) == agreement
