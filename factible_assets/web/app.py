"""The service: its routes, the walls around them, the socket and the server on it, and its end.

What belongs here: which address answers what, and what happens around the service as a process.
What does not: what requests pass before (access.py), runs (runs.py), reading results (results.py),
arguments (cli/serve.py).
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import uuid
from collections.abc import AsyncIterable, AsyncIterator
from functools import partial
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated, Any

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.security import HTTPBearer
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Match

import factible_assets
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.report.render import document, environment, render_report
from factible_assets.settings import Settings
from factible_assets.web import access, models
from factible_assets.web.desk import routes as desk
from factible_assets.web.results import PublishedResults, result_of
from factible_assets.web.runs import (
    GRACE_SECONDS,
    ByClient,
    House,
    InHouse,
    Launch,
    Run,
    Runs,
    launch_worker,
    recorded_runs,
)

_DESCRIPTION = """
Fact-checks videos, tells live how they get on, and answers with what earlier checks found.

`POST /api/v1/fact-check/stream` launches a run and streams its events; `POST /api/v1/fact-check`
launches one and answers at once with its address. Every run is a Dagster run, which the Dagster UI
over the same data folder shows too. What is wrong with a request is said in a sentence, as problem
details (RFC 9457).
"""

_BACKLOG = 128
_GOODBYE_SECONDS = 5
_FIRST_FREE_PORT, _HIGHEST_PORT = 1024, 65_535

VideoId = Annotated[
    str,
    Path(min_length=1, max_length=128, description="The id of a video.", examples=["dQw4w9WgXcQ"]),
]
RunId = Annotated[uuid.UUID, Path(description="The id of a run.")]
Limit = Annotated[int, Query(ge=1, le=200, description="How many items to return at most.")]
Offset = Annotated[int, Query(ge=0, le=1_000_000, description="How many items to leave out first.")]

_WORDS = {
    400: "The request is malformed.",
    401: "The token is missing or wrong.",
    403: "This client may not do this.",
    404: "There is no such video or run, or the video was not checked.",
    408: "The body did not come in time.",
    409: "What is asked for contradicts what is going on.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The request names a host that this service is not.",
    422: "The input cannot be used.",
    429: "A quota is used up, or all workers are busy; Retry-After says when to come again.",
    503: "The service cannot answer now.",
}


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {models.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    always = (401, 421, 422, 429)
    return {
        status: {"description": _WORDS[status], "content": content}
        for status in sorted({*always, *statuses})
    }


_OF_WRITING = _problems(400, 403, 408, 409, 413, 415)
_OF_READING = _problems(404, 503)
open_routes = APIRouter(prefix="/api/v1", tags=["service"])
routes = APIRouter(prefix="/api/v1", responses=_OF_READING)
pages = APIRouter(responses=_OF_READING)


@open_routes.get("/health", responses=_problems(), summary="Whether the service is there")
async def health() -> models.Health:
    """Answer without a token."""
    return models.Health(version=factible_assets.__version__)


async def _launched(
    asked: models.FactCheckRequest, house: InHouse, client: ByClient, response: Response
) -> AsyncIterator[Run]:
    """Launch or join a run and follow it for as long as the client listens."""
    run = await house.runs.start(
        asked.video_url,
        asked.config(),
        client,
        detached=asked.detach,
        experiment_name=asked.experiment_name,
    )
    response.headers["Location"] = f"/api/v1/runs/{run.run_id}"
    with house.runs.followed(run):
        yield run


async def _followed(run_id: RunId, house: InHouse) -> AsyncIterator[Run]:
    run = house.runs.get(str(run_id))
    with house.runs.followed(run):
        yield run


async def _as_events(run: Run, after: int = 0) -> AsyncIterator[ServerSentEvent]:
    async for number, update in run.follow(after):
        # What breaks a silence has no number: nobody who comes back would miss it.
        yield ServerSentEvent(data=update, event=update.step, id=str(number) if number else None)


@routes.post(
    "/fact-check",
    status_code=202,
    responses=_OF_WRITING,
    tags=["fact-check"],
    summary="Fact-check a video and come back for the result",
)
async def fact_check(
    asked: models.FactCheckRequest, house: InHouse, client: ByClient, response: Response
) -> models.RunInfo:
    """Launch a run that goes on by itself, as with `detach`. The header Location names it.

    `GET /api/v1/runs/{run_id}` says how it stands; when it has succeeded, the result is at
    `GET /api/v1/videos/{video_id}`.
    """
    run = await house.runs.start(
        asked.video_url, asked.config(), client, experiment_name=asked.experiment_name
    )
    response.headers["Location"] = f"/api/v1/runs/{run.run_id}"
    return run.info


@routes.post(
    "/fact-check/stream",
    response_class=EventSourceResponse,
    responses=_OF_WRITING,
    tags=["fact-check"],
    summary="Fact-check a video and follow the run",
)
async def fact_check_stream(
    run: Annotated[Run, Depends(_launched)],
) -> AsyncIterable[models.ProgressUpdate]:
    """Launch a run and stream its events until `complete` or `error`.

    A client that hangs up cancels the run some seconds later, unless it asked to `detach`, others
    follow the run, or it comes back to the run's events. Who asks for a video that is being checked
    with the same settings joins that run and hears all of it. The header Location names the run.
    """
    async for event in _as_events(run):
        yield event  # type: ignore[misc] # its data is the declared model


@routes.get(
    "/runs/{run_id}/events",
    response_class=EventSourceResponse,
    tags=["runs"],
    summary="Follow a run of this service, from its first event on",
)
async def run_events(
    run: Annotated[Run, Depends(_followed)],
    last_event_id: Annotated[
        int | None,
        Header(ge=0, le=1_000_000, description="The last event that was heard; the rest follow."),
    ] = None,
) -> AsyncIterable[models.ProgressUpdate]:
    """Stream all events of a run, also of one that is over, or those behind Last-Event-ID."""
    async for event in _as_events(run, last_event_id or 0):
        yield event  # type: ignore[misc] # its data is the declared model


@routes.get("/runs", tags=["runs"], summary="List the newest runs")
async def runs(
    house: InHouse,
    limit: Annotated[int, Query(ge=1, le=100, description="How many runs at most.")] = 20,
    video_id: Annotated[
        str | None, Query(min_length=1, max_length=128, description="Only runs of this video.")
    ] = None,
) -> models.RunList:
    """List runs of the data folder, whoever launched them, as the Dagster UI does."""
    return models.RunList(items=await house.runs.infos(limit=limit, video_id=video_id), limit=limit)


@routes.get("/runs/{run_id}", tags=["runs"], summary="Show one run")
async def run(run_id: RunId, house: InHouse) -> models.RunInfo:
    """Show a run as Dagster has recorded it."""
    for info in await house.runs.infos(limit=1, run_id=str(run_id)):
        return info
    raise HTTPException(404, f"There is no run {run_id}. GET /api/v1/runs lists the newest ones.")


@routes.delete(
    "/runs/{run_id}",
    status_code=202,
    responses=_OF_WRITING,
    tags=["runs"],
    summary="Cancel a run of this service",
)
async def cancel_run(run_id: RunId, house: InHouse, client: ByClient) -> models.RunInfo:
    """Cancel a run. Its events end with `error`, and Dagster records it as canceled."""
    found = house.runs.get(str(run_id))
    house.runs.cancel_for(found, client.id)
    return found.info


@routes.get("/videos", tags=["results"], summary="List the checked videos")
def videos(house: InHouse, limit: Limit = 50, offset: Offset = 0) -> models.VideoPage:
    """List the checked videos, the newest check first."""
    return house.results.videos(limit=limit, offset=offset)


@routes.get(
    "/videos/{video_id}",
    tags=["results"],
    summary="Show the claims of a video with their verdicts and evidence",
)
def video(video_id: VideoId, house: InHouse) -> models.VideoResult:
    """Show what the newest checks of a video found."""
    return result_of(house.results.data(video_id))


@routes.get(
    "/videos/{video_id}/history",
    tags=["results"],
    summary="Show the checks of a video, and the verdicts that changed",
)
def video_history(
    video_id: VideoId, house: InHouse, limit: Limit = 50, offset: Offset = 0
) -> models.VideoHistory:
    """Show the checks of a video and the verdicts that changed, the newest first."""
    return house.results.history(video_id, limit=limit, offset=offset)


@pages.get(
    "/reports/{video_id}",
    response_class=HTMLResponse,
    tags=["results"],
    summary="Show the HTML report of a video, by its short address",
)
@routes.get(
    "/videos/{video_id}/report",
    response_class=HTMLResponse,
    tags=["results"],
    summary="Show the HTML report of a video",
)
def video_report(video_id: VideoId, house: InHouse) -> HTMLResponse:
    """Return the report as one self-contained page."""
    return desk.shown(render_report(house.results.data(video_id)))


@pages.get("/", include_in_schema=False)
def front() -> RedirectResponse:
    """Lead whoever opens the service in a browser to the desk."""
    return RedirectResponse(access.DESK)


@pages.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Show the API, with a client in Python."""
    here = "factible_assets.web"
    example = files(here).joinpath("client_example.py").read_text("utf-8")
    values = {"api": request.app.openapi(), "example": example}
    return desk.shown(document(environment(here), "docs.html.jinja", ("docs.css",), **values))


def create_app(
    settings: Settings,
    *,
    address: str = "127.0.0.1",
    name: str = "127.0.0.1",
    launch: Launch = launch_worker,
    grace_seconds: float = GRACE_SECONDS,
    admission: access.Admission | None = None,
) -> FastAPI:
    """Assemble the service over one data folder.

    `address` decides whether it needs a token, `name` is what requests may call it; inside walls
    that stand already, `admission` is theirs, and it puts up none.

    Raises SettingsError: The service cannot be opened to others with these settings.
    """
    has_walls = admission is not None
    admission = admission or access.Admission.of(settings, name=name, address=address)

    runs = Runs(settings, admission.clients, launch, grace_seconds)
    house = House(settings, runs, PublishedResults(settings), admission.clients)

    app = FastAPI(
        title="factible-assets",
        version=factible_assets.__version__,
        summary="Fact-checks of videos, live.",
        description=_DESCRIPTION,
        # Both pages would load scripts from a content network.
        docs_url=None,
        redoc_url=None,
    )
    app.state.house = house
    bearer = [Depends(HTTPBearer(auto_error=False))] if admission.clients.by_digest else []
    app.include_router(open_routes)
    app.include_router(routes, dependencies=bearer)
    app.include_router(pages, dependencies=bearer)
    app.include_router(desk.routes)
    describe = app.openapi

    def described() -> dict[str, Any]:
        # The shape of problems, which routes refer to.
        schemas = describe().setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault("Problem", models.Problem.model_json_schema())
        return describe()

    app.openapi = described  # type: ignore[method-assign] # the documented way to extend it
    for kind in (HTTPException, FactibleError, RequestValidationError, Exception):
        app.add_exception_handler(kind, _refused)
    app.add_middleware(access.Turnstile)
    if has_walls:
        return app
    app.add_middleware(access.Walls, admission=admission)
    if admission.origins:
        # Outside the walls: a browser asks for leave without a token.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(admission.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
            expose_headers=["Location", "Retry-After"],
        )
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """Say what went wrong: to people on a page of the desk, to programs as a problem."""
    if isinstance(error, RequestValidationError):
        error = HTTPException(422, models.validation_sentence(error.errors()))
    elif isinstance(error, FactibleError):
        error = HTTPException(422, str(error))
    elif not isinstance(error, HTTPException):
        # The server's log has the traceback; a client gets none of it. This answer is made outside
        # the walls, which would have added the headers.
        words = "Something unforeseen went wrong; the service's log has more."
        error = HTTPException(500, words, access.SECURITY_HEADERS)
    title, headers = HTTPStatus(error.status_code).phrase, dict(error.headers or {})
    if error.detail == title and error.status_code == HTTPStatus.NOT_FOUND:
        words = "There is nothing at this address; /openapi.json lists what there is."
        error = HTTPException(404, words)
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The router names the methods of the first route at this address alone.
        allowed = {
            method
            for router in (request.app, open_routes, routes, pages, desk.routes)
            for route in router.routes
            if route.matches(request.scope)[0] != Match.NONE
            for method in getattr(route, "methods", ())
        }
        allowed |= {"HEAD"} if "GET" in allowed else set()  # the walls see to it
        headers["Allow"] = ", ".join(sorted(allowed))
        words = f"{request.method} is not answered here; these are: {headers['Allow']}."
        error = HTTPException(405, words)
    if request.url.path.startswith(access.DESK):
        answer: Response = desk.refused(request, error.status_code, title, error.detail)
    else:
        answer = models.problem_response(error)
    for name, value in headers.items():
        answer.headers.setdefault(name, value)
    return answer


# --- Listening ------------------------------------------------------------------------------------


def open_door(host: str, port: int) -> socket.socket:
    """Bind a socket, port 0: any that is free; FactibleError: it cannot be listened there."""
    try:
        family, *_, place = socket.getaddrinfo(host, port, flags=socket.AI_PASSIVE)[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(place, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except (socket.gaierror, UnicodeError) as error:
        raise FactibleError(
            f"There is no host {host!r}.",
            "Give an address of this machine, such as 127.0.0.1.",
            ExitCode.ENVIRONMENT,
        ) from error
    except OSError as error:
        other = port + 1 if port < _HIGHEST_PORT else _FIRST_FREE_PORT
        sentences = {
            errno.EADDRINUSE: f"Port {port} on {host} is in use. Choose another one, such as "
            f"--port {other}, or end what listens there.",
            errno.EADDRNOTAVAIL: f"{host} is no address of this machine. Listen on 127.0.0.1, or "
            "on one that is.",
            errno.EACCES: f"Port {port} is reserved for the system. Choose one above 1023.",
        }
        why = os.strerror(error.errno or 0)
        unknown = f"The service cannot listen on {host}, port {port}: {why}."
        sentence = sentences.get(error.errno or 0, unknown)
        raise FactibleError(sentence, code=ExitCode.ENVIRONMENT) from error


class _Server(uvicorn.Server):
    """A server that ends the runs before it waits for their streams to end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        house: House = self.config.app.state.house  # type: ignore[union-attr]
        await house.runs.close()
        await super().shutdown(sockets)


def build_server(app: FastAPI) -> uvicorn.Server:
    """Return the server that answers for an app."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        # Nobody stands between the clients and this process unless the operator puts one there.
        proxy_headers=False,
        timeout_graceful_shutdown=_GOODBYE_SECONDS,
        ws="none",
        http=access.ImpatientProtocol,
    )
    return _Server(config)


def serve_app(app: FastAPI, door: socket.socket) -> None:
    """Answer requests until the process is interrupted or terminated; runs are cancelled then."""
    # Loading Dagster takes seconds, which the first question about runs need not wait for.
    warm_up = partial(recorded_runs, app.state.house.settings, limit=1)
    threading.Thread(target=warm_up, daemon=True).start()
    with door, contextlib.suppress(KeyboardInterrupt):
        build_server(app).run(sockets=[door])
