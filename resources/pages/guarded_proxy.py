"""A SOCKS proxy on loopback (RFC 1928): the only way from one browser page to the web.

Everything that a page loads arrives here; interception in the browser would miss some. The guard
resolves, checks and connects each target in one step. TLS stays between the browser and the site.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from dataclasses import dataclass, field
from typing import Self

import httpcore
import httpx

from resources.network_guard import ForbiddenTargetError, GuardedBackend, NetworkGuard, host_of

_BLOCK = 65_536
_CONNECT_SECONDS = 10.0
_LOST = (OSError, httpcore.NetworkError, httpcore.TimeoutException, asyncio.IncompleteReadError)

# RFC 1928, sections 3 to 6.
_VERSION = 5
_NO_AUTHENTICATION = 0  # a method
_CONNECT = 1  # a command
_NAME = 3  # a kind of address
_ADDRESS_BYTES = {1: 4, 4: 16}  # of the other kinds, IPv4 and IPv6
# Replies.
_CONNECTED = 0
_REFUSED = 2
_UNREACHABLE = 4
_UNKNOWN_COMMAND = 7


@dataclass(eq=False)
class GuardedProxy:
    """Listens on an ephemeral `port` of 127.0.0.1. Use it with `async with`.

    The guard decides about every target. `received` counts the bytes from all sites; beyond
    `max_bytes`, each connection ends at its next block. `failures` lists unreachable hosts.
    """

    guard: NetworkGuard
    max_bytes: int = 30_000_000
    port: int = 0
    received: int = 0
    failures: list[str] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            with contextlib.suppress(*_LOST):
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Agree on no authentication, read the target, connect, reply, and relay.

        Hangs up without a reply if the browser speaks another version or kind of address.
        """
        version, methods = await reader.readexactly(2)
        if version != _VERSION:
            return
        await reader.readexactly(methods)
        writer.write(bytes([_VERSION, _NO_AUTHENTICATION]))
        _, command, _, kind = await reader.readexactly(4)
        if kind != _NAME and kind not in _ADDRESS_BYTES:
            return
        length = _ADDRESS_BYTES.get(kind) or (await reader.readexactly(1))[0]
        address = await reader.readexactly(length)
        port = int.from_bytes(await reader.readexactly(2))
        host = address.decode("latin-1") if kind == _NAME else str(ipaddress.ip_address(address))
        upstream = await self._connect(host, port) if command == _CONNECT else _UNKNOWN_COMMAND
        reply = upstream if isinstance(upstream, int) else _CONNECTED
        # Instead of the real address: 0.0.0.0:0.
        writer.write(bytes([_VERSION, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        await writer.drain()
        if not isinstance(upstream, int):
            try:
                await self._relay(reader, writer, upstream)
            finally:
                await upstream.aclose()

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: httpcore.AsyncNetworkStream,
    ) -> None:
        """Relay bytes both ways until the site or the browser closes its side."""

        async def to_site() -> None:
            while block := await reader.read(_BLOCK):
                await upstream.write(block)

        async def to_browser() -> None:
            while block := await upstream.read(_BLOCK):
                self.received += len(block)
                if self.received > self.max_bytes:
                    return
                writer.write(block)
                await writer.drain()

        tasks = [asyncio.create_task(to_site()), asyncio.create_task(to_browser())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            # A lost connection or too many bytes end both directions.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _connect(self, host: str, port: int) -> httpcore.AsyncNetworkStream | int:
        """Return a connection to a target, or the code of a refusal."""
        try:
            url = httpx.URL(scheme="https", host=host, port=port)
            self.guard.check_url(url)
            return await GuardedBackend(self.guard).connect_tcp(
                host_of(url), port, timeout=_CONNECT_SECONDS
            )
        except (ForbiddenTargetError, httpx.InvalidURL):
            return _REFUSED
        except (httpcore.ConnectError, httpcore.ConnectTimeout):
            self.failures.append(host)
            return _UNREACHABLE
