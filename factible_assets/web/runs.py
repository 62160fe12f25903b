"""Launches runs in worker processes, and lets clients follow and cancel them.

Only calls to Dagster block, and they have threads of their own. Everything else happens on the
event loop and needs no lock.
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
from typing import TypeAlias

from pydantic import ValidationError
from starlette.exceptions import HTTPException

from factible_assets.corpora.reading import load_corpora
from factible_assets.runs.state import list_runs
from factible_assets.settings import Settings
from factible_assets.web import models
from factible_assets.web.auth import Client, Clients
from factible_assets.web.problems import too_many
from factible_assets.wording import counted
from resources.text_files import did_you_mean, quoted
from resources.transcripts.youtube_ids import NotAVideoLinkError, bare_id, is_video_id

_LOG = logging.getLogger("factible.serve")

MOST_RUNS = max(2, (os.cpu_count() or 2) // 2)
"""Simultaneous fact-checks. Each keeps up to two cores busy while it reads pages."""

KEPT_RUNS = 50
"""How many ended runs stay readable."""

GRACE_SECONDS = 5.0
"""The time that a run goes on after its last follower left, because that one may come back."""

KILL_SECONDS = 30.0
"""The time that a cancelled worker has to stop."""

SILENCE_SECONDS = 10.0
"""The longest silence of a stream. After 15 s FastAPI would send a comment, which some clients
(httpx-sse) take for an event without data."""

_RETRY_SECONDS = 10.0
_LONGEST_LINE_BYTES = 64 * 1024 * 1024


class Worker:
    """The process that carries out one order."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def updates(self) -> AsyncIterator[models.ProgressUpdate]:
        """Yield the events until the process closes its stdout."""
        if self._process.stdout is None:
            return
        async for line in self._process.stdout:
            # A killed worker can leave half a line.
            with contextlib.suppress(ValidationError):
                yield models.ProgressUpdate.model_validate_json(line)

    def cancel(self) -> None:
        """Ask the worker to stop, by closing its stdin. Kill it if it takes too long."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        asyncio.get_running_loop().call_later(KILL_SECONDS, self._kill)

    def _kill(self) -> None:
        """Kill the process and its children, such as a browser, if it has not ended."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for the end of a process whose events have ended, and return its exit code."""
        self.cancel()  # It may hang instead of ending.
        return await self._process.wait()


LaunchWorker: TypeAlias = Callable[[models.CheckOrder], Awaitable[Worker]]


async def launch_worker(order: models.CheckOrder) -> Worker:
    """Start a worker process. It has its own session, so that Ctrl-C reaches only the service."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "factible_assets.web.worker",
        order.model_dump_json(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
        # Python must not import modules from the working folder.
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        limit=_LONGEST_LINE_BYTES,
    )
    return Worker(process)


@dataclass(eq=False)
class ServiceRun:
    """One run of this service. Clients see its `info` and its `events`; the last one ends it."""

    order: models.CheckOrder
    client: str
    detached: bool
    info: models.RunInfo
    events: list[models.ProgressUpdate] = field(default_factory=list)
    followers: int = 0
    worker: Worker | None = None
    task: asyncio.Task[None] | None = None
    cancel_timer: asyncio.TimerHandle | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def run_id(self) -> str:
        return self.order.run_id

    @property
    def is_over(self) -> bool:
        return self.info.ended_at is not None

    def add_event(self, event: models.ProgressUpdate) -> None:
        if self.is_over:
            return
        self.events.append(event)
        if event.step in models.FINAL:
            is_cancelled = bool(event.data and event.data.get("cancelled"))
            failed: models.RunStatus = "canceled" if is_cancelled else "failure"
            self.info.status = "success" if event.step == "complete" else failed
            self.info.ended_at = datetime.now(UTC)
        # Followers take the next event object before they look at the list.
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def follow(
        self, after: int = 0
    ) -> AsyncIterator[tuple[int | None, models.ProgressUpdate]]:
        """Yield the events after a number, which counts from 1, until the run is over.

        Events without a number break long silences.
        """
        position = max(0, after)
        while True:
            # Take this before looking at the events, to miss none.
            changed = self._changed
            while position < len(self.events):
                position += 1
                yield position, self.events[position - 1]
            if self.is_over:
                return
            try:
                async with asyncio.timeout(SILENCE_SECONDS):
                    await changed.wait()
            except TimeoutError:
                progress = self.events[-1].progress if self.events else 0
                words = "The run goes on."
                yield (
                    None,
                    models.ProgressUpdate(step="still_running", message=words, progress=progress),
                )


@dataclass
class RunManager:
    """All runs of this service. A run survives its last follower by `grace_seconds`."""

    settings: Settings
    clients: Clients
    launch: LaunchWorker
    grace_seconds: float = GRACE_SECONDS
    _runs: dict[str, ServiceRun] = field(default_factory=dict)
    _closing: bool = False

    def all(self) -> list[ServiceRun]:
        """Return the runs, the newest first."""
        return list(reversed(self._runs.values()))

    def get(self, run_id: str) -> ServiceRun:
        """Return a run of this service.

        Raises HTTPException (404): The run is unknown or forgotten.
        """
        if run_id not in self._runs:
            raise HTTPException(
                404,
                f"This service has no events of a run {quoted(run_id)}. Another program launched "
                "it, or it began before the service last started, or it ended long ago.",
            )
        return self._runs[run_id]

    async def infos(
        self, *, limit: int, video_id: str | None = None, run_id: str | None = None
    ) -> list[models.RunInfo]:
        """Return the newest runs of the data folder.

        Dagster records a run some seconds after its launch. Until then only the service knows it.
        """
        recorded = await asyncio.to_thread(
            recorded_runs, self.settings, limit=limit, video_id=video_id, run_id=run_id
        )
        runs = {run.run_id: run for run in self.all()}
        for info in recorded:
            if run := runs.pop(info.run_id, None):
                info.events = run.info.events
                # A run counts as successful only once its result can be read.
                info.status = info.status if run.is_over else run.info.status
        unrecorded = [
            run.info
            for run in runs.values()
            if run.run_id == run_id
            or (run_id is None and not run.is_over and video_id in {None, run.order.video_id})
        ]
        return [*unrecorded, *recorded][:limit]

    def video_id_of(self, text: str) -> str:
        """Return the id of a video: from a link, a YouTube id, or an id in a corpus.

        A client's text never names a file of this machine, unlike on the command line.

        Raises HTTPException (404): The text names no video.
        """
        try:
            video_id = bare_id(text.strip())
        except NotAVideoLinkError as error:
            raise HTTPException(404, str(error)) from error
        corpora = load_corpora(self.settings.corpus_folders)
        if corpora.find(video_id) is not None or is_video_id(video_id):
            return video_id
        known = [listed.video.video_id for listed in corpora.videos()]
        raise HTTPException(
            404,
            f"{quoted(video_id)} is neither a YouTube link nor the id of a video on YouTube or in "
            f"a corpus. {did_you_mean(video_id, known)} Give a link such as "
            "https://www.youtube.com/watch?v=VIDEO_ID.",
        )

    async def start(
        self,
        order: models.CheckOrder,
        client: Client,
        *,
        detached: bool = True,
        prepare: Callable[[], object] | None = None,
    ) -> ServiceRun:
        """Launch a run, or join the run that does the same for the same video.

        The quota of `client` pays for the run, and only this client may cancel it. Once the run is
        admitted, `prepare` lists a new video or records the choice of claims. Without `prepare`,
        an order of a whole video may name it in any way that `video_id_of` takes.

        Raises HTTPException: The video is unknown (404), a run with other settings checks it (409),
        all workers are busy or the quota is used up (429), or the service is stopping (503).
        """
        update = {"run_id": str(uuid.uuid4()), "home": self.settings.home}
        if prepare is None and order.claim_id is None:
            update["video_id"] = await asyncio.to_thread(self.video_id_of, order.video_id)
        order = order.model_copy(update=update)
        if self._closing:
            raise HTTPException(503, "The service is stopping. Ask again when it is back.")
        for run in self._runs.values():
            if run.order.video_id == order.video_id and not run.is_over:
                _require_same_work(run, order)
                run.detached = run.detached or detached
                return run
        run = self._add_run(order, client, detached=detached)
        if prepare is not None:
            await self._prepare(run, prepare)
        run.task = asyncio.create_task(self._supervise(run), name=f"run {run.run_id}")
        return run

    def _add_run(self, order: models.CheckOrder, client: Client, *, detached: bool) -> ServiceRun:
        """Add a run that the quota of a client pays for, and forget the oldest ended ones."""
        active = sum(not run.is_over for run in self._runs.values())
        if active >= MOST_RUNS:
            raise too_many(
                f"The service is checking {counted(active, 'video')}, and no more at once. Try "
                "again later.",
                _RETRY_SECONDS,
            )
        self.clients.count_video(client.id)
        info = models.RunInfo(
            run_id=order.run_id,
            video_id=order.video_id,
            status="starting",
            launched_by=order.tags["launched_by"],
            experiment_name=order.experiment_name,
            started_at=datetime.now(UTC),
            ended_at=None,
            events=f"/api/v1/runs/{order.run_id}/events",
        )
        run = self._runs[order.run_id] = ServiceRun(order, client.id, detached, info)
        ended = [run for run in self._runs.values() if run.is_over]
        for old in ended[: max(0, len(ended) - KEPT_RUNS)]:
            del self._runs[old.run_id]
        return run

    async def _prepare(self, run: ServiceRun, prepare: Callable[[], object]) -> None:
        """Do the work before a run in a thread. If it fails, the run is gone."""
        try:
            await asyncio.to_thread(prepare)
        except BaseException:  # also if the client is gone
            del self._runs[run.run_id]
            # Other clients may have joined it meanwhile.
            words = "The check could not be prepared. Start it again."
            run.add_event(models.error_update(words, run.run_id))
            raise

    @contextlib.contextmanager
    def followed(self, run: ServiceRun) -> Iterator[None]:
        """Count a follower. Without followers, a run ends unless it is detached."""
        run.followers += 1
        if run.cancel_timer is not None:
            run.cancel_timer.cancel()
        try:
            yield
        finally:
            run.followers -= 1
            if not (run.followers or run.detached or run.is_over):
                loop = asyncio.get_running_loop()
                run.cancel_timer = loop.call_later(self.grace_seconds, self.cancel, run)

    def cancel_for(self, run: ServiceRun, client: str) -> None:
        """Cancel a run for a client.

        Raises HTTPException: Another client launched it (403), or it is over (409).
        """
        if run.client != client:
            words = "Another token launched this run. Only that token can cancel it."
            raise HTTPException(403, words)
        if run.is_over:
            words = f"The run {run.run_id} is over. Its status is {run.info.status}."
            raise HTTPException(409, words)
        self.cancel(run)

    def cancel(self, run: ServiceRun) -> None:
        if run.is_over or run.info.status == "canceling":
            return
        run.info.status = "canceling"
        if run.worker is not None:
            run.worker.cancel()

    async def close(self) -> None:
        """Cancel all runs and wait until they are over."""
        self._closing = True
        tasks = [run.task for run in self._runs.values() if run.task and not run.is_over]
        for run in self._runs.values():
            self.cancel(run)
        if tasks:
            await asyncio.wait(tasks)

    async def _supervise(self, run: ServiceRun) -> None:
        """Start a worker and pass on its events. However the worker ends, the run then ends."""
        code = None
        try:
            run.worker = await self.launch(run.order)
            if run.info.status == "canceling":
                run.worker.cancel()
            else:
                run.info.status = "started"
            async for event in run.worker.updates():
                run.add_event(event)
            code = await run.worker.wait()
        except OSError as error:
            _LOG.error("The worker of run %s could not be started: %s", run.run_id, error)
        finally:
            if run.cancel_timer is not None:
                run.cancel_timer.cancel()
            if not run.is_over:
                is_cancelled = run.info.status == "canceling"
                _LOG.warning("The worker of run %s sent no last event: %s", run.run_id, code)
                words = (
                    "The worker of this run ended unexpectedly. The service's log may say why. "
                    "Start the check again."
                )
                words = "The run was cancelled." if is_cancelled else words
                run.add_event(models.error_update(words, run.run_id, cancelled=is_cancelled))


def _require_same_work(run: ServiceRun, order: models.CheckOrder) -> None:
    if run.info.status == "canceling":
        words = f"The check of {order.video_id} is being cancelled. Try again in a few seconds."
        raise HTTPException(409, words, {"Retry-After": "5"})
    if not run.order.is_same_work(order):
        raise HTTPException(
            409,
            f"Run {run.run_id} is checking {order.video_id} with other settings. Follow that run, "
            "or try again when it is over.",
            {"Location": f"/api/v1/runs/{run.run_id}"},
        )


def recorded_runs(
    settings: Settings, *, limit: int, video_id: str | None = None, run_id: str | None = None
) -> list[models.RunInfo]:
    """Return the newest runs that Dagster recorded, optionally of one video, or one run.

    Blocks. The first call takes seconds, because it loads Dagster.
    """
    rows = list_runs(settings, limit=limit, details=False, video=video_id, run_id=run_id)
    return [models.RunInfo.model_validate({**row, "events": None}) for row in rows]
