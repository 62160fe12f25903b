"""The strategy `confidence`: the standard steps, a search for the claim's class, and a calculus.

Source: ECVS ("Enhanced Claim Verification System with Real Source Integration", 2025); its formulas
are in calculus.py.
"""

from __future__ import annotations

from dataclasses import replace

from factible_assets.reasoners.llm.engine import asking
from factible_assets.reasoners.llm.investigation import judge_three_way
from factible_assets.reasoners.llm.verdict import words_of_verdict
from factible_assets.records.scales import THREE_WAY, stance_of
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Evidence, Verdict
from factible_assets.stages import ports
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.flow import Strategy
from factible_assets.stages.progress import StepResult
from factible_assets.stages.reliability import listing_of
from factible_assets.stages.urls import host_of, registrable_domain
from factible_assets.stages.verdict import CaseFile, conclude
from factible_assets.strategies import calculus
from factible_assets.strategies.calculus import PREDICTION, SEARCH, ScoredSource, claim_class


async def _check(check: ClaimCheck) -> ClaimRows:
    kind = claim_class(check.claim.text, check.config.queries.claim_classes)
    class_words = SEARCH.get(kind)

    async def queries_of_class() -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        """Write one search for the sources of the class, and the standard ones after it."""
        answer = await check.standard_queries(check.config.queries)
        text = f"{check.claim.text} {class_words}"
        first = (ports.QueryDraft(text, "source", 1),) if class_words else ()
        return ports.WithCalls((*first, *answer.value), answer.calls)

    try:
        with check.trace.step("plan", "claim class", check.claim.text) as note:
            note.got = kind
            if kind == "predictive":
                note.status, note.reason = "skipped", PREDICTION
        if kind == "predictive":
            # A note and no verdict: no search, and no re-check is due.
            case = check.open_case([check.no_query(PREDICTION)])
            verdict = conclude(replace(check.form_opinion(case), doubt=None, is_due=False))
            note_only = {"summary": PREDICTION, "reason": PREDICTION}
            return case, verdict.model_copy(update=note_only)
        with check.trace.step("query", f"searches for a claim of the class {kind}") as note:
            queries = await check.write_queries(word_queries=queries_of_class)
            note.record_queries(queries)
    except ports.BudgetSpentError as spent:
        # The budget ended before the searches, so there is no evidence.
        case = check.open_case(())
        return case, await check.judge(case, spent)
    case = await check.gather(queries)
    verdict = await _judge_three_ways(check, case)
    if verdict.status != "complete":
        return case, verdict
    rows = check.form_opinion(case).rows
    sources = [_source(check, row, case) for row in rows]
    variant = check.config.verdicts.calculus
    confidence = calculus.CALCULUS[variant](sources, verdict.summary)
    parts = ("volume", "credibility", "agreement", "tone")
    figures = ", ".join(f"{part} {getattr(confidence, part):.2f}" for part in parts)
    got = f"{confidence.percent} % ({confidence.label}; {figures})"
    note = StepResult(got, [row.evidence_id for row in rows])
    check.trace.record_step("calibrate", f"confidence calculus, {variant}", note)
    if verdict.stance != "unclear":
        # An unclear verdict keeps its own confidence, and a leaning is never high.
        word = {"Very Low": "low", "Low": "low", "Moderate": "medium"}.get(confidence.label, "high")
        word = "medium" if verdict.basis != "llm" and word == "high" else word
        score = round(confidence.percent / 100, 6)
        verdict = verdict.model_copy(update={"confidence": word, "confidence_score": score})
    return case, verdict


async def _judge_three_ways(check: ClaimCheck, case: CaseFile) -> Verdict:
    """Return the vote's verdict; if there is a model, it also says TRUE, FALSE or CAN'T SAY."""
    opinion = check.form_opinion(case)
    if check.basis != "llm" or not opinion.rows or opinion.doubt:
        return await check.judge(case)
    try:
        with check.trace.step("judge", "TRUE, FALSE or CAN'T SAY") as note:
            async with asking(check, "three_way", "verdicts") as talk:
                answer = await judge_three_way(talk, opinion.rows)
            note.got = answer.verdict.upper()
    except ports.ReasonerError as failure:
        return conclude(opinion, None, failure)
    stance = stance_of(answer.verdict, THREE_WAY)
    words = words_of_verdict(case.claim, stance, answer.reasoning)
    return conclude(opinion, ports.VerdictDraft(stance, opinion.vote.confidence, words))


def _source(check: ClaimCheck, row: Evidence, case: CaseFile) -> ScoredSource:
    """Return a source for the calculus: a paper by its citations, any other by its domain."""
    cited = next((hit.citation_count for hit in case.hits if hit.hit_id == row.hit_id), None)
    host = host_of(row.canonical_url)
    if registrable_domain(host) != row.domain:  # It redirected to another site.
        host, cited = row.domain, None
    listed = listing_of(host, check.services.ratings)[1]
    by_domain = calculus.domain_credibility(host, listed)
    credibility = by_domain if cited is None else calculus.academic_credibility(cited)
    weight = STANCES[row.stance or "unclear"].weight
    return ScoredSource(credibility, weight > 0 if weight else None)


STRATEGY = Strategy(name="confidence", check=_check, in_rounds=True)
