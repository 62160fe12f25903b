"""One claim as the desk shows it.

What belongs here: a report narrowed to one claim, and what its forms offer. What does not: markup,
the report itself (report/), a claim for other programs (exchange/), recording what a reviewer does
(running/review.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from factible_assets.records import Query
from factible_assets.report.claims import ClaimView, SourceView
from factible_assets.report.data import ReportData
from factible_assets.report.view import ReportView, arrange
from factible_assets.stages.reviews import (
    NO_CORRECTIONS,
    by_claim,
    corrected_queries,
    corrections_by_claim,
    latest,
)

_AROUND = 2


def video_path(video_id: str) -> str:
    """Return where the desk shows a video."""
    return f"/desk/videos/{quote(video_id, safe='')}"


def claim_path(video_id: str, claim_id: str) -> str:
    """Return where the desk shows a claim, whatever else is found in its video later."""
    return f"{video_path(video_id)}/claims/{quote(claim_id, safe='')}"


@dataclass(frozen=True, slots=True)
class Desk:
    """What a reviewer can act on: the claim, its next queries, its sources, who has it to do."""

    view: ClaimView
    path: str
    queries: tuple[Query, ...]
    sources: tuple[SourceView, ...]
    spoken_of: tuple[str, ...]
    assigned_to: str | None


def desk_of(data: ReportData, view: ClaimView) -> Desk:
    """Return what can be acted on."""
    claim = view.claim
    mine = corrections_by_claim(data.reviews).get(claim.claim_id, NO_CORRECTIONS)
    asked = sorted(
        (query for query in data.queries if query.claim_id == claim.claim_id),
        key=lambda query: query.rank,
    )
    assigned = latest("assign", by_claim(data.reviews).get(claim.claim_id, ()))
    return Desk(
        view=view,
        path=claim_path(claim.video_id, claim.claim_id),
        queries=corrected_queries(claim, asked, mine),
        sources=tuple(source for group in view.groups for source in group.sources),
        spoken_of=tuple(mine.sources),
        assigned_to=assigned.value if assigned else None,
    )


def claim_report(data: ReportData, claim_id: str) -> ReportView | None:
    """Return the report of a video narrowed to one of its claims; None if it has no such claim.

    The other claims are still known by their ids, as the report links to them.
    """
    report = arrange(data)
    view = report.by_id.get(claim_id)
    if view is None:
        return None
    stored = (replace(each, claims=(view,)) for each in report.stored if view in each.claims)
    places = [
        number
        for number, block in enumerate(report.transcript)
        if any(claim_id in run.ids for run in block.block.runs)
    ]
    around = slice(max(0, places[0] - _AROUND), places[-1] + 1 + _AROUND) if places else slice(0)
    return replace(
        report,
        claims=(view,),
        clearest=(),
        incomplete=tuple(each for each in report.incomplete if each is view),
        transcript=report.transcript[around],
        stored=tuple(stored),
        changes=(),
        prior_count=len(view.prior),
    )
