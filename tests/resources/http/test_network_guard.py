"""Nothing reaches into private networks, by whatever form a target takes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.http import HttpClient, HttpLimits, OutageError, RetryPolicy, UnavailableError
from resources.network_guard import (
    ALLOWED_PORTS,
    ForbiddenTargetError,
    GuardedBackend,
    NameTable,
    NetworkGuard,
    check_address,
)
from tests.servers import MisbehavingServer, redirect, respond

# What a hostile name server answers for its own names.
HOSTILE_ZONE: dict[str, Sequence[str]] = {
    "loopback.attacker.com": ["127.0.0.1"],
    "loopback-other.attacker.com": ["127.8.8.8"],
    "mixed.attacker.com": ["93.184.216.34", "127.0.0.1"],
    "six.attacker.com": ["::1"],
    "mapped.attacker.com": ["::ffff:127.0.0.1"],
    "nat64.attacker.com": ["64:ff9b::7f00:1"],
    "sixtofour.attacker.com": ["2002:7f00:1::"],
    "teredo.attacker.com": ["2001:0:7f00:1::80ff:fffe"],
    "isatap.attacker.com": ["2600::5efe:7f00:1"],
    "zero.attacker.com": ["0.0.0.0"],  # noqa: S104 - an answer, not a binding
    "metadata.attacker.com": ["169.254.169.254"],
    "azure.attacker.com": ["168.63.129.16"],
    "alibaba.attacker.com": ["100.100.100.200"],
    "ula.attacker.com": ["fd00:ec2::254"],
    "linklocal.attacker.com": ["fe80::1%lo"],
    "private.attacker.com": ["10.0.0.5"],
    "multicast.attacker.com": ["224.0.0.1"],
    "nonsense.attacker.com": ["not an address"],
}

TARGETS = [
    # Loopback in the forms that resolvers and libraries accept.
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://127.255.255.254:{port}/",
    "http://2130706433:{port}/",
    "http://017700000001:{port}/",
    "http://0x7f000001:{port}/",
    "http://0x7F.0.0.1:{port}/",
    "http://0x7f.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0177.0.0.01:{port}/",
    "http://127.0.0.0x1:{port}/",
    "http://00000127.0.0.1:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://localhost.:{port}/",
    "http://a.localhost:{port}/",
    "http://localhost.localdomain.local:{port}/",
    "http://ip6-localhost:{port}/",
    "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11:{port}/",
    "http://127\u30020\u30020\u30021:{port}/",
    "http://①②⑦.0.0.1:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://[::1]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::127.0.0.1]:{port}/",
    "http://[64:ff9b:1::127.0.0.1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[2001:0:7f00:1::80ff:fffe]:{port}/",
    "http://[2600::5efe:127.0.0.1]:{port}/",
    # Private, link-local, metadata, carrier, documentation, multicast, reserved.
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/latest/meta-data/",
    "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://168.63.129.16/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://203.0.113.9/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://240.0.0.1/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://router/",
    "http://printer.local/",
    "http://nas.home.arpa/",
    "http://hidden.onion/",
    # User information and other ways to make a URL read as what it is not.
    "http://public.com@127.0.0.1:{port}/",
    "http://user:secret@public.com:{port}/",
    "http://public.com#@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#.public.com/",
    "http://127.0.0.1:{port}?.public.com/",
    "http://public.com\\@127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http://[::1%25lo]:{port}/",
    # Other schemes and other ports.
    "file:///etc/passwd",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_GET",
    "ws://127.0.0.1:{port}/",
    "data:text/html,<p>hello</p>",
    "javascript:alert(1)",
    "unix:/run/docker.sock",
    "http+unix://%2Frun%2Fdocker.sock/",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "http://public.com:22/",
    "http://public.com:6379/",
    "https://public.com:9200/",
    # Names whose server answers with what is closed.
    *(f"http://{name}:{{port}}/" for name in HOSTILE_ZONE),
]


async def hostile_resolver(host: str, port: int) -> Sequence[str]:
    if host in HOSTILE_ZONE:
        return HOSTILE_ZONE[host]
    raise socket.gaierror(socket.EAI_NONAME, "no such name")


@pytest.fixture
def victim(server: MisbehavingServer) -> MisbehavingServer:
    server.on("*", respond("<p>the secret of the private network</p>"))
    return server


def guarded_client(victim: MisbehavingServer, names: NameTable | None = None) -> HttpClient:
    """A client whose port policy is opened for the victim, so that it saves nobody here."""
    return HttpClient(
        guard=NetworkGuard(
            names, resolver=hostile_resolver, allowed_ports=ALLOWED_PORTS | {victim.port}
        ),
        limits=HttpLimits(connect_seconds=1, read_seconds=1),
        retry=RetryPolicy(attempts=1),
    )


@pytest.mark.parametrize("target", TARGETS)
async def test_a_closed_target_is_never_reached_directly(
    victim: MisbehavingServer, target: str
) -> None:
    async with guarded_client(victim) as client:
        with pytest.raises((UnavailableError, OutageError)) as failure:
            await client.get(target.format(port=victim.port))
    assert victim.connections == 0
    assert "secret" not in failure.value.reason


@pytest.mark.parametrize("target", TARGETS)
async def test_a_closed_target_is_never_reached_by_a_redirect(
    victim: MisbehavingServer, target: str
) -> None:
    if target.startswith(("//", "127.")):
        target = f"http:{target}" if target.startswith("//") else f"http://{target}"
    async with MisbehavingServer() as front:
        location = target.format(port=victim.port).encode("utf-8").decode("latin-1")
        front.on("/", redirect(location))
        async with guarded_client(victim, front.names) as client:
            try:
                response = await client.get("http://front.example/")
            except (UnavailableError, OutageError):
                response = None
        assert front.connections >= 1
    assert victim.connections == 0
    assert response is None or b"secret" not in response.body


async def test_forms_of_loopback_would_reach_the_victim_without_the_guard(
    victim: MisbehavingServer,
) -> None:
    """The table means something only if its targets lead somewhere."""
    for form in ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "localhost"):
        _, writer = await asyncio.open_connection(form, victim.port, family=socket.AF_INET)
        writer.close()
        await writer.wait_closed()
    while victim.connections < 7:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.005)


async def test_an_outright_closed_target_is_unavailable_and_says_so(
    victim: MisbehavingServer,
) -> None:
    async with guarded_client(victim) as client:
        with pytest.raises(UnavailableError, match=r"169\.254\.169\.254 is not a public address"):
            await client.get("http://169.254.169.254/latest/meta-data/?token=abc")
        with pytest.raises(UnavailableError, match="not a public address") as failure:
            await client.get(f"http://loopback.attacker.com:{victim.port}/x?token=abc")
    assert "abc" not in failure.value.reason


async def test_a_name_that_changes_its_address_is_connected_where_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])

    async def rebinding_resolver(host: str, port: int) -> Sequence[str]:
        return next(answers)

    reached: list[str] = []

    async def connect(_: object, host: str, *__: object, **___: object) -> object:
        reached.append(host)
        return httpcore.AsyncMockStream([])

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect)
    backend = GuardedBackend(NetworkGuard(resolver=rebinding_resolver))
    await backend.connect_tcp("rebind.attacker.com", 80)
    assert reached == ["93.184.216.34"]
    with pytest.raises(ForbiddenTargetError, match="not a public address"):
        await backend.connect_tcp("rebind.attacker.com", 80)
    assert reached == ["93.184.216.34"]


async def test_the_name_stays_in_the_tls_handshake_although_the_address_is_dialled() -> None:
    hello = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.set_result(await reader.read(2048))
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    guard = NetworkGuard(NameTable({"secure.example": ("127.0.0.1", port)}))
    async with HttpClient(guard=guard, retry=RetryPolicy(attempts=1)) as client:
        with pytest.raises(OutageError):
            await client.get("https://secure.example/")
    assert b"secure.example" in await hello
    assert b"\x02h2" in await hello, "HTTP/2 is offered"
    server.close()
    await server.wait_closed()


def test_only_names_under_a_suffix_are_served_elsewhere() -> None:
    table = NameTable({"*.example": ("127.0.0.1", 1), "api.example:8080": ("127.0.0.1", 2)})
    assert table.find("www.site.example", 80) == ("127.0.0.1", 1)
    assert table.find("api.example", 8080) == ("127.0.0.1", 2)
    assert table.find("api.example", 80) == ("127.0.0.1", 1)
    assert table.find("example", 80) is None
    assert table.find("badexample", 80) is None
    assert table.find("site.example.com", 80) is None


def test_a_configured_service_opens_its_own_port_and_no_other() -> None:
    table = NameTable.for_service("http://127.0.0.1:8888/search")
    assert table.find("127.0.0.1", 8888) == ("127.0.0.1", 8888)
    assert table.find("127.0.0.1", 22) is None


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_public_addresses_pass(address: str) -> None:
    check_address(address)


@given(st.ip_addresses(network="10.0.0.0/8") | st.ip_addresses(network="fc00::/7"))
def test_no_private_address_passes(address: object) -> None:
    with pytest.raises(ForbiddenTargetError):
        check_address(str(address))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_ipv6_clothes_is_judged_as_itself(address: object) -> None:
    def passes(form: str) -> bool:
        try:
            check_address(form)
        except ForbiddenTargetError:
            return False
        return True

    assert passes(f"::ffff:{address}") == passes(str(address))
    assert not passes(f"::{address}")


@given(st.text(max_size=60))
def test_any_text_as_host_is_refused_or_checked_but_never_crashes(host: str) -> None:
    try:
        url = httpx.URL(f"http://{host}/")
    except (httpx.InvalidURL, ValueError):
        return
    try:
        NetworkGuard().check_url(url)
    except ForbiddenTargetError:
        return
    assert url.raw_host
