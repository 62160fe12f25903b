"""The proxy between a browser's page and the web, spoken to directly."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from resources.network_guard import NetworkGuard
from resources.pages.guarded_proxy import GuardedProxy
from tests.servers import MisbehavingServer, garbage, huge, reset, respond


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on("/page", respond("the page"))
    return server


@pytest.fixture
async def proxy(server: MisbehavingServer) -> AsyncIterator[GuardedProxy]:
    async with GuardedProxy(NetworkGuard(server.names), max_bytes=100_000) as opened:
        yield opened


CONNECTED, REFUSED, UNREACHABLE = (bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]) for reply in (0, 2, 4))
QUESTION = "GET /page?a=b HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n"


def target(host: str, port: int = 80, command: int = 1) -> bytes:
    """A request to connect to a host, by name or by address."""
    try:
        address = ipaddress.ip_address(host).packed
        place = bytes([1 if len(address) == 4 else 4]) + address
    except ValueError:
        place = bytes([3, len(host)]) + host.encode()
    return bytes([5, command, 0]) + place + port.to_bytes(2)


async def say(proxy: GuardedProxy, *messages: bytes) -> bytes:
    """Greet, send messages, and read until the proxy closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    said = b""
    try:
        for message in (b"\x05\x02\x00\x02", *messages):
            writer.write(message)
            await writer.drain()
            await asyncio.sleep(0.05)
        while block := await reader.read(65_536):
            said += block
    except ConnectionError:
        pass
    finally:
        writer.close()
    return said.removeprefix(b"\x05\x00")


async def test_a_connection_carries_bytes_as_they_are(
    server: MisbehavingServer, proxy: GuardedProxy
) -> None:
    said = await say(proxy, target("site.example"), QUESTION.encode())
    assert said.startswith(CONNECTED + b"HTTP/1.1 200")
    assert said.endswith(b"the page")
    asked = server.asked[0]
    assert (asked.method, asked.target, asked.host) == ("GET", "/page?a=b", "site.example")
    assert asked.headers["connection"] == "close"
    assert proxy.received == len(said) - len(CONNECTED)


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("127.0.0.1", 80),
        ("localhost", 80),
        ("::1", 80),
        ("169.254.169.254", 80),
        ("0x7f000001", 80),
        ("::ffff:10.0.0.1", 443),
        ("printer.local", 443),
        ("user:word@site.example", 80),
        ("[::1", 80),
        ("", 80),
        ("site.test", 22),
        ("site.test", 25),
    ],
)
async def test_what_the_guard_refuses_is_not_connected_to(
    server: MisbehavingServer, proxy: GuardedProxy, host: str, port: int
) -> None:
    assert await say(proxy, target(host, port), QUESTION.encode()) == REFUSED
    assert (server.asked, proxy.failures) == ([], [])


@pytest.mark.parametrize(
    "message",
    [
        target("site.example", command=2),  # to listen for the site
        target("site.example", command=3),  # datagrams
        b"\x05\x01\x00\x09site.example",
        b"GET http://site.example/page HTTP/1.1\r\n\r\n",
    ],
)
async def test_whoever_wants_anything_else_is_turned_away(
    server: MisbehavingServer, proxy: GuardedProxy, message: bytes
) -> None:
    assert not (await say(proxy, message)).startswith(CONNECTED)
    assert server.asked == []


async def test_whoever_does_not_speak_socks_is_told_nothing(proxy: GuardedProxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"GET http://site.example/page HTTP/1.1\r\n\r\n")
    with suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()


async def test_a_site_that_cannot_be_reached_is_named(server: MisbehavingServer) -> None:
    async with MisbehavingServer() as gone:
        names = gone.names
    async with GuardedProxy(NetworkGuard(names)) as proxy:
        assert await say(proxy, target("site.example")) == UNREACHABLE
        assert proxy.failures == ["site.example"]


async def test_a_page_receives_no_more_than_it_may(
    server: MisbehavingServer, proxy: GuardedProxy
) -> None:
    server.on("/huge", huge(10_000_000, declared=False))
    question = b"GET /huge HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n"
    assert len(await say(proxy, target("site.example"), question)) <= 100_000 + len(CONNECTED)
    assert await say(proxy, target("site.example"), QUESTION.encode()) == CONNECTED


@pytest.mark.parametrize("behaviour", [reset(), garbage()])
async def test_a_broken_answer_ends_the_connection(
    server: MisbehavingServer, proxy: GuardedProxy, behaviour: object
) -> None:
    server.on("/page", behaviour)  # type: ignore[arg-type] # parametrize knows no types
    said = await say(proxy, target("site.example"), QUESTION.encode())
    assert b"200" not in said
