"""Finds the quantities of a text, and tells whether those of a page agree with those of a claim.

A quantity is a number in a comparable unit, with its bound ("more than") and the counted things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from math import copysign, inf
from typing import Literal

from factible_assets.reasoners.embedded.text import MONTHS, Number, find_numbers, is_stop_word, stem

Bound = Literal["exact", "about", "at_least", "at_most"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in comparable form: `text[start:end]`."""

    value: float
    """In metres, kilograms or seconds, if it has a unit; the middle of a decade."""
    dimension: str
    """A measure ("length"), a kind ("percent", "money", "year", "ordinal"), or "count"."""
    bound: Bound
    bound_start: int
    """The offset at which the words of the bound begin; `start` if there are none."""
    start: int
    end: int
    half_decade: float = 0.0
    """4.5 years for a decade, 0 for any other number."""
    counts: frozenset[str] = frozenset()
    """The stems that may name the counted things; empty if nothing is named."""
    in_name: bool = False
    """Whether it may belong to a name, as in "Apollo 11"; such a number is the same or another."""

    def is_like(self, other: Quantity) -> bool:
        """Whether both measure or count the same: "740 cases", "747 confirmed cases"."""
        return self.dimension == other.dimension != "count" or bool(self.counts & other.counts)


_UNITS = (
    ("length", 1.0, "m metre metres meter meters"),
    ("length", 1e3, "km kilometre kilometres kilometer kilometers"),
    ("length", 1e-2, "cm centimetre centimetres centimeter centimeters"),
    ("length", 1e-3, "mm millimetre millimetres millimeter millimeters"),
    ("length", 1609.344, "mi mile miles"),
    ("length", 0.3048, "ft foot feet"),
    ("length", 0.0254, "inch inches"),
    ("mass", 1.0, "kg kilogram kilograms kilo kilos"),
    ("mass", 1e-3, "g gram grams"),
    ("mass", 1e3, "t tonne tonnes"),
    ("mass", 0.45359237, "lb lbs"),
    ("time", 1.0, "s sec second seconds"),
    ("time", 60.0, "min minute minutes"),
    ("time", 3600.0, "h hr hrs hour hours"),
    ("time", 86_400.0, "day days"),
    ("time", 604_800.0, "week weeks"),
    ("time", 2_629_800.0, "month months"),
    ("time", 31_557_600.0, "yr yrs year years"),
    ("time", 315_576_000.0, "decade decades"),
    ("time", 3_155_760_000.0, "century centuries"),
)
"""A dimension, the size of a unit in metres, kilograms or seconds, and its names."""
_SCALES = {
    stem(word): (dimension, size) for dimension, size, words in _UNITS for word in words.split()
}
UNIT_STEMS = frozenset(_SCALES)
_RANGE = re.compile(r"\s*(?:and|to|or|[-\u2013])\s*[-\u2212]?")
"""Between two numbers of one unit: "18 to 22 hours"."""
_COMPOUND = re.compile(r"\s?(\w+)\s(?:and\s)?")
"""Between the two numbers of a compound measure: "6 feet 2 inches"."""


def find_quantities(text: str) -> list[Quantity]:
    """List the quantities of a text (folded text is fine), in order."""
    numbers = find_numbers(text)
    for at, (first, last) in enumerate(pairwise(numbers)):
        lacks_unit = first.kind == last.kind and last.unit and not first.unit
        if lacks_unit and _RANGE.fullmatch(text[first.end : last.start]):
            numbers[at] = replace(first, unit=last.unit)
    quantities: list[Quantity] = []
    for number in numbers:
        previous = quantities[-1] if quantities else None
        quantity = _quantity(text, number, previous.end if previous else 0)
        joint = _COMPOUND.fullmatch(text, previous.end, quantity.start) if previous else None
        if previous and joint and _is_part(quantity, previous, joint[1]):
            value = previous.value + copysign(quantity.value, previous.value)
            quantities[-1] = replace(previous, value=value, end=quantity.end)
        else:
            quantities.append(quantity)
    return quantities


def _is_part(second: Quantity, first: Quantity, unit: str) -> bool:
    """Whether a quantity is less than one unit of the quantity before it: "6 feet 2 inches"."""
    dimension, size = _SCALES.get(stem(unit), ("", 0.0))
    return first.dimension == second.dimension == dimension and 0 <= second.value < size


_HALF_A_DECADE = 4.5
_SIGN = re.compile(r"(?:(?<![^\s(\[\"'\u201c])[-\u2212\u2013]|\bminus\s+)$", re.IGNORECASE)
"""Before a negative number, at the beginning of a word."""
_WORDS_AFTER = re.compile(r"(?: [a-z][a-z'-]*){1,3}", re.IGNORECASE)
"""May name the counted things: "747 officially confirmed cases"."""


def _quantity(text: str, number: Number, last_end: int) -> Quantity:
    """Read a number with its unit, sign and bound; `last_end` is the end of the number before."""
    raw = text[number.start : number.end]
    start, end = number.start, number.end
    if number.kind == "year":
        half = _HALF_A_DECADE if raw.endswith("s") else 0.0
        bound, bound_start = _bound(text, start, _BOUNDS_OF_YEAR)
        return Quantity(number.value + half, "year", bound, bound_start, start, end, half)
    value, unit, dimension, factor = number.value, number.unit, str(number.kind), 1.0
    before = text[last_end:start]
    sign = _SIGN.search(before)
    # A dash right after another number ("20 -25") makes a range.
    if sign and (last_end == 0 or before[: sign.start()].strip()):
        value, start = -value, last_end + sign.start()
    if dimension == "plain":
        if raw.endswith(" m"):
            # After a space, a lone "m" is metres; millions are written together or in full.
            value, unit, end = value / 1e6, "m", end - 2
        dimension, factor = _SCALES.get(unit or "", ("count", 1.0))
    bound, bound_start = _bound(text, start, _BOUNDS)
    counts, in_name = set[str](), False
    if dimension == "count":
        after = _WORDS_AFTER.match(text, end)
        words = takewhile(lambda word: not is_stop_word(word), after[0].split() if after else ())
        counts = {*map(stem, words), *filter(None, [unit])}
        in_name = raw.isdigit() and bound == "exact" and _is_named(before)
    span = (bound_start, start, end)
    return Quantity(
        value * factor, dimension, bound, *span, counts=frozenset(counts), in_name=in_name
    )


_CAPITALISED = re.compile(r"\b([A-Z][\w-]*) $")  # "Apollo "


def _is_named(before: str) -> bool:
    """Whether the word before a number may form a name with it: "Apollo 11", but not "May 5"."""
    match = _CAPITALISED.search(before)
    word = match[1].casefold() if match else ""
    return bool(word) and not is_stop_word(word) and word not in MONTHS


# A negator turns a bound: "no more than" is "at most".
_NEGATED = r"(?P<negator>\b(no(?=\s\w+\sthan\b)|not|never|cannot|\w+n['\u2019]t)\s+)?"
_OPPOSITES: dict[Bound, Bound] = {"at_least": "at_most", "at_most": "at_least"}
_TO_NUMBER = r"\s*((?!(past|last|next|previous|following|first)\b)\w+\s){0,2}(us)?$"
"""Words between a bound and its number. "Over the past 10 years" names a period, no bound."""
_BOUNDS: dict[Bound, re.Pattern[str]] = {
    "at_least": re.compile(
        _NEGATED + r"\b(more than|over|at least|above|exceed\w*|(greater|higher) than|upwards? of"
        r"|minimum of)" + _TO_NUMBER,
        re.IGNORECASE,
    ),
    "at_most": re.compile(
        _NEGATED + r"\b((less|lower|fewer) than|under|at most|below|up to|maximum of)" + _TO_NUMBER,
        re.IGNORECASE,
    ),
    "about": re.compile(
        r"(\b(about|around|roughly|nearly|almost|approximately|some|estimated|close to|circa)|~)"
        + _TO_NUMBER,
        re.IGNORECASE,
    ),
}
_BOUNDS_OF_YEAR: dict[Bound, re.Pattern[str]] = {
    "at_least": re.compile(r"\b(after|since|later than)( the)?\s*$", re.IGNORECASE),
    "at_most": re.compile(r"\b(before|prior to|by|until)( the)?\s*$", re.IGNORECASE),
}
_REACH = 30  # characters before a number in which a word may bound it


def _bound(text: str, start: int, bounds: dict[Bound, re.Pattern[str]]) -> tuple[Bound, int]:
    """Return the bound of the number at `start`, and where its words begin."""
    reach = max(0, start - _REACH)
    for bound, words in bounds.items():
        if match := words.search(text[reach:start]):
            is_turned = match.groupdict().get("negator") is not None
            return _OPPOSITES[bound] if is_turned else bound, reach + match.start()
    return "exact", start


# --- Comparing ----------------------------------------------------------------------------------

Agreement = Literal["silent", "agrees", "conflicts"]
"""`agrees`: the page states all numbers of the claim, if there are any. `conflicts`: it states
another number for one. `silent`: it states no comparable number, or one neither close nor far."""
_CLOSE = 0.05  # relative difference of rounded numbers
_FAR = 0.3  # relative difference beyond which numbers conflict; below it nothing follows
_LIKE_SIZE = 2.0  # largest ratio of a bare number to a bound that it may meet
_COUNTED = 20  # largest number of things that people count exactly


def compare_quantities(claim: Sequence[Quantity], page: Sequence[Quantity]) -> Agreement:
    """Compare the quantities of a claim with those of a sentence, by dimension.

    A conflict needs a single candidate in the sentence, so that a table of years or countries
    contradicts nothing.
    """
    outcomes = [_compare_one(claimed, page) for claimed in claim]
    if "silent" in outcomes or outcomes.count("conflicts") > 1:
        return "silent"
    if "conflicts" in outcomes:
        claim_years = {quantity.value for quantity in claim if quantity.dimension == "year"}
        page_years = {quantity.value for quantity in page if quantity.dimension == "year"}
        is_year = claim[outcomes.index("conflicts")].dimension == "year"
        # A figure for another year is no conflict.
        return "conflicts" if is_year or page_years <= claim_years else "silent"
    return "agrees"


def _compare_one(claimed: Quantity, page: Sequence[Quantity]) -> Agreement:
    if _is_met(claimed, page):
        return "agrees"
    candidates = [quantity for quantity in page if _are_comparable(claimed, quantity)]
    is_single = len({candidate.value for candidate in candidates}) == 1
    is_excluded = all(_exclude_each_other(claimed, candidate) for candidate in candidates)
    return "conflicts" if is_single and is_excluded else "silent"


def _is_met(claimed: Quantity, page: Sequence[Quantity]) -> bool:
    """Whether a quantity of the page equals the claimed one.

    The same count may have another name ("won five times", "with five titles"), unless the page
    counts the same things: "three hearts: two pump blood".
    """
    is_free = _is_counted(claimed) and not any(map(claimed.is_like, page))
    for stated in page:
        is_same_count = is_free and _is_counted(stated) and claimed.value == stated.value
        if (is_same_count or _are_comparable(claimed, stated)) and _agree(claimed, stated):
            return True
    return False


def _are_comparable(first: Quantity, second: Quantity) -> bool:
    """Whether two quantities are, or may be, of the same things."""
    if first.is_like(second):
        return True
    # A bare number may count the same things, but "under 200" says nothing of any number.
    is_near = first.value / _LIKE_SIZE <= second.value <= first.value * _LIKE_SIZE
    return _is_bare(first, second) and (first.bound == "exact" or is_near)


def _is_bare(first: Quantity, second: Quantity) -> bool:
    """Whether both are counts and one of them names nothing."""
    return first.dimension == second.dimension == "count" and not (first.counts and second.counts)


def _agree(claimed: Quantity, stated: Quantity) -> bool:
    """Whether a stated quantity of the same things says the claimed one, up to rounding."""
    if claimed.in_name or stated.in_name:
        return claimed.value == stated.value
    if {claimed.bound, stated.bound} == {"at_least", "at_most"}:
        return False  # "less than 60" does not follow from "more than 60" or "more than 50"
    is_year = claimed.dimension == "year"
    slack = 0.0 if is_year or stated.bound == "exact" else _CLOSE * abs(claimed.value)
    if claimed.bound == "at_least":
        return stated.value >= claimed.value - slack
    if claimed.bound == "at_most":
        return stated.value <= claimed.value + slack
    difference = abs(claimed.value - stated.value)
    if is_year:
        half_decade = max(claimed.half_decade, stated.half_decade)
        # "By 1950" allows 1945 but does not state it.
        return stated.bound == "exact" and difference <= half_decade
    return difference <= _CLOSE * max(abs(claimed.value), abs(stated.value))


def _is_counted(quantity: Quantity) -> bool:
    """Whether a quantity is small enough to be counted exactly: four chambers, not five."""
    is_whole = quantity.value.is_integer() and 0 <= quantity.value <= _COUNTED
    return quantity.dimension == "count" and is_whole and quantity.bound == "exact"


def _years(year: Quantity) -> tuple[float, float]:
    """Return the first and the last year that a bound or a decade allows."""
    first = -inf if year.bound == "at_most" else year.value - year.half_decade
    last = inf if year.bound == "at_least" else year.value + year.half_decade
    return first, last


def _exclude_each_other(claimed: Quantity, stated: Quantity) -> bool:
    """Whether two quantities that do not agree cannot both be true.

    Another number in a name may be of another thing.
    """
    if claimed.in_name or stated.in_name:
        return False
    if claimed.dimension == "year":
        (first, last), (earliest, latest) = map(_years, (claimed, stated))
        return last < earliest or latest < first
    are_counted = _is_counted(claimed) and _is_counted(stated)
    # 13,180 contradicts "more than 13,650".
    is_out_of_bound = claimed.bound in {"at_least", "at_most"} and stated.bound == "exact"
    if not _is_bare(claimed, stated) and (are_counted or is_out_of_bound):
        return True
    # "More than 50" leaves 60 possible.
    leaves_room = (stated.bound == "at_least" and stated.value < claimed.value) or (
        stated.bound == "at_most" and stated.value > claimed.value
    )
    if leaves_room and stated.bound != claimed.bound:
        return False
    return abs(claimed.value - stated.value) > _FAR * max(abs(claimed.value), abs(stated.value))
