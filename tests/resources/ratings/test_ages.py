"""Domain ages by RDAP and WHOIS, against registries on loopback that misbehave on command."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whois.parser import WhoisEntry

from factible_assets.stages.ports import DomainAges
from resources.http import HttpClient, HttpLimits, OutageError, RetryPolicy, UnavailableError
from resources.network_guard import NameTable, NetworkGuard
from resources.ratings.base import DomainAge
from resources.ratings.registries import RdapRegistry, RegistryAges, WhoisRegistry, registrable_name
from tests.patience import A_DAY, patience
from tests.servers import Behaviour, MisbehavingServer, redirect, respond, respond_json

NOW = datetime(2025, 6, 15, tzinfo=UTC)
BOOTSTRAP = {
    "version": "1.0",
    "services": [
        [["org", "com"], ["http://rdap.example/org/"]],
        [["net"], ["http://plain.example/", "https://tls.example/net"]],
        [["nothing"], []],
    ],
}
AGENCY = {
    "objectClassName": "domain",
    "ldhName": "AGENCY.ORG",
    "events": [
        {"eventAction": "last changed", "eventDate": "2024-01-01T00:00:00Z"},
        {"eventAction": "registration", "eventDate": "2005-06-15T12:00:00Z"},
    ],
}


# --- RDAP ---------------------------------------------------------------------------------------


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on("/dns.json", respond_json(BOOTSTRAP))
    server.on("/org/domain/agency.org", respond_json(AGENCY))
    return server


@pytest.fixture
async def rdap(
    server: MisbehavingServer, request: pytest.FixtureRequest
) -> AsyncIterator[RdapRegistry]:
    async with HttpClient(
        guard=NetworkGuard(server.names | NameTable({"tls.example": ("127.0.0.1", 9)})),
        limits=patience(
            request, HttpLimits(connect_seconds=0.5, read_seconds=0.25, attempt_seconds=0.4)
        ),
        retry=RetryPolicy(attempts=1),
    ) as http:
        yield RdapRegistry(http, bootstrap_url="http://iana.example/dns.json")


async def test_rdap_asks_the_suffixs_own_registry(
    server: MisbehavingServer, rdap: RdapRegistry
) -> None:
    assert await rdap.registered_at("agency.org") == datetime(2005, 6, 15, 12, tzinfo=UTC)
    assert [asked.target for asked in server.asked] == ["/dns.json", "/org/domain/agency.org"]
    assert "application/rdap+json" in server.asked[1].headers["accept"]


async def test_the_list_of_registries_is_fetched_once(
    server: MisbehavingServer, rdap: RdapRegistry
) -> None:
    await asyncio.gather(*(rdap.registered_at("agency.org") for _ in range(5)))
    assert server.count("/dns.json") == 1


async def test_a_failed_list_of_registries_is_requested_once(
    server: MisbehavingServer, rdap: RdapRegistry
) -> None:
    server.on("/dns.json", respond(status=503))
    for domain in ("agency.org", "other.org"):
        with pytest.raises(OutageError, match="the list of registries is missing"):
            await rdap.registered_at(domain)
    assert server.count("/dns.json") == 1


@pytest.mark.parametrize("domain", ["agency.de", "agency.nothing", "org"])
async def test_a_suffix_without_rdap_is_for_another_registry(
    rdap: RdapRegistry, domain: str
) -> None:
    assert await rdap.registered_at(domain) is None


async def test_a_registry_with_tls_is_asked_by_tls(rdap: RdapRegistry) -> None:
    # Nobody listens there, so that the attempt shows as an outage.
    with pytest.raises(OutageError, match=r"no connection to tls\.example"):
        await rdap.registered_at("agency.net")


async def test_a_free_domain_is_not_registered(
    server: MisbehavingServer, rdap: RdapRegistry
) -> None:
    server.on("/org/domain/agency.org", respond_json({"errorCode": 404}, status=404))
    with pytest.raises(UnavailableError, match=r"knows no domain agency\.org"):
        await rdap.registered_at("agency.org")


@pytest.mark.parametrize(
    "answer",
    [
        {"ldhName": "another.org", "events": AGENCY["events"]},
        {"ldhName": "agency.org"},
        {"events": []},
        {"events": ["x", {"eventAction": "registration"}]},
        {"events": [{"eventAction": "registration", "eventDate": "long ago"}]},
    ],
)
async def test_a_record_without_the_domains_own_date_is_unknown(
    server: MisbehavingServer, rdap: RdapRegistry, answer: object
) -> None:
    server.on("/org/domain/agency.org", respond_json(answer))
    assert await rdap.registered_at("agency.org") is None


async def test_a_rejected_rdap_request_leaves_the_domain_to_whois(
    server: MisbehavingServer, rdap: RdapRegistry
) -> None:
    server.on("/org/domain/agency.org", respond(status=400))
    assert await rdap.registered_at("agency.org") is None


@pytest.mark.parametrize(
    "behaviour",
    [
        respond(status=401),
        respond(status=500),
        respond("{"),
        respond("[" * 100_000),
        respond_json([]),
        respond_json({"events": "x"}),
    ],
)
@pytest.mark.parametrize("path", ["/dns.json", "/org/domain/agency.org"])
async def test_a_fault_of_rdap_is_an_outage(
    server: MisbehavingServer, rdap: RdapRegistry, path: str, behaviour: Behaviour
) -> None:
    server.on(path, behaviour)
    with pytest.raises(OutageError, match="RDAP: "):
        await rdap.registered_at("agency.org")


async def test_an_error_in_a_success_is_an_outage(
    server: MisbehavingServer, rdap: RdapRegistry
) -> None:
    server.on("/org/domain/agency.org", respond_json({"errorCode": 429, "title": "Slow down"}))
    with pytest.raises(OutageError, match="RDAP: the answer is an error"):
        await rdap.registered_at("agency.org")


async def test_a_registry_cannot_redirect_into_private_networks(
    server: MisbehavingServer, rdap: RdapRegistry
) -> None:
    server.on("/org/domain/agency.org", redirect("http://169.254.169.254/latest"))
    assert await rdap.registered_at("agency.org") is None


# --- WHOIS --------------------------------------------------------------------------------------

Answer = Callable[[str, asyncio.StreamWriter], Coroutine[Any, Any, None]]


def say(text: str) -> Answer:
    async def answer(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(text.encode("utf-8"))
        await writer.drain()

    return answer


async def say_nothing(_: str, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def drip_for_ever(_: str, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def flood(_: str, writer: asyncio.StreamWriter) -> None:
    for _number in range(200):
        writer.write(b"x" * 4096)
        await writer.drain()


@dataclass
class WhoisServer:
    """Speaks RFC 3912 (one line in, text out, closed), as a registry's server and as IANA's."""

    answer: Answer = field(default=say(""))
    iana: str = "domain: COM\nwhois:        whois.registry.example\n"
    """The answer about a suffix."""
    port: int = 0
    asked: list[str] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def names(self) -> NameTable:
        here = ("127.0.0.1", self.port)
        return NameTable({"whois.iana.org:43": here, "whois.registry.example:43": here})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            line = (await reader.readline()).decode("utf-8").strip()
            self.asked.append(line)
            await (self.answer if "." in line else say(self.iana))(line, writer)
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[WhoisServer]:
        listening = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listening.close()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def whois_server() -> AsyncIterator[WhoisServer]:
    async with WhoisServer().running() as server:
        yield server


def whois(server: WhoisServer) -> WhoisRegistry:
    return WhoisRegistry(names=server.names)


FOUND = (
    "   Domain Name: AGENCY.COM\r\n   Registrar: R\r\n"
    "   Creation Date: 2005-06-15T12:00:00Z\r\n   Registrar WHOIS Server: whois.evil.example\r\n"
    "   Creation Date: 2015-01-02T00:00:00Z\r\n"
)


async def test_whois_says_when_a_domain_was_registered(whois_server: WhoisServer) -> None:
    whois_server.answer = say(FOUND)
    registered_at = await whois(whois_server).registered_at("agency.com")
    assert registered_at == datetime(2005, 6, 15, 12, tzinfo=UTC)
    assert whois_server.asked == ["com", "agency.com"]


async def test_python_whois_gets_a_short_text_of_short_lines(
    whois_server: WhoisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    load = WhoisEntry.load

    def load_recorded(domain: str, text: str) -> WhoisEntry:
        parsed.append(text)
        return load(domain, text)

    monkeypatch.setattr(WhoisEntry, "load", load_recorded)
    whois_server.answer = say("a" * 20_000 + "\r\n" * 5_000 + FOUND + "a\r\n" * 5_000)
    assert await whois(whois_server).registered_at("agency.com") is not None
    (text,) = parsed
    assert len(text) <= 4_096
    assert max(map(len, text.splitlines())) <= 200


async def test_a_suffixs_server_is_looked_up_once(whois_server: WhoisServer) -> None:
    whois_server.answer = say(FOUND)
    registry = whois(whois_server)
    await registry.registered_at("agency.com")
    await registry.registered_at("another.com")
    assert whois_server.asked == ["com", "agency.com", "another.com"]


async def test_a_suffix_without_whois_says_nothing(whois_server: WhoisServer) -> None:
    whois_server.iana = "domain: PIZZA\nstatus: ACTIVE\n"
    assert await whois(whois_server).registered_at("agency.pizza") is None


async def test_an_empty_answer_of_iana_is_an_outage_and_is_not_remembered(
    whois_server: WhoisServer,
) -> None:
    named, whois_server.iana, whois_server.answer = whois_server.iana, "", say(FOUND)
    registry = whois(whois_server)
    with pytest.raises(OutageError, match="sent nothing"):
        await registry.registered_at("agency.com")
    whois_server.iana = named
    assert await registry.registered_at("agency.com") is not None


async def test_a_server_that_another_names_must_be_public(whois_server: WhoisServer) -> None:
    whois_server.iana = "whois:        127.0.0.1\n"
    with pytest.raises(OutageError, match="not a public address"):
        await whois(whois_server).registered_at("agency.pizza")
    assert whois_server.asked == ["pizza"]


async def test_a_free_domain_is_not_registered_by_whois(whois_server: WhoisServer) -> None:
    whois_server.answer = say('No match for "AGENCY.COM".\r\n')
    with pytest.raises(UnavailableError):
        await whois(whois_server).registered_at("agency.com")


@pytest.mark.parametrize(
    "text",
    [
        "Domain Name: AGENCY.COM\nRegistrar: R\n",
        "Domain Name: agency.com\nCreation Date: soon\n",
        "%% Terms of use: ...\n\nDomain:\tagency.com\nStatus:\tNOT AVAILABLE\n",
        "[Domain Name]                   AGENCY.COM\n[Registrant]                    An agency\n",
        "    Domain name:\n        agency.com\n\n    Registrar:\n        R [Tag = R]\n",
    ],
)
async def test_a_record_without_a_date_says_nothing(whois_server: WhoisServer, text: str) -> None:
    whois_server.answer = say(text)
    assert await whois(whois_server).registered_at("agency.com") is None


@pytest.mark.parametrize(
    "text",
    [
        "WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG",
        "Number of allowed queries exceeded.",
        "% Excessive querying, grace period of 60 seconds",
        "%% ERROR: maximum number of requests per second exceeded",
        "agency.com: daily whois-limit exceeded",
        "Requests of this client are not permitted. Please use https://www.nic.example/whois/.",
        "% Query: agency.com\n% Error: quota for 192.0.2.1 has been exceeded\n",
        "Error: 55000000002 Connection refused; access control limit reached.\n",
        "Your request for agency.com cannot be served now.\nSee: https://nic.example/\nCode: 7\n",
        "Domain Name: another.com\nRegistrar: R\n",
        "<html><title>Busy</title></html>",
        "\x00\x01",
    ],
)
async def test_an_answer_that_is_no_record_of_the_domain_is_an_outage(
    whois_server: WhoisServer, text: str
) -> None:
    whois_server.answer = say(text)
    with pytest.raises(OutageError, match=r"no record of agency\.com"):
        await whois(whois_server).registered_at("agency.com")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (say(""), "sent nothing"),
        (say("WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG"), "it may refuse"),
        (say_nothing, "not done after 0.4 seconds"),
        (drip_for_ever, "not done after 0.4 seconds"),
        (flood, "larger than any registry's"),
    ],
)
async def test_a_fault_of_whois_is_an_outage_in_time(
    whois_server: WhoisServer, answer: Answer, words: str
) -> None:
    whois_server.answer = answer
    is_endless = answer in {say_nothing, drip_for_ever}
    seconds = 0.4 if is_endless else A_DAY
    known = RegistryAges([whois(whois_server).registered_at], seconds=seconds)
    age = await known.age("agency.com")
    assert age.outcome == "outage"
    assert words in (age.reason or "")


async def test_nobody_listens() -> None:
    names = NameTable({"whois.iana.org:43": ("127.0.0.1", 9)})
    with pytest.raises(OutageError, match="did not answer"):
        await WhoisRegistry(names=names).registered_at("agency.com")


# --- Ages ---------------------------------------------------------------------------------------


@dataclass
class Says:
    """A registry that always gives the same answer."""

    answer: datetime | Exception | None
    asked: list[str] = field(default_factory=list)
    takes: float = 0.0

    async def registered_at(self, domain: str) -> datetime | None:
        self.asked.append(domain)
        await asyncio.sleep(self.takes)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


TEN_YEARS_AGO = datetime(2015, 6, 15, tzinfo=UTC)
OUTAGE = OutageError("it is down")


def ages(*registries: Says, **settings: Any) -> RegistryAges:
    return RegistryAges([each.registered_at for each in registries], now=lambda: NOW, **settings)


async def test_an_age_is_the_years_since_registration() -> None:
    port: DomainAges = ages(Says(TEN_YEARS_AGO))
    age = await port.age("Agency.ORG.")
    assert (age.outcome, age.reason) == ("ok", None)
    assert age.years == pytest.approx(10.0, abs=0.01)


@pytest.mark.parametrize(
    ("first", "outcome"), [(None, "ok"), (OUTAGE, "ok"), (UnavailableError("free"), "unknown")]
)
async def test_the_second_registry_answers_if_the_first_does_not_know(
    first: Exception | None, outcome: str
) -> None:
    second = Says(TEN_YEARS_AGO)
    assert (await ages(Says(first), second).age("agency.org")).outcome == outcome
    assert len(second.asked) == (outcome == "ok")
    await ages(Says(TEN_YEARS_AGO), spared := Says(None)).age("agency.org")
    assert spared.asked == []


async def test_an_outage_is_not_ignorance() -> None:
    both_silent = await ages(Says(None), Says(None)).age("agency.org")
    assert both_silent == DomainAge(
        "unknown", reason="no registry knows when agency.org was registered"
    )
    one_down = await ages(Says(OUTAGE), Says(None)).age("agency.org")
    assert one_down == DomainAge("outage", reason="it is down")


async def test_a_registry_that_hangs_is_given_up() -> None:
    age = await ages(Says(None, takes=30), seconds=0.05).age("agency.org")
    assert (age.outcome, age.reason) == ("outage", "a registry was not done after 0.05 seconds")


async def test_a_day_that_has_not_come_is_no_age() -> None:
    age = await ages(Says(datetime(2031, 1, 1, tzinfo=UTC))).age("agency.org")
    assert age.outcome == "unknown"


@pytest.mark.parametrize(
    "domain",
    ["", "localhost", "agency.example", "agency.test", "10.0.0.1", "::1", "a b.org", "x" * 300],
)
async def test_unregistrable_names_are_unknown_without_a_request(domain: str) -> None:
    registry = Says(TEN_YEARS_AGO)
    assert (await ages(registry).age(domain)).outcome == "unknown"
    assert registry.asked == []


async def test_international_domains_are_converted_for_registries() -> None:
    registry = Says(TEN_YEARS_AGO)
    await ages(registry).age("bücher.org")
    assert registry.asked == ["xn--bcher-kva.org"]


async def test_without_registries_every_age_is_unknown() -> None:
    assert (await RegistryAges(()).age("agency.org")).outcome == "unknown"


@given(st.text(max_size=60))
def test_any_text_is_a_domain_in_ascii_or_none(text: str) -> None:
    name = registrable_name(text)
    assert name is None or (name.isascii() and "/" not in name and "." in name)
