"""Numbers with their units, and whether a page's agree with a claim's.

What belongs here: units that measure the same, tolerance, "more than" and "about". What does not:
reading numbers out of text (text.py), what an agreement means for a stance (stance.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Literal

from factible_assets.reasoners.embedded.text import Number, find_numbers, is_stop_word, stem

Agreement = Literal["silent", "agrees", "conflicts"]
"""`silent`: the page states no number that can be compared, or one that is neither close nor far.
`agrees`: all of the claim's are met, if it has any. `conflicts`: one is missed."""

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
_SCALES = {stem(word): row[:2] for row in _UNITS for word in row[2].split()}
UNIT_STEMS = frozenset(_SCALES)
"""Stems of the units that measure; a unit belongs to its figure and is no word of its own."""

Bound = Literal["exact", "about", "at_least", "at_most"]
_TO_NUMBER = r"\s*(\w+\s){0,2}(us)?$"
_BOUNDS: dict[Bound, re.Pattern[str]] = {
    "at_least": re.compile(
        r"\b(more than|over|at least|above|exceed\w*|(greater|higher) than|upwards? of"
        r"|minimum of|no (less|fewer) than)" + _TO_NUMBER
    ),
    "at_most": re.compile(
        r"\b((less|lower|fewer) than|under|at most|below|up to|no more than|maximum of)"
        + _TO_NUMBER
    ),
    "about": re.compile(
        r"(\b(about|around|roughly|nearly|almost|approximately|some|estimated|close to|circa)|~)"
        + _TO_NUMBER
    ),
}
_BOUNDS_OF_YEAR: dict[Bound, re.Pattern[str]] = {
    "at_least": re.compile(r"\b(after|since|later than)( the)?\s*$"),
    "at_most": re.compile(r"\b(before|prior to|by|until)( the)?\s*$"),
}

_OF_MORE = re.compile(r"\s+of (?:its|his|her|their|the|these|those)\b")
"""After a count of what there may be more of: "two of its hearts"."""

_WORDS_AFTER = re.compile(r"(?: [a-z][a-z'-]*){1,3}", re.IGNORECASE)
"""What a number counts is among the next words: "747 officially confirmed cases"."""
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_DECADE, _YEARS = 10, 100
_CENTURY = re.compile(r"( *)[- ]centur(?!y fox)")  # the film studio is no time
_MID = re.compile(r"\bmid-(?=\d)")
_CENTURY_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first"
)
_CENTURIES = _CENTURY_WORDS.split()
_IN_WORDS = re.compile(
    rf"(?<!twenty )\b(?:{'|'.join(_CENTURIES)})(?=[- ]centur)"
    r"|(?<!half )(?<!in )(?<!of )\ba(?= (?:hundred|thousand|million|billion|trillion)\b)"
)
"""Centuries and "a million" in words, which are numbers only where figures are compared; not "half
a million", "once in a hundred years"."""

_CLOSE, _CLOSE_ABOUT = 0.05, 0.15
"""Relative difference up to which a number may be rounded, and up to which it is about another."""
_RANGE = re.compile(r"\s*(?:and|to|or|[-\u2013])\s*")
"""Between two numbers of one unit: "18 to 22 hours"."""
_LIKE_SIZE = 2.0
"""How many times as large a bare number may be as a bound that it is held against."""
_FAR = 0.3
"""Relative difference beyond which they conflict; between, nothing is concluded."""
_REACH = 30


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in comparable form.

    `dimension` is a measure, a kind or "count"; `counts` are the stems of which one is what is
    counted ("747 officially confirmed cases"), none if nothing is named.
    """

    value: float
    dimension: str
    bound: Bound
    half_step: float
    start: int
    end: int
    counts: frozenset[str] = frozenset()

    def is_like(self, other: Quantity) -> bool:
        """Tell whether both measure or count the same: "740 cases", "747 confirmed cases"."""
        return self.dimension == other.dimension != "count" or bool(self.counts & other.counts)


def find_quantities(text: str) -> list[Quantity]:
    """List the quantities of a text (folded text is fine), in order."""
    text = _IN_WORDS.sub(_in_figures, _MID.sub("mid ", text))
    found = find_numbers(text)
    for at, (first, last) in enumerate(pairwise(found)):
        is_like = first.kind == last.kind and last.unit and not first.unit
        if is_like and _RANGE.fullmatch(text[first.end : last.start]):
            found[at] = replace(first, unit=last.unit, kind=last.kind)
    return [_quantity(text, number) for number in found]


def _in_figures(match: re.Match[str]) -> str:
    """Return figures as long as the word that they stand for: offsets stay."""
    word = match[0]
    return "1" if word == "a" else f"{_CENTURIES.index(word) + 1}th".ljust(len(word))


def _quantity(text: str, number: Number) -> Quantity:
    raw = text[number.start : number.end]
    before = text[max(0, number.start - _REACH) : number.start]
    value, unit, dimension, factor, half = number.value, number.unit, str(number.kind), 1.0, 0.0
    end = number.end
    if dimension == "ordinal" and (century := _CENTURY.match(text, end)):
        end = century.end(1)  # with what a word is longer than its figures
        dimension, value, half = "year", _YEARS * (value - 1) + 1, (_YEARS - 1) / 2
    if dimension == "year":
        half = (_DECADE - 1) / 2 if raw.endswith("s") else half
        bound = _bound(before, _BOUNDS_OF_YEAR)
        return Quantity(value + half, dimension, bound, half, number.start, end)
    if dimension == "plain":
        if raw.endswith(" m"):
            # After a space, a lone "m" is metres; millions are written together or in full.
            value, unit = value / 1e6, "m"
        dimension, factor = _SCALES.get(unit or "", ("count", 1.0))
    if (digits := _DIGITS.search(raw)) is not None:
        # Half a unit of the last written decimal: 8.8 stands for 8.75 to 8.85.
        written = float(digits.group().replace(",", ""))
        decimals = len(digits.group().partition(".")[2])
        half = 0.5 * math.pow(10, -decimals) * factor * (value / (written or value or 1.0))
    bound = _bound(before, _BOUNDS)
    counts: set[str] = set()
    if dimension == "count":
        after = _WORDS_AFTER.match(text, number.end)
        words = takewhile(lambda word: not is_stop_word(word), after[0].split() if after else ())
        counts = {*map(stem, words), *filter(None, [unit])}
        if bound == "exact" and _OF_MORE.match(text, number.end):
            bound = "at_least"
    return Quantity(value * factor, dimension, bound, half, number.start, end, frozenset(counts))


def _bound(before: str, bounds: dict[Bound, re.Pattern[str]]) -> Bound:
    return next((bound for bound, words in bounds.items() if words.search(before)), "exact")


def compare_quantities(claim: Sequence[Quantity], page: Sequence[Quantity]) -> Agreement:
    """Tell whether the numbers near a statement meet those of a claim.

    Each of the claim's quantities is compared with those of the same dimension. A conflict is
    concluded only where the page's sentence has a single candidate, so that a table of years or
    countries contradicts nothing.
    """
    outcomes = [_compare_one(wanted, page) for wanted in claim]
    if "silent" in outcomes or outcomes.count("conflicts") > 1:
        return "silent"
    if "conflicts" in outcomes:
        wanted = {quantity.value for quantity in claim if quantity.dimension == "year"}
        # "Since 1869 it has had nine" is said of today.
        years = {q.value for q in page if q.dimension == "year" and q.bound != "at_least"}
        is_year = claim[outcomes.index("conflicts")].dimension == "year"
        # Another year's figure is no conflict.
        return "conflicts" if is_year or years <= wanted else "silent"
    return "agrees"


def is_met(wanted: Quantity, page: Sequence[Quantity]) -> bool:
    """Tell whether one of a page's quantities is about the wanted one.

    What was counted may be called otherwise ("won five times", "with five titles"), unless the page
    counts the same things: "three hearts: two pump blood".
    """
    is_free = _is_counted(wanted) and not any(map(wanted.is_like, page))
    return any(
        _close(wanted, each)
        and (
            _comparable(wanted, each)
            or (is_free and _is_counted(each) and wanted.value == each.value)
        )
        for each in page
    )


def _compare_one(wanted: Quantity, page: Sequence[Quantity]) -> Agreement:
    if is_met(wanted, page):
        return "agrees"
    candidates = [q for q in page if wanted.is_like(q)] or [
        q for q in page if _comparable(wanted, q)
    ]
    # Of a century all years are told at once: "from 1756 to 1763".
    is_one = len({each.value for each in candidates}) == 1 or (
        wanted.dimension == "year" and wanted.half_step > _DECADE
    )
    if candidates and is_one and all(_far(wanted, each) for each in candidates):
        return "conflicts"
    return "silent"


def _comparable(first: Quantity, second: Quantity) -> bool:
    if first.is_like(second):
        return True
    # A bare number, or one whose unit was not recognised, may count the same thing, but not any
    # number of reviews is "under 200".
    is_near = first.value / _LIKE_SIZE <= second.value <= first.value * _LIKE_SIZE
    return _is_bare(first, second) and (first.bound == "exact" or is_near)


def _is_bare(first: Quantity, second: Quantity) -> bool:
    """Tell whether both count, and one of them does not say what."""
    return first.dimension == second.dimension == "count" and not (first.counts and second.counts)


def _close(wanted: Quantity, found: Quantity) -> bool:
    difference = abs(wanted.value - found.value)
    if wanted.dimension == "year":
        # "After 1956" and "before 2017" leave all later and all earlier years possible.
        possible = any(
            (one.bound == "at_least" and other.value > one.value)
            or (one.bound == "at_most" and other.value < one.value)
            for one, other in ((wanted, found), (found, wanted))
        )
        # That it was "in the 20th century" says little of 1916.
        return possible or difference <= max(
            wanted.half_step, min(found.half_step, (_DECADE - 1) / 2)
        )
    if difference <= max(wanted.half_step, found.half_step):
        return True
    if wanted.bound == "at_least" and found.bound != "at_most":
        return found.value >= wanted.value * (1 - _CLOSE * (found.bound != "exact"))
    if wanted.bound == "at_most" and found.bound != "at_least":
        return found.value <= wanted.value * (1 + _CLOSE * (found.bound != "exact"))
    greatest = max(abs(wanted.value), abs(found.value))
    if "about" in {wanted.bound, found.bound}:
        return difference <= _CLOSE_ABOUT * greatest
    # 300 may be 309, and 162 seats are not 169.
    return difference <= min(_CLOSE * greatest, max(map(_rounding, (wanted, found))))


def _rounding(quantity: Quantity) -> float:
    """Return half a unit of the last digit that is no zero: how far a rounded number may be off."""
    step = 2 * quantity.half_step or 1.0
    digits = round(quantity.value / step)
    while digits and digits % 10 == 0:
        digits, step = digits // 10, step * 10
    return step / 2


_COUNTED = 20


def _is_counted(quantity: Quantity) -> bool:
    """Tell whether a quantity is so few things that they were counted: four chambers, not five."""
    is_whole = quantity.value == int(quantity.value) and quantity.value <= _COUNTED
    return quantity.dimension == "count" and is_whole and quantity.bound == "exact"


def _far(wanted: Quantity, found: Quantity) -> bool:
    """Tell whether quantities of a kind that are not close are too far apart for both to hold."""
    if wanted.dimension == "ordinal":
        return False
    if wanted.dimension == "year":
        return abs(wanted.value - found.value) > max(wanted.half_step, found.half_step)
    bare = _is_bare(wanted, found)
    if not bare and _is_counted(wanted) and _is_counted(found):
        return True
    # "More than 13,650" is not so where it is 13,180.
    if not bare and wanted.bound in {"at_least", "at_most"} and found.bound == "exact":
        return True
    if (
        wanted.bound != "at_least" and found.bound == "at_least" and found.value < wanted.value
    ) or (wanted.bound != "at_most" and found.bound == "at_most" and found.value > wanted.value):
        return False
    return abs(wanted.value - found.value) > _FAR * max(abs(wanted.value), abs(found.value))
