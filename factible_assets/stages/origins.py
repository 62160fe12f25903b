"""Decides which sources are independent, and how much several sources weigh together.

Two sources share an origin if they stand under one registrable domain, or if one text repeats half
of the other: ten copies of one wire story are one origin. The vote counts the heaviest set of
sources of which no two share an origin, so one more source adds at most its own weight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
_MOST_FROM_ONE_PAGE = 0.97
"""The highest probability from one page: calibration on a few hundred pairs cannot show more."""
_WORD = re.compile(r"\w+")
Node = TypeVar("Node", bound=Hashable)


# --- One story ----------------------------------------------------------------------------------


class StoryIndex:
    """Compares the domains and texts of sources; `texts` maps content hashes to texts.

    It compares two texts once, because every vote on a claim asks again.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        shingles_of = cache(lambda content_hash: shingles(texts.get(content_hash, "")))

        @cache
        def are_one_story(first_hash: str, second_hash: str) -> bool:
            first, second = shingles_of(first_hash), shingles_of(second_hash)
            shorter = min(len(first), len(second))
            return shorter > 0 and len(first & second) >= SHARED_STORY * shorter

        self._are_one_story = are_one_story

    def share_origin(self, first: Evidence, second: Evidence) -> bool:
        """Whether two sources share a domain or a story."""
        if first.domain == second.domain and not _is_file(first):
            return True
        if first.content_hash is None or second.content_hash is None:
            return False
        hashes = sorted((first.content_hash, second.content_hash))
        return hashes[0] == hashes[1] or self._are_one_story(*hashes)


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

    All sources of a connected component get one label: the domain of its first source, or the path
    if that is a file. Readers see these labels; no weight depends on them.
    """
    sources = {row.evidence_id: row for row in evidence if row.status == "ok"}
    linked = _links(tuple(sources.values()), stories)
    labels: dict[str, str] = {}
    for component in _components(frozenset(linked), linked):
        first = next(row for evidence_id, row in sources.items() if evidence_id in component)
        path = first.canonical_url.partition("://")[2]
        labels |= dict.fromkeys(component, path if _is_file(first) else first.domain)
    return tuple(row.model_copy(update={"origin": labels.get(row.evidence_id)}) for row in evidence)


# --- Independent weight -------------------------------------------------------------------------


def independent_weight(
    sources: Sequence[Evidence], weight: Callable[[Evidence], int], stories: StoryIndex
) -> int:
    """Return the weight of the heaviest set of sources of which no two share an origin.

    Weights are whole numbers, so that a sum does not depend on its order.
    """
    linked = _links(sources, stories)
    return greatest_independent_weight(linked, {row.evidence_id: weight(row) for row in sources})


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


def greatest_independent_weight(
    linked: Mapping[Node, frozenset[Node]], weights: Mapping[Node, int]
) -> int:
    """Return the weight of a maximum-weight independent set: no two of its nodes are linked.

    Exact, by branching: the node with the most links is in the set, or it is not. Each connected
    component is solved by itself. The few sources of a claim are nearly cliques, so this ends soon.
    """

    def total(nodes: frozenset[Node]) -> int:
        return sum(map(best, _components(nodes, linked)))

    def best(component: frozenset[Node]) -> int:
        busiest = max(component, key=lambda node: len(linked[node] & component))
        if all(len(linked[node] & component) == len(component) - 1 for node in component):
            return max(weights[node] for node in component)
        without = total(component - {busiest})
        return max(without, weights[busiest] + total(component - {busiest} - linked[busiest]))

    return total(frozenset(linked))


def _components(
    nodes: frozenset[Node], linked: Mapping[Node, frozenset[Node]]
) -> list[frozenset[Node]]:
    """Return the connected components of the graph of these nodes."""
    unassigned, components = set(nodes), []
    while unassigned:
        pending = {unassigned.pop()}
        component = set(pending)
        while pending:
            neighbours = (linked[pending.pop()] & unassigned) - component
            component |= neighbours
            pending |= neighbours
        unassigned -= component
        components.append(frozenset(component))
    return components


# --- Correlated readings ------------------------------------------------------------------------


def claim_probability(pages: Iterable[tuple[float, float]], shared: float = SHARED_ERRORS) -> float:
    """Return the probability, in [0, 1], that a claim holds; 0.5 without pages.

    A page is its probability of supporting the claim less that of refuting it, in [-1, 1], and its
    weight: 1 for a source rated high.

    One reader makes the same kinds of errors on all pages. Log-odds of independent pages add up:
    six pages at .7 give .99. Log-odds of perfectly correlated pages average: six pages at .7 give
    .7. `shared`, in [0, 1], is the correlation, and the sum of n log-odds is divided by
    1 + shared · (n - 1), as for equally good witnesses.
    """
    total = weights = 0.0
    for lean, weight in pages:
        # A silent page leaves the odds even.
        holds = min(_MOST_FROM_ONE_PAGE, max(1 - _MOST_FROM_ONE_PAGE, (1 + lean) / 2))
        total += weight * math.log(holds / (1 - holds))
        weights += weight
    return 1 / (1 + math.exp(-total / (1 + shared * max(0.0, weights - 1))))
