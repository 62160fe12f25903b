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
    led_to = {page.page_id: published_at(page.final_url or "") for page in rows.pages}
    evidence = [
        _decided_row(row, led_to.get(row.page_id or "", ""), corrections[row.claim_id])
        if row.claim_id in corrections and row.status == "ok"
        else row
        for row in rows.evidence
    ]
    pairs = zip(rows.evidence, evidence, strict=True)
    changed = [(old, new) for old, new in pairs if new is not old]
    concerned = {new.claim_id for _, new in changed}
    uncertain = {new.claim_id for old, new in changed if _is_taken_back(old, new)}
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


def _is_taken_back(old: records.Evidence, new: records.Evidence) -> bool:
    """Whether a reviewer took an overruling back; the row has lost the machine's confidence."""
    overruled = ("machine_stance", "machine_rating")
    lost = (getattr(old, name) is not None and getattr(new, name) is None for name in overruled)
    return new.status == "ok" and any(lost)


def _decided_row(
    row: records.Evidence, final: str, corrections: reviews.Corrections
) -> records.Evidence:
    """Return a source after the decisions about it, the same object if it follows them already.

    `final` is the address that its page led to, empty if unknown.
    """
    url = row.canonical_url
    if why := corrections.blocked_page(url, final):
        left_out = {"status": "skipped", "reason": why, "page_due": False}
        return row.model_copy(update=_UNREAD | left_out)
    actions = corrections.stances.get(url), corrections.ratings.get(url)
    overruled = [action.value if action else None for action in actions]
    if overruled == [row.machine_stance and row.stance, row.machine_rating and row.rating]:
        return row
    machine: dict[str, Any] = {}
    if row.machine_stance:
        machine |= {"stance": row.machine_stance, "machine_stance": None}
    if row.machine_rating:
        machine |= {"rating": row.machine_rating, "machine_rating": None}
    if machine:
        # The check's remark on the former overruling is out of date.
        machine["reason"] = _REMARK.split(row.reason or "")[0].strip() or None
    return reviews.with_overrulings(row.model_copy(update=machine), corrections)


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
    columns: dict[str, Any] = {"rank": stored.rank, "strategy": stored.strategy}
    if verdict.status == "complete":
        columns["reasoner_stance"] = stored.reasoner_stance
        columns["disagreement"] = stored.reasoner_stance not in {None, verdict.stance}
        columns["reason"] = " ".join(filter(None, (verdict.reason, _COUNTED)))
    return verdict.model_copy(update=columns)


def _without_verdict(stored: records.Verdict) -> records.Verdict:
    """Return an incomplete verdict, because the vote cannot be counted from the stored rows."""
    empty = dict.fromkeys(
        ("stance", "confidence", "confidence_score", "vote_stance", "vote_margin", "veracity")
    )
    words = {"status": "incomplete", "reason": _WAITS, "summary": _WAITS, "recheck_due": True}
    return stored.model_copy(update={**empty, **words, "disagreement": False})
