"""One client per event loop: connections belong to the loop that opened them.

What belongs here: making, keeping and closing clients by loop, and what all of them can share.
What does not: any client.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx

Client = TypeVar("Client")


class PerLoop(Generic[Client]):
    """Makes a client the first time that a loop asks for one, and closes it on demand."""

    def __init__(
        self, make: Callable[[], Client], close: Callable[[Client], Awaitable[None]]
    ) -> None:
        self._make = make
        self._close = close
        self._lock = threading.Lock()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()

    def get(self) -> Client:
        """Return the running loop's client."""
        loop = asyncio.get_running_loop()
        with self._lock:
            client = self._clients.get(loop)
            if client is None:
                client = self._clients[loop] = self._make()
            return client

    async def aclose(self) -> None:
        """Close the running loop's client, if it has one. Asking again makes a new one."""
        with self._lock:
            client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await self._close(client)


@cache
def tls_context() -> ssl.SSLContext:
    """Load the trusted authorities once: that takes longer than everything else about a client.

    For clients of HTTP/1.1 alone, since connections write the protocols that they offer into it.
    SSL_CERT_FILE and SSL_CERT_DIR are honoured.
    """
    return httpx.create_ssl_context()
