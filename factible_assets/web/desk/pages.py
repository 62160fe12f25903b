"""Computes the template values of two pages: a claim with its evidence, and an outdated form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from factible_assets.records import tables as records
from factible_assets.report.data import ReportData
from factible_assets.report.render import report_values
from factible_assets.report.view import ClaimView, ReportView, SourceView, arrange
from factible_assets.runs.claims import ClaimFile, claim_version
from factible_assets.stages import reviews
from factible_assets.stages.urls import host_and_parents
from factible_assets.web.desk.lists import SORTS, TABS, QueueQuery, Row, claim_path, next_address
from factible_assets.wording import act_words, counted, day, publisher

_PARAGRAPHS_AROUND = 2
"""Paragraphs of the transcript before and after a claim on its page."""

_CHOSEN_TEXT: frozenset[records.ReviewKind] = frozenset(
    {"sign", "assess", "overrule_source", "block_source", "unblock_source"}
)
"""The acts whose `text` the reviewer chooses from a list."""


# --- One claim ------------------------------------------------------------------------------------


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
        stored=[replace(video, claims=[view]) for video in report.stored if view in video.claims],
    )


def is_superseded(report: ReportView) -> bool:
    """Tell whether a reviewer has since reworded, split or dropped the one claim of a report."""
    claim_id, force = report.claims[0].claim.claim_id, reviews.claims_in_force(report.data.reviews)
    return claim_id in force.gone or force.names.get(claim_id, claim_id) != claim_id


def workbench(report: ReportView, queue: Row) -> dict[str, Any]:
    """Return the values of the workbench: the queue, and the one claim of `report` with forms."""
    view, data = report.claims[0], report.data
    claim, acts = view.claim, [act for act, _ in view.reviews]
    by_claim = reviews.corrections_by_claim(data.reviews)
    corrections = by_claim.get(claim.claim_id, reviews.NO_CORRECTIONS)
    queries = [query for query, _ in view.searches]
    query: QueueQuery = queue["query"]
    key = (claim.video_id, claim.claim_id)
    row = next((row for row in queue["rows"] if (row["video_id"], row["claim_id"]) == key), None)
    previous = row["previous"] if row else None

    def blocks(evidence: records.Evidence) -> str | None:
        """Return the subject whose blocking leaves a source out: its page or its site."""
        url = evidence.canonical_url
        if corrections.blocked(url) is None:
            return None
        names = (url, *host_and_parents(urlsplit(url).hostname or ""))
        on_source = filter(None, map(corrections.sources.get, names))
        return next((act.target for act in on_source if act.action == "block_source"), None)

    sources = [source for group in view.groups.values() for source in group]
    quotes = {source.evidence.evidence_id: quote_with_source(source) for source in sources}
    best = [source.evidence.evidence_id for source in view.argument.key_sources]
    verdict = data.stored_verdicts.get(claim.claim_id, view.verdict)
    desk = {
        "path": claim_path(*key),
        "queue": query.address("").removeprefix("?"),
        "version": claim_version(claim, acts, verdict),
        "queries": reviews.corrected_queries(claim, queries, corrections),
        "hits": {query.query_id: _search_words(searches) for query, searches in view.searches},
        "corrections": corrections,
        "blocks": blocks,
        "notes": [act for act in acts if act.action == "note" and act.target],
        "quotes": quotes,
        "best": [quotes[evidence_id] for evidence_id in best if evidence_id in quotes][:1],
        "due": _reason_to_check(view, acts, data),
        "place": f"{row['place'] if row else '–'} of {queue['total']:,}, {TABS[query.tab]}",
        "previous": query.address(claim_path(**previous)) if previous else None,
        "next": next_address(queue, *key),
    }
    values = report_values(
        report, claim_href=lambda each: claim_path(data.video.video_id, each.claim.claim_id)
    )
    return {**values, "queue": queue, "tabs": TABS, "sorts": SORTS, "desk": desk}


def _search_words(searches: Sequence[records.Search]) -> str:
    """Return the number of results of each search for a query, in words."""
    return "; ".join(
        f"{search.provider}: "
        + ("failed" if search.status == "infra_error" else counted(search.hit_count, "result"))
        for search in searches
    )


def _reason_to_check(
    view: ClaimView, acts: Sequence[records.ReviewAction], data: ReportData
) -> str | None:
    """Say why the claim needs another check; None if it needs none."""
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
    evidence = source.evidence
    words = f"“{evidence.quote}”" if evidence.quote else evidence.summary or ""
    day_of = day(evidence.published_on) if evidence.published_on else ""
    origin = dict.fromkeys(filter(None, (source.title, publisher(evidence), day_of, source.link)))
    return f"{words} – {', '.join(origin)}"


# --- A form that was made from an older state of a claim ------------------------------------------


def outdated(
    file: ClaimFile, kind: records.ReviewKind, fields: Mapping[str, str]
) -> dict[str, Any]:
    """Return the values of the page that shows an unrecorded form beside the claim's current state.

    The form keeps its words and carries the current version, so that sending it again records it.
    """
    count = fields.get("seen", "")[:6].partition("-")[0]
    seen = int(count) if count.isdecimal() else len(file.actions)
    query_texts = {query.query_id: query.text for query in file.queries}
    filled = {name: value for name, value in fields.items() if value.strip() and name != "act"}
    text = filled.get("text")
    value = filled.get("value") or text
    target = filled.get("query") or text
    editable = ["reason"] if kind in _CHOSEN_TEXT else ["text", "reason"]
    not_kept = {*editable, "seen", "again", "stance"}
    return {
        "file": file,
        "acts_since": [
            (act, act_words(act.action, act.target, act.value, query_texts.get(act.target or "")))
            for act in file.actions[seen:]
        ],
        "unrecorded": act_words(
            kind, target, None if value == "none" else value, query_texts.get(target or "")
        ),
        "kind": kind,
        "kept": {name: value for name, value in filled.items() if name not in not_kept},
        "editable": {name: filled[name] for name in editable if name in filled},
        "again": "again" in filled,
        "path": claim_path(file.video_id, file.claim.claim_id),
    }
