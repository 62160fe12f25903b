"""Metrics of the evidence that a check found. They need no annotation.

Items for which a service failed are left out; `operations.infrastructure_failure_rate` counts them.
"""

from __future__ import annotations

from collections.abc import Iterable

from factible_assets.evaluation.figures import Ratio
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Answered, Evidence
from factible_assets.stages.evidence import MIXED_UP
from factible_assets.stages.quotes import CONTRADICTED
from factible_assets.strategies.excerpts import TECHNIQUES


def retrieval_success_rate(rows: VideoRows) -> Ratio:
    """Return the share of claims with at least one piece of evidence.

    |claims with evidence| / |claims|, as in the published figure, although its text calls it a
    proportion of queries (Factible, section 2.1.3, table 16). A claim without evidence for which
    services failed is left out. Undefined without claims.
    """
    succeeded = {row.claim_id for row in rows.evidence if row.status == "ok"}
    failed = {row.claim_id for row in rows.evidence if row.status == "infra_error"} - succeeded
    return Ratio(len(rows.claim_ids & succeeded), len(rows.claim_ids - failed))


def sources_per_query(rows: VideoRows) -> Ratio:
    """Return read sources / asked queries (Factible, table 16)."""
    return Ratio(_sources_read(rows), sum(query.status == "ok" for query in rows.queries))


def evidence_per_claim(rows: VideoRows) -> Ratio:
    """Return read sources / claims (Factible, table 16)."""
    return Ratio(_sources_read(rows), len(rows.claims))


def _sources_read(rows: VideoRows) -> int:
    return sum(row.status == "ok" for row in rows.evidence)


def independent_origins(rows: VideoRows) -> Ratio:
    """Return the mean number of independent origins behind a claim's verdict.

    It is a column of the verdict: copies of one story count once, and unclear sources do not count
    if most sources take a side. A claim without a verdict counts 0.
    """
    return Ratio(sum(row.independent_origins for row in rows.verdicts), len(rows.claims))


def questions_answered(answered: Answered, rows: VideoRows) -> Ratio:
    """Return the share of a strategy's questions with this degree of answer in the evidence.

    Answerability of Raw Evidence, section 6.2. There people judged it; here the strategy's model
    judges its own questions. Undefined without questions.
    """
    questions = [step for step in rows.steps if step.technique in TECHNIQUES.values()]
    return Ratio(sum(step.technique == TECHNIQUES[answered] for step in questions), len(questions))


def quote_grounding_rate(rows: VideoRows) -> Ratio:
    """Return the share of offered quotes that the stored page contains, character by character.

    |stored quotes equal to page text[start:end]| / (|stored quotes| + |rejected quotes|). Undefined
    if no quote was offered.
    """
    texts = rows.texts
    stored = [row for row in rows.evidence if row.quote is not None]
    grounded = sum(
        texts.get(row.content_hash or "", "")[row.quote_start : row.quote_end] == row.quote
        for row in stored
    )
    return Ratio(grounded, len(stored) + sum(row.rejected_quotes for row in rows.evidence))


def contradicted_readings(rows: VideoRows) -> Ratio:
    """Return the share of readings that were rejected because their own quote contradicts them.

    |readings with a contradicting quote| / |readings with a quote|. Undefined without quotes.
    """
    read = [row for row in rows.evidence if row.quote is not None]
    return Ratio(sum(row.ground == CONTRADICTED for row in read), len(read))


def mixed_up_calls(rows: VideoRows) -> Ratio:
    """Return the share of calls about several pages in which the model mixed the pages up.

    |rejected calls| / |calls about several pages|. Undefined without such calls.
    """
    calls = [call for call in rows.llm_calls if call.stage == "evidence"]
    joint = [call for call in calls if call.canonical_url is None]
    return Ratio(sum(call.reason == MIXED_UP for call in joint), len(joint))


def agreement(rows: Iterable[Evidence], others: Iterable[Evidence]) -> Ratio:
    """Return the share of sources with the same stance in both, among those with a stance in both.

    Undefined without such sources.
    """
    first, second = (
        {row.evidence_id: row.stance for row in evidence if row.stance is not None}
        for evidence in (rows, others)
    )
    both = first.keys() & second.keys()
    return Ratio(sum(first[source] == second[source] for source in both), len(both))
