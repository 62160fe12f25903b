"""The words and phrases by which pages are read, loaded from lexicon.yaml beside this file.

What belongs here: loading and compiling the lists, and looking words up by stem. What does not:
what a match means (page_text.py, fact_checks.py, reading/).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import yaml

from factible_assets.reasoners.embedded.text import stem

Pattern = re.Pattern[str]
RatingWord = Literal["true", "false", "mixed", "unproven"]
_RATINGS: tuple[RatingWord, ...] = ("mixed", "unproven", "false", "true")
"""In the order in which they are tried: "partly true" is mixed."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All lists, compiled. Patterns match folded text; words are compared by stem."""

    abbreviations: frozenset[str]
    walls: tuple[tuple[str, Pattern], ...]
    furniture: Pattern
    addresses_visitor: Pattern
    instructions: Pattern
    opens_orders: Pattern
    closes_orders: Pattern
    set_aside: Pattern
    not_denials: Pattern
    negations: Pattern
    names_a_belief: Pattern
    denies_what_follows: Pattern
    denies_what_precedes: Pattern
    denies_previous_sentence: Pattern
    affirms_previous_sentence: Pattern
    divided: Pattern
    divides_previous_sentence: Pattern
    unsettled: Pattern
    answers_in_part: Pattern
    ratings: tuple[tuple[RatingWord, Pattern], ...]
    rates: Pattern
    reports: Pattern
    families: dict[str, frozenset[int]]
    opposites: dict[str, frozenset[str]]
    light: frozenset[str]

    def same_family(self, first: str, second: str) -> bool:
        """Tell whether two stems are listed as standing for one another."""
        return not self.families.get(first, _NONE).isdisjoint(self.families.get(second, _NONE))

    def are_opposite(self, first: str, second: str) -> bool:
        """Tell whether two stems are listed as opposites."""
        return second in self.opposites.get(first, _NO_WORDS)


_NONE: frozenset[int] = frozenset()
_NO_WORDS: frozenset[str] = frozenset()


def _any_of(patterns: list[str]) -> Pattern:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


def _families(lines: list[str]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(lines):
        for word in _stems(line):
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _opposites(pairs: list[list[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        for word in _stems(one):
            found.setdefault(word, set()).update(_stems(other))
        for word in _stems(other):
            found.setdefault(word, set()).update(_stems(one))
    return {word: frozenset(words) for word, words in found.items()}


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Read the lists that ship with the package. Loaded once."""
    source = files("factible_assets.reasoners.embedded").joinpath("lexicon.yaml")
    lists = yaml.safe_load(source.read_text(encoding="utf-8"))
    names = [field.name for field in fields(Lexicon) if field.type == "Pattern"]
    return Lexicon(
        abbreviations=frozenset(lists["abbreviations"].split()),
        walls=tuple((wall["says"], _any_of(wall["patterns"])) for wall in lists["walls"]),
        ratings=tuple((rating, _any_of(lists["ratings"][rating])) for rating in _RATINGS),
        families=_families(lists["synonyms"]),
        opposites=_opposites(lists["opposites"]),
        light=_stems(lists["light"]),
        **{name: _any_of(lists[name]) for name in names},
    )
