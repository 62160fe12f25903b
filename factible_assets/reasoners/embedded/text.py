"""Words of a text with raw offsets, stems and numbers, and whether the text is English.

Offsets are half-open code point indices into the given text. Folding happens per word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import yaml

# An abbreviation with inner dots, a number (with currency, separators, decimals, percent or an
# ordinal ending), or a word with inner apostrophes and hyphens.
_WORD = re.compile(
    r"""
      (?:[A-Za-z]\.){2,}                                   # U.S.  e.g.  a.m.
    | [$€£]?\d+(?:[.,:]\d+)*(?:%|(?:st|nd|rd|th|s|k|m|bn)\b)?   # $3.99  1,000  45%  1960s  10:30
    | [^\W\d_]\w*(?:['\u2019\-][^\W_]\w*)*                    # don't  long-term  COVID-19
    | \w+
    """,
    re.VERBOSE,
)


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text("utf-8"))
STOP_WORDS, NEGATIONS, NAMED_BY_LETTER, ABBREVIATIONS = (
    word_set(_WORDS[name])
    for name in ("stop_words", "negations", "named_by_letter", "abbreviations")
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word: `text[start:end]`; `norm` is its folded form."""

    norm: str
    start: int
    end: int


def fold(word: str) -> str:
    """Fold case and typographic apostrophes of a word. May change its length."""
    return word.replace("\u2019", "'").casefold()


def tokenise(text: str) -> list[Word]:
    """List the words of a text in order, with raw offsets.

    "U.S.", "3.5%", "$1,000", "10:30", "don't" and "long-term" are one word each.
    """
    return [Word(fold(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]


def is_stop_word(word: str) -> bool:
    """Whether a folded word carries no topic, such as a function word or a single letter."""
    return word in STOP_WORDS or (len(word) == 1 and not word.isdigit())


_SHORTEST_INFLECTED = 4
_SHORTEST_ROOT = 3


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Reduce a folded word to the stem of its common inflections.

    "vaccines", "vaccine" → "vaccin"; "warming", "warmed" → "warm". Numbers and words with inner
    marks other than "'s" stay whole.
    """
    word = word.removesuffix("'s")
    if not word.isalpha() or len(word) < _SHORTEST_INFLECTED:
        return word
    # Singular first, so that "mammals" and "mammal" lose the same ending.
    if word.endswith("ies") and len(word) > _SHORTEST_INFLECTED:
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word.removesuffix("es") if word.endswith("sses") else word[:-1]
    if len(word) < _SHORTEST_INFLECTED:
        return word
    for suffix, replacement, remaining in _WORDS["suffixes"]:
        if word.endswith(suffix) and len(word) - len(suffix) >= remaining:
            word = word.removesuffix(suffix) + replacement
            break
    # Inflection leaves a doubled consonant, a final e, or y for i.
    if len(word) > _SHORTEST_ROOT and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > _SHORTEST_ROOT and word[-1] == "e":
        word = word[:-1]
    return word[:-1] + "i" if len(word) >= _SHORTEST_ROOT and word[-1] == "y" else word


def content_stems(text: str) -> list[str]:
    """List the stems of the content words, in order and with repetitions."""
    return [stem(word.norm) for word in tokenise(text) if not is_stop_word(word.norm)]


# --- Language -----------------------------------------------------------------------------------

_ENGLISH_SHARE = 0.28
"""Of the words of English talks 38 to 60 % are stop words, of German, French, Spanish, Italian,
Portuguese and Dutch prose at most 18 %, of other scripts none."""
_FEWEST_WORDS = 30


def is_english(text: str, spoken: str = "") -> bool | None:
    """Whether a text is in English, the only language of the embedded engine; None if unknown.

    Fewer than thirty words with few stop words tell nothing. Then `spoken` decides, the language
    code of the video, if it is known.
    """
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(letter > "\u024f" for letter in letters) > len(letters):
        return False
    words = [word.norm for word in tokenise(text) if word.norm[0].isalpha()]
    if words and sum(word in STOP_WORDS for word in words) >= _ENGLISH_SHARE * len(words):
        return True
    if len(words) >= _FEWEST_WORDS:
        return False
    return spoken.startswith("en") if spoken else None


# --- Numbers ------------------------------------------------------------------------------------

NumberKind = Literal["plain", "percent", "money", "year", "ordinal"]

_UNIT_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_UNITS = {word: value for value, word in enumerate(_UNIT_WORDS.split())}
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * tens for tens, word in enumerate(_TEN_WORDS.split(), start=2)}
_BELOW_HUNDRED = {
    **_UNITS,
    **_TENS,
    **{f"{ten}-{one}": _TENS[ten] + _UNITS[one] for ten in _TENS for one in _UNITS},
}
"""Number words below a hundred, such as "thirty-five"."""
_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "mn": 1e6,
    "m": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "trillion": 1e12,
}
_SPOKEN_SCALES = {word: scale for word, scale in _SCALES.items() if len(word) > len("bn")}
_HUNDRED = 100
_WITH_REST = 10_000
"""From this value on, "and" begins another number: "five million and two dogs"."""
_DIGITS = "0123456789"
MONTHS = word_set(
    "january february march april may june july august september october november december"
)
_ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_PERCENT_WORDS = frozenset({"percent", "percentage"})
_PERCENT_SIGN = re.compile(r"\s?%")
_MONEY_WORDS = frozenset(
    {"dollar", "dollars", "euro", "euros", "pound", "pounds", "cent", "cents", "bucks", "usd"}
)
_FIGURE = re.compile(
    r"(?P<currency>[$€£])?(?P<digits>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<ending>%|st|nd|rd|th|s|k|m|bn)?"
)
_FIRST_YEAR, _LAST_YEAR = 1500, 2100
_CENTURIES = range(_FIRST_YEAR // _HUNDRED, _LAST_YEAR // _HUNDRED)
_DECADES = {f"{ten[:-1]}ies": value for ten, value in _TENS.items()}
_SURE_CENTURIES = word_set("seventeen eighteen nineteen")
_COUNTED = (
    _SCALES.keys() | _MONEY_WORDS | word_set("seconds minute minutes hours days years dollar")
)
"""Units after which two adjacent numbers are no year: "eighteen twenty minute interviews"."""
_COUNTS_ONE = frozenset({"only", "just", "exactly", "single", "has", "have", "had"})
_BEFORE_YEAR = frozenset(
    {"in", "since", "until", "from", "by", "before", "after", "year", "ad", *MONTHS}
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text.

    `value` is in plain units (2.5 million is 2,500,000; 45 % is 45); a decade ("1960s") is its
    first year. `unit` is the stem of the next content word, if any ("70 countries" → "countr").
    `start` and `end` are the raw span with scale and per cent sign, without the unit.
    """

    value: float
    kind: NumberKind
    unit: str | None
    start: int
    end: int


def find_numbers(text: str) -> list[Number]:
    """List the numbers of a text, in figures or in words, in order.

    "one" alone is mostly a pronoun and counts only before a scale or per cent, or after words such
    as "only".
    """
    words = tokenise(text)
    numbers: list[Number] = []
    position = 0
    while position < len(words):
        read = _read_value(words, position)
        if read is None:
            position += 1
            continue
        numbers.append(_finish(text, words, position, read))
        position += read[2]
    return numbers


def _read_value(words: list[Word], position: int) -> tuple[float, NumberKind, int] | None:
    """Read the number at a position: value, kind, count of words; None if there is none."""
    figure = _FIGURE.fullmatch(words[position].norm)
    if figure is not None:
        return _read_figure(figure, words, position)
    if (year := _read_year(words, position)) is not None:
        return year
    value, taken = _read_words(words, position)
    is_pronoun = (
        taken == 1
        and words[position].norm == "one"
        and not _is_percent(words, position + 1)
        and not (position and words[position - 1].norm in _COUNTS_ONE)
    )
    if taken == 0 or is_pronoun:
        return None
    is_told = position > 0 and words[position - 1].norm in _BEFORE_YEAR - {"by", "from"}
    unit = [word.norm for word in words[position + taken : position + taken + 1]]
    is_year = is_told and _FIRST_YEAR <= value <= _LAST_YEAR and all(map(is_stop_word, unit))
    return value, "year" if is_year else "plain", taken


def _read_figure(
    figure: re.Match[str], words: list[Word], position: int
) -> tuple[float, NumberKind, int]:
    digits, ending = figure["digits"], figure["ending"]
    value = float(digits.replace(",", ""))
    kind: NumberKind = "plain"
    if figure["currency"]:
        kind = "money"
    elif ending == "%":
        kind = "percent"
    elif ending in _ORDINAL_ENDINGS:
        kind = "ordinal"
    elif digits.isdigit() and _FIRST_YEAR <= value <= _LAST_YEAR:
        kind = "year"
    value *= _SCALES.get(ending or "", 1.0)
    taken = 1
    while position + taken < len(words) and words[position + taken].norm in _SCALES:
        value *= _SCALES[words[position + taken].norm]
        kind = "plain" if kind == "year" else kind
        taken += 1
    goes_on = taken > 1 and _HUNDRED <= value < _WITH_REST
    rest, more = _read_rest(words, position + taken) if goes_on else (0, 0)
    return value + rest, kind, taken + more


def _read_rest(words: list[Word], position: int) -> tuple[int, int]:
    """Read the part after "and" in "a hundred and fifty"; (0, 0) if there is none."""
    if position >= len(words) or words[position].norm != "and" or _opens_another(words, position):
        return 0, 0
    below, taken = _read_below_hundred(words, position + 1)
    return below, taken + 1 if taken else 0


def _read_below_hundred(words: list[Word], position: int) -> tuple[int, int]:
    """Read "forty-five", "forty five" or "five": value and count of words, 0 if none."""
    first, *second = [word.norm for word in words[position : position + 2]] or [""]
    value = _BELOW_HUNDRED.get(first)
    unit = _UNITS.get(second[0], 0) if second and value in _TENS.values() else 0
    if value is None:
        return 0, 0
    return (value + unit, 2) if 0 < unit < len(_DIGITS) else (value, 1)


def _read_year(words: list[Word], position: int) -> tuple[float, NumberKind, int] | None:
    """Read a year spoken in two halves: "nineteen forty five", "the nineteen eighties".

    Ambiguous pairs ("eighteen nineteen years old", "twenty thirty") are years only after words
    such as "in".
    """
    century, half = ([*(word.norm for word in words[position : position + 2]), ""])[:2]
    hundreds = _UNITS.get(century, _TENS.get(century))
    if hundreds is None or hundreds not in _CENTURIES:
        return None
    within, taken = _read_below_hundred(words, position + 1)
    within, taken = within or _DECADES.get(half, 0), 1 + (taken or 1)
    before = words[position - 1].norm if position else ""
    after = [word.norm for word in words[position + taken : position + taken + 1]]
    is_sure = century in _SURE_CENTURIES and within >= _TENS["twenty"] and before != "at"
    is_told = before in _BEFORE_YEAR and all(map(is_stop_word, after))
    is_counted = _is_percent(words, position + taken) or not _COUNTED.isdisjoint(after)
    if within < len(_DIGITS) or not (is_sure or is_told) or is_counted:
        return None
    return float(_HUNDRED * hundreds + within), "year", taken


def _read_words(words: list[Word], position: int) -> tuple[float, int]:
    """Read a number in words: "two hundred and fifty thousand" is 250,000."""
    total = current = 0.0
    taken = used = 0
    while position + taken < len(words):
        word = words[position + taken].norm
        step, scale = _BELOW_HUNDRED.get(word), _SPOKEN_SCALES.get(word)
        below = current % _HUNDRED
        # "forty two" goes on, "two three" does not.
        fits = below == 0 or (below in _TENS.values() and 0 < (step or 0) < len(_DIGITS))
        if step is not None and fits:
            current += step
        elif scale is not None and used:
            current = max(current, 1.0) * scale
            if scale > _HUNDRED:
                total, current = total + current, 0.0
        elif (
            word != "and"
            or not (current >= _HUNDRED or _HUNDRED <= total < _WITH_REST)
            or _opens_another(words, position + taken)
        ):
            break
        taken += 1
        if word != "and":
            used = taken
    return _read_decimals(words, position, total + current, used)


def _opens_another(words: list[Word], conjunction: int) -> bool:
    """Whether another number follows an "and": "one hundred and two hundred".

    Within one number the scales grow: "two hundred and fifty thousand".
    """
    scale = _SCALES.get(words[conjunction - 1].norm, _HUNDRED)
    _, taken = _read_below_hundred(words, conjunction + 1)
    after = conjunction + 1 + taken
    following = _SCALES.get(words[after].norm) if after < len(words) else None
    return _is_percent(words, after) or (following is not None and following <= scale)


def _read_decimals(words: list[Word], position: int, value: float, taken: int) -> tuple[float, int]:
    """Add spoken decimals: "seven point five" is 7.5."""
    place = position + taken
    if not taken or place + 1 >= len(words) or words[place].norm != "point":
        return value, taken
    digits = ""
    for word in words[place + 1 :]:
        digit = _UNITS.get(word.norm, _HUNDRED)
        if digit >= len(_DIGITS):
            break
        digits += _DIGITS[digit]
    if not digits:
        return value, taken
    taken += 1 + len(digits)
    scale = (
        _SPOKEN_SCALES.get(words[position + taken].norm) if position + taken < len(words) else None
    )
    return float(f"{value:.0f}.{digits}") * (scale or 1), taken + (scale is not None)


def _is_percent(words: list[Word], position: int) -> bool:
    if position >= len(words):
        return False
    if words[position].norm == "per" and position + 1 < len(words):
        return words[position + 1].norm == "cent"
    return words[position].norm in _PERCENT_WORDS


_OR = frozenset({"more", "less", "fewer", "so"})
"""Words between "or" and the unit of a number: "ten or more years"."""


def _finish(
    text: str, words: list[Word], position: int, read: tuple[float, NumberKind, int]
) -> Number:
    """Add the per cent sign, currency or unit after a number."""
    value, kind, taken = read
    last = position + taken
    end = words[last - 1].end
    if _PERCENT_SIGN.match(text, end):
        kind, end = "percent", text.index("%", end) + 1
    elif _is_percent(words, last):
        kind = "percent"
        last += 2 if words[last].norm == "per" else 1
        end = words[last - 1].end
    elif last < len(words) and words[last].norm in _MONEY_WORDS:
        kind = "money"
    if [word.norm for word in words[last : last + 1]] == ["or"]:
        last += 2 * (last + 1 < len(words) and words[last + 1].norm in _OR)
    unit = None
    if last < len(words):
        word, gap = words[last], text[words[last - 1].end : words[last].start]
        ends = is_stop_word(word.norm) or word.norm[0].isdigit() or set(gap) & set(".,;:!?")
        unit = None if ends else stem(word.norm)
    if (
        kind == "plain"
        and unit is None
        and taken == 1
        and position
        and words[position].norm.isdigit()
        and len(words[position].norm) > len("bc")
        and words[position - 1].norm in _BEFORE_YEAR
        and value < _FIRST_YEAR
    ):
        kind = "year"
    return Number(value, kind, unit, words[position].start, end)
