"""The routes of the API, and the assembly of the service."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterable, AsyncIterator
from functools import partial
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.security import HTTPBearer
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from factible_assets.errors import FactibleError
from factible_assets.report.render import document, environment, render_report
from factible_assets.runs.review import choose_claims, reviewer_name
from factible_assets.settings import Settings
from factible_assets.version import VERSION
from factible_assets.web import access, models, overviews, problems
from factible_assets.web.auth import Client
from factible_assets.web.desk import answers, checks, claims
from factible_assets.web.results import PublishedResults, video_result
from factible_assets.web.runs import (
    GRACE_SECONDS,
    LaunchWorker,
    RunManager,
    ServiceRun,
    launch_worker,
)
from factible_assets.web.state import AppState, CurrentClient, State, wait_for_slot
from warehouse.errors import WarehouseError

_LOG = logging.getLogger("factible.serve")

_DESCRIPTION = """
Fact-checks videos, streams their progress, and returns the results of earlier checks.

`POST /api/v1/fact-check/stream` launches a run and streams its events. `POST /api/v1/fact-check`
launches one and returns its address at once. Every run is a Dagster run, which the Dagster UI over
the same data folder shows too. Errors are sentences in problem details (RFC 9457).
"""

VideoId = Annotated[
    str,
    Path(min_length=1, max_length=128, description="The id of a video.", examples=["dQw4w9WgXcQ"]),
]
RunId = Annotated[uuid.UUID, Path(description="The id of a run.")]
Limit = Annotated[int, Query(ge=1, le=200, description="The most items to return.")]
Offset = Annotated[int, Query(ge=0, le=1_000_000, description="How many items to skip.")]


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems of a route. Every route can answer with the first four."""
    content = {problems.PROBLEM_TYPE: {"schema": problems.Problem.model_json_schema()}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in (401, 421, 422, 429, *statuses)
    }


_WRITING_PROBLEMS = _problems(400, 403, 409, 413, 415)
open_routes = APIRouter(prefix="/api/v1", tags=["service"])
routes = APIRouter(prefix="/api/v1", responses=_problems(404, 503))
pages = APIRouter(responses=_problems(404, 503))


@open_routes.get("/health", responses=_problems())
async def check_health() -> models.Health:
    """Needs no token."""
    return models.Health(version=VERSION)


async def _launch(
    body: models.FactCheckRequest, state: AppState, client: Client, *, detached: bool = True
) -> ServiceRun:
    """Launch or join the run that a client asks for.

    Raises HTTPException: See RunManager.start.
    """
    video, prepare = body.video_url, None
    if body.claims:
        video = await asyncio.to_thread(state.runs.video_id_of, video)
        name = client.name or reviewer_name(None, state.settings)
        prepare = partial(choose_claims, video, body.claims, name, state.settings)
    order = models.CheckOrder(
        video_id=video,
        config=body.config(),
        experiment_name=body.experiment_name,
        finds_only=body.find_only,
        claims=body.claims,
    )
    return await state.runs.start(order, client, detached=detached, prepare=prepare)


async def _launched_run(
    body: models.FactCheckRequest, state: State, client: CurrentClient, response: Response
) -> AsyncIterator[ServiceRun]:
    """Launch or join a run, and follow it as long as the client listens."""
    run = await _launch(body, state, client, detached=body.detach)
    response.headers["Location"] = f"/api/v1/runs/{run.run_id}"
    with state.runs.followed(run):
        yield run


async def _known_run(run_id: RunId, state: State) -> AsyncIterator[ServiceRun]:
    run = state.runs.get(str(run_id))
    with state.runs.followed(run):
        yield run


async def _server_sent(run: ServiceRun, after: int = 0) -> AsyncIterator[ServerSentEvent]:
    async for number, update in run.follow(after):
        yield ServerSentEvent(data=update, event=update.step, id=str(number) if number else None)


@routes.post("/fact-check", status_code=202, responses=_WRITING_PROBLEMS, tags=["fact-check"])
async def start_fact_check(
    body: models.FactCheckRequest, state: State, client: CurrentClient, response: Response
) -> models.RunInfo:
    """Launch a run that needs no followers. The header Location has its address.

    `GET /api/v1/runs/{run_id}` returns its status. After success, the result is at
    `GET /api/v1/videos/{video_id}`.
    """
    run = await _launch(body, state, client)
    response.headers["Location"] = f"/api/v1/runs/{run.run_id}"
    return run.info


@routes.post(
    "/fact-check/stream",
    response_class=EventSourceResponse,
    responses=_WRITING_PROBLEMS,
    tags=["fact-check"],
)
async def stream_fact_check(
    run: Annotated[ServiceRun, Depends(_launched_run)],
) -> AsyncIterable[models.ProgressUpdate]:
    """Launch a run and stream its events until `complete` or `error`.

    A client that hangs up cancels the run some seconds later, unless it set `detach`, others follow
    the run, or it reconnects to the run's events. If the video is already being checked with the
    same settings, the client joins that run and receives all its events. The header Location has
    the address of the run.
    """
    async for event in _server_sent(run):
        yield event  # type: ignore[misc] # its data is the declared model


@routes.get("/runs/{run_id}/events", response_class=EventSourceResponse, tags=["runs"])
async def follow_run(
    run: Annotated[ServiceRun, Depends(_known_run)],
    last_event_id: Annotated[
        int | None,
        Header(ge=0, le=1_000_000, description="The last received event; later ones follow."),
    ] = None,
) -> AsyncIterable[models.ProgressUpdate]:
    """Stream all events of a run of this service, or those after Last-Event-ID."""
    async for event in _server_sent(run, last_event_id or 0):
        yield event  # type: ignore[misc] # its data is the declared model


@routes.get("/runs", tags=["runs"])
async def list_runs(
    state: State,
    limit: Annotated[int, Query(ge=1, le=100, description="The most runs to return.")] = 20,
    video_id: Annotated[
        str | None, Query(min_length=1, max_length=128, description="Only runs of this video.")
    ] = None,
) -> models.RunList:
    """List the newest runs of the data folder, as the Dagster UI does."""
    return models.RunList(items=await state.runs.infos(limit=limit, video_id=video_id), limit=limit)


@routes.get("/runs/{run_id}", tags=["runs"])
async def show_run(run_id: RunId, state: State) -> models.RunInfo:
    """Show a run as Dagster has recorded it."""
    for info in await state.runs.infos(limit=1, run_id=str(run_id)):
        return info
    raise HTTPException(404, f"There is no run {run_id}.")


@routes.delete("/runs/{run_id}", status_code=202, responses=_WRITING_PROBLEMS, tags=["runs"])
async def cancel_run(run_id: RunId, state: State, client: CurrentClient) -> models.RunInfo:
    """Cancel a run of this service. Its events end with `error`; Dagster records it as canceled."""
    run = state.runs.get(str(run_id))
    state.runs.cancel_for(run, client.id)
    return run.info


@routes.get("/videos", tags=["results"])
def list_videos(state: State, limit: Limit = 50, offset: Offset = 0) -> models.VideoPage:
    """List the checked videos, the newest check first."""
    return state.results.videos(limit=limit, offset=offset)


@routes.get("/videos/{video_id}", tags=["results"])
def show_video(video_id: VideoId, state: State) -> models.VideoResult:
    """Show the claims of a video with their current verdicts and evidence."""
    return video_result(state.results.data(video_id))


@routes.get("/videos/{video_id}/history", tags=["results"])
def show_history(
    video_id: VideoId, state: State, limit: Limit = 50, offset: Offset = 0
) -> models.VideoHistory:
    """Show the checks of a video and the verdicts that changed, the newest first."""
    return state.results.history(video_id, limit=limit, offset=offset)


@pages.get("/reports/{video_id}", response_class=HTMLResponse, tags=["results"])
@routes.get("/videos/{video_id}/report", response_class=HTMLResponse, tags=["results"])
def show_report(video_id: VideoId, state: State) -> HTMLResponse:
    """Return the report of a video as one self-contained page."""
    return answers.page_response(render_report(state.results.data(video_id)))


@pages.get("/", include_in_schema=False)
def front() -> RedirectResponse:
    return RedirectResponse(access.DESK)


@pages.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Describe the API, with a client in Python."""
    package = "factible_assets.web"
    example = files(package).joinpath("client_example.py").read_text("utf-8")
    values = {"api": request.app.openapi(), "example": example}
    page = document(environment(package), "docs.html.jinja", ("docs.css",), **values)
    return answers.page_response(page)


def create_app(
    settings: Settings,
    *,
    address: str = "127.0.0.1",
    name: str = "127.0.0.1",
    launch: LaunchWorker = launch_worker,
    grace_seconds: float = GRACE_SECONDS,
    guarded_by: access.AccessPolicy | None = None,
) -> FastAPI:
    """Assemble the service over one data folder.

    Args:
        settings: The data folder, tokens and quotas.
        address: Beyond loopback, the service needs a token.
        name: The host name that requests may use.
        launch: Starts a worker.
        grace_seconds: How long a run survives its last follower.
        guarded_by: The policy that an outer app applies. Without it, the service applies its own.

    Raises SettingsError: The settings have no token although other machines can reach the service.
    """
    policy = guarded_by or access.AccessPolicy.from_settings(settings, name=name, address=address)
    app = FastAPI(
        title="factible-assets",
        version=VERSION,
        summary="Fact-checks of videos, live.",
        description=_DESCRIPTION,
        # Both pages would load scripts from a content network.
        docs_url=None,
        redoc_url=None,
    )
    manager = RunManager(settings, policy.clients, launch, grace_seconds)
    app.state.shared = AppState(settings, manager, PublishedResults(settings), policy.clients)
    slot = Depends(wait_for_slot)
    bearer = [Depends(HTTPBearer(auto_error=False))] if policy.clients.by_digest else []
    app.include_router(open_routes)
    for router in (routes, pages):
        app.include_router(router, dependencies=[slot, *bearer])
    for desk in (answers, checks, claims, overviews):
        app.include_router(desk.routes, dependencies=[slot])
    for kind in (HTTPException, FactibleError, WarehouseError, RequestValidationError, Exception):
        app.add_exception_handler(kind, _handle_error)
    if guarded_by is None:
        app.add_middleware(
            access.AccessMiddleware, policy=policy, error_response=answers.error_response
        )
        if policy.origins:
            # Outermost, because a browser asks for permission without a token.
            app.add_middleware(
                CORSMiddleware,
                allow_origins=sorted(policy.origins),
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
                expose_headers=["Location", "Retry-After"],
            )
    return app


async def _handle_error(request: Request, error: Exception) -> Response:
    """Answer any error with a sentence. The server's log has the traceback of unexpected ones."""
    match error:
        case HTTPException():
            problem = error
        case RequestValidationError():
            problem = HTTPException(422, problems.validation_sentence(error.errors()))
        case FactibleError():
            problem = HTTPException(422, str(error))
        case WarehouseError():
            _LOG.error("The warehouse or its published copy cannot be read: %s", error)
            problem = HTTPException(503, answers.UNREADABLE)
        case _:
            # This answer does not pass the middleware that adds the headers.
            words = "An unexpected error occurred. The service's log has more."
            problem = HTTPException(500, words, access.SECURITY_HEADERS)
    if problem.detail == HTTPStatus.NOT_FOUND.phrase:
        problem = HTTPException(404, "There is no page at this address.")
    elif problem.detail == HTTPStatus.METHOD_NOT_ALLOWED.phrase:
        words = f"{request.method} is not possible at this address."
        problem = HTTPException(405, words, problem.headers)
    return answers.error_response(request, problem)
