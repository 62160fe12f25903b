"""The words and phrases by which pages are read, loaded from lexicon.yaml beside this file.

What belongs here: loading and compiling the lists, and looking words up by stem. What does not:
what a match means (page_text.py, reading/).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from threading import Lock

import yaml

from factible_assets.reasoners.embedded.text import stem

Pattern = re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All lists, compiled. Patterns match folded text; words are compared by stem.

    Each stem has those that may stand for it, itself among them, and its opposites. Of the kinds
    and of the places, what is in one is in no other of the same set.
    """

    abbreviations: frozenset[str]
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
    divides_previous_sentence: Pattern
    affirms_previous_sentence: Pattern
    ruling: Pattern
    labels: Pattern
    corrects: Pattern
    unknown: Pattern
    divided: Pattern
    reports: Pattern
    synonyms: Mapping[str, Set[str]]
    opposites: Mapping[str, Set[str]]
    light: frozenset[str]
    kinds: tuple[frozenset[str], ...]
    places: tuple[frozenset[str], ...]


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


_loading = Lock()


def load_lexicon() -> Lexicon:
    """Return the lists that ship with the package; of threads that ask at once, one loads them."""
    with _loading:
        return _loaded()


@lru_cache(maxsize=1)
def _loaded() -> Lexicon:
    source = files("factible_assets.reasoners.readers").joinpath("lexicon.yaml")
    lists = yaml.safe_load(source.read_text(encoding="utf-8"))
    names = [field.name for field in fields(Lexicon) if field.type == "Pattern"]
    parts = lists["parts"]
    for each in names:
        listed = "|".join(f"(?:{pattern})" for pattern in lists[each])
        lists[each] = re.compile(re.sub(r"<(\w+)>", lambda part: parts[part[1]], listed))
    synonyms, opposites = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for line in lists["synonyms"]:
        for word in _stems(line):
            synonyms[word] |= _stems(line)
    for pair in lists["opposites"]:
        for one, other in (pair, reversed(pair)):
            for word in _stems(one):
                opposites[word] |= _stems(other)
    return Lexicon(
        abbreviations=frozenset(lists["abbreviations"].split()),
        synonyms=dict(synonyms),
        opposites=dict(opposites),
        light=_stems(lists["light"]),
        kinds=tuple(map(_stems, lists["kinds"])),
        places=tuple(frozenset(each.split(", ")) for each in lists["places"]),
        **{name: lists[name] for name in names},
    )
