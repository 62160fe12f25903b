"""The pages of the desk: values in, a document and its policy out.

What belongs here: which template, style and script a page has, who looks at it, a report narrowed
to one claim, and what the forms of a claim offer. What does not: lists (queries.py), the report
itself and its walls around hostile text (report/), recording what a reviewer does
(running/review.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from urllib.parse import quote

from markupsafe import Markup

from factible_assets.report.data import ReportData
from factible_assets.report.render import document, environment, report_values
from factible_assets.report.view import ClaimView, ReportView, arrange
from factible_assets.stages.reviews import (
    NO_CORRECTIONS,
    by_claim,
    corrected_queries,
    corrections_by_claim,
    latest,
)

_STYLES = ("shared.css", "desk.css")
_AROUND = 2
"""Paragraphs of the transcript that are shown before and after a claim."""


def video_path(video_id: str) -> str:
    """Return where the desk shows a video."""
    return f"/desk/videos/{quote(video_id, safe='')}"


def claim_path(video_id: str, claim_id: str) -> str:
    """Return where the desk shows a claim, whatever else is found in its video later."""
    return f"{video_path(video_id)}/claims/{quote(claim_id, safe='')}"


_ENGINE = environment("factible_assets.desk")
_ENGINE.globals.update(video_path=video_path, claim_path=claim_path)


def claim_report(data: ReportData, claim_id: str) -> ReportView | None:
    """Return the report of a video narrowed to one of its claims; None if it has no such claim.

    The other claims are still known by their ids, as the report links to them.
    """
    report = arrange(data)
    view = report.by_id.get(claim_id)
    if view is None:
        return None
    stored = [each | {"claims": [view]} for each in report.stored if view in each["claims"]]
    places = [
        number
        for number, block in enumerate(report.transcript)
        if any(claim_id in run.ids for run in block.runs)
    ]
    around = slice(max(0, places[0] - _AROUND), places[-1] + 1 + _AROUND) if places else slice(0)
    return replace(
        report,
        claims=[view],
        clearest=[],
        transcript=report.transcript[around],
        stored=stored,
    )


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: the name under which they review, what they may do, how fresh what they see is.

    `behind_since` is when that was published, if there is more that is not yet; with a zone.
    """

    name: str
    may_review: bool
    has_session: bool
    behind_since: datetime | None = None


def page(name: str, viewer: Viewer | None, **values: Any) -> tuple[str, str]:
    """Return a page of the desk and its policy; without a viewer it has no way to the others."""
    scripts = ("shared.js", "desk.js")
    given = {"here": name, "viewer": viewer, **values}
    return document(_ENGINE, f"{name}.html.jinja", _STYLES, scripts, sends=True, **given)


def report_page(
    viewer: Viewer, data: ReportData, report: ReportView, **values: Any
) -> tuple[str, str]:
    """Return the page of a video, or with `is_open` of one claim with the forms to act on it."""
    macros = cast("Any", _ENGINE.get_template("tools.html.jinja").module)
    video_id = data.video.video_id
    is_open = bool(values.get("is_open"))
    shown = {view.claim.claim_id for view in report.claims}

    def tools(view: ClaimView) -> Markup:
        claim = view.claim
        mine = corrections_by_claim(data.reviews).get(claim.claim_id, NO_CORRECTIONS)
        asked = [query for query in data.queries if query.claim_id == claim.claim_id]
        asked.sort(key=lambda query: query.rank)
        assigned = latest("assign", by_claim(data.reviews).get(claim.claim_id, ()))
        # What a reviewer can act on: the claim, its next queries, its sources, who has it to do.
        desk = {
            "view": view,
            "path": claim_path(video_id, claim.claim_id),
            "queries": corrected_queries(claim, asked, mine),
            "sources": [source for sources in view.groups.values() for source in sources],
            "spoken_of": [*mine.sources],
            "assigned_to": assigned.value if assigned else None,
        }
        make: Callable[..., Markup] = macros.review if is_open else macros.way_in
        return make(desk, viewer, **(values if is_open else {}))

    def claim_href(view: ClaimView) -> str:
        if view.claim.claim_id in shown:
            return f"#claim-{view.anchor}"
        return claim_path(video_id, view.claim.claim_id)

    return document(
        _ENGINE,
        "video.html.jinja",
        ("shared.css", "report.css", "desk.css"),
        ("shared.js", "report.js"),
        sends=True,
        here="video",
        viewer=viewer,
        **report_values(report, tools=tools, claim_href=claim_href, is_open=is_open),
    )


def card(**values: Any) -> tuple[str, str]:
    """Return the small page of one claim that others may frame, without any script."""
    return document(_ENGINE, "card.html.jinja", _STYLES, **values)
