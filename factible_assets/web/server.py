"""The server of `factible serve`: its socket, its limit for slow clients, and its shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from functools import partial

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.web.runs import recorded_runs
from factible_assets.web.state import AppState

REQUEST_SECONDS = 30.0
"""The time in which a connection must send a whole request."""
_BACKLOG = 128
_SHUTDOWN_SECONDS = 5


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a listening socket. Port 0 takes any free port.

    Raises FactibleError: The system refuses the host or port.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, flags=socket.AI_PASSIVE)[0]
        takes_ipv4 = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(
            address, family=family, backlog=_BACKLOG, dualstack_ipv6=takes_ipv4
        )
    except (OSError, UnicodeError) as error:
        raise FactibleError(
            f"Port {port} on {host} cannot be listened on: {error.args[-1]}.",
            "Choose another --port, or as --host an address of this machine, such as 127.0.0.1.",
            ExitCode.ENVIRONMENT,
        ) from error


class RequestTimeoutProtocol(H11Protocol):
    """Closes a connection whose next request does not arrive in time.

    Uvicorn waits without a limit, so that a few hundred half-sent requests would use up the
    service. Dagster's UI has this protocol too; its web sockets leave it and stay open.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _update_timer(self) -> None:
        """Run the timer while the server waits for a whole request; more data does not restart it.

        It stops while the server answers, and when the connection becomes a web socket.
        """
        cycle: RequestResponseCycle | None = self.cycle
        is_socket = self.transport.get_protocol() is not self
        is_answering = cycle is not None and not (cycle.more_body or cycle.response_complete)
        if (is_socket or is_answering) and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif not (is_socket or is_answering) and self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS, self.transport.close)


class _HttpServer(uvicorn.Server):
    """Ends the runs before it waits for their streams."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state: AppState = self.config.app.state.shared  # type: ignore[union-attr]
        await state.runs.close()
        await super().shutdown(sockets)


def build_server(app: FastAPI) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        # Do not trust the headers of proxies.
        proxy_headers=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        ws="none",
        http=RequestTimeoutProtocol,
    )
    return _HttpServer(config)


def serve_app(app: FastAPI, listening: socket.socket) -> None:
    """Answer requests until Ctrl-C or SIGTERM. Then cancel all runs."""
    # Dagster takes seconds to load. The first question about runs should not wait for that.
    warm_up = partial(recorded_runs, app.state.shared.settings, limit=1)
    threading.Thread(target=warm_up, daemon=True).start()
    with listening, contextlib.suppress(KeyboardInterrupt):
        build_server(app).run(sockets=[listening])
