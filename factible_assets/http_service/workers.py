"""Worker processes as the service sees them: started, read from, told to stop.

What belongs here: the process and its pipes. What does not: what the worker does (worker.py), which
runs there are (runs.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from pydantic import ValidationError

from factible_assets.http_service.events import Order, ProgressUpdate

_LONGEST_LINE_BYTES = 64 * 1024 * 1024
_MODULE = "factible_assets.http_service.worker"


class Worker(Protocol):
    """Someone who carries out an order."""

    def updates(self) -> AsyncIterator[ProgressUpdate]:
        """Yield the events until there are no more."""
        ...

    def cancel(self) -> None:
        """Ask it to stop; its last event says that it did."""
        ...

    def kill(self) -> None:
        """Stop it now, with all that it has started."""
        ...

    async def wait(self) -> int:
        """Wait until it is gone and return its exit code."""
        ...


Launch = Callable[[Order], Awaitable[Worker]]
"""Starts a worker on an order."""


class WorkerProcess:
    """A worker in a process of its own."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def updates(self) -> AsyncIterator[ProgressUpdate]:
        """Yield the events until the process closes its end."""
        if self._process.stdout is None:
            return
        async for line in self._process.stdout:
            # A worker that is killed can leave half a line behind.
            with contextlib.suppress(ValidationError):
                yield ProgressUpdate.model_validate_json(line)

    def cancel(self) -> None:
        """Close the worker's stdin, which it takes for the wish to stop."""
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


async def launch_worker(order: Order) -> Worker:
    """Start a worker process on an order.

    It leads a session of its own, so that Ctrl-C in the service's terminal reaches the service
    alone, which then ends its runs in good order.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        _MODULE,
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
    return WorkerProcess(process)
