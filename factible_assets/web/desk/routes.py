"""The routes of the desk: pages for people, and what their forms ask for.

What belongs here: addresses, forms on the wire, who is signed in, which run a page follows. What
does not: what the pages show (pages.py), what a review means (runs/review.py), what requests
pass before (walls.py).

Every form is answered by a redirect (303), so that no page is one that sends it again when it is
loaded again.
"""

from __future__ import annotations

import asyncio
import html
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException

from factible_assets.config import DEMO_VIDEO, FactCheckConfig, demo_config
from factible_assets.errors import FactibleError
from factible_assets.exchange.claim_review import reviews_of_results
from factible_assets.files import digest
from factible_assets.records import QueryType, ReviewKind
from factible_assets.report.render import claims_as_markdown
from factible_assets.report.view import ReportView, arrange
from factible_assets.runs import review
from factible_assets.runs.result import stored_result
from factible_assets.runs.targets import Target, enlist, resolve
from factible_assets.stages.reviews import OPINIONS
from factible_assets.web.access import CARDS, DESK, SESSION, SIGN_IN, SIGN_OUT
from factible_assets.web.auth import SESSION_SECONDS
from factible_assets.web.desk import pages
from factible_assets.web.desk.pages import Viewer, claim_path
from factible_assets.web.desk.pages import video_path as path_of_video
from factible_assets.web.models import MOST_CLAIMS, FactCheckRequest, validation_sentence
from factible_assets.web.runs import ByClient, House, InHouse
from factible_assets.wording import outcome_words, plain, verdict_words
from warehouse.store import Warehouse

_VIDEOS = 25
_LONGEST_SEARCH = _LONGEST_TITLE = 300
_TIMELESS: frozenset[ReviewKind] = frozenset({"note", "add_claim"})
"""Acts that decide nothing about the claim as it stands, and are recorded whatever changed."""
_LONGEST_NAME = 50
"""Characters of a file's name, of up to four bytes each, of the 255 that a file system takes."""

routes = APIRouter(include_in_schema=False)


# --- What comes with a request ------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """What a form brings: its fields, and its files by field, with their names."""

    fields: Mapping[str, str]
    files: Mapping[str, list[tuple[str, bytes]]] = field(default_factory=dict)

    def get(self, name: str) -> str:
        """Return a field without the space around it, empty if there is none."""
        return self.fields.get(name, "").strip()


async def _form(request: Request) -> Form:
    kind, body = request.headers.get("content-type", ""), await request.body()
    if not kind.startswith("multipart/form-data"):
        try:
            return Form(dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=100)))
        except ValueError as error:
            raise HTTPException(422, "This form has more fields than any page asks for.") from error
    fields: dict[str, str] = {}
    files: dict[str, list[tuple[str, bytes]]] = {}
    head = f"Content-Type: {kind}\r\n\r\n".encode()
    for part in message_from_bytes(head + body, policy=policy.HTTP).iter_parts():
        name = str(part.get_param("name", "", header="content-disposition"))
        content = cast("bytes", part.get_payload(decode=True) or b"")
        file = part.get_filename()
        if file is None:
            fields[name] = content.decode("utf-8", "replace")
        elif file and content:
            # Not every name that may come is one that this machine can give a file.
            own = plain(Path(file.replace("\\", "/")).name)
            files.setdefault(name, []).append((own, content))
    return Form(fields, files)


def _viewer(request: Request, house: InHouse, client: ByClient) -> Viewer:
    try:
        name = client.name or review.reviewer_name(None, house.settings)
    except FactibleError:
        name = "nobody"
    has_session = bool(house.clients.by_digest) and SESSION in request.cookies
    return Viewer(name, client.may("review"), has_session, house.results.behind_since())


Looking = Annotated[Viewer, Depends(_viewer)]
Filled = Annotated[Form, Depends(_form)]
Number = Annotated[int, Query(ge=1, le=100_000)]


def shown(made: tuple[str, str], *, status: int = 200, framed: bool = False) -> HTMLResponse:
    """Answer with a page under its policy; `framed`: pages of others may frame it."""
    page, rules = made
    ancestors = "*" if framed else "'none'"
    headers = {"Content-Security-Policy": f"{rules}; frame-ancestors {ancestors}"}
    if not framed:
        # Only a page that may say which one it is can prove that its forms are the service's own.
        headers["Referrer-Policy"] = "same-origin"
    return HTMLResponse(page, status_code=status, headers=headers)


_PLAIN_TITLES = {
    403: "This is not allowed",
    405: "Not found",
    409: "This cannot be done now",
    413: "This is too large",
    415: "This cannot be read",
    422: "This cannot be done",
    429: "This cannot be done now",
}
"""What HTTP calls these is no help to whoever filled in a form."""


def refused(request: Request, status: int, title: str, detail: str) -> HTMLResponse:
    """Say on a page why something was not done."""
    # The walls of Dagster's UI stand around two applications, and name none.
    client = getattr(request.state, "client", None) if "app" in request.scope else None
    viewer = _viewer(request, request.app.state.house, client) if client and client.id else None
    back = request.url.path.rpartition("/")[0] if request.method == "POST" else DESK
    back = back if back.startswith(f"{DESK}/videos/") else DESK
    values = {"title": _PLAIN_TITLES.get(status, title), "detail": detail, "back": back}
    return shown(pages.page("refused", viewer, **values), status=status)


def _there(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303)


# --- The way in ---------------------------------------------------------------------------------


@routes.get(SIGN_IN)
def sign_in_page(to: str = DESK) -> HTMLResponse:
    """Ask for a token."""
    return _asks_for_token(to=_own(to), status=200)


def _asks_for_token(*, status: int = 401, **values: Any) -> HTMLResponse:
    usual = {"refused": False, "ended": False, "kept": "", "path": ""}
    return shown(pages.page("sign_in", None, **usual | values), status=status)


def session_ended(path: str, referer: str, kept: bytes | None) -> HTMLResponse:
    """Answer a form that comes after its session has ended: ask for the token, keep the words.

    `kept` is the form as it came, None where it is no form of words, or too long to be kept.
    """
    words = (kept or b"").decode("utf-8", "replace")
    return _asks_for_token(to=_own(urlsplit(referer).path), path=path, kept=words, ended=True)


@routes.post(SIGN_IN)
def sign_in(request: Request, house: InHouse, form: Filled) -> Response:
    """Take a token for a session."""
    to = _own(form.get("to"))
    if not house.clients.by_digest:
        return _there(to)
    kept = {name: form.fields.get(name, "") for name in ("kept", "path")}
    address = request.client.host if request.client else ""
    client = house.clients.with_token(form.get("token"), address)
    if client is None:
        return _asks_for_token(to=to, refused=True, kept=kept["kept"], path=kept["path"])
    response: Response = _there(to)
    if kept["kept"]:
        words = dict(parse_qsl(kept["kept"], max_num_fields=100))
        values = {"to": to, "path": _own(kept["path"]), "words": words}
        response = shown(pages.page("unrecorded", None, **values))
    response.set_cookie(
        SESSION,
        house.clients.begin_session(client),
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="strict",
        secure=_base(request, house).startswith("https:"),
    )
    return response


@routes.post(SIGN_OUT)
def sign_out(request: Request, house: InHouse) -> Response:
    """End the session, for this browser and for whoever has a copy of its cookie."""
    house.clients.end_session(request.cookies.get(SESSION, ""))
    response = _there(SIGN_IN)
    response.delete_cookie(SESSION)
    return response


def _own(to: str) -> str:
    """Return where somebody is led, which is a page of this service."""
    is_own = to.startswith((f"{DESK}/", f"{DESK}?", "/reports/")) and "\\" not in to
    return to if is_own and to.isprintable() else DESK


# --- Start --------------------------------------------------------------------------------------


@routes.get(DESK)
def start(house: InHouse, viewer: Looking, page: Number = 1) -> HTMLResponse:
    """Show where a check begins, and what was checked."""
    videos, total, unread = [], 0, None
    try:
        found = house.results.videos(limit=_VIDEOS, offset=_VIDEOS * (page - 1))
        videos, total = [video.model_dump() for video in found.items], found.total
    except HTTPException as error:
        # The check that makes the list readable again begins here.
        unread = error.detail
    return shown(
        pages.page(
            "start",
            viewer,
            videos=videos,
            unread=unread,
            runs=house.runs.all()[:5],
            number=page,
            pages=-(-total // _VIDEOS),
        )
    )


@routes.post(f"{DESK}/checks")
async def check(house: InHouse, client: ByClient, form: Filled) -> Response:
    """Start a check of a link, of a transcript, or of the demo."""
    if form.get("demo"):
        run = await house.runs.start(DEMO_VIDEO, demo_config(), client)
        return _there(f"{DESK}/runs/{run.run_id}")
    brings = bool(form.files.get("transcript"))
    link = "transcript" if brings else form.get("link")
    if not link:
        raise HTTPException(422, "Give the link of a video, or a transcript.")
    most = form.get("max_claims") or str(MOST_CLAIMS)
    # A strict field takes a number and not its digits; other text is left for it to refuse.
    number = int(most) if most.isdecimal() and len(most) <= len(str(MOST_CLAIMS)) else most
    try:
        asked = FactCheckRequest.model_validate({"video_url": link, "max_claims": number})
    except ValidationError as error:
        raise HTTPException(422, validation_sentence(error.errors())) from error
    config = asked.config()
    if not brings:
        run = await house.runs.start(link, config, client)
        return _there(f"{DESK}/runs/{run.run_id}")
    if (size := len(form.get("title"))) > _LONGEST_TITLE:
        raise HTTPException(
            422, f"The title has {size} characters. Give one of {_LONGEST_TITLE} at most."
        )
    with tempfile.TemporaryDirectory(prefix="factible-desk-") as place:
        target, web = await asyncio.to_thread(_brought, form, Path(place), house)
        if web is not None:
            # The pages that somebody brings are rated as `factible check --pages` does.
            search = config.search.model_copy(update={"web": web, "pages_rating": "medium"})
            config = config.model_copy(update={"search": search})
        listing = partial(enlist, target, house.settings, web, "medium" if web else None)
        run = await house.runs.start(target.video_id, config, client, listing=listing)
    return _there(f"{DESK}/runs/{run.run_id}")


def _brought(form: Form, place: Path, house: House) -> tuple[Target, str | None]:
    """Lay out a transcript that somebody brought; return its video, and the web of its pages."""
    from factible_assets.stages.urls import canonical_url  # noqa: PLC0415
    from resources.archive.sources import ArchiveError  # noqa: PLC0415
    from resources.archive.store import Archive  # noqa: PLC0415
    from resources.transcripts.base import TranscriptError  # noqa: PLC0415

    settings = house.settings
    settings.ensure_home()
    web = None
    folder = place / "pages"
    for each in (folder, place / "transcript"):
        each.mkdir()
    name, content = form.files["transcript"][0]
    # A name of dots alone is a folder's.
    stem = Path(name).stem[:_LONGEST_NAME].strip(". ") or "transcript"
    file = place / "transcript" / f"{stem}{Path(name).suffix[:8]}"
    file.write_bytes(content)
    brought = form.files.get("pages", [])
    for number, (page, text) in enumerate(brought):
        (folder / f"{number:03}-{page[-_LONGEST_NAME:]}").write_bytes(text)
    try:
        target = resolve(str(file), form.get("title") or None, settings)
        if brought:
            together = b"\0".join(text for _, text in brought)
            collection = f"desk-{digest(together)}"
            web = f"archive:{collection}"
            archive = Archive(settings.archive, canonicalise=canonical_url)
            archive.import_from(folder, collection)
    except (TranscriptError, ArchiveError) as error:
        raise HTTPException(422, str(error).replace(str(place), "")) from error
    return target, web


@routes.get(f"{DESK}/runs/{{run_id}}")
async def run_page(run_id: uuid.UUID, house: InHouse, viewer: Looking) -> HTMLResponse:
    """Show how a check gets on."""
    run = house.runs.get(str(run_id))
    claims: dict[str, dict[str, Any]] = {}
    for data in (event.data or {} for event in run.events):
        for claim in data.get("claims", ()):
            claims.setdefault(claim["claim_id"], claim)
        if "verdict" in data:
            outcome = data["verdict"]["stance"] or "incomplete"
            words = outcome_words(outcome, data["verdict"]["basis"])
            judged = {**data["claim"], "outcome": outcome, "words": words}
            claims[judged["claim_id"]] = judged
    return shown(pages.page("run", viewer, run=run, claims=[*claims.values()]))


@routes.post(f"{DESK}/runs/{{run_id}}/cancel")
async def cancel(run_id: uuid.UUID, house: InHouse, client: ByClient) -> Response:
    """Cancel a check; an administrator may cancel that of another."""
    run = house.runs.get(str(run_id))
    if not run.is_over:
        house.runs.cancel_for(run, run.client if client.role == "admin" else client.id)
    return _there(f"{DESK}/runs/{run_id}")


# --- Queue and search ---------------------------------------------------------------------------


@routes.get(f"{DESK}/queue")
def queue_page(request: Request, house: InHouse, viewer: Looking) -> HTMLResponse:
    """Show the claims that need a person."""
    if house.results.is_empty:
        return shown(pages.page("empty", viewer, title="Queue", here="queue"))
    with house.results.opened() as now:
        queue = pages.read_queue(now, pages.Wanted.of(request.query_params), viewer.name)
    return shown(pages.page("queue", viewer, queue=queue, tabs=pages.TABS, sorts=pages.SORTS))


@routes.get(f"{DESK}/search")
def search_page(house: InHouse, viewer: Looking, q: str = "", page: Number = 1) -> HTMLResponse:
    """Show what says some words."""
    words = q.strip()[:_LONGEST_SEARCH]
    if house.results.is_empty:
        return shown(pages.page("empty", viewer, title="Search", here="search", words=words))
    found = None
    if words:
        with house.results.opened() as now:
            found = pages.search(now, words, page)
    return shown(pages.page("search", viewer, words=words, found=found))


# --- A video and its claims ---------------------------------------------------------------------


@routes.get(f"{DESK}/videos/{{video_id}}")
def video_page(video_id: str, house: InHouse, viewer: Looking) -> HTMLResponse:
    """Show the report of a video, with the way to the forms of each claim."""
    return shown(pages.report_page(viewer, arrange(house.results.data(video_id))))


def _claim(house: House, video_id: str, claim_id: str) -> ReportView:
    report = pages.claim_report(house.results.data(video_id), claim_id)
    if report is None:
        raise HTTPException(
            404,
            "The newest check of this video does not find that claim any more; the page of the "
            "video lists those that it finds.",
        )
    return report


@routes.get(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}")
def claim_page(
    request: Request,
    video_id: str,
    claim_id: str,
    house: InHouse,
    client: ByClient,
    viewer: Looking,
    recorded: Literal["kept", "waits"] | None = None,
) -> Response:
    """Show one claim, what can be done with it, and what other videos said.

    A claim that was reworded is found by its former ids too.
    """
    try:
        report = _claim(house, video_id, claim_id)
    except HTTPException as error:
        if error.status_code != HTTPStatus.NOT_FOUND:
            raise
        # Reviewers dropped or split it, or it waits for its first check.
        try:
            file = review.open_claim(video_id, claim_id, house.settings)
        except FactibleError:
            raise error from None
        path, video = claim_path(video_id, file.claim.claim_id), path_of_video(video_id)
        if file.claim.claim_id != claim_id:  # it was asked for by its number, or a part of its id
            return _there(f"{path}?{request.url.query}".rstrip("?"))
        values = {"text": file.claim.text, "gone": file.gone, "path": path, "video": video}
        values["seen"] = pages.version_of_file(file)
        return shown(pages.page("gone", viewer, **values))
    claim_id = report.claims[0].claim.claim_id
    with house.results.opened() as now:
        twins = pages.said_before(now, video_id, claim_id)
    base = _base(request, house)
    signature = house.clients.sign(client, f"{video_id} {claim_id}")
    card = f"{CARDS}{quote(video_id, safe='')}/{quote(claim_id, safe='')}?key={signature}"
    source, title = html.escape(base + card), html.escape(report.claims[0].claim.text[:120])
    frame = f'<iframe src="{source}" title="Fact-check: {title}" width="560" height="320"></iframe>'
    return shown(
        pages.report_page(
            viewer,
            report,
            is_open=True,
            scale=review.scale_named(house.settings.ruling_scale, house.settings.corpus_folders),
            twins=twins,
            recorded=recorded,
            address=base + claim_path(video_id, claim_id),
            embed={"path": card, "html": frame},
        )
    )


def _base(request: Request, house: House) -> str:
    return str(house.settings.public_url or request.base_url).rstrip("/")


@routes.get(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/claim.md")
def claim_markdown(video_id: str, claim_id: str, house: InHouse) -> Response:
    """Return a claim as Markdown."""
    report = _claim(house, video_id, claim_id)
    text = claims_as_markdown(report.data, report.claims[0].claim.claim_id)
    return Response(text, media_type="text/markdown; charset=utf-8")


@routes.get(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/claim-review.json")
def claim_review(request: Request, video_id: str, claim_id: str, house: InHouse) -> Response:
    """Return a claim as ClaimReview, which leads to its page."""
    report = _claim(house, video_id, claim_id)
    base = f"{_base(request, house)}{DESK}/videos/{{video}}/claims/{{claim}}"
    made = reviews_of_results([report.data], base_url=base, only=report.claims[0].claim.claim_id)
    return Response(made.text, media_type="application/ld+json")


@routes.get(f"{CARDS}{{video_id}}/{{claim_id}}")
def card_page(
    request: Request, video_id: str, claim_id: str, house: InHouse, key: str = ""
) -> HTMLResponse:
    """Show the card of a claim, also within pages of others, to whoever has its address."""
    if not house.clients.is_signed(f"{video_id} {claim_id}", key):
        raise HTTPException(403, "This address of a card was not made by this service.")
    report = _claim(house, video_id, claim_id)
    view = report.claims[0]
    words = verdict_words(view.verdict) if view.verdict else outcome_words(view.outcome, None)
    address = _base(request, house) + claim_path(video_id, claim_id)
    return shown(pages.card(report=report, view=view, words=words, address=address), framed=True)


@routes.post(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/acts")
async def act(
    video_id: str, claim_id: str, house: InHouse, client: ByClient, viewer: Looking, form: Filled
) -> Response:
    """Record what a reviewer does, and check the claim again if they ask for it."""
    if form.get("act") not in get_args(ReviewKind):
        raise HTTPException(422, "This form asks for nothing that can be done.")
    kind, file, why = await asyncio.to_thread(_record, video_id, claim_id, form, viewer.name, house)
    if why is not None:
        made = pages.outdated(viewer, file, kind, form.fields, why)
        return shown(made, status=HTTPStatus.UNPROCESSABLE_ENTITY if why else HTTPStatus.CONFLICT)
    now = file.claim.claim_id
    if form.get("again"):
        try:
            return await check_claim(video_id, now, house, client)
        except HTTPException as error:
            words = f"What you did is recorded. The claim is not checked again now: {error.detail}"
            raise HTTPException(error.status_code, words, error.headers) from error
    recorded = "kept" if kind in OPINIONS else "waits"
    # A former id leads to the page of the claim too, a number or a part of an id does not.
    own = now if claim_id.isdecimal() or now.startswith(claim_id) else claim_id
    response = _there(f"{claim_path(video_id, own)}?recorded={recorded}#review")
    # The files of reports are for others than who waits here.
    response.background = BackgroundTask(stored_result, video_id, settings=house.settings)
    return response


def _record(
    video_id: str, claim_id: str, form: Form, name: str, house: House
) -> tuple[ReviewKind, review.ClaimFile, str | None]:
    """Record an act, unless its form was made from an older state of the claim.

    Returns the kind of act, the claim as it was before the act, and why nothing was recorded: None
    if it was recorded, "" if the state is newer, else a sentence.
    """
    kind = cast("ReviewKind", form.get("act"))
    store = Warehouse(house.settings.warehouse)
    with review.review_lock(house.settings):
        if kind == "add_claim":
            file = review.new_claim(video_id, form.get("text"), house.settings)
        else:
            file = review.open_claim(video_id, claim_id, house.settings)
        if form.get("query") and not form.get("text"):
            kind = "remove_query"
        if kind not in _TIMELESS and form.get("seen") != pages.version_of_file(file):
            return kind, file, ""
        given = form.get("query_type")
        change = review.Change(
            kind,
            form.get("text") or ("none" if kind == "assign" else None),
            number=form.get("query") or None,
            value=form.get("value") or None,
            said=form.get("said") or None,
            query_type=cast("QueryType", given) if given in get_args(QueryType) else None,
            opposite=bool(form.get("opposite")),
            reason=form.get("reason") or None,
        )
        try:
            acts = review.actions_of(file, [change], name, None)
        except FactibleError as error:
            if kind == "add_claim":
                raise
            return kind, file, str(error)
        store.write_rows({"review_actions": acts})
    store.publish(house.settings.published, only_added_to="review_actions")
    return kind, file, None


@routes.post(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/check")
async def check_claim(video_id: str, claim_id: str, house: InHouse, client: ByClient) -> Response:
    """Check one claim again."""
    await asyncio.to_thread(review.open_claim, video_id, claim_id, house.settings)
    run = await house.runs.start(video_id, FactCheckConfig(), client, claim_id=claim_id)
    return _there(f"{DESK}/runs/{run.run_id}")
