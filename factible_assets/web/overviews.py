"""Shows the verdicts of a channel, a speaker or a source, or all, as an overview and as a feed.

Feeds are Atom (RFC 4287) at permanent addresses. Feed readers ask again with an ETag.
"""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from factible_assets.exchange.results import SOFTWARE
from factible_assets.records.stances import with_stances
from factible_assets.report.render import environment
from factible_assets.web.desk.answers import PageVisit, base_url
from factible_assets.web.desk.lists import claim_path
from factible_assets.web.state import State
from factible_assets.wording import plain
from resources.files import digest
from resources.statements import statements
from warehouse.store import Warehouse

Kind: TypeAlias = Literal["channel", "speaker", "source"]
FeedKind: TypeAlias = Literal["channel", "speaker", "source", "corpus"]

PARTS = ("month", "topic", "channel", "speaker", "source")
"""The parts of an overview in their order."""
_MOST_NAMES, _MOST_CLAIMS, _MOST_ENTRIES = 60, 30, 50
_STATEMENTS = statements("factible_assets.web", "overviews.sql", with_stances)
_SQL = {name: sql.replace("{chosen}", _STATEMENTS["chosen"]) for name, sql in _STATEMENTS.items()}

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
    overview: dict[str, Any] = {part: [] for part in PARTS}
    for row in rows:
        overview[row.pop("part")].append(row)
    overview["newest"] = now.rows(_SQL["newest"], {**chosen, "most": _MOST_CLAIMS})
    return overview


@routes.get("/desk/overview")
@routes.get("/desk/overview/{kind}/{name:path}")
def show_overview(
    visit: PageVisit, kind: Kind | None = None, name: str | None = None
) -> HTMLResponse:
    """Show the verdicts of a channel, a speaker or a source over time, or of all."""
    results = visit.state.results
    if results.is_empty:
        return visit.show("empty", title="Overview", here="overview")
    with results.opened() as now:
        overview = read_overview(now, kind, name)
    feed = feed_path(kind, name)
    return visit.show("overview", overview=overview, kind=kind, subject=name, feed=feed)


def feed_path(kind: str | None, name: str | None) -> str:
    """Return the address of a feed: of a channel, a speaker, a source or a corpus, or of all."""
    return f"/feeds/{kind}/{quote(name or '', safe='')}.atom" if kind else "/feeds/verdicts.atom"


# --- Feeds ----------------------------------------------------------------------------------------


@routes.get("/feeds/verdicts.atom")
@routes.get("/feeds/{kind}/{name:path}.atom")
def show_feed(
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
    path = feed_path(kind, name)
    title = f"Verdicts: {kind} {plain(name or '', 120)}" if kind else "Verdicts"
    document = _ENGINE.get_template("feed.atom.jinja").render(
        title=title, rows=rows, path=path, base=base_url(request, state), software=SOFTWARE
    )
    content = document.encode()
    etag = f'"{digest(content)}"'
    # The middleware's default would forbid feed readers to remember the ETag.
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if if_none_match and etag in {tag.strip() for tag in if_none_match.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/atom+xml")


def _urn(path: str) -> str:
    """Return an id that stays when the service moves to another address (RFC 4287, 4.2.6)."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"factible-assets:{path}").urn


_ENGINE = environment("factible_assets.web")
_ENGINE.globals.update(claim_path=claim_path)
_ENGINE.filters.update(
    urn=_urn,
    plain=plain,
    sentence=lambda words: f"{words[:1].upper()}{words[1:]}",
    instant=lambda moment: f"{moment:%Y-%m-%dT%H:%M:%SZ}",
)
