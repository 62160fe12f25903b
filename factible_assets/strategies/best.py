"""The best strategy: the standard one, and a second round if the first leaves a claim open."""

from __future__ import annotations

from factible_assets.config import FactCheckConfig, QueriesConfig
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.flow import Strategy
from factible_assets.stages.ports import BudgetSpentError
from factible_assets.stages.progress import StepResult
from factible_assets.stages.verdict import CaseFile

_MOST = 10
"""The most queries of a reasoner."""


async def check(claim: ClaimCheck) -> ClaimRows:
    """Check one claim, and search again if the vote abstains."""
    case = await claim.gather(await claim.write_queries())
    opinion = claim.form_opinion(case)
    if opinion.doubt or opinion.vote.stance != "unclear":
        return case, await claim.judge(case)
    try:
        case = await _second_round(claim, case)
    except BudgetSpentError as spent:
        claim.trace.record_step(
            "retrieve", "second round", StepResult(status="skipped", reason=spent.reason)
        )
    return case, await claim.judge(case)


async def _second_round(claim: ClaimCheck, first: CaseFile) -> CaseFile:
    """Write twice as many searches, also of the lowest priority, and read the new pages."""
    claim.trace.round = 2
    with claim.trace.step(
        "query", "twice as many", "The vote over the first round abstains."
    ) as note:
        wider = QueriesConfig(max_queries=_wider_count(claim.config))
        queries = await claim.write_queries(wider)
        # Queries that a service failed to write stay, so the verdict knows about the gap.
        first_ids = {query.query_id for query in first.queries}
        new = [query for query in queries if query.query_id not in first_ids]
        ranked = enumerate(new, start=len(first.queries) + 1)
        new = [query.model_copy(update={"rank": rank}) for rank, query in ranked]
        note.record_queries(new)
        note.got = "; ".join(query.text for query in new)
        if not new:
            note.status, note.reason = "no_evidence", "The reasoner worded no new query."
            return first
    case, _ = await claim.look_further(
        first, new, search_step="second round", read_step=("read", "second round")
    )
    return case


def _wider_count(config: FactCheckConfig) -> int:
    return min(_MOST, 2 * config.queries.max_queries)


STRATEGY = Strategy(
    name="best",
    check=check,
    most_searches=lambda config: config.queries.max_queries + _wider_count(config),
    in_rounds=True,
)
