"""Renders the pages of the desk, and reads the lists that they show."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Self, TypeAlias, cast
from urllib.parse import quote, urlencode

from markupsafe import Markup

from factible_assets.reasoners.embedded.text import is_stop_word
from factible_assets.records import tables as records
from factible_assets.report.data import ReportData
from factible_assets.report.render import document, environment, report_values
from factible_assets.report.view import ClaimView, ReportView, arrange
from factible_assets.runs.review import ClaimFile
from factible_assets.stages import reviews
from factible_assets.stages.ids import claim_id as id_of_claim
from factible_assets.wording import act_words
from resources.files import digest
from resources.statements import statements
from warehouse.store import Warehouse

Row: TypeAlias = dict[str, Any]
Page: TypeAlias = tuple[str, str]
"""A document and its content security policy."""

_STATEMENTS = statements("factible_assets.web.desk", "pages.sql")
_SQL = {name: sql.replace("{listed}", _STATEMENTS["listed"]) for name, sql in _STATEMENTS.items()}

TABS = {
    "incomplete": "Incomplete",
    "turned": "Turned",
    "uncertain": "Important and uncertain",
    "unreviewed": "Unreviewed",
    "mine": "Assigned to me",
    "all": "All claims",
}
SORTS = {
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
SIMILAR = 0.5
"""Claims count as near-duplicates from this similarity on, 0 to 1."""

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
        name: The name under which they review.
        may_review: Whether their role lets them review.
        has_session: Whether they signed in with a token.
        behind_since: When the shown data was published, if there is newer data.
    """

    name: str
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


def report_page(viewer: Viewer, report: ReportView, **values: Any) -> Page:
    """Return the page of a video, or with `is_open` of one claim and the forms to review it."""
    macros = cast("Any", _ENGINE.get_template("tools.html.jinja").module)
    data, video_id = report.data, report.data.video.video_id
    is_open = bool(values.get("is_open"))
    shown = {view.claim.claim_id for view in report.claims}
    corrections = reviews.corrections_by_claim(data.reviews)

    def tools(view: ClaimView) -> Markup:
        claim, acts = view.claim, [act for act, _ in view.reviews]
        mine = corrections.get(claim.claim_id, reviews.NO_CORRECTIONS)
        assigned = reviews.latest("assign", acts)
        verdict = data.stored_verdicts.get(claim.claim_id, view.verdict)
        queries = [query for query, _ in view.searches]
        desk = {
            "view": view,
            "path": claim_path(video_id, claim.claim_id),
            "queries": reviews.corrected_queries(claim, queries, mine),
            "sources": [source for sources in view.groups.values() for source in sources],
            "corrected_sources": [*mine.sources],
            "assigned_to": assigned.value if assigned else None,
            "version": claim_version(claim, acts, verdict),
        }
        make: Callable[..., Markup] = macros.review if is_open else macros.review_link
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
    kept = {name: each for name, each in given.items() if name not in {*editable, "seen", "again"}}
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
    sort: str = "uncertainty"
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
            sort=sort if sort in SORTS else "uncertainty",
            page=max(1, min(int(page), _LAST_PAGE)) if is_number else 1,
        )

    def address(self, **changes: object) -> str:
        """Return the address of this query with changes. It starts again at page 1."""
        given = asdict(self) | {"page": 1} | changes
        return f"/desk/queue?{urlencode({key: value for key, value in given.items() if value})}"


def read_queue(now: Warehouse, query: QueueQuery, me: str) -> Row:
    """Return one page of the queue of a reviewer.

    The values are the `query`, its `rows`, the number of claims of each tab (`numbers`), `total`
    and `pages` of the chosen tab, and the `corpora` and `channels` to choose from.
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
        "former": list(new_ids),
        "now": list(new_ids.values()),
    }
    (counts,) = now.rows(_SQL["counts"], filters)
    if not query.tab:
        query = replace(query, tab=next((tab for tab in TABS if counts[tab]), "all"))
    part = {"tab": query.tab, "sort": query.sort, "limit": ROWS_OF_QUEUE}
    part["offset"] = ROWS_OF_QUEUE * (query.page - 1)
    total, places = counts[query.tab], now.rows(_SQL["places"])
    return {
        "query": query,
        "rows": now.rows(_SQL["queue"], filters | part),
        "numbers": counts,
        "total": total,
        "pages": max(1, -(-total // ROWS_OF_QUEUE)),
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


def similar_claims(now: Warehouse, video_id: str, claim_id: str) -> list[Row]:
    """Return the claims of other videos that say almost the same, the most similar first."""
    this = {"video_id": video_id, "claim_id": claim_id}
    return now.rows(_SQL["similar_claims"], {**this, "similarity": SIMILAR, "limit": _MOST_SIMILAR})
