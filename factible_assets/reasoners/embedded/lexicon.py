"""The words and phrases by which pages are read, loaded from lexicon.yaml beside this file.

What belongs here: loading and compiling the lists, and looking words up by stem. What does not:
what a match means (page_text.py, reading/).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files

import yaml

from factible_assets.reasoners.embedded.text import stem

Pattern = re.Pattern[str]


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
    denies_what_follows: Pattern
    denies_what_precedes: Pattern
    denies_previous_sentence: Pattern
    affirms_previous_sentence: Pattern
    ruling: Pattern
    labels: Pattern
    divided: Pattern
    reports: Pattern
    families: dict[str, set[int]]
    opposites: dict[str, set[str]]
    light: frozenset[str]

    def same_family(self, first: str, second: str) -> bool:
        """Tell whether two stems are listed as standing for one another."""
        return not self.families.get(first, set()).isdisjoint(self.families.get(second, ()))

    def are_opposite(self, first: str, second: str) -> bool:
        """Tell whether two stems are listed as opposites."""
        return second in self.opposites.get(first, ())


def _any_of(patterns: list[str]) -> Pattern:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Read the lists that ship with the package. Loaded once."""
    source = files("factible_assets.reasoners.embedded").joinpath("lexicon.yaml")
    lists = yaml.safe_load(source.read_text(encoding="utf-8"))
    names = [field.name for field in fields(Lexicon) if field.type == "Pattern"]
    families: dict[str, set[int]] = {}
    for number, line in enumerate(lists["synonyms"]):
        for word in _stems(line):
            families.setdefault(word, set()).add(number)
    opposites: dict[str, set[str]] = {}
    for pair in lists["opposites"]:
        for one, other in (pair, reversed(pair)):
            for word in _stems(one):
                opposites.setdefault(word, set()).update(_stems(other))
    return Lexicon(
        abbreviations=frozenset(lists["abbreviations"].split()),
        walls=tuple((wall["says"], _any_of(wall["patterns"])) for wall in lists["walls"]),
        families=families,
        opposites=opposites,
        light=_stems(lists["light"]),
        **{name: _any_of(lists[name]) for name in names},
    )
