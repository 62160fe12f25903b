"""The objects that all routes share, and the dependencies that give a route these objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from factible_assets.settings import Settings
from factible_assets.web.auth import Client, Clients
from factible_assets.web.results import PublishedResults
from factible_assets.web.runs import RunManager

QUEUE_SECONDS = 4.0
"""The time that a request waits while the service is busy with others."""
_AT_ONCE = 4


@dataclass(frozen=True)
class AppState:
    settings: Settings
    runs: RunManager
    results: PublishedResults
    clients: Clients
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))


def state_of(request: Request) -> AppState:
    return cast("AppState", request.app.state.shared)


def client_of(request: Request) -> Client:
    return cast("Client", request.state.client)


State = Annotated[AppState, Depends(state_of)]
CurrentClient = Annotated[Client, Depends(client_of)]


async def wait_for_slot(request: Request, state: State) -> AsyncIterator[None]:
    """Let a few requests through at once, and let the others wait.

    The threads that make pages share one interpreter, so two hundred at once would all be slow.
    Streams do not count, because they stay open as long as a check.

    Raises HTTPException (503): The wait was too long.
    """
    if request.url.path.endswith(("/stream", "/events")):
        yield
        return
    try:
        async with asyncio.timeout(QUEUE_SECONDS):
            await state.slots.acquire()
    except TimeoutError as error:
        words = "The service is busy with other requests. Try again in some seconds."
        raise HTTPException(503, words, {"Retry-After": f"{QUEUE_SECONDS:.0f}"}) from error
    try:
        yield
    finally:
        state.slots.release()
