"""How much evidence was found and of which kind, and what failed.

What belongs here: metrics over queries, evidence and page texts, and over failures. What does not:
stances (stances.py), what services took (the views latency_by_stage and model_usage).

What failed because a service failed is left out of every denominator of the evidence; how much that
is says `infrastructure_failure_rate`.
"""

from __future__ import annotations

from collections.abc import Iterable

from factible_assets.evaluation.figures import Ratio
from factible_assets.records import Answered, Evidence, Page, Query, ReliabilityRating, Search
from factible_assets.rows import VideoRows
from factible_assets.stages.evidence import MIXED_UP
from factible_assets.stages.quotes import CONTRADICTED
from factible_assets.strategies.excerpts import TECHNIQUES


def retrieval_success_rate(rows: VideoRows) -> Ratio:
    """Return the share of claims with at least one piece of evidence.

    |claims with evidence| / |claims|: what the published figure counts, although the text calls it
    a proportion of queries (Factible, section 2.1.3, table 16). A claim for which services failed
    and nothing was read is left out. Undefined without claims.
    """
    return _served({claim.claim_id for claim in rows.claims}, "claim_id", rows.evidence)


def query_success_rate(rows: VideoRows) -> Ratio:
    """Return the share of queries that led to at least one piece of evidence.

    The definition in the words of Factible, section 2.1.3. A query for which services failed and
    nothing was read is left out. Undefined without queries that were asked.
    """
    asked = {query.query_id for query in rows.queries if query.status == "ok"}
    return _served(asked, "query_id", rows.evidence)


def _served(asked: set[str], key: str, evidence: Iterable[Evidence]) -> Ratio:
    found = {getattr(row, key) for row in evidence if row.status == "ok"}
    failed = {getattr(row, key) for row in evidence if row.status == "infra_error"} - found
    return Ratio(len(asked & found), len(asked - failed))


def sources_per_query(rows: VideoRows) -> Ratio:
    """Return read sources / queries that were asked (Factible, table 16)."""
    return Ratio(_read(rows), sum(query.status == "ok" for query in rows.queries))


def evidence_per_claim(rows: VideoRows) -> Ratio:
    """Return read sources / claims (Factible, table 16)."""
    return Ratio(_read(rows), len(rows.claims))


def _read(rows: VideoRows) -> int:
    return sum(row.status == "ok" for row in rows.evidence)


def independent_origins_per_claim(rows: VideoRows) -> Ratio:
    """Return the mean number of independent origins that a claim's verdict is reached from.

    The verdicts' own number: copies of one story count once, and unclear sources do not count where
    most take a side. A claim without a verdict has none.
    """
    return Ratio(sum(row.independent_origins for row in rows.verdicts), len(rows.claims))


def questions_answered(answered: Answered, rows: VideoRows) -> Ratio:
    """Return the share of a strategy's questions that the evidence answers, in part, or not at all.

    Answerability of Raw Evidence, section 6.2; told here by the strategy's own model, of its own
    questions, there by people. Undefined without questions.
    """
    asked = [step for step in rows.steps if step.technique in {*TECHNIQUES.values()}]
    return Ratio(sum(step.technique == TECHNIQUES[answered] for step in asked), len(asked))


def quote_grounding_rate(rows: VideoRows) -> Ratio:
    """Return the share of offered quotes that stand in their page, character by character.

    |stored quotes equal to page text[start:end]| / (|stored quotes| + |rejected quotes|). Checked
    against the stored text, not believed. Undefined if no quote was offered.
    """
    texts = rows.texts
    stored = [row for row in rows.evidence if row.quote is not None]
    grounded = sum(
        texts.get(row.content_hash or "", "")[row.quote_start : row.quote_end] == row.quote
        for row in stored
    )
    return Ratio(grounded, len(stored) + sum(row.rejected_quotes for row in rows.evidence))


def contradicted_readings(rows: VideoRows) -> Ratio:
    """Return the share of readings that were not believed because their own quote contradicts them.

    |readings whose quote says the contrary| / |readings that offered a quote|. Undefined without
    such readings.
    """
    read = [row for row in rows.evidence if row.quote is not None]
    return Ratio(sum(row.ground == CONTRADICTED for row in read), len(read))


def mixed_up_calls(rows: VideoRows) -> Ratio:
    """Return the share of calls for several pages whose readings the model mixed up.

    |calls thrown away| / |calls about evidence that are of no one page|. Undefined where each page
    was read alone.
    """
    calls = [each for each in rows.llm_calls if each.stage == "evidence"]
    joint = [each for each in calls if each.canonical_url is None]
    return Ratio(sum(each.reason == MIXED_UP for each in joint), len(joint))


def infrastructure_failure_rate(
    rows: Iterable[Search | Page | Query | Evidence | ReliabilityRating],
) -> Ratio:
    """Return the share of attempted work that failed because a service failed.

    |infra_error| / |attempted|; what a rule skipped was not attempted. Undefined if nothing was.
    """
    attempted = [row.status for row in rows if row.status != "skipped"]
    return Ratio(attempted.count("infra_error"), len(attempted))
