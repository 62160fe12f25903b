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

from resources.words import STOP_WORDS

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
NEGATIONS, NAMED_BY_LETTER, ABBREVIATIONS = (
    word_set(_WORDS[name]) for name in ("negations", "named_by_letter", "abbreviations")
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
    """Whether a folded word is a function word or a single letter."""
    return word in STOP_WORDS or (len(word) == 1 and not word.isdigit())


def is_abbreviation(word: str, before: str, following: str) -> bool:
    """Whether the full stop after a word belongs to it: "Dr.", "e.g.", the J of "J. Doe".

    `before` is the word before, `following` the text behind the full stop. "No." abbreviates
    "number" only before a digit. A function word with a capital begins a sentence: "5 p.m. The …".
    """
    folded = fold(word)
    if folded in {"no", "nos"}:
        return following[:1].isdigit()
    if folded in ABBREVIATIONS:
        after = _WORD.match(following)
        return not (after and following[0].isupper() and fold(after[0]) in STOP_WORDS)
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return is_initial and fold(before) not in NAMED_BY_LETTER


_SHORTEST_INFLECTED = 4
_SHORTEST_ROOT = 3


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Remove common English inflections from a folded word.

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

    For fewer than thirty words with few stop words, the language code of the video decides
    (`spoken`; empty if unknown).
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
_SPOKEN_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALES = {**_SPOKEN_SCALES, "k": 1e3, "mn": 1e6, "m": 1e6, "bn": 1e9}
_HUNDRED, _TEN, _MOST_WORDS = 100, 10, 10
_CODE = 1e100  # a larger number could overflow in other units
MONTHS = word_set(
    "january february march april may june july august september october november december"
)
_ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_PERCENT = re.compile(r"\s?(?:%|percent(?:age)?\b|per\s+cent\b)", re.IGNORECASE)
_MONEY_WORDS = word_set("dollar dollars euro euros pound pounds cent cents bucks usd")
_FIGURE = re.compile(
    r"(?P<currency>[$€£])?(?P<digits>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<ending>%|st|nd|rd|th|s|k|m|bn)?"
)
_FIRST_YEAR, _LAST_YEAR = 1500, 2100
_EARLY_YEAR = re.compile(r"\d{3,4}")
_BEFORE_YEAR = MONTHS | word_set("in since until from by before after year ad")


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

    "one" alone is mostly a pronoun and counts only before a scale or per cent. A hundred digits are
    a code.
    """
    words = tokenise(text)
    numbers: list[Number] = []
    position = 0
    while position < len(words):
        figure = _FIGURE.fullmatch(words[position].norm)
        if figure is not None:
            value, kind, count = _read_figure(figure, words, position)
        else:
            (value, count), kind = _read_words(words, position), "plain"
        if count:
            number = _finish(text, words, position, position + count, value, kind)
            is_pronoun = count == 1 and words[position].norm == "one" and number.kind != "percent"
            numbers += [number] if number.value < _CODE and not is_pronoun else []
        position += count or 1
    return numbers


def _read_figure(
    figure: re.Match[str], words: list[Word], position: int
) -> tuple[float, NumberKind, int]:
    """Return the value and the kind of a figure, and the number of its words."""
    digits, ending = figure["digits"], figure["ending"] or ""
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
    value *= _SCALES.get(ending, 1.0)
    count = 1
    while position + count < len(words) and words[position + count].norm in _SCALES:
        value *= _SCALES[words[position + count].norm]
        kind = "plain" if kind == "year" else kind
        count += 1
    return value, kind, count


def _read_words(words: list[Word], position: int) -> tuple[float, int]:
    """Return the value of a number in words, and the number of its words; 0 if there is none.

    "Two hundred and fifty thousand" is 250,000. "Two three" are two numbers.
    """
    total = current = 0.0
    count = 0
    norms = [word.norm for word in words[position : position + _MOST_WORDS]]
    for at, word in enumerate(norms):
        small, scale = _BELOW_HUNDRED.get(word), _SPOKEN_SCALES.get(word)
        rest = current % _HUNDRED
        if small is not None and (rest == 0 or (rest in _TENS.values() and 0 < small < _TEN)):
            current += small
        elif scale is not None and count:
            current *= scale
            if scale > _HUNDRED:
                total, current = total + current, 0.0
        elif word == "and" and norms[at - 1 : at] == ["hundred"]:
            continue
        else:
            break
        count = at + 1
    return total + current, count


def _finish(
    text: str, words: list[Word], first: int, last: int, value: float, kind: NumberKind
) -> Number:
    """Add the per cent sign, the currency or the unit to a number; `last` is the word after it."""
    end = words[last - 1].end
    percent = _PERCENT.match(text, end)
    if percent is not None:
        kind, end = "percent", percent.end()
    elif last < len(words) and words[last].norm in _MONEY_WORDS:
        kind = "money"
    after = next((word for word in words[last : last + 4] if word.start >= end), None)
    unit = None
    if after is not None and set(text[end : after.start]).isdisjoint(".,;:!?"):
        is_unit = not is_stop_word(after.norm) and not after.norm[0].isdigit()
        unit = stem(after.norm) if is_unit else None
    if kind == "plain" and unit is None and first and _EARLY_YEAR.fullmatch(words[first].norm):
        kind = "year" if words[first - 1].norm in _BEFORE_YEAR and last == first + 1 else kind
    return Number(value, kind, unit, words[first].start, end)
