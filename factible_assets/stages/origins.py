"""Which sources are independent of each other, and how much several sources are worth together.

Two sources share an origin if they stand under one registrable domain, or if at least half of the
shorter text's runs of eight words (shingles; Broder, On the resemblance and containment of
documents, 1997) occur in the longer: ten copies of one wire story are one origin. Pages that a user
keeps as files stand under a host that cannot exist (`.invalid`, RFC 2606); only their texts count.

The vote counts the heaviest set of sources of which no two share an origin. Unlike with clusters, a
page that quotes two independent stories does not join them, and one more source adds at most its
own weight: this bounds the effect of a missing source (verdict.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from factible_assets.records.tables import Evidence

SHINGLE_WORDS = 8
SHARED_STORY = 0.5
"""The share of the shorter text's shingles from which two texts are one story."""
SHARED_ERRORS = 0.3
"""Correlation of the errors of one reader on pages about one claim. Of claims with two to five
sources in three data sets, 0 to 0.3 give the same Brier scores and larger values worse ones, also
with each set left out in turn (benchmarks/labels.py): 0.3 is the most cautious of the best."""
_MOST = 0.97
"""The highest probability of one page: a few hundred pairs cannot show more."""
_WORD = re.compile(r"\w+")
Node = TypeVar("Node", bound=Hashable)


# --- One story ----------------------------------------------------------------------------------


class StoryIndex:
    """Compares the domains and texts of sources; `texts` maps content hashes to texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._shingles = cache(lambda content_hash: shingles(texts.get(content_hash, "")))

    def share_origin(self, one: Evidence, other: Evidence) -> bool:
        """Whether two sources tell one and the same story."""
        if one.domain == other.domain and not _is_file(one):
            return True
        if one.content_hash is None or other.content_hash is None:
            return False
        if one.content_hash == other.content_hash:
            return True
        first, second = map(self._shingles, (one.content_hash, other.content_hash))
        shorter = min(len(first), len(second))
        return shorter > 0 and len(first & second) >= SHARED_STORY * shorter


def _is_file(row: Evidence) -> bool:
    return row.domain.endswith(".invalid")


def shingles(text: str) -> frozenset[int]:
    """Return the hashes of a text's runs of eight words; of a shorter text, of all its words."""
    words = _WORD.findall(text.casefold())
    if not words:
        return frozenset()
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    return frozenset(hash(tuple(words[start : start + SHINGLE_WORDS])) for start in range(last))


def label_origins(evidence: Sequence[Evidence], stories: StoryIndex) -> tuple[Evidence, ...]:
    """Return the evidence with `origin` in every row of status ok.

    Sources that a chain of shared origins links get the domain of the first of them, or the path of
    a file. Readers see these labels; no weight depends on them.
    """
    read = {row.evidence_id: row for row in evidence if row.status == "ok"}
    linked = _links(tuple(read.values()), stories)
    labels: dict[str, str] = {}
    for part in _parts(frozenset(linked), linked):
        first = next(row for each, row in read.items() if each in part)
        path = first.canonical_url.partition("://")[2]
        labels |= dict.fromkeys(part, path if _is_file(first) else first.domain)
    return tuple(row.model_copy(update={"origin": labels.get(row.evidence_id)}) for row in evidence)


# --- Independent weight -------------------------------------------------------------------------


def independent_weight(
    sources: Sequence[Evidence], weight: Callable[[Evidence], int], stories: StoryIndex
) -> int:
    """Return the weight of the heaviest set of sources of which no two share an origin.

    Weights are whole numbers, so that a sum does not depend on its order.
    """
    linked = _links(sources, stories)
    return heaviest_independent_set(linked, {row.evidence_id: weight(row) for row in sources})


def _links(sources: Sequence[Evidence], stories: StoryIndex) -> dict[str, frozenset[str]]:
    """Map the id of each source to the ids of the others that share its origin."""
    return {
        row.evidence_id: frozenset(
            other.evidence_id
            for other in sources
            if other is not row and stories.share_origin(row, other)
        )
        for row in sources
    }


def heaviest_independent_set(
    linked: Mapping[Node, frozenset[Node]], weights: Mapping[Node, int]
) -> int:
    """Return the greatest total weight of nodes of which no two are linked.

    Exact: try the node with the most links with and without its neighbours, and solve parts that no
    link joins apart. The few sources of a claim are nearly cliques, so this ends at once.
    """

    def total(nodes: frozenset[Node]) -> int:
        return sum(map(best, _parts(nodes, linked)))

    def best(part: frozenset[Node]) -> int:
        busiest = max(part, key=lambda node: len(linked[node] & part))
        if all(len(linked[node] & part) == len(part) - 1 for node in part):
            return max(weights[node] for node in part)
        without = total(part - {busiest})
        return max(without, weights[busiest] + total(part - {busiest} - linked[busiest]))

    return total(frozenset(linked))


def _parts(nodes: frozenset[Node], linked: Mapping[Node, frozenset[Node]]) -> list[frozenset[Node]]:
    """Split nodes into parts that no link joins."""
    left, parts = set(nodes), []
    while left:
        pending = {left.pop()}
        part = set(pending)
        while pending:
            found = (linked[pending.pop()] & left) - part
            part |= found
            pending |= found
        left -= part
        parts.append(frozenset(part))
    return parts


# --- Correlated readings ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageOdds:
    """The probabilities that a page supports and refutes a claim; the rest of 1: neither.

    `weight`, in [0, 1], is how much the page counts: 1 for a source rated high.
    """

    supports: float
    refutes: float
    weight: float = 1.0

    @property
    def log_odds(self) -> float:
        """The log-odds that the claim holds; 0 for a silent page."""
        silent = max(0.0, 1.0 - self.supports - self.refutes) / 2
        odds = min(_MOST, max(1 - _MOST, self.supports + silent))
        return math.log(odds / (1 - odds))


def chance(pages: Iterable[PageOdds], shared: float = SHARED_ERRORS) -> float:
    """Return the probability, in [0, 1], that a claim holds; 0.5 without pages.

    One reader errs on all pages for the same reason. If the pages were independent, their log-odds
    would add up, and six pages at .7 would make .99; if they were one witness, they would make
    their mean. `shared`, in [0, 1], stands between the two: the correlation of equally good
    witnesses, for which the sum of n log-odds is divided by 1 + shared · (n - 1).
    """
    total = weights = 0.0
    for each in pages:
        total += each.weight * each.log_odds
        weights += each.weight
    return 1 / (1 + math.exp(-total / (1 + shared * max(0.0, weights - 1))))
