"""The parts that all pages of the desk share: visitors, forms, responses and sign-in.

A redirect (303) answers every form, so that reloading a page never sends its form again.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from factible_assets.report.render import document, environment
from factible_assets.runs import review
from factible_assets.web.access import DESK, READING, SIGN_IN, SIGN_OUT
from factible_assets.web.auth import SESSION_COOKIE, SESSION_SECONDS, Client
from factible_assets.web.desk.lists import claim_path, video_path
from factible_assets.web.problems import problem_response
from factible_assets.web.state import AppState, CurrentClient, State, state_of
from factible_assets.wording import plain

_MOST_FIELDS = 500
"""The choice among the claims of a video takes two fields for each claim."""
_LONGEST_COOKIE = 2000
NAME_COOKIE, _YEAR_SECONDS = "factible_reviewer", 365 * 24 * 3600
_LONGEST_ORGANISATION = 200

UNREADABLE = (
    "The published copy of the results cannot be read now. Check a video again, which publishes a "
    "new copy, or ask the operator of this service to look at it."
)

_ENGINE = environment("factible_assets.web.desk")
_ENGINE.globals.update(video_path=video_path, claim_path=claim_path)
_REPORTS = frozenset({"video", "work"})
"""The pages that contain a report."""

routes = APIRouter(include_in_schema=False)


# --- Forms and viewers ----------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to the desk with its person, and the form that it brings."""

    request: Request
    state: AppState
    client: Client
    viewer: Viewer
    form: FormData = field(default_factory=FormData)

    def field(self, name: str) -> str:
        """Return a field without the space around it, or an empty text."""
        value = self.form.get(name)
        return value.strip() if isinstance(value, str) else ""

    def files(self, name: str) -> list[tuple[str, bytes]]:
        """Return the files of a field that are not empty, each with a safe name."""
        uploads = []
        for upload in self.form.getlist(name):
            if isinstance(upload, UploadFile) and upload.filename:
                # This machine cannot give a file every name that may come.
                name_here = plain(Path(upload.filename.replace("\\", "/")).name)
                if content := upload.file.read():
                    uploads.append((name_here, content))
        return uploads

    def show(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        return show(name, self.viewer, status=status, **values)

    def remember(self, response: Response) -> Response:
        """Keep the name and organisation of a person in their browser, if the form gave them."""
        if self.field("name") and not self.viewer.is_named:
            values = {"name": self.viewer.name, "organisation": self.viewer.organisation}
            self.set_cookie(response, NAME_COOKIE, quote(urlencode(values)), _YEAR_SECONDS)
        return response

    def set_cookie(self, response: Response, name: str, value: str, seconds: int) -> None:
        """Set a cookie that no script and no other site can use."""
        flags: dict[str, Any] = {"httponly": True, "samesite": "strict"}
        secure = base_url(self.request, self.state).startswith("https:")
        response.set_cookie(name, value, max_age=seconds, secure=secure, **flags)


def visit_of(request: Request, state: State, client: CurrentClient) -> Visit:
    """Return the visit of a person: by the name of their token, else the one they gave once."""
    cookie = unquote(request.cookies.get(NAME_COOKIE, ""))[:_LONGEST_COOKIE]
    remembered = dict(parse_qsl(cookie, keep_blank_values=True))
    settings = state.settings
    viewer = Viewer(
        name=client.name or remembered.get("name") or settings.reviewer or "",
        organisation=remembered.get("organisation", settings.organisation or ""),
        is_named=client.name is not None,
        may_review=client.may("review"),
        has_session=bool(state.clients.by_digest) and SESSION_COOKIE in request.cookies,
        behind_since=state.results.behind_since(),
    )
    return Visit(request, state, client, viewer)


PageVisit = Annotated[Visit, Depends(visit_of)]
PageNumber = Annotated[int, Query(ge=1, le=100_000)]


async def _with_form(visit: PageVisit) -> AsyncIterator[Visit]:
    """Yield a visit with its form, and with the name that the form gives, if there was none.

    Raises FactibleError: The name is too long.
    """
    async with visit.request.form(max_fields=_MOST_FIELDS) as form:
        sent = replace(visit, form=form)
        if sent.field("name") and not visit.viewer.is_named:
            name = review.valid_reviewer(sent.field("name"))
            organisation = sent.field("organisation")[:_LONGEST_ORGANISATION]
            viewer = replace(visit.viewer, name=name, organisation=organisation)
            sent = replace(sent, viewer=viewer)
        yield sent


FormVisit = Annotated[Visit, Depends(_with_form)]


_COMMANDS = re.compile(r"\bfactible [a-z]|--[a-z]|FACTIBLE_|\.env\b|\bPOST /|pip install")


def for_browser(sentences: str) -> str:
    """Leave out the sentences of an error that name commands, options or variables.

    The desk offers its own remedies beside the error.
    """
    parts = re.split(r"(?<=[.!?;]) ", sentences)
    kept = " ".join(part for part in parts if not _COMMANDS.search(part))
    return f"{kept.rstrip(';')}." if kept.endswith(";") else kept or "This cannot be done now."


def base_url(request: Request, state: AppState) -> str:
    return str(state.settings.public_url or request.base_url).rstrip("/")


def page_response(
    page: tuple[str, str], *, status: int = 200, framed: bool = False
) -> HTMLResponse:
    """Answer with a page under its policy. Other sites may frame it only if `framed`."""
    text, policy = page
    ancestors = "*" if framed else "'none'"
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors {ancestors}"}
    if not framed:
        # Forms must prove that they come from the service's own pages.
        headers["Referrer-Policy"] = "same-origin"
    return HTMLResponse(text, status_code=status, headers=headers)


def show(name: str, viewer: Viewer | None, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Answer with a page of the desk by the name of its template.

    Without a viewer it has no navigation. A card has no script, and other sites may frame it.
    """
    parts, is_card = ["shared", *(["report"] if name in _REPORTS else []), "desk"], name == "card"
    page = document(
        _ENGINE,
        f"{name}.html.jinja",
        tuple(f"{part}.css" for part in parts),
        () if is_card else tuple(f"{part}.js" for part in parts),
        sends=not is_card,
        **{"here": name, "viewer": viewer, **values},
    )
    return page_response(page, status=status, framed=is_card)


def redirect(path: str) -> RedirectResponse:
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
            return redirect(f"{SIGN_IN}?{urlencode({'to': f'{path}?{query}'.removesuffix('?')})}")
        _, _, referrer = request.headers.get("referer", "").partition("://")
        back = own_path(f"/{referrer.partition('/')[2].partition('?')[0]}")
        words = (unsent or b"").decode("utf-8", "replace")
        return _sign_in_response(to=back, path=path, kept=words, ended=True)
    if not path.startswith(DESK):
        return problem_response(problem)
    # Where the Dagster UI is beside the desk, its access control has no state of this app.
    client: Client | None = getattr(request.state, "client", None)
    is_known = client is not None and client.id and "app" in request.scope
    viewer = visit_of(request, state_of(request), client).viewer if client and is_known else None
    is_form = request.method == "POST"
    back = path.rpartition("/")[0] if is_form else DESK
    back = back if back.startswith(f"{DESK}/videos/") else DESK
    title = _TITLES.get(status, "This cannot be done now")
    values = {"title": title, "detail": for_browser(problem.detail), "is_form": is_form}
    response = show("refused", viewer, status=status, back=back, **values)
    for name, value in (problem.headers or {}).items():
        response.headers.setdefault(name, value)
    return response


# --- Sign in --------------------------------------------------------------------------------------


@routes.get(SIGN_IN)
def sign_in_page(to: str = DESK) -> HTMLResponse:
    return _sign_in_response(to=own_path(to), status=200)


def _sign_in_response(*, status: int = 401, **values: Any) -> HTMLResponse:
    defaults = {"refused": False, "ended": False, "kept": "", "path": ""}
    return show("sign_in", None, **defaults | values, status=status)


@routes.post(SIGN_IN)
def sign_in(visit: FormVisit) -> Response:
    """Start a session for a token. Show the words of a form that came without one again."""
    clients, request = visit.state.clients, visit.request
    to, kept, path = own_path(visit.field("to")), visit.field("kept"), visit.field("path")
    if not clients.by_digest:
        return redirect(to)
    address = request.client.host if request.client else ""
    client = clients.client_with_token(visit.field("token"), address)
    if client is None:
        return _sign_in_response(to=to, refused=True, kept=kept, path=path)
    response: Response = redirect(to)
    if kept:
        response = show("unrecorded", None, to=to, path=own_path(path), words=parse_qsl(kept))
    session = clients.begin_session(client)
    visit.set_cookie(response, SESSION_COOKIE, session, int(SESSION_SECONDS))
    return response


@routes.post(SIGN_OUT)
def sign_out(request: Request, state: State) -> Response:
    """End the session here and wherever a copy of its cookie is."""
    state.clients.end_session(request.cookies.get(SESSION_COOKIE, ""))
    response = redirect(SIGN_IN)
    response.delete_cookie(SESSION_COOKIE)
    return response


def own_path(to: str) -> str:
    """Return the path if it is a page of this service, else that of the desk."""
    is_own = to.startswith((f"{DESK}/", f"{DESK}?", "/reports/")) and "\\" not in to
    return to if is_own and to.isprintable() else DESK


@routes.get(f"{DESK}/name")
def name_page(visit: PageVisit) -> HTMLResponse:
    """Ask for the name and organisation under which a person reviews."""
    return visit.show("name", path=f"{DESK}/name", kept={})


@routes.post(f"{DESK}/name")
def keep_name(visit: FormVisit) -> Response:
    return visit.remember(redirect(DESK))
