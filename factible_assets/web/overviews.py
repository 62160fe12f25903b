"""Verdicts for readers elsewhere: overviews, feeds, and notes for X.

An overview or a feed has the verdicts of a channel, a speaker, a source, a corpus, or all.

A feed is Atom (RFC 4287), at an address that stays. Readers of feeds ask again with an ETag.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse
from lxml.builder import ElementMaker
from lxml.etree import tostring
from starlette.exceptions import HTTPException

from factible_assets.exchange.claim_review import SOFTWARE
from factible_assets.exchange.community_note import community_note
from factible_assets.web.desk import lists
from factible_assets.web.desk.answers import CurrentViewer, base_url, show
from factible_assets.web.runs import State
from factible_assets.wording import OUTCOME_WORDS, outcome_words, plain
from resources.files import digest
from resources.statements import statements
from warehouse.store import Warehouse

Kind: TypeAlias = Literal["channel", "speaker", "source"]
FeedKind: TypeAlias = Literal["channel", "speaker", "source", "corpus"]

PARTS = {
    "month": "Verdicts over time",
    "topic": "Topics",
    "channel": "Channels",
    "speaker": "Speakers",
    "source": "Sources relied on",
}
"""The parts of an overview in their order, each with its heading."""
_OUTCOMES = ("supports", "refutes", "mixed", "unclear", "incomplete")
_MOST_NAMES, _MOST_CLAIMS, _MOST_ENTRIES = 60, 30, 50
_STATEMENTS = statements("factible_assets.web", "overviews.sql")
_SQL = {name: sql.replace("{chosen}", _STATEMENTS["chosen"]) for name, sql in _STATEMENTS.items()}
_ATOM = ElementMaker(
    namespace="http://www.w3.org/2005/Atom", nsmap={None: "http://www.w3.org/2005/Atom"}
)

routes = APIRouter(include_in_schema=False)


def read_overview(now: Warehouse, kind: Kind | None, name: str | None) -> dict[str, Any]:
    """Return the numbers of a channel, a speaker or a source, or without a kind of all claims.

    The values are a list of rows for each of PARTS, and `newest`, the claims judged last.

    Raises HTTPException (404): No checked claim belongs to it.
    """
    chosen = {"kind": kind, "name": name}
    rows = now.rows(_SQL["groups"], {**chosen, "most": _MOST_NAMES})
    if kind and not rows:
        raise HTTPException(404, f"No checked claim belongs to a {kind} {plain(name or '', 120)}.")
    found: dict[str, Any] = {part: [] for part in PARTS}
    for row in rows:
        found[row.pop("part")].append(row)
    found["newest"] = now.rows(_SQL["newest"], {**chosen, "most": _MOST_CLAIMS})
    return found


@routes.get("/desk/overview")
@routes.get("/desk/overview/{kind}/{name:path}")
def show_overview(
    state: State, viewer: CurrentViewer, kind: Kind | None = None, name: str | None = None
) -> HTMLResponse:
    """Show the verdicts of a channel, a speaker or a source over time, or of all."""
    if state.results.is_empty:
        return show("empty", viewer, title="Overview", here="overview")
    with state.results.opened() as now:
        found = read_overview(now, kind, name)
    values: dict[str, Any] = {
        "kind": kind,
        "subject": name,
        "parts": PARTS,
        "outcomes": _OUTCOMES,
        "found": found,
    }
    return show("overview", viewer, **values, path_of=overview_path, feed=feed_path(kind, name))


def overview_path(kind: str, name: str) -> str:
    return f"/desk/overview/{kind}/{quote(name, safe='')}"


def feed_path(kind: str | None, name: str | None) -> str:
    """Return the address of a feed: of a channel, a speaker, a source or a corpus, or of all."""
    return f"/feeds/{kind}/{quote(name or '', safe='')}.atom" if kind else "/feeds/verdicts.atom"


@routes.get("/desk/videos/{video_id}/claims/{claim_id}/community-note.txt")
def show_community_note(video_id: str, claim_id: str, state: State) -> Response:
    """Return the ruling on a claim as a note for X's Community Notes."""
    note = community_note(state.results.data(video_id), claim_id)
    return Response(note, media_type="text/plain; charset=utf-8")


# --- Feeds ----------------------------------------------------------------------------------------


@routes.get("/feeds/verdicts.atom")
@routes.get("/feeds/{kind}/{name:path}.atom")
def feed(
    request: Request,
    state: State,
    kind: FeedKind | None = None,
    name: str | None = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Return the newest verdicts and rulings of a channel, speaker, source or corpus, or of all."""
    rows = []
    if not state.results.is_empty:
        with state.results.opened() as now:
            chosen = {"kind": kind, "name": name, "most": _MOST_ENTRIES}
            rows = now.rows(_SQL["newest"], chosen)
    base = base_url(request, state)
    path = feed_path(kind, name)
    title = f"Verdicts: {kind} {plain(name or '', 120)}" if kind else "Verdicts"
    newest = rows[0]["changed_at"] if rows else datetime.fromtimestamp(0, UTC)
    document = _ATOM.feed(
        _ATOM.title(title),
        _ATOM.id(_urn(path)),
        _ATOM.updated(_instant(newest)),
        _ATOM.author(_ATOM.name(SOFTWARE)),
        _ATOM.link(rel="self", type="application/atom+xml", href=base + path),
        _ATOM.link(rel="alternate", type="text/html", href=f"{base}/desk"),
        *(_entry(row, base) for row in rows),
    )
    content = tostring(document, xml_declaration=True, encoding="utf-8")
    etag = f'"{digest(content)}"'
    # The middleware's default would forbid feed readers to remember the ETag.
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if if_none_match and etag in {each.strip() for each in if_none_match.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/atom+xml")


def _entry(row: dict[str, Any], base: str) -> Any:
    """Return a verdict as an entry. A signed ruling is the entry's title, and its author."""
    words = outcome_words(row["outcome"], row["basis"])
    sure = f", {row['confidence']} confidence" if row["confidence"] else ""
    verdict = f"{words[:1].upper()}{words[1:]}{sure}: {row['summary'] or 'no summary'}"
    title, said, author = words, verdict, SOFTWARE
    if row["ruling"]:
        title = row["ruling"]
        said = f"{row['prose']} (The software's verdict: {words}.)"
        author = ", ".join(filter(None, (row["signed_by"], row["organisation"])))
    path = lists.claim_path(row["video_id"], row["claim_id"])
    heard = ", ".join(filter(None, (row["speaker"], row["title"], row["channel"])))
    term = row["ruled_stance"] or row["outcome"]
    return _ATOM.entry(
        _ATOM.title(plain(f"{title[:1].upper()}{title[1:]}: {row['text']}")),
        _ATOM.id(_urn(path)),
        _ATOM.updated(_instant(row["changed_at"])),
        _ATOM.author(_ATOM.name(plain(author))),
        _ATOM.link(rel="alternate", type="text/html", href=base + path),
        _ATOM.category(term=term, label=OUTCOME_WORDS[term]),
        _ATOM.summary(plain(f"{said} Said in: {heard or row['video_id']}.")),
    )


def _urn(path: str) -> str:
    """Return an id that stays when the service moves to another address (RFC 4287, 4.2.6)."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"factible-assets:{path}").urn


def _instant(moment: datetime) -> str:
    return moment.replace(tzinfo=UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
