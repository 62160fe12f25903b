"""Renders the pages of the desk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from factible_assets.records import tables as records
from factible_assets.report.data import ReportData
from factible_assets.report.render import document, environment, report_values
from factible_assets.report.view import ClaimView, ReportView, SourceView, arrange
from factible_assets.runs.claims import ClaimFile, claim_version
from factible_assets.stages import reviews
from factible_assets.stages.urls import host_and_parents
from factible_assets.web.desk.lists import (
    SORTS,
    TABS,
    QueueQuery,
    Row,
    claim_path,
    next_address,
    video_path,
)
from factible_assets.wording import act_words, counted, day, publisher

Page: TypeAlias = tuple[str, str]
"""A document and its content security policy."""

_LONGEST_COUNT = 7
_STYLES = ("shared.css", "desk.css")
_PARAGRAPHS_AROUND = 2
"""Paragraphs of the transcript before and after a claim on its page."""

_CHOSEN_TEXT: frozenset[records.ReviewKind] = frozenset(
    {"sign", "assess", "overrule_source", "block_source", "unblock_source"}
)
"""The acts whose `text` the reviewer chooses from a list."""


_ENGINE = environment("factible_assets.web.desk")
_ENGINE.globals.update(video_path=video_path, claim_path=claim_path)


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who looks at a page.

    Attributes:
        name: The name under which they review, or an empty text.
        organisation: For whom they sign, or an empty text.
        is_named: Whether their token has the name, so that they cannot change it.
        may_review: Whether their role lets them review.
        has_session: Whether they signed in with a token.
        behind_since: When the shown data was published, if there is newer data.
    """

    name: str
    organisation: str
    is_named: bool
    may_review: bool
    has_session: bool
    behind_since: datetime | None = None


def page(name: str, viewer: Viewer | None, **values: Any) -> Page:
    """Return a page of the desk. Without a viewer, it has no navigation."""
    scripts = ("shared.js", "desk.js")
    given = {"here": name, "viewer": viewer, **values}
    return document(_ENGINE, f"{name}.html.jinja", _STYLES, scripts, sends=True, **given)


def card(**values: Any) -> Page:
    """Return the card of a claim, which other sites may frame. It has no script."""
    return document(_ENGINE, "card.html.jinja", _STYLES, **values)


# --- The report of a video or of one claim --------------------------------------------------------


def claim_report(data: ReportData, claim_id: str) -> ReportView | None:
    """Narrow a report to one claim, by its current or a former id. Unknown claims give None."""
    report = arrange(data)
    renamed = reviews.claims_in_force(data.reviews).names.get(claim_id, claim_id)
    view = report.by_id.get(claim_id) or report.by_id.get(renamed)
    if view is None:
        return None
    places = [
        number
        for number, paragraph in enumerate(report.transcript)
        if any(view.claim.claim_id in run.ids for run in paragraph.runs)
    ]
    around = slice(0)
    if places:
        around = slice(max(0, places[0] - _PARAGRAPHS_AROUND), places[-1] + 1 + _PARAGRAPHS_AROUND)
    return replace(
        report,
        claims=[view],
        first_screen=[],
        transcript=report.transcript[around],
        stored=[replace(each, claims=[view]) for each in report.stored if view in each.claims],
    )


def is_superseded(report: ReportView) -> bool:
    """Tell whether a reviewer reworded, split or dropped the one claim of a report since."""
    force, own = reviews.claims_in_force(report.data.reviews), report.claims[0].claim.claim_id
    return own in force.gone or force.names.get(own, own) != own


def video_page(viewer: Viewer, report: ReportView) -> Page:
    """Return the report of a video, with links to review its claims."""
    return document(
        _ENGINE,
        "video.html.jinja",
        ("shared.css", "report.css", "desk.css"),
        ("shared.js", "report.js", "desk.js"),
        sends=True,
        here="video",
        viewer=viewer,
        **report_values(report),
    )


def work_page(viewer: Viewer, report: ReportView, queue: Row, **values: Any) -> Page:
    """Return the workbench: the queue, and the one claim of `report` with the forms to review it.

    `recorded`, `decided` and `is_unchecked` of the values describe the last form and the video.
    """
    view, data = report.claims[0], report.data
    claim, acts = view.claim, [act for act, _ in view.reviews]
    mine = reviews.corrections_by_claim(data.reviews).get(claim.claim_id, reviews.NO_CORRECTIONS)
    query: QueueQuery = queue["query"]
    place = next((row for row in queue["rows"] if _is_of(row, claim)), None)
    notes: dict[str, list[records.ReviewAction]] = {}
    for act in acts:
        if act.action == "note" and act.target:
            notes.setdefault(act.target, []).append(act)

    def blocks(evidence: records.Evidence) -> str | None:
        """Return the subject whose blocking leaves a source out: its page or its site."""
        url = evidence.canonical_url
        names = (url, *host_and_parents(urlsplit(url).hostname or ""))
        found = (mine.sources.get(each) for each in names if mine.blocked(url))
        return next((act.target for act in found if act and act.action == "block_source"), None)

    def step(row: Row | None) -> str | None:
        return query.address(claim_path(row["video_id"], row["claim_id"])) if row else None

    sources = [source for group in view.groups.values() for source in group]
    quotes = {each.evidence.evidence_id: quote_with_source(each) for each in sources}
    best = [each.evidence.evidence_id for each in view.argument.key_sources]
    desk = {
        "path": claim_path(data.video.video_id, claim.claim_id),
        "queue": query.address("").removeprefix("?"),
        "version": claim_version(
            claim, acts, data.stored_verdicts.get(claim.claim_id, view.verdict)
        ),
        "queries": reviews.corrected_queries(claim, [each for each, _ in view.searches], mine),
        "hits": {query.query_id: _found(searches) for query, searches in view.searches},
        "stances": mine.stances,
        "ratings": mine.ratings,
        "blocks": blocks,
        "notes": notes,
        "quotes": quotes,
        "best": [quotes[each] for each in best if each in quotes][:1],
        "assigned_to": view.assigned_to,
        "due": _why_check(view, acts, data),
        "place": f"{place['place'] if place else '–'} of {queue['total']:,}, {TABS[query.tab]}",
        "previous": step(place["previous"]) if place else None,
        "next": next_address(queue, claim.video_id, claim.claim_id),
    }
    return document(
        _ENGINE,
        "work.html.jinja",
        ("shared.css", "report.css", "desk.css"),
        ("shared.js", "report.js", "desk.js"),
        sends=True,
        viewer=viewer,
        queue=queue,
        tabs=TABS,
        sorts=SORTS,
        **report_values(
            report,
            claim_href=lambda each: claim_path(data.video.video_id, each.claim.claim_id),
            desk=desk,
            **values,
        ),
    )


def _is_of(row: Row, claim: records.Claim) -> bool:
    return (row["video_id"], row["claim_id"]) == (claim.video_id, claim.claim_id)


def _found(searches: Sequence[records.Search]) -> str:
    """Say what the searches for a query found."""
    return "; ".join(
        f"{each.provider}: "
        + ("failed" if each.status == "infra_error" else counted(each.hit_count, "result"))
        for each in searches
    )


def _why_check(
    view: ClaimView, acts: Sequence[records.ReviewAction], data: ReportData
) -> str | None:
    """Say why a claim should be checked again, if it should."""
    if view.verdict is None:
        return "This claim has not been checked yet."
    if view.verdict.status == "incomplete" or view.failed_recheck:
        return "Services failed in the last check."
    waiting = (
        act.action not in {*reviews.OPINIONS, "overrule_source", "block_source"}
        and data.checked_at is not None
        and act.acted_at > data.checked_at
        for act in acts
    )
    return "Your changes count from the next check on." if any(waiting) else None


def quote_with_source(source: SourceView) -> str:
    """Return a quote, or the summary of a source, with title, publisher, date and address."""
    row = source.evidence
    words = f"“{row.quote}”" if row.quote else row.summary or ""
    day_of = day(row.published_on) if row.published_on else ""
    named = dict.fromkeys(filter(None, (source.title, publisher(row), day_of, source.link)))
    return f"{words} – {', '.join(named)}"


# --- Forms that were made from an older state of a claim ------------------------------------------


def outdated_page(
    viewer: Viewer, file: ClaimFile, kind: records.ReviewKind, fields: Mapping[str, str], why: str
) -> Page:
    """Show a form that was not recorded beside the current state of its claim.

    The form keeps its words and carries the current version, so that sending it again records it.
    `why` is empty if the claim has changed, else a sentence about another reason.
    """
    count = fields.get("seen", "").partition("-")[0]
    seen = int(count) if count.isdecimal() and len(count) < _LONGEST_COUNT else len(file.actions)
    query_texts = {query.query_id: query.text for query in file.queries}
    news = [
        (act, act_words(act.action, act.target, act.value, query_texts.get(act.target or "")))
        for act in file.actions[seen:]
    ]
    given = {name: value for name, value in fields.items() if value.strip() and name != "act"}
    text = given.get("text")
    value = given.get("value") or (None if text == "none" else text)
    value = None if value == "none" else value
    target = given.get("query") or text
    editable = ["reason"] if kind in _CHOSEN_TEXT else ["text", "reason"]
    left = {*editable, "seen", "again", "stance"}
    kept = {name: each for name, each in given.items() if name not in left}
    return page(
        "outdated",
        viewer,
        file=file,
        why=why,
        news=news,
        told=act_words(kind, target, value, query_texts.get(target or "")),
        kind=kind,
        kept=kept,
        editable={name: given[name] for name in editable if name in given},
        again="again" in given,
        seen=file.version,
        path=claim_path(file.video_id, file.claim.claim_id),
    )
