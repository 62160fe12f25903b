"""What reviewers decided about sources since the last check, applied to the rows of a report.

What belongs here: sources as they were overruled or blocked, and the verdict that follows from
them. What does not: the rules for both (stages/), recording decisions (runs/review.py).

A decision is stored at once, and the rows of a check change with the next check. Until then a page,
an export or a card would contradict the decision. The vote is counted again from the stored rows,
so no service is asked. It is counted with the default settings: if these do not lead from the
stored rows to the stored verdict, the claim has no verdict until it is checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from factible_assets import records
from factible_assets.config import FactCheckConfig
from factible_assets.report.data import ReportData
from factible_assets.stages import reviews
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.verdict import CaseFile, conclude, form_opinion

_COUNTED = (
    "The vote was counted again after a reviewer decided about a source; the claim was not checked "
    "again since."
)
_WAITS = "A reviewer decided about a source since the last check. Check the claim again."
_UNREAD = dict.fromkeys(
    ("stance", "stance_confidence", "relevance", "quote", "quote_start", "quote_end", "summary")
)


def as_decided(data: ReportData) -> ReportData:
    """Return the rows of a video as reviewers' decisions about its sources leave them.

    `stored_verdicts` of the result has the replaced verdicts, by claim.
    """
    corrections = reviews.corrections_by_claim(data.reviews)
    changed: dict[str, tuple[records.Evidence, bool]] = {}
    for row in data.evidence:
        mine = corrections.get(row.claim_id)
        if mine is not None and (decided := _row_as_decided(row, mine)) is not None:
            changed[row.evidence_id] = decided
    if not changed:
        return data
    evidence = [
        changed[row.evidence_id][0] if row.evidence_id in changed else row for row in data.evidence
    ]
    concerned = {row.claim_id for row, _ in changed.values()}
    unknown = {row.claim_id for row, is_known in changed.values() if not is_known}
    stored = {
        claim: verdict
        for claim, verdict in data.verdict_of.items()
        if claim in concerned and verdict.status == "complete"
    }
    counted = {
        claim: _waiting(verdict) if claim in unknown else _counted(data, verdict, evidence)
        for claim, verdict in stored.items()
    }
    verdicts = [counted.get(each.claim_id, each) for each in data.verdicts]
    return replace(data, evidence=evidence, verdicts=verdicts, stored_verdicts=stored)


def _row_as_decided(
    row: records.Evidence, mine: reviews.Corrections
) -> tuple[records.Evidence, bool] | None:
    """Return a source as it was decided about, None if its row says so already.

    The second value tells whether the weight of the source is known. It is not if an overruling
    was taken back, because the row no longer has the machine's confidence.
    """
    if row.status != "ok":
        return None
    if why := mine.blocked(row.canonical_url):
        return row.model_copy(update={**_UNREAD, "status": "skipped", "reason": why}), True
    acts = mine.stances.get(row.canonical_url), mine.ratings.get(row.canonical_url)
    wanted = tuple(act.value if act else None for act in acts)
    applied = (
        row.stance if row.machine_stance is not None else None,
        row.rating if row.machine_rating is not None else None,
    )
    if wanted == applied:
        return None
    machine: dict[str, Any] = {}
    if row.machine_stance is not None:
        machine |= {"stance": row.machine_stance, "machine_stance": None}
    if row.machine_rating is not None:
        machine |= {"rating": row.machine_rating, "machine_rating": None}
    if machine:
        # What the check wrote of the former overruling holds no more.
        machine["reason"] = (row.reason or "").partition("Overruled by ")[0].strip() or None
    is_known = all(
        now is not None or before is None for now, before in zip(wanted, applied, strict=True)
    )
    return reviews.with_overrulings(row.model_copy(update=machine), mine), is_known


def _counted(
    data: ReportData, stored: records.Verdict, evidence: Iterable[records.Evidence]
) -> records.Verdict:
    """Return the verdict of the vote over a claim's changed evidence."""
    claim, config = stored.claim_id, FactCheckConfig()
    stories = StoryIndex(data.texts)

    def vote(rows: Iterable[records.Evidence]) -> records.Verdict:
        case = CaseFile(
            claim=next(each for each in data.claims if each.claim_id == claim),
            queries=_of(claim, data.queries),
            searches=_of(claim, data.searches),
            hits=_of(claim, data.hits),
            evidence=_of(claim, rows),
        )
        opinion = form_opinion(
            case, stories, config.verdicts, basis=stored.basis, places=config.search.max_results
        )
        return conclude(opinion, None)

    before = vote(data.evidence)
    is_the_vote = (before.stance, before.confidence, before.confidence_score) == (
        stored.stance,
        stored.confidence,
        stored.confidence_score,
    )
    if not is_the_vote or stored.veracity is not None:
        return _waiting(stored)
    made = vote(evidence)
    kept = {"rank": stored.rank, "strategy": stored.strategy}
    if made.status == "complete":
        differs = stored.reasoner_stance not in {None, made.stance}
        kept |= {
            "reasoner_stance": stored.reasoner_stance,
            "disagreement": differs,
            "reason": " ".join(filter(None, (made.reason, _COUNTED))),
        }
    return made.model_copy(update=kept)


def _of(claim: str, rows: Iterable[Any]) -> Sequence[Any]:
    return [row for row in rows if row.claim_id == claim]


def _waiting(stored: records.Verdict) -> records.Verdict:
    """Return the verdict of a claim whose vote cannot be counted here."""
    nothing = dict.fromkeys(
        ("stance", "confidence", "confidence_score", "vote_stance", "vote_margin", "veracity")
    )
    words = {"status": "incomplete", "reason": _WAITS, "summary": _WAITS, "recheck_due": True}
    return stored.model_copy(update={**nothing, **words, "disagreement": False})
