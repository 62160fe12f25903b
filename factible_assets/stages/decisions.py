"""Applies reviewers' decisions about sources to the stored rows of the last check.

The vote is counted again from the stored rows, with the default settings. If those settings do not
lead to the stored verdict, the claim has no verdict until the next check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from factible_assets.config import FactCheckConfig
from factible_assets.records import tables as records
from factible_assets.records.rows import VideoRows
from factible_assets.stages import reviews
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.urls import published_at
from factible_assets.stages.verdict import CaseFile, conclude, form_opinion

_COUNTED = (
    "A reviewer decided about a source after the last check. The vote was counted again with that "
    "decision."
)
_WAITS = "A reviewer decided about a source since the last check. Check the claim again."
_REMARK = re.compile("(?:Overruled|Confirmed) by ")
_READING = ("stance", "stance_confidence", "machine_stance", "basis", "ground", "relevance")
_UNREAD = dict.fromkeys((*_READING, "quote", "quote_start", "quote_end", "summary", "origin"))
"""The columns of a reading, empty as in a row that the check left out."""


def apply_decisions(
    rows: VideoRows, actions: Iterable[records.ReviewAction]
) -> tuple[Sequence[records.Evidence], Sequence[records.Verdict], dict[str, records.Verdict]]:
    """Return the evidence and verdicts with the decisions applied.

    The last value has the stored verdicts that were replaced, by claim.
    """
    corrections = reviews.corrections_by_claim(actions)
    changed: dict[str, records.Evidence] = {}
    uncertain: set[str] = set()
    led_to = {page.page_id: published_at(page.final_url or "") for page in rows.pages}
    for row in rows.evidence:
        of_claim = corrections.get(row.claim_id)
        final = led_to.get(row.page_id or "", "")
        if of_claim is None or (decided := _decided_row(row, final, of_claim)) is None:
            continue
        changed[row.evidence_id], has_known_weight = decided
        if not has_known_weight:
            uncertain.add(row.claim_id)
    evidence = [changed.get(row.evidence_id, row) for row in rows.evidence]
    concerned = {row.claim_id for row in changed.values()}
    replaced, verdicts = {}, list[records.Verdict]()
    for verdict in rows.verdicts:
        if verdict.claim_id not in concerned or verdict.status != "complete":
            verdicts.append(verdict)
            continue
        replaced[verdict.claim_id] = verdict
        is_certain = verdict.claim_id not in uncertain
        again = _counted_again(rows, verdict, evidence) if is_certain else _without_verdict(verdict)
        verdicts.append(again)
    return evidence, verdicts, replaced


def _decided_row(
    row: records.Evidence, final: str, corrections: reviews.Corrections
) -> tuple[records.Evidence, bool] | None:
    """Return the source after the decisions about it, or None if its row follows them already.

    `final` is the address that its page led to, empty if unknown. The flag tells whether the weight
    of the source is known. It is unknown if a reviewer took an overruling back, because the row no
    longer has the machine's confidence.
    """
    if row.status != "ok":
        return None
    url = row.canonical_url
    if why := corrections.blocked_page(url, final):
        left_out = {"status": "skipped", "reason": why, "page_due": False}
        return row.model_copy(update=_UNREAD | left_out), True
    actions = corrections.stances.get(url), corrections.ratings.get(url)
    wanted = tuple(action.value if action else None for action in actions)
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
        # The check's remark on the former overruling is out of date.
        machine["reason"] = _REMARK.split(row.reason or "")[0].strip() or None
    is_known = all(new or not old for new, old in zip(wanted, applied, strict=True))
    return reviews.with_overrulings(row.model_copy(update=machine), corrections), is_known


def _counted_again(
    rows: VideoRows, stored: records.Verdict, evidence: Sequence[records.Evidence]
) -> records.Verdict:
    """Return the verdict of a new vote over the claim's changed evidence."""
    config, stories = FactCheckConfig(), StoryIndex(rows.texts)

    def of_claim(rows: Iterable[Any]) -> list[Any]:
        return [row for row in rows if row.claim_id == stored.claim_id]

    def vote(voters: Sequence[records.Evidence]) -> records.Verdict:
        (claim,) = of_claim(rows.claims)
        case = CaseFile(claim, *map(of_claim, (rows.queries, rows.searches, rows.hits, voters)))
        opinion = form_opinion(
            case, stories, config.verdicts, basis=stored.basis, places=config.search.max_results
        )
        return conclude(opinion)

    figures = ("stance", "confidence", "confidence_score")
    before = vote(rows.evidence)
    is_reproduced = all(getattr(before, name) == getattr(stored, name) for name in figures)
    if not is_reproduced or stored.veracity is not None:
        return _without_verdict(stored)
    verdict = vote(evidence)
    kept: dict[str, Any] = {"rank": stored.rank, "strategy": stored.strategy}
    if verdict.status == "complete":
        kept["reasoner_stance"] = stored.reasoner_stance
        kept["disagreement"] = stored.reasoner_stance not in {None, verdict.stance}
        kept["reason"] = " ".join(filter(None, (verdict.reason, _COUNTED)))
    return verdict.model_copy(update=kept)


def _without_verdict(stored: records.Verdict) -> records.Verdict:
    """Return an incomplete verdict, because the vote cannot be counted from the stored rows."""
    empty = dict.fromkeys(
        ("stance", "confidence", "confidence_score", "vote_stance", "vote_margin", "veracity")
    )
    words = {"status": "incomplete", "reason": _WAITS, "summary": _WAITS, "recheck_due": True}
    return stored.model_copy(update={**empty, **words, "disagreement": False})
