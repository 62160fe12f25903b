"""Scripted workers, and a service on a real socket."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from factible_assets.web.models import CheckOrder, ProgressUpdate, error_update, progress_update
from factible_assets.web.runs import Worker
from factible_assets.web.server import bind_socket, build_server
from tests.patience import eventually

_NO_ROOTS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of plain HTTP: each would read all root certificates, which takes 25 ms."""


class ScriptedWorker(Worker):
    """A worker whose events come from the test."""

    def __init__(self, order: CheckOrder) -> None:
        self.order = order
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[ProgressUpdate | None] = asyncio.Queue()

    async def updates(self) -> AsyncIterator[ProgressUpdate]:
        while (event := await self._queue.get()) is not None:
            yield event

    def say(self, *events: ProgressUpdate) -> None:
        """Send events, from any thread."""
        for event in events:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, event)

    def complete(self) -> None:
        """Send all events of a check without claims, and end."""
        run_id = self.order.run_id
        self.say(
            progress_update("transcript_extraction", "Reading.", run_id=run_id),
            progress_update("transcript_complete", "Read.", transcript_length=5),
            progress_update("claim_extraction", "Looking."),
            progress_update("claims_extracted", "0 claims.", claims=[], total_claims=0),
            progress_update("generating_report", "Writing."),
            progress_update("complete", "Done.", result={"video_id": self.order.video_id}),
        )
        self.vanish()

    def vanish(self) -> None:
        """End, whatever came before."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, None)

    def cancel(self) -> None:
        if not self.cancelled:
            self.cancelled = True
            self.say(error_update("The run was cancelled.", self.order.run_id, cancelled=True))
            self.vanish()

    async def wait(self) -> int:
        return 0


@dataclass
class Script:
    """Launches scripted workers. With `at_once` each completes at once."""

    at_once: bool = False
    workers: list[ScriptedWorker] = field(default_factory=list)

    async def launch(self, order: CheckOrder) -> ScriptedWorker:
        worker = ScriptedWorker(order)
        self.workers.append(worker)
        if self.at_once:
            worker.complete()
        return worker

    def worker(self, number: int = 0) -> ScriptedWorker:
        """Wait for the launch of a worker."""
        eventually(lambda: len(self.workers) > number)
        return self.workers[number]


class Browser(httpx.Client):
    """A client that follows the redirects of pages, but not those of forms."""

    home = Path()
    """The data folder of the service."""

    def get(self, url: httpx.URL | str, **given: Any) -> httpx.Response:
        return super().get(url, **{"follow_redirects": True, **given})

    @property
    def address(self) -> str:
        return str(self.base_url).rstrip("/")

    def submit(self, path: str, data: Any = None, files: Any = None) -> httpx.Response:
        """Send a form as a browser does from a page of the service."""
        return self.post(path, data=data, files=files, headers={"Origin": self.address})


@contextmanager
def listening(app: FastAPI) -> Iterator[Browser]:
    """Serve an app on loopback, and yield a client."""
    door = bind_socket("127.0.0.1", 0)
    server = build_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        address = f"http://127.0.0.1:{door.getsockname()[1]}"
        with Browser(base_url=address, timeout=None, verify=_NO_ROOTS) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        door.close()


@dataclass(frozen=True)
class Heard:
    """One event of a stream."""

    name: str
    number: int | None
    data: dict[str, Any]

    @property
    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = self.data["data"]
        return payload


def events_of(response: httpx.Response, *, silences: bool = False) -> Iterator[Heard]:
    """Parse server-sent events as they come, by default without `still_running`."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        assert not line.startswith(":"), "some clients take a comment for an event without data"
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            number = int(fields["id"]) if "id" in fields else None
            if silences or fields["event"] != "still_running":
                yield Heard(fields["event"], number, json.loads(fields["data"]))
            fields = {}
