"""A real HTTP server on loopback that misbehaves on command.

A behaviour handles one request. Give a path its behaviour with `on`, or a list of them, of which
the last one repeats.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from resources.network_guard import NameTable


@dataclass(frozen=True)
class Asked:
    """One request to the server; `moment` is its time on the monotonic clock."""

    method: str
    target: str
    host: str
    headers: Mapping[str, str]
    body: bytes
    moment: float = 0.0

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def json(self) -> object:
        return json.loads(self.body)


@dataclass
class Exchange:
    """A request, and the wire on which to answer it."""

    asked: Asked
    writer: asyncio.StreamWriter
    keep_alive: bool = True
    sent: int = 0

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


Behaviour = Callable[[Exchange], Awaitable[None]]


def head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def respond(
    body: bytes | str = b"",
    *,
    status: int = 200,
    content_type: str | None = "text/html; charset=utf-8",
    headers: Mapping[str, str] | None = None,
    after: float = 0.0,
) -> Behaviour:
    """Answer properly, after a pause in seconds."""
    content = body.encode("utf-8") if isinstance(body, str) else body
    declared = {} if content_type is None else {"Content-Type": content_type}

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(after)
        length = {"Content-Length": str(len(content))}
        await exchange.send(head(status, {**declared, **length, **(headers or {})}))
        await exchange.send(content)

    return behave


def respond_json(value: object, *, status: int = 200) -> Behaviour:
    return respond(json.dumps(value), status=status, content_type="application/json")


def redirect(
    location: str, *, status: int = 302, headers: Mapping[str, str] | None = None
) -> Behaviour:
    return respond(status=status, headers={"Location": location, **(headers or {})})


def reset() -> Behaviour:
    """Cut the connection with a TCP reset."""

    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        raw = exchange.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return behave


def hang(seconds: float = 30.0) -> Behaviour:
    """Say nothing at all."""

    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        await asyncio.sleep(seconds)

    return behave


def drip(interval: float = 0.02) -> Behaviour:
    """Send one byte at a time, for ever."""

    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        await exchange.send(head(200, {"Content-Type": "text/html", "Content-Length": "100000"}))
        for _ in range(100_000):
            await exchange.send(b"x")
            await asyncio.sleep(interval)

    return behave


def truncate(body: bytes = b"<p>The beginning") -> Behaviour:
    """Promise more than is sent, then close."""

    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        promised = str(len(body) + 1_000)
        await exchange.send(head(200, {"Content-Type": "text/html", "Content-Length": promised}))
        await exchange.send(body)

    return behave


def huge(total: int, *, declared: bool) -> Behaviour:
    """Send an endless-looking page of `total` bytes, with or without saying so first."""

    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        length = {"Content-Length": str(total)} if declared else {"Connection": "close"}
        await exchange.send(head(200, {"Content-Type": "text/html", **length}))
        block = b"<p>more and more and more</p>\n" * 2_000
        sent = 0
        while sent < total:
            await exchange.send(block)
            sent += len(block)
            exchange.sent = sent

    return behave


def garbage(data: bytes = b"\x00\x01 not HTTP at all\r\n\r\n") -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        await exchange.send(data)

    return behave


@contextlib.asynccontextmanager
async def answering_in_the_clear() -> AsyncIterator[NameTable]:
    """Listen where TLS is asked for and answer without it; yield the names that lead there."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as plain:
        yield NameTable({"*.example": plain.sockets[0].getsockname()[:2]})


@dataclass
class MisbehavingServer:
    """Listens on an ephemeral loopback port inside the test's event loop."""

    port: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    connections: int = 0
    _paths: dict[str, list[Behaviour]] = field(default_factory=dict)
    _default: Behaviour = field(default_factory=lambda: respond("no such page", status=404))
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def asked(self) -> list[Asked]:
        """All requests so far, in order."""
        return [exchange.asked for exchange in self.exchanges]

    @property
    def names(self) -> NameTable:
        """Leads every name under .example to this server."""
        return NameTable({"*.example": ("127.0.0.1", self.port)})

    def on(self, path: str, *behaviours: Behaviour) -> None:
        """Set the behaviours of a path: one per request in turn, the last one for the rest.

        `*` stands for all paths without their own behaviour.
        """
        self._paths[path] = list(behaviours)

    def count(self, path: str) -> int:
        return sum(1 for asked in self.asked if asked.path == path)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        asked = await _read_request(reader)
        if asked is None:
            return False
        queue = self._paths.get(asked.path) or self._paths.get("*") or [self._default]
        behaviour = queue.pop(0) if len(queue) > 1 else queue[0]
        closes = asked.headers.get("connection", "").lower() == "close"
        exchange = Exchange(asked, writer, keep_alive=not closes)
        self.exchanges.append(exchange)
        await behaviour(exchange)
        return exchange.keep_alive


async def _read_request(reader: asyncio.StreamReader) -> Asked | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (li.partition(":") for li in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers.get("host", ""), headers, body, time.monotonic())
