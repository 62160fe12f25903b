"""Listening: the socket, the server on it, and its end.

What belongs here: what happens around the service as a process. What does not: the routes (app.py),
arguments (cli/serve.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from factible_assets.http_service.app import House
from factible_assets.settings import Settings

_BACKLOG = 128
_GOODBYE_SECONDS = 5

HEAD_SECONDS = 10.0
"""How long a connection may take to send the head of a request."""


class ListenError(Exception):
    """The service cannot listen there; the message is a sentence with the remedy."""


@dataclass(frozen=True)
class Door:
    """A bound socket and its address."""

    sock: socket.socket
    address: str
    port: int

    def url(self, name: str) -> str:
        """Return where the service answers, for a host as its operator wrote it."""
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}"


def open_door(host: str, port: int) -> Door:
    """Bind a socket. Port 0 takes any that is free.

    Raises:
        ListenError: The host is unknown or not this machine's, or the port is taken or reserved.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise ListenError(
            f"There is no host {host!r}. Give an address of this machine, such as 127.0.0.1."
        ) from error
    family, kind, protocol, _, place = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(place)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise ListenError(_sentence(error, host, port)) from error
    address, bound = sock.getsockname()[:2]
    return Door(sock, address, bound)


def _sentence(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is in use. Choose another one, such as --port {port + 1}, or "
            "end what listens there."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine. Listen on 127.0.0.1, or on one that is."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for the system. Choose one above 1023."
    return f"The service cannot listen on {host}, port {port}: {error.strerror}."


class _ImpatientProtocol(H11Protocol):
    """Closes a connection whose next request does not arrive whole, up to its body, in time.

    Uvicorn waits for it without a limit, so that a few hundred half-sent ones use up the service.
    """

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Wait for the request that begins here, or answer the one that is complete."""
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        """Wait for what may have been sent behind the request; an idle connection is uvicorn's."""
        super().on_response_complete()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        super().connection_lost(exc)
        if self._closing is not None:
            self._closing.cancel()

    def _expect(self) -> None:
        """Count the time while a request is awaited; more data of it wins no more time."""
        cycle: RequestResponseCycle | None = self.cycle
        is_answering = cycle is not None and not cycle.response_complete
        if is_answering and self._closing is not None:
            self._closing.cancel()
            self._closing = None
        elif not is_answering and self._closing is None:
            self._closing = self.loop.call_later(HEAD_SECONDS, self.transport.close)


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
        http=_ImpatientProtocol,
    )
    return _Server(config)


def serve_app(app: FastAPI, door: Door) -> None:
    """Answer requests until the process is interrupted or terminated; runs are cancelled then."""
    # Loading Dagster takes seconds, which the first question about runs need not wait for.
    threading.Thread(target=_warm_up, args=(app.state.house.settings,), daemon=True).start()
    with door.sock, contextlib.suppress(KeyboardInterrupt):
        build_server(app).run(sockets=[door.sock])


def _warm_up(settings: Settings) -> None:
    from factible_assets.http_service.instance import newest_runs  # noqa: PLC0415

    newest_runs(settings, limit=1)
