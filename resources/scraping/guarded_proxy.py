"""A forward proxy on loopback through which one browser page reaches the web, and nothing else.

What belongs here: carrying a browser's requests to targets that the network guard has checked,
within a bound on bytes. What does not: the browser (browser.py), the policy on targets
(resources.network_guard).

A browser given this proxy resolves no name and opens no connection of its own. Redirects, scripts,
workers, preflights, beacons and web sockets all arrive here (interception would not see all of
them), so each is resolved, checked and connected by the guard in one step. TLS stays between the
browser and the site.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Self

import httpcore
import httpx

from resources.network_guard import ForbiddenTargetError, GuardedBackend, NetworkGuard, host_of

_MAX_HEAD = 65_536
_BLOCK = 65_536
_CONNECT_SECONDS = 10.0
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_HOP_HEADERS = (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization")
_LOST = (OSError, httpcore.NetworkError, httpcore.TimeoutException, asyncio.IncompleteReadError)


@dataclass(eq=False)
class GuardedProxy:
    """Listens on an ephemeral `port` of 127.0.0.1 while it is open; use it with `async with`.

    The guard decides about every target; after `max_bytes` in all, every connection is cut.
    `received` counts what sites sent so far, `refused` has a sentence for each request that the
    guard refused, `failures` the host of each target that could not be reached.
    """

    guard: NetworkGuard
    max_bytes: int = 30_000_000
    port: int = 0
    received: int = 0
    refused: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_MAX_HEAD)
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
            with contextlib.suppress(*_LOST, asyncio.LimitOverrunError):
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, url = _target(head)
        upstream = 400 if url is None else await self._connect(url)
        if url is None or isinstance(upstream, int):
            refusal = f"HTTP/1.1 {upstream} -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            writer.write(refusal.encode())
            await writer.drain()
            return
        try:
            if method == b"CONNECT":
                writer.write(_ESTABLISHED)
            else:
                await upstream.write(_rewritten(head, method + b" " + url.raw_path + b" HTTP/1.1"))
            await self._carry(reader, writer, upstream, raw=method == b"CONNECT")
        finally:
            await upstream.aclose()

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: httpcore.AsyncNetworkStream,
        *,
        raw: bool,
    ) -> None:
        """Carry bytes both ways until the site has said all, or the browser has gone."""

        async def to_site() -> None:
            while block := await reader.read(_BLOCK):
                await upstream.write(block)

        async def to_browser() -> None:
            block = await (upstream.read(_BLOCK) if raw else _answer_head(upstream))
            while block:
                self.received += len(block)
                if self.received > self.max_bytes:
                    return
                writer.write(block)
                await writer.drain()
                block = await upstream.read(_BLOCK)

        ways = [asyncio.create_task(to_site()), asyncio.create_task(to_browser())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            # What ended a way (a lost connection, too many bytes) ends the other in any case.
            await asyncio.gather(*ways, return_exceptions=True)

    async def _connect(self, url: httpx.URL) -> httpcore.AsyncNetworkStream | int:
        """Return a connection to a target, or the status that refuses it."""
        host, port = host_of(url), url.port or (443 if url.scheme == "https" else 80)
        try:
            self.guard.check_url(url)
            return await GuardedBackend(self.guard).connect_tcp(
                host, port, timeout=_CONNECT_SECONDS
            )
        except ForbiddenTargetError as error:
            self.refused.append(f"{host[:80]}: {error.reason}")
            return 403
        except (httpcore.ConnectError, httpcore.ConnectTimeout):
            self.failures.append(host)
            return 502


def _target(head: bytes) -> tuple[bytes, httpx.URL | None]:
    """Read method and target; a request in any form but a proxy's has no target."""
    method, _, rest = head.split(b"\r\n", 1)[0].partition(b" ")
    target, _, version = rest.decode("ascii", "replace").partition(" ")
    if not version or " " in version:  # method, target, version (RFC 9112, section 3)
        return method, None
    try:
        url = httpx.URL(f"https://{target}/" if method == b"CONNECT" else target)
    except (httpx.InvalidURL, ValueError):
        return method, None
    return method, url if url.scheme == "http" or method == b"CONNECT" else None


def _rewritten(head: bytes, first_line: bytes) -> bytes:
    """Replace the first line and close after this exchange: the next may be for another host."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")[1:]
    kept = [line for line in lines if line.partition(b":")[0].lower() not in _HOP_HEADERS]
    return b"\r\n".join([first_line, *kept, b"Connection: close", b"", b""])


async def _answer_head(upstream: httpcore.AsyncNetworkStream) -> bytes:
    """Read the answer's head, without interim ones (1xx), and what came behind it."""
    buffer = b""
    while True:
        while b"\r\n\r\n" not in buffer and len(buffer) <= _MAX_HEAD:
            block = await upstream.read(_BLOCK)
            if not block:
                raise ConnectionResetError
            buffer += block
        head, end, rest = buffer.partition(b"\r\n\r\n")
        first_line = head.split(b"\r\n", 1)[0]
        version, _, status = first_line.partition(b" ")
        if not end or not version.startswith(b"HTTP/1."):
            raise ConnectionResetError
        if not status.startswith(b"1"):
            return _rewritten(head + end, first_line) + rest
        buffer = rest
