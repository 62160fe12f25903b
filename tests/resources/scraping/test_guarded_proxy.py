"""The proxy between a browser's page and the web, spoken to directly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from resources.network_guard import NetworkGuard
from resources.scraping.guarded_proxy import GuardedProxy
from tests.servers import MisbehavingServer, garbage, huge, reset, respond


@pytest.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as running:
        running.on("/page", respond("the page"))
        yield running


@pytest.fixture
async def proxy(server: MisbehavingServer) -> AsyncIterator[GuardedProxy]:
    async with GuardedProxy(NetworkGuard(server.names), max_bytes=100_000) as opened:
        yield opened


async def say(proxy: GuardedProxy, *messages: str, reads: int = -1) -> bytes:
    """Send messages and read what comes until the proxy closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        for message in messages:
            writer.write(message.replace("\n", "\r\n").encode("latin-1"))
            await writer.drain()
            await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            return await reader.read(reads)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_request_is_carried_in_the_form_that_sites_expect(
    server: MisbehavingServer, proxy: GuardedProxy
) -> None:
    answer = await say(
        proxy,
        "GET http://site.example/page?a=b HTTP/1.1\nHost: site.example\n"
        "Proxy-Connection: keep-alive\nConnection: keep-alive\nX-Own: 1\n\n",
    )
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"the page")
    asked = server.asked[0]
    assert (asked.method, asked.target, asked.host) == ("GET", "/page?a=b", "site.example")
    assert asked.headers["connection"] == "close"
    assert asked.headers["x-own"] == "1"
    assert "proxy-connection" not in asked.headers
    assert proxy.received == len(answer)


async def test_a_second_request_never_travels_down_the_first_one_s_pipe(
    server: MisbehavingServer, proxy: GuardedProxy
) -> None:
    first = "GET http://site.example/page HTTP/1.1\nHost: site.example\n\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(first.replace("\n", "\r\n").encode())
    head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    assert b"connection: close" in head.lower()
    assert b"keep-alive" not in head.lower()


async def test_a_tunnel_carries_bytes_as_they_are(
    server: MisbehavingServer, proxy: GuardedProxy
) -> None:
    answer = await say(
        proxy,
        "CONNECT site.example:443 HTTP/1.1\nHost: site.example:443\n\n",
        "GET /page HTTP/1.1\nHost: inner\nConnection: keep-alive\n\n",
        reads=4_096,
    )
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert server.asked[0].headers["connection"] == "keep-alive"


@pytest.mark.parametrize(
    "request_line",
    [
        "GET http://127.0.0.1/page HTTP/1.1",
        "GET http://localhost/page HTTP/1.1",
        "GET http://[::1]/page HTTP/1.1",
        "GET http://169.254.169.254/latest/meta-data/ HTTP/1.1",
        "GET http://0x7f000001/ HTTP/1.1",
        "GET http://site.test:22/ HTTP/1.1",
        "GET http://user:word@site.example/page HTTP/1.1",
        "CONNECT 127.0.0.1:443 HTTP/1.1",
        "CONNECT [::ffff:10.0.0.1]:443 HTTP/1.1",
        "CONNECT printer.local:443 HTTP/1.1",
        "CONNECT site.test:25 HTTP/1.1",
        "CONNECT site.test:99999 HTTP/1.1",
    ],
)
async def test_what_the_guard_refuses_is_answered_403(
    server: MisbehavingServer, proxy: GuardedProxy, request_line: str
) -> None:
    answer = await say(proxy, f"{request_line}\nHost: site.example\n\n")
    assert answer.startswith(b"HTTP/1.1 403")
    assert (server.asked, proxy.failures, len(proxy.refused)) == ([], [], 1)


@pytest.mark.parametrize(
    "message",
    [
        "GET /page HTTP/1.1\nHost: site.example\n\n",
        "GET https://site.example/page HTTP/1.1\nHost: site.example\n\n",
        "GET ftp://site.example/page HTTP/1.1\nHost: site.example\n\n",
        "CONNECT site.example:port HTTP/1.1\n\n",
        "nonsense\n\n",
        "\n\n",
    ],
)
async def test_what_is_no_request_to_a_proxy_is_answered_400(
    server: MisbehavingServer, proxy: GuardedProxy, message: str
) -> None:
    assert (await say(proxy, message)).startswith(b"HTTP/1.1 400")
    assert server.asked == []


async def test_a_site_that_cannot_be_reached_is_named(server: MisbehavingServer) -> None:
    async with MisbehavingServer() as gone:
        names = gone.names
    async with GuardedProxy(NetworkGuard(names)) as proxy:
        answer = await say(proxy, "GET http://site.example/ HTTP/1.1\nHost: site.example\n\n")
        assert answer.startswith(b"HTTP/1.1 502")
        assert (proxy.failures, proxy.refused) == (["site.example"], [])


async def test_a_page_receives_no_more_than_it_may(
    server: MisbehavingServer, proxy: GuardedProxy
) -> None:
    server.on("/huge", huge(10_000_000, declared=False))
    question = "GET http://site.example/huge HTTP/1.1\nHost: site.example\n\n"
    assert len(await say(proxy, question)) <= 100_000
    assert await say(proxy, "GET http://site.example/page HTTP/1.1\nHost: s\n\n") == b""


@pytest.mark.parametrize("behaviour", [reset(), garbage(), garbage(b"HTTP/1.1\r\n\r\n")])
async def test_a_broken_answer_ends_the_connection(
    server: MisbehavingServer, proxy: GuardedProxy, behaviour: object
) -> None:
    server.on("/broken", behaviour)  # type: ignore[arg-type] # parametrize knows no types
    answer = await say(proxy, "GET http://site.example/broken HTTP/1.1\nHost: site.example\n\n")
    assert b"200" not in answer


async def test_interim_answers_go_before_the_answer(
    server: MisbehavingServer, proxy: GuardedProxy
) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: <http://127.0.0.1/>\r\n\r\n"
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    server.on("/", garbage(hints + final))
    answer = await say(proxy, "GET http://site.example/ HTTP/1.1\nHost: site.example\n\n")
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
