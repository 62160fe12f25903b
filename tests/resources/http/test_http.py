"""The client against a real server that misbehaves on command."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resources.http import (
    HttpClient,
    HttpLimits,
    OutageError,
    RetryPolicy,
    UnavailableError,
    retry_after_seconds,
    shown_url,
)
from resources.network_guard import NetworkGuard
from tests.patience import IN_VAIN, patience
from tests.servers import (
    Exchange,
    MisbehavingServer,
    answering_in_the_clear,
    drip,
    garbage,
    hang,
    huge,
    redirect,
    reset,
    respond,
    truncate,
)

SITE = "http://site.example"
QUICK = HttpLimits(connect_seconds=0.5, read_seconds=0.25, attempt_seconds=1.0, max_bytes=1_000_000)
SOON = RetryPolicy(
    attempts=3, first_delay_seconds=0.01, max_delay_seconds=0.02, max_retry_after_seconds=1
)


@pytest.fixture
async def client(
    server: MisbehavingServer, request: pytest.FixtureRequest
) -> AsyncIterator[HttpClient]:
    async with HttpClient(
        guard=NetworkGuard(server.names), limits=patience(request, QUICK), retry=SOON
    ) as opened:
        yield opened


async def test_the_host_header_names_the_site_although_loopback_is_dialled(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/page", respond("hello"))
    response = await client.get(f"{SITE}/page?x=1#part")
    assert (response.status, response.body, response.url) == (200, b"hello", f"{SITE}/page?x=1")
    assert server.asked[0].host == "site.example"
    assert "factible-assets" in server.asked[0].headers["user-agent"]


@pytest.mark.parametrize("name", ["xn--ls8h", "xn--55555577"])  # an emoji, and no Punycode at all
async def test_a_name_that_cannot_be_decoded_is_asked_for_as_it_is(
    server: MisbehavingServer, client: HttpClient, name: str
) -> None:
    assert (await client.get(f"http://{name}.example/")).status == 404
    assert server.asked[0].host == f"{name}.example"


async def test_requests_share_a_connection(server: MisbehavingServer, client: HttpClient) -> None:
    server.on("/", respond("hello"))
    for _ in range(5):
        await client.get(f"{SITE}/")
    assert (server.connections, server.count("/")) == (1, 5)


async def test_a_client_may_be_closed_and_used_again(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/", respond("hello"))
    await client.get(f"{SITE}/")
    await client.aclose()
    assert (await client.get(f"{SITE}/")).status == 200
    assert server.connections == 2


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_passing_failure_is_asked_again(
    server: MisbehavingServer, client: HttpClient, status: int
) -> None:
    server.on("/", respond(status=status), respond(status=status), respond("at last"))
    response = await client.get(f"{SITE}/")
    assert (response.body, response.attempts) == (b"at last", 3)


async def test_a_failure_that_stays_is_asked_a_bounded_number_of_times(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/", respond(status=503))
    response = await client.get(f"{SITE}/")
    with pytest.raises(OutageError) as failure:
        response.raise_for_status()
    assert failure.value.reason == "site.example answered 503 Service Unavailable (3 attempts)"
    assert server.count("/") == 3


async def test_retry_after_is_waited_for(server: MisbehavingServer, client: HttpClient) -> None:
    server.on("/", respond(status=429, headers={"Retry-After": "1"}), respond("ok"))
    started = time.perf_counter()
    assert (await client.get(f"{SITE}/")).status == 200
    assert time.perf_counter() - started >= 1.0


async def test_a_retry_after_beyond_the_limit_ends_the_matter(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/", respond(status=429, headers={"Retry-After": "3600"}))
    response = await client.get(f"{SITE}/")
    with pytest.raises(OutageError) as failure:
        response.raise_for_status()
    assert "asks to wait 3600 seconds" in failure.value.reason
    assert server.count("/") == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
async def test_a_final_status_is_unavailable_and_asked_once(
    server: MisbehavingServer, client: HttpClient, status: int
) -> None:
    server.on("/", respond(status=status))
    response = await client.get(f"{SITE}/")
    with pytest.raises(UnavailableError) as failure:
        response.raise_for_status()
    assert (failure.value.http_status, server.count("/")) == (status, 1)


async def test_a_reset_is_asked_again(server: MisbehavingServer, client: HttpClient) -> None:
    server.on("/", reset(), reset(), respond("at last"))
    assert (await client.get(f"{SITE}/")).body == b"at last"


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (reset(), r"lost|broke off"),
        (truncate(), "broke off"),
        (garbage(), "broke the rules of HTTP"),
        pytest.param(hang(), "fell silent for 0.25 seconds", marks=IN_VAIN),
        (respond(b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"}), "damaged"),
        (respond(gzip.compress(b"x" * 99)[:-9], headers={"Content-Encoding": "gzip"}), "broke off"),
    ],
)
async def test_a_broken_answer_is_an_outage_after_three_attempts(
    server: MisbehavingServer, client: HttpClient, behaviour: object, words: str
) -> None:
    server.on("/", behaviour)  # type: ignore[arg-type] # parametrize knows no types
    with pytest.raises(OutageError, match=words) as failure:
        await client.get(f"{SITE}/?key=sesame")
    assert server.count("/") == 3
    assert failure.value.reason.endswith("(3 attempts)")
    assert "sesame" not in failure.value.reason


async def test_a_server_that_drips_is_given_up_once(server: MisbehavingServer) -> None:
    server.on("/", drip())
    limits = HttpLimits(attempt_seconds=1.0)
    async with HttpClient(guard=NetworkGuard(server.names), limits=limits, retry=SOON) as client:
        with pytest.raises(OutageError, match=r"not done after 1 seconds"):
            await client.get(f"{SITE}/")
    assert server.count("/") == 1


async def test_nobody_listening_is_an_outage() -> None:
    async with MisbehavingServer() as gone:
        names = gone.names
    async with HttpClient(guard=NetworkGuard(names), limits=QUICK, retry=SOON) as client:
        with pytest.raises(OutageError, match=r"no connection to site\.example could be made"):
            await client.get(f"{SITE}/")


async def test_a_name_that_does_not_resolve_is_an_outage() -> None:
    async def nobody_knows(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    guard = NetworkGuard(resolver=nobody_knows)
    async with HttpClient(guard=guard, limits=QUICK, retry=SOON) as client:
        with pytest.raises(OutageError, match=r"the name nowhere\.com could not be resolved"):
            await client.get("http://nowhere.com/")


async def test_a_server_without_tls_is_an_outage_of_the_secure_connection() -> None:
    async with answering_in_the_clear() as names, HttpClient(guard=NetworkGuard(names)) as client:
        with pytest.raises(OutageError, match=r"secure connection to site\.example failed"):
            await client.get("https://site.example/")


@IN_VAIN
async def test_a_handshake_that_is_not_answered_is_a_silence_and_no_broken_security(
    client: HttpClient,
) -> None:
    with pytest.raises(OutageError, match=r"site\.example could not be reached within") as caught:
        await client.get("https://site.example/")
    assert caught.value.retry


@pytest.mark.parametrize("url", ["", "not a url", "http://", "http://[::1", "http://a b/"])
async def test_what_is_not_a_url_is_unavailable(client: HttpClient, url: str) -> None:
    with pytest.raises(UnavailableError):
        await client.get(url)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("megabytes", [50, 200])
async def test_a_huge_page_is_cut_off_early_and_memory_stays_flat(
    server: MisbehavingServer, client: HttpClient, declared: bool, megabytes: int
) -> None:
    server.on("/", huge(megabytes * 1_000_000, declared=declared))
    tracemalloc.start()
    with pytest.raises(UnavailableError, match="more than 1 MB; reading stopped there"):
        await client.get(f"{SITE}/")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000
    assert server.exchanges[0].sent < 12_000_000


async def test_a_compressed_bomb_stays_small(server: MisbehavingServer, client: HttpClient) -> None:
    machine = zlib.compressobj(1, wbits=31)
    bomb = b"".join(machine.compress(bytes(1_000_000)) for _ in range(60)) + machine.flush()
    server.on("/", respond(bomb, headers={"Content-Encoding": "gzip"}))
    tracemalloc.start()
    with pytest.raises(UnavailableError, match="more than 1 MB"):
        await client.get(f"{SITE}/")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


@given(st.binary(max_size=5_000), st.sampled_from(["gzip", "none"]))
def test_compressed_bodies_come_out_as_they_went_in(body: bytes, how: str) -> None:
    sent = {"gzip": gzip.compress(body), "none": body}[how]
    encoding = "identity" if how == "none" else "gzip"

    async def fetch() -> bytes:
        async with MisbehavingServer() as server:
            server.on("/", respond(sent, headers={"Content-Encoding": encoding}))
            async with HttpClient(guard=NetworkGuard(server.names)) as client:
                return (await client.get(f"{SITE}/")).body

    assert asyncio.run(fetch()) == body


async def test_an_encoding_that_was_not_asked_for_is_an_outage(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/", respond(b"...", headers={"Content-Encoding": "br"}))
    with pytest.raises(OutageError, match="encoding that was not asked for: br"):
        await client.get(f"{SITE}/")


async def test_an_unwanted_content_type_is_not_downloaded(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/", respond(b"\x00" * 500_000, content_type="video/mp4"))
    with pytest.raises(UnavailableError, match="unsupported content type: video/mp4"):
        await client.get(f"{SITE}/", accepts=lambda kind: kind == "text/html")


async def test_redirects_are_followed_to_the_final_url(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/old", redirect("//other.example/new?a=1#top", status=301))
    server.on("/new", respond("here"))
    response = await client.get(f"{SITE}/old")
    assert (response.body, response.url) == (b"here", "http://other.example/new?a=1")


async def test_headers_do_not_follow_a_redirect_to_another_origin(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/a", redirect("/b"))
    server.on("/b", redirect("http://other.example/c"))
    server.on("/c", respond("here"))
    await client.get(f"{SITE}/a", headers={"X-API-KEY": "sesame"})
    keys = [asked.headers.get("x-api-key") for asked in server.asked]
    assert keys == ["sesame", "sesame", None]


async def test_endless_redirects_end(server: MisbehavingServer, client: HttpClient) -> None:
    async def onward(exchange: Exchange) -> None:
        number = int(exchange.asked.target.partition("=")[2]) + 1
        await redirect(f"/?n={number}", status=307)(exchange)

    server.on("/", onward)
    with pytest.raises(UnavailableError, match="more than 8 times") as failure:
        await client.get(f"{SITE}/?n=0")
    assert failure.value.final_url == f"{SITE}/?n=9"
    assert server.count("/") == 9


async def test_cookies_serve_their_own_redirects_and_nobody_else(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/in", redirect("/in2", headers={"Set-Cookie": "visit=1; Path=/"}))
    server.on("/in2", respond("welcome"))
    await client.get(f"{SITE}/in")
    await client.get(f"{SITE}/in2")
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, "visit=1", None]


@pytest.mark.parametrize("cookie", ["city=Malmö", "path=é;=;version=", "$Version=1; é"])
async def test_a_cookie_that_is_no_ascii_stops_no_redirect(
    server: MisbehavingServer, client: HttpClient, cookie: str
) -> None:
    server.on("/in", redirect("/in2", headers={"Set-Cookie": cookie}))
    server.on("/in2", respond("welcome"))
    assert (await client.get(f"{SITE}/in")).body == b"welcome"


async def test_a_cookie_wall_that_never_opens_ends_too(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/", redirect("/", headers={"Set-Cookie": "visit=1; Path=/"}))
    with pytest.raises(UnavailableError, match="redirects"):
        await client.get(f"{SITE}/")


async def test_one_host_is_not_asked_by_all_at_once(server: MisbehavingServer) -> None:
    running = highest = 0

    async def count(exchange: Exchange) -> None:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await respond("ok", after=0.05)(exchange)
        running -= 1

    server.on("/", count)
    limits = HttpLimits(max_requests_per_host=3)
    async with HttpClient(guard=NetworkGuard(server.names), limits=limits) as client:
        await asyncio.gather(*(client.get(f"{SITE}/") for _ in range(30)))
        assert highest == 3
        running = highest = 0
        await asyncio.gather(*(client.get(f"http://s{n}.example/") for n in range(12)))
        assert highest > 3
    limits = HttpLimits(max_requests_per_host=3, at_once={"s0.example": 9})
    async with HttpClient(guard=NetworkGuard(server.names), limits=limits) as client:
        running = highest = 0
        await asyncio.gather(*(client.get("http://s0.example/") for _ in range(30)))
        assert highest == 9


async def test_a_post_is_not_redirected_and_carries_its_body(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on("/", redirect("http://elsewhere.example/"))
    response = await client.post(f"{SITE}/", content=b'{"q": 1}', headers={"X-API-KEY": "k"})
    assert (response.status, server.asked[0].json) == (302, {"q": 1})
    assert len(server.asked) == 1


async def test_the_environments_proxies_are_not_used(
    server: MisbehavingServer, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.on("/", respond("direct"))
    assert (await client.get(f"{SITE}/")).body == b"direct"


def test_a_shown_url_keeps_no_secret() -> None:
    text = shown_url("https://user:pass@site.com/path?api_key=sesame#frag")
    assert text == "https://site.com/path?…"


@example("Fri, 31 Dec 1999 23:59:59 +99999999999999999999")
@given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=40))
def test_any_retry_after_is_a_time_or_nothing(value: str) -> None:
    seconds = retry_after_seconds(httpx.Headers({b"Retry-After": value.encode("latin-1")}))
    assert seconds is None or seconds >= 0


@given(st.integers(1, 50))
def test_pauses_grow_and_stay_under_their_limit(attempt: int) -> None:
    policy = RetryPolicy(first_delay_seconds=0.5, max_delay_seconds=8)
    assert 0.25 <= policy.delay(attempt) <= 8
