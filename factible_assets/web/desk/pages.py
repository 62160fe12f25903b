"""Renders the pages of the desk, and reads the lists that they show."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Self, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from factible_assets.reasoners.embedded.text import is_stop_word
from factible_assets.records import tables as records
from factible_assets.report.data import ReportData
from factible_assets.report.render import document, environment, report_values
from factible_assets.report.view import ClaimView, ReportView, SourceView, arrange
from factible_assets.runs.review import ClaimFile
from factible_assets.runs.said_before import said_before
from factible_assets.stages import reviews
from factible_assets.stages.ids import claim_id as id_of_claim
from factible_assets.stages.urls import host_and_parents
from factible_assets.wording import GROUP_WORDS, act_words, counted, day, publisher
from resources.files import digest
from resources.statements import statements
from warehouse.store import Warehouse

Row: TypeAlias = dict[str, Any]
Page: TypeAlias = tuple[str, str]
"""A document and its content security policy."""

_STATEMENTS = statements("factible_assets.web.desk", "pages.sql")
_SQL = {name: sql.replace("{listed}", _STATEMENTS["listed"]) for name, sql in _STATEMENTS.items()}

TABS = {
    "unreviewed": "Unreviewed",
    "mine": "Assigned to me",
    "incomplete": "Incomplete",
    "turned": "Turned",
    "uncertain": "Important and uncertain",
    "all": "All claims",
}
SORTS = {
    "need": "incomplete and turned first",
    "uncertainty": "important and uncertain first",
    "importance": "most important first",
    "confidence": "most confident first",
    "turned": "last turned first",
    "newest": "last checked first",
    "oldest": "checked longest ago first",
    "video": "by video and time",
}
ROWS_OF_QUEUE, ROWS_FOUND = 40, 15
"""Rows per page: of the queue, and of each kind of search result."""
UNCERTAIN = 0.35
"""A claim counts as uncertain from this product on: importance times (1 - confidence), 0 to 1."""
RELATIONS = {
    "same": "says the same",
    "contrary": "says the contrary",
    "other figure": "gives another figure",
    "similar": "is similar",
}

_DAYS = 7
_LAST_PAGE = 100_000
_LONGEST_COUNT = 7
_MOST_SIMILAR = 8
_MOST_WORDS = 12
_STEM = 6
_WORD = re.compile(r"[^\W_]+")
_STYLES = ("shared.css", "desk.css")
_PARAGRAPHS_AROUND = 2
"""Paragraphs of the transcript before and after a claim on its page."""

_CHOSEN_TEXT: frozenset[records.ReviewKind] = frozenset(
    {"sign", "assess", "overrule_source", "block_source", "unblock_source"}
)
"""The acts whose `text` the reviewer chooses from a list."""


def video_path(video_id: str) -> str:
    return f"/desk/videos/{quote(video_id, safe='')}"


def claim_path(video_id: str, claim_id: str) -> str:
    """Return the permanent address of a claim's page."""
    return f"{video_path(video_id)}/claims/{quote(claim_id, safe='')}"


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


def next_address(queue: Row, video_id: str, claim_id: str) -> str | None:
    """Return the address of the claim after another one in a queue, or of the first one."""
    here = (video_id, claim_id)
    rows = [row for row in queue["rows"] if (row["video_id"], row["claim_id"]) == here]
    after = rows[0]["next"] if rows else next(iter(queue["rows"]), None)
    query: QueueQuery = queue["query"]
    return query.address(claim_path(after["video_id"], after["claim_id"])) if after else None


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


def claim_rows(report: ReportView) -> list[Row]:
    """Return the claims of a report as the rows of a table."""
    names = ("text", "speaker", "start_seconds", "importance", "claim_id")
    return [
        {
            **view.claim.model_dump(include=set(names)),
            "verdict": view.words,
            "confidence": view.confidence,
            "ruling": view.ruling.reason if view.ruling else None,
            **{side: len(view.groups.get(side, ())) for side in GROUP_WORDS},
        }
        for view in report.claims
    ]


def source_rows(report: ReportView) -> list[Row]:
    """Return the sources of a report's claims as the rows of a table."""
    return [
        {
            "claim": view.claim.text,
            "stance": source.evidence.stance,
            "quote": source.evidence.quote,
            "title": source.title,
            "publisher": publisher(source.evidence),
            "rating": source.evidence.rating,
            "published_on": source.evidence.published_on,
            "url": source.link,
        }
        for view in report.claims
        for sources in view.groups.values()
        for source in sources
    ]


def quote_with_source(source: SourceView) -> str:
    """Return a quote, or the summary of a source, with title, publisher, date and address."""
    row = source.evidence
    words = f"“{row.quote}”" if row.quote else row.summary or ""
    day_of = day(row.published_on) if row.published_on else ""
    named = dict.fromkeys(filter(None, (source.title, publisher(row), day_of, source.link)))
    return f"{words} – {', '.join(named)}"


# --- Forms that were made from an older state of a claim ------------------------------------------


def claim_version(
    claim: records.Claim, acts: Sequence[records.ReviewAction], verdict: records.Verdict | None
) -> str:
    """Return the version of a claim for its forms: `{number of acts}-{hash}`.

    It covers the claim's words, all acts of reviewers, and the verdict as the last check stored it.
    It leaves out the rank, because the video's other claims decide it too.
    """
    stored = verdict.model_dump_json(exclude={"rank"}) if verdict else ""
    ids = (act.action_id for act in acts)
    return f"{len(acts)}-{digest(chr(0).join((claim.text, stored, *ids)).encode())}"


def current_version(file: ClaimFile) -> str:
    """Return the version of a claim in the live warehouse."""
    return claim_version(file.claim, file.actions, file.verdict)


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
        seen=current_version(file),
        path=claim_path(file.video_id, file.claim.claim_id),
    )


# --- Lists from the published copy ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """The filters of the queue's address. An unknown value means the default.

    An empty `tab` means the first tab that has a claim.
    """

    tab: str = ""
    since: date = date.min
    corpus: str | None = None
    channel: str | None = None
    video: str | None = None
    sort: str = "need"
    page: int = 1

    @classmethod
    def from_address(cls, query: Mapping[str, str]) -> Self:
        tab, sort, page = (query.get(name, "") for name in ("tab", "sort", "page"))
        is_number = page.isascii() and page.isdecimal() and len(page) <= len(str(_LAST_PAGE))
        try:
            since = date.fromisoformat(query.get("since", ""))
        except ValueError:
            since = (datetime.now(UTC) - timedelta(days=_DAYS)).date()
        return cls(
            tab=tab if tab in TABS else "",
            since=since,
            corpus=query.get("corpus") or None,
            channel=query.get("channel") or None,
            video=query.get("video") or None,
            sort=sort if sort in SORTS else "need",
            page=max(1, min(int(page), _LAST_PAGE)) if is_number else 1,
        )

    def address(self, path: str = "/desk/queue", **changes: object) -> str:
        """Return the address of a page with this query and changes. It starts again at page 1."""
        given = asdict(self) | {"page": 1} | changes
        usual = asdict(type(self).from_address({}))
        other = {key: value for key, value in given.items() if value and value != usual[key]}
        return f"{path}?{urlencode(other)}" if other else path


def read_queue(
    now: Warehouse,
    query: QueueQuery,
    me: str,
    current: tuple[str, str] = ("", ""),
    rows: int = ROWS_OF_QUEUE,
) -> Row:
    """Return one page of the queue of a reviewer: the one with the claim `current`, if it is in it.

    The values are the `query`, its `rows`, the number of claims of each tab (`numbers`), `total`,
    `page` and `pages` of the chosen tab, and the `corpora` and `channels` to choose from. A row has
    the video_id and claim_id of the `previous` and the `next` one.
    """
    new_ids: dict[str, str] = {}
    for row in now.rows(_SQL["rewordings"]):
        before, after = row["claim_id"], id_of_claim(row["video_id"], row["value"])
        new_ids = {old: after if new == before else new for old, new in new_ids.items()}
        new_ids[before] = after
    filters: dict[str, Any] = {
        "since": query.since,
        "doubt": UNCERTAIN,
        "me": me,
        "corpus": query.corpus,
        "channel": query.channel,
        "video": query.video,
        "former": list(new_ids),
        "now": list(new_ids.values()),
    }
    (counts,) = now.rows(_SQL["counts"], filters)
    if not query.tab:
        query = replace(query, tab=next((tab for tab in TABS if counts[tab]), "all"))
    video_id, claim_id = current
    part = {"tab": query.tab, "sort": query.sort, "limit": rows, "page": query.page}
    part |= {"current_video": video_id, "current_claim": claim_id}
    total, places = counts[query.tab], now.rows(_SQL["places"])
    found = now.rows(_SQL["queue"], filters | part)
    return {
        "query": query,
        "rows": found,
        "numbers": counts,
        "total": total,
        "page": 1 + (found[0]["place"] - 1) // rows if found else query.page,
        "pages": max(1, -(-total // rows)),
        "corpora": sorted({row["corpus"] for row in places if row["corpus"]}),
        "channels": sorted({row["channel"] for row in places if row["channel"]}, key=str.casefold),
    }


def search_terms(text: str) -> list[str]:
    """Return the distinct beginnings of the words of a text, without accents.

    A word stands for all words with the same first six letters, so that "vaccines" finds
    "vaccination". Words with digits stand for themselves. Stop words count only if there are no
    other words.
    """
    bare = unicodedata.normalize("NFKD", text.lower())
    words = _WORD.findall("".join(each for each in bare if not unicodedata.combining(each)))
    words = [word for word in words if not is_stop_word(word)] or words
    stems = (word if re.search(r"\d", word) else word[:_STEM] for word in words)
    return list(dict.fromkeys(stems))[:_MOST_WORDS]


def search(now: Warehouse, text: str, page: int) -> Row:
    """Return one page of results for a text.

    The values are the `rows` of each kind, the best first, their `totals`, and the number of
    `pages` of the longest list.
    """
    rows: list[Row] = []
    if words := search_terms(text):
        part = {"limit": ROWS_FOUND, "offset": ROWS_FOUND * (page - 1)}
        rows = now.rows(_SQL["search"], {"words": words, **part})
    kinds = ("claim", "quote", "review")
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    totals = {kind: each[0]["total"] if each else 0 for kind, each in by_kind.items()}
    pages = max(1, -(-max(totals.values()) // ROWS_FOUND))
    return {"rows": by_kind, "totals": totals, "page": page, "pages": pages}


def similar_claims(now: Warehouse, video_id: str, text: str) -> list[Row]:
    """Return the claims of other videos that speak of the same, the most similar first."""
    return [
        {
            **row,
            "text": row["claim"],
            "title": row["video_title"],
            "relation": RELATIONS[row["relation"]],
            "confidence": row["confidence"] if row["outcome"] != "unclear" else None,
        }
        for row in said_before(now, text, without=video_id)[:_MOST_SIMILAR]
    ]
