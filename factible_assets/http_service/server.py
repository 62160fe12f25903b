"""Listening: the socket, the server on it, and its end.

What belongs here: what happens around the service as a process. What does not: the routes (app.py),
arguments (cli/serve.py).
"""

from __future__ import annotations

import contextlib
import errno
import socket
import threading

import uvicorn
from fastapi import FastAPI

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.http_service.runs import House
from factible_assets.http_service.walls import ImpatientProtocol
from factible_assets.settings import Settings

_BACKLOG = 128
_GOODBYE_SECONDS = 5
_FIRST_FREE_PORT, _HIGHEST_PORT = 1024, 65_535


def open_door(host: str, port: int) -> socket.socket:
    """Bind a socket. Port 0 takes any that is free.

    Raises:
        FactibleError: The host is unknown or not this machine's, or the port is taken or reserved.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise FactibleError(
            f"There is no host {host!r}.",
            "Give an address of this machine, such as 127.0.0.1.",
            ExitCode.ENVIRONMENT,
        ) from error
    family, kind, protocol, _, place = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(place)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        other = port + 1 if port < _HIGHEST_PORT else _FIRST_FREE_PORT
        sentences = {
            errno.EADDRINUSE: f"Port {port} on {host} is in use. Choose another one, such as "
            f"--port {other}, or end what listens there.",
            errno.EADDRNOTAVAIL: f"{host} is no address of this machine. Listen on 127.0.0.1, or "
            "on one that is.",
            errno.EACCES: f"Port {port} is reserved for the system. Choose one above 1023.",
        }
        unknown = f"The service cannot listen on {host}, port {port}: {error.strerror}."
        sentence = sentences.get(error.errno or 0, unknown)
        raise FactibleError(sentence, code=ExitCode.ENVIRONMENT) from error
    return sock


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
        http=ImpatientProtocol,
    )
    return _Server(config)


def serve_app(app: FastAPI, door: socket.socket) -> None:
    """Answer requests until the process is interrupted or terminated; runs are cancelled then."""

    def warm_up() -> None:
        from factible_assets.http_service.runs import recorded_runs  # noqa: PLC0415

        settings: Settings = app.state.house.settings
        recorded_runs(settings, limit=1)

    # Loading Dagster takes seconds, which the first question about runs need not wait for.
    threading.Thread(target=warm_up, daemon=True).start()
    with door, contextlib.suppress(KeyboardInterrupt):
        build_server(app).run(sockets=[door])
