"""The service: its routes, and the walls around them.

What belongs here: which address answers what. What does not: what requests pass before (walls.py),
runs (runs.py), reading results (results.py).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.security import HTTPBearer
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import compile_path

import factible_assets
from factible_assets.errors import FactibleError
from factible_assets.http_service import desk
from factible_assets.http_service.auth import Client, Quotas, Tokens, is_loopback
from factible_assets.http_service.docs import docs_page
from factible_assets.http_service.events import ProgressUpdate
from factible_assets.http_service.house import House, start_check
from factible_assets.http_service.models import (
    FactCheckRequest,
    Health,
    RunInfo,
    RunList,
    VideoHistory,
    VideoPage,
    VideoResult,
)
from factible_assets.http_service.problems import (
    MEDIA_TYPE,
    NotFoundError,
    Problem,
    ProblemError,
    validation_sentence,
)
from factible_assets.http_service.results import PublishedResults
from factible_assets.http_service.runs import GRACE_SECONDS, Run, Runs
from factible_assets.http_service.walls import (
    DESK,
    SECURITY_HEADERS,
    Admission,
    Walls,
    host_names,
    problem_response,
)
from factible_assets.http_service.workers import Launch, launch_worker
from factible_assets.settings import Settings

_DESCRIPTION = """
Fact-checks videos, tells live how they get on, and answers with what earlier checks found.

`POST /api/v1/fact-check/stream` launches a run and streams its events; `POST /api/v1/fact-check`
launches one and answers at once with its address. Every run is a Dagster run, which the Dagster UI
over the same data folder shows too. What is wrong with a request is said in a sentence, as problem
details (RFC 9457).
"""

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
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    always = (401, 421, 422, 429)
    return {
        status: {"description": _WORDS[status], "content": content}
        for status in sorted({*always, *statuses})
    }


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


def _client(request: Request) -> str:
    client: Client = request.state.client
    return client.id


InHouse = Annotated[House, Depends(_house)]
ByClient = Annotated[str, Depends(_client)]

open_routes = APIRouter(prefix="/api/v1", tags=["service"])
routes = APIRouter(prefix="/api/v1")
pages = APIRouter()


@open_routes.get("/health", responses=_problems(), summary="Whether the service is there")
async def health() -> Health:
    """Answer without a token."""
    return Health(version=factible_assets.__version__)


async def _started(
    asked: FactCheckRequest, house: House, client: str, response: Response, *, detached: bool
) -> Run:
    """Launch or join a run, and name it in the header Location."""
    run = await start_check(
        asked.video_url,
        asked.config(),
        house,
        client,
        detached=detached,
        experiment_name=asked.experiment_name,
    )
    response.headers["Location"] = f"/api/v1/runs/{run.run_id}"
    return run


async def _launched(
    asked: FactCheckRequest, house: InHouse, client: ByClient, response: Response
) -> AsyncIterator[Run]:
    """Launch or join a run and follow it for as long as the client listens."""
    run = await _started(asked, house, client, response, detached=asked.detach)
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
    responses=_problems(400, 403, 404, 408, 409, 413, 415, 503),
    tags=["fact-check"],
    summary="Fact-check a video and come back for the result",
)
async def fact_check(
    asked: FactCheckRequest, house: InHouse, client: ByClient, response: Response
) -> RunInfo:
    """Launch a run that goes on by itself, as with `detach`. The header Location names it.

    `GET /api/v1/runs/{run_id}` says how it stands; when it has succeeded, the result is at
    `GET /api/v1/videos/{video_id}`.
    """
    return (await _started(asked, house, client, response, detached=True)).info()


@routes.post(
    "/fact-check/stream",
    response_class=EventSourceResponse,
    responses=_problems(400, 403, 404, 408, 409, 413, 415, 503),
    tags=["fact-check"],
    summary="Fact-check a video and follow the run",
)
async def fact_check_stream(
    run: Annotated[Run, Depends(_launched)],
) -> AsyncIterable[ProgressUpdate]:
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
    responses=_problems(404),
    tags=["runs"],
    summary="Follow a run of this service, from its first event on",
)
async def run_events(
    run: Annotated[Run, Depends(_followed)],
    last_event_id: Annotated[
        int | None,
        Header(ge=0, le=1_000_000, description="The last event that was heard; the rest follow."),
    ] = None,
) -> AsyncIterable[ProgressUpdate]:
    """Stream all events of a run, also of one that is over, or those behind Last-Event-ID."""
    async for event in _as_events(run, last_event_id or 0):
        yield event  # type: ignore[misc] # its data is the declared model


@routes.get("/runs", responses=_problems(503), tags=["runs"], summary="List the newest runs")
async def runs(
    house: InHouse,
    limit: Annotated[int, Query(ge=1, le=100, description="How many runs at most.")] = 20,
    video_id: Annotated[
        str | None, Query(min_length=1, max_length=128, description="Only runs of this video.")
    ] = None,
) -> RunList:
    """List runs of the data folder, whoever launched them, as the Dagster UI does."""
    from factible_assets.http_service.instance import newest_runs  # noqa: PLC0415 - loads Dagster

    recorded = await asyncio.to_thread(newest_runs, house.settings, limit=limit, video_id=video_id)
    own = {run.run_id: run for run in house.runs.all()}
    known = {info.run_id for info in recorded}
    # A run is Dagster's only seconds after it was launched here.
    fresh = [
        run.info()
        for run in own.values()
        if not run.is_over and run.run_id not in known and video_id in {None, run.order.video_id}
    ]
    merged = [_with_events(info, own.get(info.run_id)) for info in recorded]
    return RunList(items=[*fresh, *merged][:limit], limit=limit)


@routes.get("/runs/{run_id}", responses=_problems(404, 503), tags=["runs"], summary="Show one run")
async def run(run_id: RunId, house: InHouse) -> RunInfo:
    """Show a run as Dagster has recorded it."""
    from factible_assets.http_service.instance import recorded_run  # noqa: PLC0415

    own = next((each for each in house.runs.all() if each.run_id == str(run_id)), None)
    recorded = await asyncio.to_thread(recorded_run, house.settings, str(run_id))
    if recorded is not None:
        return _with_events(recorded, own)
    if own is not None:
        return own.info()
    raise NotFoundError(f"There is no run {run_id}. GET /api/v1/runs lists the newest ones.")


@routes.delete(
    "/runs/{run_id}",
    status_code=202,
    responses=_problems(400, 403, 404, 408, 409, 413, 415),
    tags=["runs"],
    summary="Cancel a run of this service",
)
async def cancel_run(run_id: RunId, house: InHouse, client: ByClient) -> RunInfo:
    """Cancel a run. Its events end with `error`, and Dagster records it as canceled."""
    found = house.runs.get(str(run_id))
    house.runs.cancel_for(found, client)
    return found.info()


def _with_events(info: RunInfo, own: Run | None) -> RunInfo:
    if own is None:
        return info
    status = "canceling" if own.status == "canceling" else info.status
    return info.model_copy(update={"events": own.info().events, "status": status})


@routes.get(
    "/videos", responses=_problems(503), tags=["results"], summary="List the checked videos"
)
def videos(house: InHouse, limit: Limit = 50, offset: Offset = 0) -> VideoPage:
    """List the checked videos, the newest check first."""
    return house.results.videos(limit=limit, offset=offset)


@routes.get(
    "/videos/{video_id}",
    responses=_problems(404, 503),
    tags=["results"],
    summary="Show the claims of a video with their verdicts and evidence",
)
def video(video_id: VideoId, house: InHouse) -> VideoResult:
    """Show what the newest checks of a video found."""
    return house.results.video(video_id)


@routes.get(
    "/videos/{video_id}/history",
    responses=_problems(404, 503),
    tags=["results"],
    summary="Show the checks of a video, and the verdicts that turned",
)
def video_history(
    video_id: VideoId, house: InHouse, limit: Limit = 50, offset: Offset = 0
) -> VideoHistory:
    """Show the checks of a video and the verdicts that turned, the newest first."""
    return house.results.history(video_id, limit=limit, offset=offset)


@pages.get(
    "/reports/{video_id}",
    response_class=HTMLResponse,
    responses=_problems(404, 503),
    tags=["results"],
    summary="Show the HTML report of a video, by its short address",
)
@routes.get(
    "/videos/{video_id}/report",
    response_class=HTMLResponse,
    responses=_problems(404, 503),
    tags=["results"],
    summary="Show the HTML report of a video",
)
def video_report(video_id: VideoId, house: InHouse) -> HTMLResponse:
    """Return the report as one self-contained page."""
    page, policy = house.results.report(video_id)
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})


@pages.get("/", include_in_schema=False)
def front() -> RedirectResponse:
    """Lead whoever opens the service in a browser to the desk."""
    return RedirectResponse(DESK)


@pages.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Show the API, with a client in Python."""
    page, policy = docs_page(request.app.openapi())
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})


def create_app(
    settings: Settings,
    *,
    address: str = "127.0.0.1",
    name: str = "127.0.0.1",
    launch: Launch = launch_worker,
    grace_seconds: float = GRACE_SECONDS,
    admission: Admission | None = None,
) -> FastAPI:
    """Assemble the service over one data folder.

    Args:
        settings: The data folder, tokens and quotas.
        address: The address that it will listen on, which decides whether it needs a token.
        name: The host as its operator wrote it, which requests may name.
        launch: Starts workers.
        grace_seconds: How long a run outlives its last follower.
        admission: Of the walls that stand around it already; it puts up its own if there are none.

    Raises:
        SettingsError: The service cannot be opened to others with these settings.
    """
    has_walls = admission is not None
    if admission is None:
        beyond = not is_loopback(address)
        tokens = Tokens.of(settings, beyond_loopback=beyond)
        admission = Admission(
            tokens,
            Quotas.of(settings, beyond_loopback=beyond),
            host_names(name, settings.serve_hosts, has_tokens=bool(tokens.clients)),
            frozenset(origin.rstrip("/") for origin in settings.serve_origins),
        )

    async def end_run(run_id: str, cancelled: bool) -> None:
        from factible_assets.http_service.instance import end_run as end  # noqa: PLC0415

        await asyncio.to_thread(end, settings, run_id, cancelled=cancelled)

    house = House(
        settings,
        Runs(launch, end_run, most_at_once=settings.serve_max_runs, grace_seconds=grace_seconds),
        PublishedResults(settings),
        admission.quotas,
        admission.tokens,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await house.runs.close()

    app = FastAPI(
        title="factible-assets",
        version=factible_assets.__version__,
        summary="Fact-checks of videos, live.",
        description=_DESCRIPTION,
        lifespan=lifespan,
        # Both pages would load scripts from a content network.
        docs_url=None,
        redoc_url=None,
    )
    app.state.house = house
    bearer = [Depends(HTTPBearer(auto_error=False))] if admission.tokens.clients else []
    app.include_router(open_routes)
    app.include_router(routes, dependencies=bearer)
    app.include_router(pages, dependencies=bearer)
    app.include_router(desk.routes)
    _describe_problems(app)
    app.add_exception_handler(ProblemError, _said)
    app.add_exception_handler(FactibleError, _wrong)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _unexpected)
    if has_walls:
        return app
    app.add_middleware(Walls, admission=admission)
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


def _describe_problems(app: FastAPI) -> None:
    """Add the shape of problems, which routes refer to, to the description of the service."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        schema = describe()
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault("Problem", Problem.model_json_schema())
        return schema

    app.openapi = described  # type: ignore[method-assign] # the documented way to extend it


async def _said(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)  # noqa: S101 - as it was registered
    if _is_for_people(request):
        return desk.refused(request, error.status, error.status.phrase, str(error))
    return problem_response(error)


async def _wrong(request: Request, error: Exception) -> Response:
    return _problem(request, HTTPStatus.UNPROCESSABLE_ENTITY, str(error))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as it was registered
    return _problem(request, 422, validation_sentence(error.errors()))


def _is_for_people(request: Request) -> bool:
    return request.url.path.startswith(DESK)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as it was registered
    sentences = {
        404: "There is nothing at this address; /openapi.json lists what there is.",
        405: f"{request.method} is not answered here; /openapi.json lists what is.",
    }
    detail = sentences.get(error.status_code, str(error.detail))
    response = _problem(request, error.status_code, detail)
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The router names the methods of the first route at this address alone.
        response.headers["Allow"] = ", ".join(_methods_at(request))
    return response


def _methods_at(request: Request) -> list[str]:
    app: FastAPI = request.app
    return sorted(
        method.upper()
        for path, operations in app.openapi()["paths"].items()
        if compile_path(path)[0].match(request.url.path)
        for method in operations
    )


async def _unexpected(request: Request, error: Exception) -> Response:
    # The server's log has the traceback; a client gets none of it.
    del error
    response = _problem(
        request, 500, "Something unforeseen went wrong; the service's log has more."
    )
    # This one is made outside the walls, which would have added them.
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _problem(request: Request, status: int, detail: str) -> Response:
    if _is_for_people(request):
        return desk.refused(request, status, HTTPStatus(status).phrase, detail)
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return Response(body.model_dump_json(), status_code=status, media_type=MEDIA_TYPE)
