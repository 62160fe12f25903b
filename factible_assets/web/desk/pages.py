"""The pages of the desk: values in, a document and its policy out; and what their lists ask.

What belongs here: which template, style and script a page has, who looks at it, a report narrowed
to one claim, what the forms of a claim offer and which version of the claim they are made from;
what an address of the queue or the search asks for, and the rows that answer it. What does not:
connections, the report itself and its walls around hostile text (report/), recording what a
reviewer does (runs/review.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Self, TypeAlias, cast
from urllib.parse import quote, urlencode

from markupsafe import Markup

from factible_assets import records
from factible_assets.files import digest
from factible_assets.reasoners.embedded.text import is_stop_word
from factible_assets.report.data import ReportData
from factible_assets.report.render import document, environment, report_values
from factible_assets.report.view import ClaimView, ReportView, arrange
from factible_assets.runs.review import ClaimFile
from factible_assets.stages import reviews
from factible_assets.stages.ids import claim_id as id_of_claim
from factible_assets.wording import act_words
from resources.statements import statements
from warehouse.store import Warehouse

Row: TypeAlias = dict[str, Any]

_WRITTEN = statements("factible_assets.web.desk", "pages.sql")
_SQL = {name: sql.replace("{listed}", _WRITTEN["listed"]) for name, sql in _WRITTEN.items()}

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
    "confidence": "surest first",
    "turned": "last turned first",
    "newest": "last checked first",
    "oldest": "checked longest ago first",
    "video": "by video and time",
}
ROWS_OF_QUEUE, ROWS_FOUND = 40, 15
"""Rows of one page of the queue, and of each kind on one page of what was found."""

DOUBT = 0.35
"""From where a claim is important and uncertain: its importance times what its confidence leaves to
certainty, both from 0 to 1."""

ALIKE = 0.5
"""From which similarity two claims are shown as near-duplicates, of 1."""

_DAYS = 7
_LAST_PAGE = 100_000
_LONGEST_COUNT = 7
_MOST_ALIKE = 8
_MOST_WORDS = 12
_STEM = 6
_WORD = re.compile(r"[^\W_]+")

_STYLES = ("shared.css", "desk.css")
_AROUND = 2
"""Paragraphs of the transcript that are shown before and after a claim."""


def video_path(video_id: str) -> str:
    """Return where the desk shows a video."""
    return f"/desk/videos/{quote(video_id, safe='')}"


def claim_path(video_id: str, claim_id: str) -> str:
    """Return where the desk shows a claim, whatever else is found in its video later."""
    return f"{video_path(video_id)}/claims/{quote(claim_id, safe='')}"


_ENGINE = environment("factible_assets.web.desk")
_ENGINE.globals.update(video_path=video_path, claim_path=claim_path)


def claim_report(data: ReportData, claim_id: str) -> ReportView | None:
    """Return a report narrowed to one claim, by its id or a former one; None if there is none."""
    report = arrange(data)
    renamed = reviews.claims_in_force(data.reviews).names.get(claim_id, claim_id)
    view = report.by_id.get(claim_id) or report.by_id.get(renamed)
    if view is None:
        return None
    stored = [replace(each, claims=[view]) for each in report.stored if view in each.claims]
    places = [
        number
        for number, block in enumerate(report.transcript)
        if any(view.claim.claim_id in run.ids for run in block.runs)
    ]
    around = slice(max(0, places[0] - _AROUND), places[-1] + 1 + _AROUND) if places else slice(0)
    return replace(
        report, claims=[view], first_screen=[], transcript=report.transcript[around], stored=stored
    )


def version_of(
    claim: records.Claim, acts: Sequence[records.ReviewAction], verdict: records.Verdict | None
) -> str:
    """Return the version of a claim's state that a form is made from: `{number of acts}-{hash}`.

    It covers the words of the claim, everything that reviewers did to it, and the verdict as the
    last check stored it, but for the rank, which the other claims of the video decide too.
    """
    stored = verdict.model_dump_json(exclude={"rank"}) if verdict else ""
    ids = (act.action_id for act in acts)
    return f"{len(acts)}-{digest(chr(0).join((claim.text, stored, *ids)).encode())}"


def version_of_file(file: ClaimFile) -> str:
    """Return the version of a claim as the live warehouse has it."""
    return version_of(file.claim, file.actions, file.verdict)


_FREE_TEXT: Mapping[str, tuple[str, ...]] = {
    "sign": ("reason",),
    "assess": ("reason",),
    "assign": ("text",),
    "overrule_source": ("reason",),
    "block_source": ("reason",),
    "unblock_source": ("reason",),
    "drop_claim": ("reason",),
    "restore_claim": ("reason",),
    "remove_query": ("reason",),
}
"""The fields that a reviewer words, by kind; of all other kinds `text` and `reason`."""


def outdated(
    viewer: Viewer, file: ClaimFile, kind: records.ReviewKind, fields: Mapping[str, str], why: str
) -> tuple[str, str]:
    """Return the page that shows the newer state of a claim beside a form that was not recorded.

    The form keeps its words. It carries the version of the newer state, so that a second press
    records it. `why` says what kept it from being recorded, if it was not the newer state.
    """
    count = fields.get("seen", "").partition("-")[0]
    seen = int(count) if count.isdecimal() and len(count) < _LONGEST_COUNT else len(file.actions)
    texts = {query.query_id: query.text for query in file.queries}
    now = [
        (act, act_words(act.action, act.target, act.value, texts.get(act.target or "")))
        for act in file.actions
    ]
    given = {name: value for name, value in fields.items() if value.strip() and name != "act"}
    text = given.get("text")
    value = given.get("value") or (None if text == "none" else text)
    target = given.get("query") or text
    value = None if value == "none" else value
    worded = [name for name in _FREE_TEXT.get(kind, ("text", "reason")) if name in given]
    kept = {name: each for name, each in given.items() if name not in {*worded, "seen", "again"}}
    return page(
        "outdated",
        viewer,
        file=file,
        why=why,
        news=now[seen:],
        told=act_words(kind, target, value, texts.get(target or "")),
        kind=kind,
        kept=kept,
        worded={name: given[name] for name in worded},
        again="again" in given,
        seen=version_of_file(file),
        path=claim_path(file.video_id, file.claim.claim_id),
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


def report_page(viewer: Viewer, report: ReportView, **values: Any) -> tuple[str, str]:
    """Return the page of a video, or with `is_open` of one claim with the forms to act on it."""
    macros = cast("Any", _ENGINE.get_template("tools.html.jinja").module)
    data, video_id = report.data, report.data.video.video_id
    is_open = bool(values.get("is_open"))
    shown = {view.claim.claim_id for view in report.claims}
    corrections = reviews.corrections_by_claim(data.reviews)

    def tools(view: ClaimView) -> Markup:
        claim = view.claim
        mine = corrections.get(claim.claim_id, reviews.NO_CORRECTIONS)
        assigned = reviews.latest("assign", (act for act, _ in view.reviews))
        # What a reviewer can act on: the claim, its next queries, its sources, who has it to do.
        desk = {
            "view": view,
            "path": claim_path(video_id, claim.claim_id),
            "queries": reviews.corrected_queries(
                claim, [query for query, _ in view.searches], mine
            ),
            "sources": [source for sources in view.groups.values() for source in sources],
            "spoken_of": [*mine.sources],
            "assigned_to": assigned.value if assigned else None,
            "version": version_of(
                claim,
                [act for act, _ in view.reviews],
                data.stored_verdicts.get(claim.claim_id, view.verdict),
            ),
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


# --- What lists ask the published copy ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """One page of the queue. An unknown value in an address stands for the default.

    An empty `tab` stands for the first tab that has a claim.
    """

    tab: str = ""
    since: date = date.min
    corpus: str | None = None
    channel: str | None = None
    sort: str = "uncertainty"
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Read the query of an address."""
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
        """Return the address that asks for this, changed in some respect, from its first page."""
        given = asdict(self) | {"page": 1} | changes
        return f"/desk/queue?{urlencode({key: value for key, value in given.items() if value})}"


def read_queue(now: Warehouse, wanted: Wanted, me: str) -> Row:
    """Return a page of the queue as the reviewer of that name sees it.

    Beside the `rows` these are how many claims each tab has (`numbers`), `total` for the wanted
    one, on how many `pages`, and the `corpora` and `channels` that can be chosen.
    """
    names: dict[str, str] = {}
    for row in now.rows(_SQL["rewordings"]):
        before, made = row["claim_id"], id_of_claim(row["video_id"], row["value"])
        names = {old: made if now == before else now for old, now in names.items()}
        names[before] = made
    filters: dict[str, Any] = {"since": wanted.since, "doubt": DOUBT, "me": me}
    filters |= {"corpus": wanted.corpus, "channel": wanted.channel}
    filters |= {"former": list(names), "now": list(names.values())}
    (counts,) = now.rows(_SQL["counts"], filters)
    if not wanted.tab:
        wanted = replace(wanted, tab=next((tab for tab in TABS if counts[tab]), "all"))
    part = {"tab": wanted.tab, "sort": wanted.sort, "limit": ROWS_OF_QUEUE}
    rows = now.rows(_SQL["queue"], {**filters, **part, "offset": ROWS_OF_QUEUE * (wanted.page - 1)})
    places = now.rows(_SQL["places"])
    total = counts[wanted.tab]
    return {
        "wanted": wanted,
        "rows": rows,
        "numbers": counts,
        "total": total,
        "pages": max(1, -(-total // ROWS_OF_QUEUE)),
        "corpora": sorted({row["corpus"] for row in places if row["corpus"]}),
        "channels": sorted({row["channel"] for row in places if row["channel"]}, key=str.casefold),
    }


def sought(text: str) -> list[str]:
    """Return the beginnings of the words that are sought, without marks, each once.

    Words that every text has are sought where there are no others.

    A word of more than six letters stands for all that begin as it does, so that "vaccines" finds
    "vaccination"; one with a digit for itself.
    """
    bare = unicodedata.normalize("NFKD", text.lower())
    words = _WORD.findall("".join(each for each in bare if not unicodedata.combining(each)))
    words = [word for word in words if not is_stop_word(word)] or words
    stems = (word if re.search(r"\d", word) else word[:_STEM] for word in words)
    return list(dict.fromkeys(stems))[:_MOST_WORDS]


def search(now: Warehouse, text: str, page: int) -> Row:
    """Return a page of what says most of the words of a text.

    These are the `rows` of each kind, best first, how many there are (`totals`), and on how many
    `pages` the longest list is.
    """
    words = sought(text)
    offset = ROWS_FOUND * (page - 1)
    rows = (
        now.rows(_SQL["search"], {"words": words, "limit": ROWS_FOUND, "offset": offset})
        if words
        else []
    )
    kinds = ("claim", "quote", "review")
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    totals = {kind: each[0]["total"] if each else 0 for kind, each in by_kind.items()}
    pages = max(1, -(-max(totals.values()) // ROWS_FOUND))
    return {"rows": by_kind, "totals": totals, "page": page, "pages": pages}


def said_before(now: Warehouse, video_id: str, claim_id: str) -> list[Row]:
    """Return the claims of other videos that say almost what one claim says, most alike first."""
    this = {"video_id": video_id, "claim_id": claim_id}
    return now.rows(_SQL["said_before"], {**this, "similarity": ALIKE, "limit": _MOST_ALIKE})
