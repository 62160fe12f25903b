"""How much evidence was found, of which kind, and whether it is what it says it is.

What belongs here: metrics over the rows of queries, evidence and page texts. What does not:
stances (stances.py), time and money (operations.py).

What failed because a service failed is left out of every denominator here; how much that is says
`infrastructure_failure_rate` (operations.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from factible_assets.evaluation.figures import Ratio
from factible_assets.records import Claim, Evidence, PageText, Query


def retrieval_success_rate(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> Ratio:
    """Return the share of claims with at least one piece of evidence.

    |claims with evidence| / |claims|: what the published figure counts, although the text calls it
    a proportion of queries (Factible, section 2.1.3, table 16). A claim for which services failed
    and nothing was read is left out. Undefined without claims.
    """
    found = {row.claim_id for row in evidence if row.status == "ok"}
    failed = {row.claim_id for row in evidence if row.status == "infra_error"} - found
    asked = {claim.claim_id for claim in claims} - failed
    return Ratio(len(asked & found), len(asked))


def query_success_rate(queries: Sequence[Query], evidence: Sequence[Evidence]) -> Ratio:
    """Return the share of queries that led to at least one piece of evidence.

    The definition in the words of Factible, section 2.1.3. A query for which services failed and
    nothing was read is left out. Undefined without queries that were asked.
    """
    found = {row.query_id for row in evidence if row.status == "ok"}
    failed = {row.query_id for row in evidence if row.status == "infra_error"} - found
    asked = {query.query_id for query in queries if query.status == "ok"} - failed
    return Ratio(len(asked & found), len(asked))


def sources_per_query(queries: Sequence[Query], evidence: Sequence[Evidence]) -> Ratio:
    """Return read sources / queries that were asked (Factible, table 16)."""
    read = sum(row.status == "ok" for row in evidence)
    return Ratio(read, sum(query.status == "ok" for query in queries))


def evidence_per_claim(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> Ratio:
    """Return read sources / claims (Factible, table 16)."""
    return Ratio(sum(row.status == "ok" for row in evidence), len(claims))


def independent_origins_per_claim(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> Ratio:
    """Return the mean number of independent origins among a claim's read sources.

    Copies of one story count once, whatever their number; a source whose origin is unknown is its
    own, by domain.
    """
    wanted = {claim.claim_id for claim in claims}
    origins = {
        (row.claim_id, row.origin or row.domain)
        for row in evidence
        if row.status == "ok" and row.claim_id in wanted
    }
    return Ratio(len(origins), len(claims))


@dataclass(frozen=True, slots=True)
class Distribution:
    """How often each class occurs, most frequent first."""

    counts: tuple[tuple[str, int], ...]

    @property
    def n(self) -> int:
        """Return the number of items."""
        return sum(count for _, count in self.counts)

    def share(self, name: str) -> float | None:
        """Return the share of a class; None if there are no items."""
        return dict(self.counts).get(name, 0) / self.n if self.n else None


def distribution(names: Iterable[str]) -> Distribution:
    """Count classes."""
    counts = Counter(names)
    return Distribution(tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def reliability_distribution(evidence: Sequence[Evidence]) -> Distribution:
    """Count read sources by reliability rating (Factible, section 2.5.2, table 17)."""
    return distribution(row.rating for row in evidence if row.status == "ok")


def source_class_distribution(evidence: Sequence[Evidence]) -> Distribution:
    """Count read sources by class, such as academic, government or news."""
    return distribution(row.source_class for row in evidence if row.status == "ok")


def quote_grounding_rate(evidence: Sequence[Evidence], pages: Sequence[PageText]) -> Ratio:
    """Return the share of offered quotes that stand in their page, character by character.

    |stored quotes equal to page text[start:end]| / (|stored quotes| + |rejected quotes|). Checked
    against the stored text, not believed. Undefined if no quote was offered.
    """
    texts = {page.content_hash: page.text for page in pages}
    stored = [row for row in evidence if row.quote is not None]
    grounded = sum(_stands_in_its_page(row, texts) for row in stored)
    return Ratio(grounded, len(stored) + sum(row.rejected_quotes for row in evidence))


def _stands_in_its_page(row: Evidence, texts: Mapping[str, str]) -> bool:
    text = texts.get(row.content_hash or "")
    return text is not None and text[row.quote_start : row.quote_end] == row.quote
