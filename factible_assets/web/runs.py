"""The runs of this service: launched, followed by any number of clients, cancelled.

What belongs here: which runs there are, here and in Dagster's records, the process of each and its
pipes, their events, who follows them, when one is cancelled, and what routes work with. What does
not: what a worker does (worker.py), quotas (auth.py), routes (app.py, desk/).

All but what speaks to Dagster, which blocks, happens on the event loop, so nothing needs a lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import uuid
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, TypeAlias, cast

from fastapi import Depends, Request
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.corpora.writing import bare_id
from factible_assets.settings import Settings
from factible_assets.web import models
from factible_assets.web.auth import Client, Clients
from factible_assets.web.results import PublishedResults
from factible_assets.wording import counted
from resources.lines import did_you_mean, shown
from resources.transcripts.youtube_ids import NotAVideoLinkError, is_video_id

_LOG = logging.getLogger("factible.serve")

KEPT_RUNS = 50
"""How many runs that are over can still be read, the newest."""

GRACE_SECONDS = 5.0
"""How long a run goes on after its last follower has gone, who may be about to come back."""

PATIENCE_SECONDS = 30.0
"""How long a worker may take to stop before it is killed."""

SILENCE_SECONDS = 10.0
"""How long a stream may say nothing: less than the 15 s after which FastAPI sends a comment, which
some clients (httpx-sse) take for an event without data."""

_RETRY_SECONDS = 10.0
_LONGEST_LINE_BYTES = 64 * 1024 * 1024


class Worker:
    """A process that carries out an order."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def updates(self) -> AsyncIterator[models.ProgressUpdate]:
        """Yield the events until the process closes its end."""
        if self._process.stdout is None:
            return
        async for line in self._process.stdout:
            # A worker that is killed can leave half a line behind.
            with contextlib.suppress(ValidationError):
                yield models.ProgressUpdate.model_validate_json(line)

    def cancel(self) -> None:
        """Close its stdin, which it takes for the wish to stop; its last event says that it did."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill the process and those that it has started, such as a browser."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def wait(self) -> int:
        """Wait until the process is gone and return its exit code."""
        self.cancel()
        return await self._process.wait()


Launch: TypeAlias = Callable[[models.Order], Awaitable[Worker]]
"""Starts a worker on an order."""


async def launch_worker(order: models.Order) -> Worker:
    """Start a worker in a session of its own: Ctrl-C in the terminal reaches the service alone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "factible_assets.web.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
        # Nothing in the working folder is taken for a module.
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        limit=_LONGEST_LINE_BYTES,
    )
    if process.stdin is not None:
        process.stdin.write(order.model_dump_json().encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
    return Worker(process)


@dataclass(eq=False)
class Run:
    """One run, from its launch on; `info` is what clients see of it."""

    order: models.Order
    client: str
    detached: bool
    info: models.RunInfo
    events: list[models.ProgressUpdate] = field(default_factory=list)
    followers: int = 0
    worker: Worker | None = None
    task: asyncio.Task[None] | None = None
    leaving: asyncio.TimerHandle | None = None
    killing: asyncio.TimerHandle | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def run_id(self) -> str:
        """The id of the run, here and in Dagster."""
        return self.order.run_id

    @property
    def is_over(self) -> bool:
        """Whether no event will follow."""
        return self.info.ended_at is not None

    def tell(self, event: models.ProgressUpdate) -> None:
        """Add an event and wake whoever waits for it."""
        self.events.append(event)
        self._announce()

    def end(self, status: models.RunStatus) -> None:
        """Close the list of events."""
        self.info.status = status
        self.info.ended_at = datetime.now(UTC)
        self._announce()

    async def follow(
        self, after: int = 0
    ) -> AsyncIterator[tuple[int | None, models.ProgressUpdate]]:
        """Yield the events behind a number, from 1; a silence is broken by unnumbered ones."""
        position = max(0, after)
        while True:
            # Taken before looking, so that what comes in between wakes this one up.
            news = self._news
            while position < len(self.events):
                position += 1
                yield position, self.events[position - 1]
            if self.is_over:
                return
            try:
                async with asyncio.timeout(SILENCE_SECONDS):
                    await news.wait()
            except TimeoutError:
                so_far = self.events[-1].progress if self.events else 0
                words = "The run goes on."
                yield (
                    None,
                    models.ProgressUpdate(step="still_running", message=words, progress=so_far),
                )

    def _announce(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


@dataclass
class Runs:
    """All runs of this service; one outlives its last follower by `grace_seconds`."""

    settings: Settings
    clients: Clients
    launch: Launch
    grace_seconds: float = GRACE_SECONDS
    _runs: dict[str, Run] = field(default_factory=dict)
    _closing: bool = False

    def all(self) -> list[Run]:
        """Return the runs, the newest first."""
        return list(reversed(self._runs.values()))

    def get(self, run_id: str) -> Run:
        """Return one run; HTTPException (404): it was not launched here, or has been forgotten."""
        if run_id not in self._runs:
            raise HTTPException(
                404,
                f"This service has no events of a run {shown(run_id)}: it did not "
                "launch it, or long ago. GET /api/v1/runs lists those that Dagster has recorded.",
            )
        return self._runs[run_id]

    async def infos(
        self, *, limit: int, video_id: str | None = None, run_id: str | None = None
    ) -> list[models.RunInfo]:
        """Return the newest runs as Dagster has recorded them, whoever launched them.

        A run is Dagster's only seconds after it was launched here.
        """
        recorded = await asyncio.to_thread(
            recorded_runs, self.settings, limit=limit, video_id=video_id, run_id=run_id
        )
        own = {run.run_id: run for run in self.all()}
        for info in recorded:
            if run := own.pop(info.run_id, None):
                info.events = run.info.events
                # It has succeeded once its result can be read.
                info.status = info.status if run.is_over else run.info.status
        fresh = [
            run.info
            for run in own.values()
            if run.run_id == run_id
            or (run_id is None and not run.is_over and video_id in {None, run.order.video_id})
        ]
        return [*fresh, *recorded][:limit]

    def meant_video(self, text: str) -> str:
        """Return the id of the video that is meant: a link, a YouTube id, or one of a corpus.

        Unlike the command line's, a client's text never names a file of this machine.

        Raises HTTPException: It is no video that can be checked (404).
        """
        try:
            video_id = bare_id(text.strip())
        except NotAVideoLinkError as error:
            raise HTTPException(404, str(error)) from error
        reading = load_corpora(self.settings.corpus_folders)
        if reading.find(video_id) is not None or is_video_id(video_id):
            return video_id
        known = [listed.video.video_id for listed in reading.videos()]
        raise HTTPException(
            404,
            f"{shown(video_id)} is neither a YouTube link nor the id of a video on "
            f"YouTube or in a corpus. {did_you_mean(video_id, known)} Give a link such as "
            "https://www.youtube.com/watch?v=VIDEO_ID.",
        )

    async def start(
        self,
        video: str,
        config: FactCheckConfig,
        client: Client,
        *,
        detached: bool = True,
        experiment_name: str = "default",
        claim_id: str | None = None,
        listing: Callable[[], object] | None = None,
    ) -> Run:
        """Launch a run, or join the one that is doing the same for the same video.

        `client` may cancel it, and pays for it. Of one claim, the knobs of its last check count
        instead of `config`. `listing` lists a new video, once nothing stands in its way.

        Raises HTTPException: It is no video (404), it is being checked with other settings (409),
        all workers are busy or the client's quota is used up (429), or the service is being stopped
        (503).
        """
        order = models.Order(
            run_id=str(uuid.uuid4()),
            video_id=video if listing else await asyncio.to_thread(self.meant_video, video),
            home=self.settings.home,
            config=config,
            experiment_name=experiment_name,
            claim_id=claim_id,
        )
        if self._closing:
            raise HTTPException(503, "The service is being stopped; ask again when it is back.")
        active = [run for run in self._runs.values() if not run.is_over]
        same = next((run for run in active if run.order.video_id == order.video_id), None)
        if same is not None:
            if same.info.status == "canceling":
                raise HTTPException(
                    409,
                    f"The check of {order.video_id} is being cancelled; ask again in a few "
                    "seconds.",
                    {"Retry-After": "5"},
                )
            work = {"video_id", "config", "claim_id"}
            if same.order.model_dump(include=work) != order.model_dump(include=work):
                raise HTTPException(
                    409,
                    f"{order.video_id} is being checked with other settings, by the run "
                    f"{same.run_id}. Follow that run, or ask again when it is over.",
                    {"Location": f"/api/v1/runs/{same.run_id}"},
                )
            same.detached = same.detached or detached
            return same
        if len(active) >= self.settings.serve_max_runs:
            raise models.too_many(
                f"{counted(len(active), 'video is', 'videos are')} being checked, and no more at "
                "once. Ask again later, or raise FACTIBLE_SERVE_MAX_RUNS.",
                _RETRY_SECONDS,
            )
        self.clients.count_video(client.id)
        info = models.RunInfo(
            run_id=order.run_id,
            video_id=order.video_id,
            status="starting",
            launched_by=order.tags["launched_by"],
            experiment_name=experiment_name,
            started_at=datetime.now(UTC),
            ended_at=None,
            events=f"/api/v1/runs/{order.run_id}/events",
        )
        run = Run(order, client.id, detached, info)
        self._runs[run.run_id] = run
        over = [each for each in self._runs.values() if each.is_over]
        for old in over[: max(0, len(over) - KEPT_RUNS)]:
            del self._runs[old.run_id]
        if listing is not None:
            try:
                await asyncio.to_thread(listing)
            except BaseException:  # also where its client is gone
                del self._runs[run.run_id]
                # Somebody may have joined it meanwhile.
                words = "The video could not be listed. Start its check again."
                run.tell(models.error_update(words, run.run_id))
                run.end("failure")
                raise
        run.task = asyncio.create_task(self._attend(run), name=f"run {run.run_id}")
        return run

    @contextlib.contextmanager
    def followed(self, run: Run) -> Iterator[None]:
        """Count one more follower; a run that nobody follows and nobody detached is cancelled."""
        run.followers += 1
        if run.leaving is not None:
            run.leaving.cancel()
            run.leaving = None
        try:
            yield
        finally:
            run.followers -= 1
            if not (run.followers or run.detached or run.is_over):
                loop = asyncio.get_running_loop()
                run.leaving = loop.call_later(self.grace_seconds, self.cancel, run)

    def cancel_for(self, run: Run, client: str) -> None:
        """Cancel a run; HTTPException: another client launched it (403), or it is over (409)."""
        if run.client != client:
            raise HTTPException(
                403,
                f"The run {run.run_id} was launched with another token, which alone can cancel it.",
            )
        if run.is_over:
            words = f"The run {run.run_id} is over; its status is {run.info.status}."
            raise HTTPException(409, words)
        self.cancel(run)

    def cancel(self, run: Run) -> None:
        """Ask the worker of a run to stop, and kill it if it does not."""
        if run.is_over or run.info.status == "canceling":
            return
        run.info.status = "canceling"
        if run.worker is not None:
            _stop(run, run.worker)

    async def close(self) -> None:
        """Cancel all runs and wait until they are over."""
        self._closing = True
        tasks = [run.task for run in self._runs.values() if run.task and not run.is_over]
        for run in self._runs.values():
            self.cancel(run)
        if tasks:
            await asyncio.wait(tasks)

    async def _attend(self, run: Run) -> None:
        """Pass on what a worker says until it is gone; whatever happens, the run ends."""
        code: int | None = None
        try:
            run.worker = await self.launch(run.order)
            if run.info.status == "canceling":
                _stop(run, run.worker)
            else:
                run.info.status = "started"
            async for event in run.worker.updates():
                if not any(each.step in models.FINAL for each in run.events):
                    run.tell(event)
            code = await run.worker.wait()
        except OSError as error:
            _LOG.error("The worker of run %s could not be started: %s", run.run_id, error)
        finally:
            for timer in (run.killing, run.leaving):
                if timer is not None:
                    timer.cancel()
            if not run.events or run.events[-1].step not in models.FINAL:
                cancelled = run.info.status == "canceling"
                _LOG.warning("The worker of run %s ended without a last word: %s", run.run_id, code)
                words = "The run was cancelled."
                if not cancelled:
                    words = (
                        "The worker of this run ended unexpectedly; the service's log may say why. "
                        "Launch the check again."
                    )
                # Dagster's records of it are ended by whoever opens them next.
                run.tell(models.error_update(words, run.run_id, cancelled=cancelled))
            last = run.events[-1]
            is_cancelled = (last.data or {}).get("cancelled")
            failed: models.RunStatus = "canceled" if is_cancelled else "failure"
            run.end("success" if last.step == "complete" else failed)


def _stop(run: Run, worker: Worker) -> None:
    worker.cancel()
    run.killing = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, worker.kill)


# --- What Dagster has recorded: the same that its UI shows ---------------------------------------


def recorded_runs(
    settings: Settings, *, limit: int, video_id: str | None = None, run_id: str | None = None
) -> list[models.RunInfo]:
    """Return the newest runs of the data folder, of a video, or the one. Blocks, first for long."""
    from factible_assets.pipeline.run_records import newest_runs  # noqa: PLC0415
    from factible_assets.runs.launch import open_instance  # noqa: PLC0415 - it takes seconds

    with open_instance(settings) as instance:
        rows = newest_runs(instance, limit=limit, video=video_id, run_id=run_id)
    return [models.RunInfo.model_validate({**row, "events": None}) for row in rows]


# --- What comes with every request ----------------------------------------------------------------


@dataclass(frozen=True)
class House:
    """What the routes work with."""

    settings: Settings
    runs: Runs
    results: PublishedResults
    clients: Clients


def _house(request: Request) -> House:
    return cast("House", request.app.state.house)


def _client(request: Request) -> Client:
    return cast("Client", request.state.client)


InHouse = Annotated[House, Depends(_house)]
ByClient = Annotated[Client, Depends(_client)]
