"""The addresses and forms of the desk.

A redirect (303) answers every form, so that reloading a page never sends its form again.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.background import BackgroundTask
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from factible_assets.config import DEMO_VIDEO, FactCheckConfig, demo_config
from factible_assets.errors import FactibleError
from factible_assets.exchange.claim_review import reviews_of_results
from factible_assets.exchange.tables import csv_of
from factible_assets.records.tables import QueryType, ReviewKind
from factible_assets.report.render import claims_as_markdown
from factible_assets.report.view import ReportView, arrange
from factible_assets.runs import review
from factible_assets.runs.launch import possible_strategies
from factible_assets.runs.result import StoredVideo
from factible_assets.runs.targets import Target, enlist, resolve
from factible_assets.stages.ids import claim_id as id_of_claim
from factible_assets.stages.reviews import OPINIONS
from factible_assets.web.access import CARDS, DESK, READING, SIGN_IN, SIGN_OUT
from factible_assets.web.auth import SESSION_COOKIE, SESSION_SECONDS, Client
from factible_assets.web.desk import pages
from factible_assets.web.desk.pages import Viewer, claim_path
from factible_assets.web.models import MOST_CLAIMS, FactCheckRequest, problem_response
from factible_assets.web.runs import AppState, CurrentClient, State, state_of
from factible_assets.wording import outcome_words, plain
from resources.files import digest
from resources.transcripts.youtube_ids import is_video_id
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

_VIDEOS = 25
_LONGEST_SEARCH = _LONGEST_TITLE = 300
_MOST_FIELDS = 100
_LONGEST_COOKIE = 2000
NAME_COOKIE, _YEAR_SECONDS = "factible_reviewer", 365 * 24 * 3600
_LONGEST_ORGANISATION = 200
_LONGEST_NAME = 50
"""Characters of a file's name. A file system takes 255 bytes, and a character has up to four."""
_UNVERSIONED: frozenset[ReviewKind] = frozenset({"note", "add_claim"})
"""These acts decide nothing about the claim, so any state of it will do."""

UNREADABLE = (
    "The published copy of the results cannot be read now. Check a video again, which publishes a "
    "new copy, or ask the operator of this service to look at it."
)

_SAME = "It reads the same to the reviewer."
_TICKED = 10
"""How many of the found claims are chosen at first."""
_MOST_ROWS = 1_000_000
"""A spreadsheet takes no more rows."""

_LOG = logging.getLogger("factible.serve")
routes = APIRouter(include_in_schema=False)


# --- Requests and answers -------------------------------------------------------------------------


async def _read_form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_fields=_MOST_FIELDS) as form:
        yield form


def _field(form: FormData, name: str) -> str:
    """Return a field without the space around it, or an empty text."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def _files(form: FormData, name: str) -> list[tuple[str, bytes]]:
    """Return the files of a field that are not empty, each with a safe name."""
    found = []
    for upload in form.getlist(name):
        if isinstance(upload, UploadFile) and upload.filename:
            # This machine cannot give a file every name that may come.
            safe = plain(Path(upload.filename.replace("\\", "/")).name)
            if content := upload.file.read():
                found.append((safe, content))
    return found


def _viewer(request: Request, state: State, client: CurrentClient) -> Viewer:
    """Return the person: by the name of their token, else the one that they gave once."""
    kept = unquote(request.cookies.get(NAME_COOKIE, ""))[:_LONGEST_COOKIE]
    own = dict(parse_qsl(kept, keep_blank_values=True))
    settings = state.settings
    return Viewer(
        name=client.name or own.get("name") or settings.reviewer or "",
        organisation=own.get("organisation", settings.organisation or ""),
        is_named=client.name is not None,
        may_review=client.may("review"),
        has_session=bool(state.clients.by_digest) and SESSION_COOKIE in request.cookies,
        behind_since=state.results.behind_since(),
    )


def _named(viewer: Viewer, form: FormData) -> Viewer:
    """Return the person with the name and organisation of a form, if they gave none before.

    Raises FactibleError: The name is too long.
    """
    if viewer.is_named or not _field(form, "name"):
        return viewer
    name = review.valid_reviewer(_field(form, "name"))
    return replace(
        viewer, name=name, organisation=_field(form, "organisation")[:_LONGEST_ORGANISATION]
    )


def _remember(
    response: Response, viewer: Viewer, form: FormData, request: Request, state: AppState
) -> None:
    """Keep the name and organisation of a person in their browser, if a form gave them."""
    if viewer.is_named or not _field(form, "name"):
        return
    own = urlencode({"name": viewer.name, "organisation": viewer.organisation})
    secure = base_url(request, state).startswith("https:")
    response.set_cookie(
        NAME_COOKIE,
        quote(own),
        max_age=_YEAR_SECONDS,
        httponly=True,
        samesite="strict",
        secure=secure,
    )


_COMMANDS = re.compile(r"\bfactible [a-z]|--[a-z]|FACTIBLE_|\.env\b|\bPOST /|pip install")


def for_browser(sentences: str) -> str:
    """Leave out the sentences of an error that name commands, options or variables.

    The desk offers its own remedies beside the error.
    """
    parts = re.split(r"(?<=[.!?;]) ", sentences)
    kept = " ".join(part for part in parts if not _COMMANDS.search(part))
    return f"{kept.rstrip(';')}." if kept.endswith(";") else kept or "This cannot be done now."


CurrentViewer = Annotated[Viewer, Depends(_viewer)]
SentForm = Annotated[FormData, Depends(_read_form)]
PageNumber = Annotated[int, Query(ge=1, le=100_000)]


def page_response(page: pages.Page, *, status: int = 200, framed: bool = False) -> HTMLResponse:
    """Answer with a page under its policy. Other sites may frame it only if `framed`."""
    text, policy = page
    ancestors = "*" if framed else "'none'"
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors {ancestors}"}
    if not framed:
        # Forms must prove that they come from the service's own pages.
        headers["Referrer-Policy"] = "same-origin"
    return HTMLResponse(text, status_code=status, headers=headers)


def _redirect(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303)


_TITLES = {
    401: "Sign in first",
    403: "This is not allowed",
    404: "Not found",
    405: "Not found",
    413: "This is too large",
    422: "This cannot be done",
    500: "Something went wrong",
}


def error_response(
    request: Request, problem: HTTPException, unsent: bytes | None = None
) -> Response:
    """Answer an error: on a page at the desk, elsewhere as problem details.

    A browser without a valid session gets the sign-in page. `unsent` is the form that it sent
    after its session had ended.
    """
    path, status = request.scope["path"], problem.status_code
    is_page = path == "/" or path.startswith((DESK, "/reports/"))
    accepts_pages = "text/html" in request.headers.get("accept", "")
    if status == HTTPStatus.UNAUTHORIZED and is_page and accepts_pages:
        if request.method in READING:
            query = request.scope["query_string"].decode("latin-1")
            return _redirect(f"{SIGN_IN}?{urlencode({'to': f'{path}?{query}'.removesuffix('?')})}")
        back = _own_path(urlsplit(request.headers.get("referer", "")).path)
        words = (unsent or b"").decode("utf-8", "replace")
        return _sign_in_response(to=back, path=path, kept=words, ended=True)
    if not path.startswith(DESK):
        return problem_response(problem)
    # Where the Dagster UI is beside the desk, its access control has no state of this app.
    client: Client | None = getattr(request.state, "client", None)
    is_known = client is not None and client.id and "app" in request.scope
    viewer = _viewer(request, state_of(request), client) if client and is_known else None
    back = path.rpartition("/")[0] if request.method == "POST" else DESK
    back = back if back.startswith(f"{DESK}/videos/") else DESK
    title = _TITLES.get(status, "This cannot be done now")
    detail = for_browser(problem.detail)
    made = pages.page("refused", viewer, title=title, detail=detail, back=back)
    response = page_response(made, status=status)
    for name, value in (problem.headers or {}).items():
        response.headers.setdefault(name, value)
    return response


# --- Sign in --------------------------------------------------------------------------------------


@routes.get(SIGN_IN)
def sign_in_page(to: str = DESK) -> HTMLResponse:
    return _sign_in_response(to=_own_path(to), status=200)


def _sign_in_response(*, status: int = 401, **values: Any) -> HTMLResponse:
    defaults = {"refused": False, "ended": False, "kept": "", "path": ""}
    return page_response(pages.page("sign_in", None, **defaults | values), status=status)


@routes.post(SIGN_IN)
def sign_in(request: Request, state: State, form: SentForm) -> Response:
    """Start a session for a token. Show the words of a form that came without one again."""
    to, kept, path = _own_path(_field(form, "to")), _field(form, "kept"), _field(form, "path")
    if not state.clients.by_digest:
        return _redirect(to)
    address = request.client.host if request.client else ""
    client = state.clients.client_with_token(_field(form, "token"), address)
    if client is None:
        return _sign_in_response(to=to, refused=True, kept=kept, path=path)
    response: Response = _redirect(to)
    if kept:
        words = dict(parse_qsl(kept, max_num_fields=_MOST_FIELDS))
        values = {"to": to, "path": _own_path(path), "words": words}
        response = page_response(pages.page("unrecorded", None, **values))
    response.set_cookie(
        SESSION_COOKIE,
        state.clients.begin_session(client),
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="strict",
        secure=base_url(request, state).startswith("https:"),
    )
    return response


@routes.post(SIGN_OUT)
def sign_out(request: Request, state: State) -> Response:
    """End the session here and wherever a copy of its cookie is."""
    state.clients.end_session(request.cookies.get(SESSION_COOKIE, ""))
    response = _redirect(SIGN_IN)
    response.delete_cookie(SESSION_COOKIE)
    return response


def _own_path(to: str) -> str:
    """Return the path if it is a page of this service, else that of the desk."""
    is_own = to.startswith((f"{DESK}/", f"{DESK}?", "/reports/")) and "\\" not in to
    return to if is_own and to.isprintable() else DESK


# --- Start ----------------------------------------------------------------------------------------


@routes.get(DESK)
def start(state: State, viewer: CurrentViewer, page: PageNumber = 1) -> HTMLResponse:
    """Show the form that starts a check, and the checked videos."""
    videos, total, unread = [], 0, None
    try:
        found = state.results.videos(limit=_VIDEOS, offset=_VIDEOS * (page - 1))
        videos, total = [video.model_dump() for video in found.items], found.total
    except WarehouseError as error:
        # The form must stay, because a new check makes the list readable again.
        _LOG.error("The published copy cannot be read: %s", error)
        unread = UNREADABLE
    return page_response(
        pages.page(
            "start",
            viewer,
            videos=videos,
            unread=unread,
            runs=state.runs.all()[:5],
            strategies=possible_strategies(state.settings),
            number=page,
            pages=-(-total // _VIDEOS),
        )
    )


@routes.post(f"{DESK}/checks")
async def check(state: State, client: CurrentClient, form: SentForm) -> Response:
    """Start a check of a link, of an uploaded file, or of the demo."""
    if _field(form, "demo"):
        run = await state.runs.start(DEMO_VIDEO, demo_config(), client)
        return _redirect(f"{DESK}/runs/{run.run_id}")
    link, title, pasted = (_field(form, name) for name in ("link", "title", "pasted"))
    uploads = await asyncio.to_thread(_files, form, "transcript")
    if pasted and not uploads:
        uploads = [(f"{title or pasted[:_LONGEST_NAME]}.txt", pasted.encode())]
    if not (uploads or link):
        raise HTTPException(422, "Give the link of a video, or a transcript.")
    if len(title) > _LONGEST_TITLE:
        words = f"The title has {len(title)} characters. Give at most {_LONGEST_TITLE}."
        raise HTTPException(422, words)
    finds_only = bool(_field(form, "find"))
    most = str(MOST_CLAIMS) if finds_only else _field(form, "max_claims") or str(MOST_CLAIMS)
    if most not in {str(number) for number in range(1, MOST_CLAIMS + 1)}:
        raise HTTPException(422, f"Give a number of claims from 1 to {MOST_CLAIMS}.")
    strategy = _field(form, "strategy") or "standard"
    if strategy not in possible_strategies(state.settings):
        raise HTTPException(422, "Choose one of the listed ways to check a claim.")
    asked = FactCheckRequest(video_url="-", max_claims=int(most), strategy=strategy)
    config = asked.config()
    if not uploads:
        run = await state.runs.start(link, config, client, finds_only=finds_only)
        return _redirect(f"{DESK}/runs/{run.run_id}")
    with tempfile.TemporaryDirectory(prefix="factible-desk-") as folder:
        brought = await asyncio.to_thread(_files, form, "pages")
        target, web = await asyncio.to_thread(
            _save_uploads, uploads[0], brought, title, Path(folder), state
        )
        if target.file is not None and is_video_id(_field(form, "of")):
            # The transcript is that of a video on YouTube, whose own could not be read.
            target = replace(target, video_id=_field(form, "of"))
        if web is not None:
            # Pages that a person brings have this rating on the command line too.
            search = config.search.model_copy(update={"web": web, "pages_rating": "medium"})
            config = config.model_copy(update={"search": search})
        prepare = partial(enlist, target, state.settings, web, "medium" if web else None)
        run = await state.runs.start(
            target.video_id, config, client, finds_only=finds_only, prepare=prepare
        )
    return _redirect(f"{DESK}/runs/{run.run_id}")


def _save_uploads(
    transcript: tuple[str, bytes],
    brought: list[tuple[str, bytes]],
    title: str,
    folder: Path,
    state: AppState,
) -> tuple[Target, str | None]:
    """Save a transcript and its pages. Return the video and the web of the pages, if any."""
    from factible_assets.stages.urls import canonical_url  # noqa: PLC0415
    from resources.storage.archive import Archive  # noqa: PLC0415
    from resources.storage.imports import ArchiveError  # noqa: PLC0415
    from resources.transcripts.base import TranscriptError  # noqa: PLC0415

    settings, (name, content) = state.settings, transcript
    settings.ensure_home()
    for each in ("pages", "transcript"):
        (folder / each).mkdir()
    # A name of dots only would be a folder.
    stem = Path(name).stem[:_LONGEST_NAME].strip(". ") or "transcript"
    file = folder / "transcript" / f"{stem}{Path(name).suffix[:8]}"
    file.write_bytes(content)
    for number, (page, text) in enumerate(brought):
        place = folder / "pages" / page[-_LONGEST_NAME:]
        if place.exists():
            place = place.with_stem(f"{place.stem}-{number:03}")
        place.write_bytes(text)
    try:
        target = resolve(str(file), title or None, settings)
        if not brought:
            return target, None
        collection = f"desk-{digest(bytes(0).join(text for _, text in brought))}"
        archive = Archive(settings.archive, canonicalise=canonical_url)
        archive.import_from(folder / "pages", collection)
    except (TranscriptError, ArchiveError) as error:
        words = for_browser(str(error).replace(str(folder), ""))
        raise HTTPException(422, words) from error
    return target, f"archive:{collection}"


@routes.get(f"{DESK}/runs/{{run_id}}")
async def run_page(run_id: uuid.UUID, state: State, viewer: CurrentViewer) -> Response:
    """Show the progress of a check, or the claims to choose from if it only finds them."""
    run = state.runs.get(str(run_id))
    if run.order.finds_only and run.info.status == "success":
        return _redirect(f"{pages.video_path(run.order.video_id)}/claims?run={run_id}")
    claims: dict[str, dict[str, Any]] = {}
    for data in (event.data or {} for event in run.events):
        for claim in data.get("claims", ()):
            claims.setdefault(claim["claim_id"], claim)
        if "verdict" in data:
            outcome = data["verdict"]["stance"] or "incomplete"
            words = outcome_words(outcome, data["verdict"]["basis"])
            judged = {**data["claim"], "outcome": outcome, "words": words}
            claims[judged["claim_id"]] = judged
    told = for_browser(run.events[-1].message) if run.events else "The check is starting."
    return page_response(pages.page("run", viewer, run=run, claims=[*claims.values()], told=told))


@routes.post(f"{DESK}/runs/{{run_id}}/again")
async def run_again(run_id: uuid.UUID, state: State, client: CurrentClient) -> Response:
    """Start the same check again."""
    order = state.runs.get(str(run_id)).order
    run = await state.runs.start(
        order.video_id,
        order.config,
        client,
        claim_id=order.claim_id,
        finds_only=order.finds_only,
        claims=order.claims,
    )
    return _redirect(f"{DESK}/runs/{run.run_id}")


@routes.post(f"{DESK}/runs/{{run_id}}/cancel")
async def cancel(run_id: uuid.UUID, state: State, client: CurrentClient) -> Response:
    """Cancel a check. An administrator can cancel the checks of others."""
    run = state.runs.get(str(run_id))
    if not run.is_over:
        state.runs.cancel_for(run, run.client if client.role == "admin" else client.id)
    return _redirect(f"{DESK}/runs/{run_id}")


# --- Queue and search -----------------------------------------------------------------------------


@routes.get(f"{DESK}/queue")
def queue_page(request: Request, state: State, viewer: CurrentViewer) -> Response:
    """Open the first claim of a page of the queue."""
    if state.results.is_empty:
        return page_response(pages.page("empty", viewer, title="Queue", here="queue"))
    queue = _queue(state, viewer, request.query_params)
    if queue["rows"]:
        first = queue["rows"][0]
        return _redirect(queue["query"].address(claim_path(first["video_id"], first["claim_id"])))
    return page_response(
        pages.page("queue", viewer, queue=queue, tabs=pages.TABS, sorts=pages.SORTS)
    )


def _queue(
    state: AppState, viewer: Viewer, address: Mapping[str, str], current: tuple[str, str] = ("", "")
) -> dict[str, Any]:
    with state.results.opened() as now:
        query = pages.QueueQuery.from_address(address)
        return pages.read_queue(now, query, viewer.name, current)


@routes.get(f"{DESK}/queue.csv")
def queue_csv(request: Request, state: State, viewer: CurrentViewer) -> Response:
    with state.results.opened() as now:
        query = pages.QueueQuery.from_address(request.query_params)
        return _csv("queue", pages.read_queue(now, query, viewer.name, rows=_MOST_ROWS)["rows"])


def _csv(name: str, rows: Sequence[Mapping[str, Any]]) -> Response:
    names = [each for each in (rows[0] if rows else ()) if each not in {"previous", "next"}]
    made = csv_of(names, ([row[each] for each in names] for row in rows))
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(made, media_type="text/csv; charset=utf-8", headers=headers)


@routes.get(f"{DESK}/search")
def search_page(
    state: State, viewer: CurrentViewer, q: str = "", page: PageNumber = 1
) -> HTMLResponse:
    words = q.strip()[:_LONGEST_SEARCH]
    if state.results.is_empty:
        return page_response(
            pages.page("empty", viewer, title="Search", here="search", words=words)
        )
    found = None
    if words:
        with state.results.opened() as now:
            found = pages.search(now, words, page)
    return page_response(pages.page("search", viewer, words=words, found=found))


# --- A video and its claims -----------------------------------------------------------------------


@routes.get(f"{DESK}/videos/{{video_id}}")
def video_page(video_id: str, state: State, viewer: CurrentViewer) -> HTMLResponse:
    """Show the report of a video, with links to review its claims."""
    return page_response(pages.video_page(viewer, arrange(state.results.data(video_id))))


@routes.get(f"{DESK}/videos/{{video_id}}/claims.csv")
def video_csv(video_id: str, state: State) -> Response:
    return _csv("claims", pages.claim_rows(arrange(state.results.data(video_id))))


@routes.get(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/sources.csv")
def sources_csv(video_id: str, claim_id: str, state: State) -> Response:
    return _csv("sources", pages.source_rows(_claim_report(state, video_id, claim_id)))


@routes.get(f"{DESK}/videos/{{video_id}}/claims")
def choose_page(
    video_id: str, state: State, viewer: CurrentViewer, run: uuid.UUID | None = None
) -> HTMLResponse:
    """Show the found claims of a video, to choose and edit those to check, and to add others."""
    files = [file for file in review.open_video(video_id, state.settings) if file.gone is None]
    return page_response(
        pages.page(
            "choose",
            viewer,
            video=files[0].rows.video if files else None,
            files=sorted(files, key=lambda file: file.claim.rank),
            ticked=_TICKED if run else len(files),
            run=run,
            strategies=possible_strategies(state.settings),
            path=f"{pages.video_path(video_id)}/claims",
        )
    )


@routes.post(f"{DESK}/videos/{{video_id}}/claims")
async def choose(
    request: Request,
    video_id: str,
    state: State,
    client: CurrentClient,
    viewer: CurrentViewer,
    form: SentForm,
) -> Response:
    """Record the choice of claims, and check these."""
    viewer = _named(viewer, form)
    words = {
        each: _field(form, f"text-{each}") for each in form.getlist("keep") if isinstance(each, str)
    }
    texts = {plain(text): each for each, text in words.items() if text}
    added = [plain(line) for line in _field(form, "added").splitlines() if line.strip()]
    strategy, asked_by = _field(form, "strategy") or "standard", _field(form, "run")
    if strategy not in possible_strategies(state.settings):
        raise HTTPException(422, "Choose one of the listed ways to check a claim.")
    if not (texts or added):
        raise HTTPException(422, "Choose or add at least one claim.")
    earlier = next((run for run in state.runs.all() if run.run_id == asked_by), None)
    config = earlier.order.config if earlier else FactCheckRequest(video_url="-").config()
    ids = tuple(dict.fromkeys(id_of_claim(video_id, text) for text in (*texts, *added)))
    name = review.valid_reviewer(viewer.name)
    run = await state.runs.start(
        video_id,
        config.model_copy(update={"strategy": strategy}),
        client,
        claims=ids,
        prepare=partial(
            review.choose_claims, video_id, (*texts, *added), name, state.settings, texts
        ),
    )
    response = _redirect(f"{DESK}/runs/{run.run_id}")
    _remember(response, viewer, form, request, state)
    return response


def _claim_report(state: AppState, video_id: str, claim_id: str) -> ReportView:
    report = pages.claim_report(state.results.data(video_id), claim_id)
    if report is None:
        words = "The newest check does not find this claim. The page of the video lists its claims."
        raise HTTPException(404, words)
    return report


@routes.get(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}")
def claim_page(
    request: Request,
    video_id: str,
    claim_id: str,
    state: State,
    client: CurrentClient,
    viewer: CurrentViewer,
    recorded: Literal["kept", "waits"] | None = None,
    decided: str = "",
) -> Response:
    """Show the workbench: the queue and one claim with the forms to review it.

    A reworded claim keeps its former addresses. `decided` is the claim before, signed or dropped.
    """
    try:
        report = _claim_report(state, video_id, claim_id)
        if pages.is_superseded(report):
            raise HTTPException(404, "The next check reads this claim in other words.")
    except HTTPException as error:
        # Reviewers may have dropped or split it, or its first check is still to come.
        try:
            file = review.open_claim(video_id, claim_id, state.settings)
        except FactibleError:
            raise error from None
        path = claim_path(video_id, file.claim.claim_id)
        if file.claim.claim_id != claim_id:  # The address has its number or a part of its id.
            return _redirect(f"{path}?{request.url.query}".rstrip("?"))
        values = {"text": file.claim.text, "gone": file.gone, "path": path}
        values |= {"video": pages.video_path(video_id), "seen": pages.current_version(file)}
        # Until its check, the queue has a reworded claim under its former id.
        listed = next((act.claim_id for act in file.actions), claim_id)
        queue = _queue(state, viewer, request.query_params, (video_id, listed))
        values["next"] = pages.next_address(queue, video_id, listed)
        return page_response(pages.page("gone", viewer, **values))
    claim = report.claims[0].claim
    with state.results.opened() as now:
        similar = pages.similar_claims(now, video_id, claim.text)
        query = pages.QueueQuery.from_address(request.query_params)
        queue = pages.read_queue(now, query, viewer.name, (video_id, claim.claim_id))
    base = base_url(request, state)
    signature = state.clients.sign(client, f"{video_id} {claim.claim_id}")
    card = f"{CARDS}{quote(video_id, safe='')}/{quote(claim.claim_id, safe='')}?key={signature}"
    source, title = html.escape(base + card), html.escape(claim.text[:120])
    frame = f'<iframe src="{source}" title="Fact-check: {title}" width="560" height="320"></iframe>'
    return page_response(
        pages.work_page(
            viewer,
            report,
            queue,
            scale=review.scale_named(state.settings.ruling_scale, state.settings.corpus_folders),
            similar=similar,
            recorded=recorded,
            decided=_own_path(decided) if decided else None,
            address=base + claim_path(video_id, claim.claim_id),
            embed={"path": card, "html": frame},
        )
    )


def base_url(request: Request, state: AppState) -> str:
    return str(state.settings.public_url or request.base_url).rstrip("/")


@routes.get(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/claim.md")
def claim_markdown(video_id: str, claim_id: str, state: State) -> Response:
    report = _claim_report(state, video_id, claim_id)
    text = claims_as_markdown(report.data, report.claims[0].claim.claim_id)
    return Response(text, media_type="text/markdown; charset=utf-8")


@routes.get(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/claim-review.json")
def claim_review(request: Request, video_id: str, claim_id: str, state: State) -> Response:
    """Return a claim as ClaimReview, which links to its page."""
    report = _claim_report(state, video_id, claim_id)
    base = f"{base_url(request, state)}{DESK}/videos/{{video}}/claims/{{claim}}"
    made = reviews_of_results([report.data], base_url=base, only=report.claims[0].claim.claim_id)
    return Response(made.text, media_type="application/ld+json")


@routes.get(f"{CARDS}{{video_id}}/{{claim_id}}")
def card_page(
    request: Request, video_id: str, claim_id: str, state: State, key: str = ""
) -> HTMLResponse:
    """Show the card of a claim to everybody who has its signed address, also in frames."""
    if not state.clients.is_signed(f"{video_id} {claim_id}", key):
        raise HTTPException(403, "This service did not make this address of a card.")
    report = _claim_report(state, video_id, claim_id)
    view = report.claims[0]
    address = base_url(request, state) + claim_path(video_id, claim_id)
    card = pages.card(report=report, view=view, address=address)
    return page_response(card, framed=True)


@routes.post(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/acts")
async def act(
    request: Request,
    video_id: str,
    claim_id: str,
    state: State,
    client: CurrentClient,
    viewer: CurrentViewer,
    form: SentForm,
) -> Response:
    """Record an act of a reviewer, and check the claim again if the form asks for it.

    After a ruling, and after dropping a claim, the next claim of the queue follows.
    """
    sent = _sent(form)
    if sent["act"] not in get_args(ReviewKind):
        raise HTTPException(422, "This form asks for nothing that the desk can do.")
    viewer = _named(viewer, form)
    if not viewer.name:
        path = request.scope["path"]
        return page_response(pages.page("name", viewer, path=path, kept=sent))
    kind, file, why = await asyncio.to_thread(_record, video_id, claim_id, sent, viewer, state)
    if why is not None:
        page = pages.outdated_page(viewer, file, kind, sent, why)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if why else HTTPStatus.CONFLICT
        return page_response(page, status=status)
    now = file.claim.claim_id
    # Keep a former id in the address, but not a number or a part of an id.
    own = now if claim_id.isdecimal() or now.startswith(claim_id) else claim_id
    if sent.get("again"):
        try:
            response = await check_claim(video_id, now, state, client)
        except HTTPException as error:
            words = f"Your act is recorded. The claim is not checked again now: {error.detail}"
            raise HTTPException(error.status_code, words, error.headers) from error
    else:
        response = _after(kind, claim_path(video_id, own), sent)
        # The report file need not be ready for this answer.
        response.background = BackgroundTask(StoredVideo(video_id, state.settings).result)
    _remember(response, viewer, form, request, state)
    return response


def _after(kind: ReviewKind, path: str, sent: Mapping[str, str]) -> Response:
    """Lead to the next claim of the queue after a decision on the claim, else back to it."""
    query = pages.QueueQuery.from_address(dict(parse_qsl(sent.get("queue", ""))))
    if kind == "drop_claim" or (kind == "sign" and sent.get("text") != "none"):
        if "next" not in sent:
            return _redirect(query.address())
        there, said, at = _own_path(sent["next"]), {"decided": path}, "#content"
    else:
        said = {"recorded": "kept" if kind in OPINIONS else "waits"}
        there, at = query.address(path), f"#{quote(sent.get('at', 'sign'))}"
    return _redirect(f"{there}{'&' if '?' in there else '?'}{urlencode(said)}{at}")


def _sent(form: FormData) -> dict[str, str]:
    """Return the fields of a form, with the acts of the desk's own buttons as acts of reviews."""
    sent = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
    act, text = sent.get("act", ""), sent.get("text", "")
    made: dict[str, dict[str, str]] = {
        "agree": {"act": "overrule_source", "value": sent.get("stance", ""), "reason": _SAME},
        "withdraw": {"act": "overrule_source", "value": "none"},
        "block_site": {"act": "block_source", "text": urlsplit(text).hostname or text},
        "edit_claim": {"act": "split_claim" if len(text.splitlines()) > 1 else "reword_claim"},
        "edit_query": {"act": "edit_query" if text else "remove_query"},
    }
    return {**sent, "act": act, **made.get(act, {})}


def _record(
    video_id: str, claim_id: str, sent: Mapping[str, str], viewer: Viewer, state: AppState
) -> tuple[ReviewKind, review.ClaimFile, str | None]:
    """Record an act, unless its form was made from an older state of the claim.

    Returns the kind of act, the claim before the act, and why nothing was recorded: None if it was
    recorded, an empty text if the claim has changed, else a sentence.
    """
    kind = cast("ReviewKind", sent["act"])
    settings = state.settings.model_copy(update={"organisation": viewer.organisation or None})
    store = Warehouse(settings.warehouse)
    with review.review_lock(settings):
        if kind == "add_claim":
            file = review.new_claim(video_id, sent.get("text", ""), settings)
        else:
            file = review.open_claim(video_id, claim_id, settings)
        if kind not in _UNVERSIONED and sent.get("seen") != pages.current_version(file):
            return kind, file, ""
        given = sent.get("query_type")
        change = review.Change(
            kind,
            sent.get("text") or (viewer.name if kind == "assign" else None),
            number=sent.get("query") or None,
            value=sent.get("value") or None,
            said=sent.get("said") or None,
            query_type=cast("QueryType", given) if given in get_args(QueryType) else None,
            opposite=bool(sent.get("opposite")),
            reason=sent.get("reason") or None,
        )
        try:
            acts = review.actions_of(file, [change], viewer.name, None)
        except FactibleError as error:
            if kind == "add_claim":
                raise
            return kind, file, for_browser(str(error))
        store.write_rows({"review_actions": acts})
    store.publish(settings.published, only_added_to="review_actions")
    return kind, file, None


@routes.get(f"{DESK}/name")
def name_page(viewer: CurrentViewer) -> HTMLResponse:
    """Ask for the name and organisation under which a person reviews."""
    return page_response(pages.page("name", viewer, path=f"{DESK}/name", kept={}))


@routes.post(f"{DESK}/name")
def keep_name(request: Request, state: State, viewer: CurrentViewer, form: SentForm) -> Response:
    response = _redirect(DESK)
    _remember(response, _named(viewer, form), form, request, state)
    return response


@routes.post(f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}/check")
async def check_claim(
    video_id: str, claim_id: str, state: State, client: CurrentClient
) -> Response:
    """Check one claim again, or choose among the claims of a video that was never checked."""
    file = await asyncio.to_thread(review.open_claim, video_id, claim_id, state.settings)
    if "verdicts" not in file.rows.sets:
        return _redirect(f"{pages.video_path(video_id)}/claims")
    run = await state.runs.start(video_id, FactCheckConfig(), client, claim_id=claim_id)
    return _redirect(f"{DESK}/runs/{run.run_id}")
