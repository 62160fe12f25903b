"""The pages of the desk: values in, a document and its policy out.

What belongs here: which template, style and script a page has, and who looks at it. What does not:
what it shows (queue.py, search.py, claim.py), the walls around hostile text, which are those of
the report (report/render.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, cast

import jinja2
from markupsafe import Markup

from factible_assets.desk.claim import Desk, claim_path, desk_of, video_path
from factible_assets.report.claims import ClaimView
from factible_assets.report.data import ReportData
from factible_assets.report.render import document, environment, report_values, text_of
from factible_assets.report.view import ReportView

_ROOM = "factible_assets.desk"


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
    return document(
        _engine(),
        f"{name}.html.jinja",
        style=text_of("shared.css") + text_of("desk.css", package=_ROOM),
        script=text_of("shared.js") + text_of("desk.js", package=_ROOM),
        sends=True,
        here=name,
        viewer=viewer,
        **values,
    )


def report_page(
    viewer: Viewer, data: ReportData, report: ReportView, **values: Any
) -> tuple[str, str]:
    """Return the page of a video, or with `is_open` of one claim with the forms to act on it."""
    macros = cast("Any", _engine().get_template("tools.html.jinja").module)
    video_id = report.video.video_id
    is_open = bool(values.get("is_open"))
    shown = {view.claim.claim_id for view in report.claims}

    def tools(view: ClaimView) -> Markup:
        make: Callable[..., Markup] = macros.review if is_open else macros.way_in
        desk: Desk = desk_of(data, view)
        return make(desk, viewer, **(values if is_open else {}))

    def claim_href(view: ClaimView) -> str:
        if view.claim.claim_id in shown:
            return f"#claim-{view.anchor}"
        return claim_path(video_id, view.claim.claim_id)

    return document(
        _engine(),
        "video.html.jinja",
        style=text_of("shared.css", "report.css") + text_of("desk.css", package=_ROOM),
        script=text_of("shared.js", "report.js"),
        sends=True,
        here="video",
        viewer=viewer,
        **report_values(report, tools=tools, claim_href=claim_href, is_open=is_open),
    )


def card(**values: Any) -> tuple[str, str]:
    """Return the small page of one claim that others may frame, without any script."""
    return document(
        _engine(),
        "card.html.jinja",
        style=text_of("shared.css") + text_of("desk.css", package=_ROOM),
        script="",
        **values,
    )


@cache
def _engine() -> jinja2.Environment:
    engine = environment(_ROOM)
    engine.globals.update(video_path=video_path, claim_path=claim_path)
    return engine
