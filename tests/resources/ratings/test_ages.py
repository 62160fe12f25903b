"""Domain ages by RDAP, against registries on loopback that misbehave on command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.stages.ports import DomainAges
from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.network_guard import NameTable, NetworkGuard
from resources.ratings.registries import RegistryAges, registrable_name
from tests.patience import patience
from tests.servers import Behaviour, MisbehavingServer, hang, redirect, respond, respond_json

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

LIST, RECORD = "/dns.json", "/org/domain/agency.org"


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on(LIST, respond_json(BOOTSTRAP))
    server.on(RECORD, respond_json(AGENCY))
    return server


@pytest.fixture
async def client(
    server: MisbehavingServer, request: pytest.FixtureRequest
) -> AsyncIterator[HttpClient]:
    async with HttpClient(
        guard=NetworkGuard(server.names | NameTable({"tls.example": ("127.0.0.1", 9)})),
        limits=patience(
            request, HttpLimits(connect_seconds=0.5, read_seconds=0.25, attempt_seconds=0.4)
        ),
        retry=RetryPolicy(attempts=1),
    ) as http:
        yield http


@pytest.fixture
def ages(client: HttpClient) -> RegistryAges:
    return RegistryAges(client, bootstrap_url="http://iana.example/dns.json", now=lambda: NOW)


async def test_an_age_is_the_years_since_registration(
    server: MisbehavingServer, ages: DomainAges
) -> None:
    age = await ages.age("Agency.ORG.")
    assert (age.outcome, age.reason) == ("ok", None)
    assert age.years == pytest.approx(20.0, abs=0.01)
    assert [asked.target for asked in server.asked] == [LIST, RECORD]
    assert "application/rdap+json" in server.asked[1].headers["accept"]


@pytest.mark.parametrize("behaviour", [respond_json(BOOTSTRAP), respond(status=503)])
async def test_the_list_of_registries_is_fetched_once(
    server: MisbehavingServer, ages: RegistryAges, behaviour: Behaviour
) -> None:
    server.on(LIST, behaviour)
    found = await asyncio.gather(*(ages.age(f"{name}.org") for name in ("agency", "a", "b")))
    assert server.count(LIST) == 1
    if server.count(RECORD) == 0:
        assert {each.outcome for each in found} == {"outage"}
        assert "the list of registries is missing" in (found[0].reason or "")


@pytest.mark.parametrize("domain", ["agency.de", "agency.nothing"])
async def test_the_age_is_unknown_if_the_suffix_has_no_rdap(
    ages: RegistryAges, domain: str
) -> None:
    age = await ages.age(domain)
    reason = f"no registry says by RDAP when {domain} was registered"
    assert (age.outcome, age.reason) == ("unknown", reason)


async def test_a_registry_with_tls_is_asked_by_tls(ages: RegistryAges) -> None:
    # Nobody listens there, so that the attempt shows as an outage.
    assert "no connection to tls.example" in ((await ages.age("agency.net")).reason or "")


async def test_a_free_domain_has_no_age(server: MisbehavingServer, ages: RegistryAges) -> None:
    server.on(RECORD, respond_json({"errorCode": 404}, status=404))
    age = await ages.age("agency.org")
    assert (age.outcome, age.reason) == ("unknown", "the registry knows no domain agency.org")


@pytest.mark.parametrize(
    "answer",
    [
        {"ldhName": "another.org", "events": AGENCY["events"]},
        {"ldhName": "agency.org"},
        {"events": []},
        {"events": ["x", {"eventAction": "registration"}]},
        {"events": [{"eventAction": "registration", "eventDate": "long ago"}]},
        {"events": [{"eventAction": "registration", "eventDate": "2031-01-01T00:00:00"}]},
    ],
)
async def test_a_record_without_the_domains_own_past_date_is_unknown(
    server: MisbehavingServer, ages: RegistryAges, answer: object
) -> None:
    server.on(RECORD, respond_json(answer))
    assert (await ages.age("agency.org")).outcome == "unknown"


@pytest.mark.parametrize(
    "behaviour",
    [
        respond(status=401),
        respond(status=500),
        respond("{"),
        respond("[" * 100_000),
        respond_json([]),
        respond_json({"events": "x"}),
        respond_json({"errorCode": 429, "title": "Slow down"}),
    ],
)
@pytest.mark.parametrize("path", [LIST, RECORD])
async def test_a_fault_of_rdap_is_an_outage(
    server: MisbehavingServer, ages: RegistryAges, path: str, behaviour: Behaviour
) -> None:
    server.on(path, behaviour)
    age = await ages.age("agency.org")
    assert age.outcome == "outage"
    assert (age.reason or "").startswith("RDAP: ")


async def test_a_registry_that_hangs_is_given_up(
    server: MisbehavingServer, client: HttpClient
) -> None:
    server.on(LIST, hang())
    ages = RegistryAges(client, bootstrap_url="http://iana.example/dns.json", seconds=0.05)
    age = await ages.age("agency.org")
    assert (age.outcome, age.reason) == (
        "outage",
        "RDAP: the registry was not done after 0.05 seconds",
    )


async def test_a_registry_cannot_redirect_into_private_networks(
    server: MisbehavingServer, ages: RegistryAges
) -> None:
    server.on(RECORD, redirect("http://169.254.169.254/latest"))
    assert (await ages.age("agency.org")).outcome == "unknown"


@pytest.mark.parametrize(
    "domain",
    ["", "localhost", "agency.example", "agency.test", "10.0.0.1", "::1", "a b.org", "x" * 300],
)
async def test_unregistrable_names_are_unknown_without_a_request(
    server: MisbehavingServer, ages: RegistryAges, domain: str
) -> None:
    assert (await ages.age(domain)).outcome == "unknown"
    assert not server.asked


async def test_international_domains_are_converted_for_registries(
    server: MisbehavingServer, ages: RegistryAges
) -> None:
    await ages.age("bücher.org")
    assert server.asked[-1].target == "/org/domain/xn--bcher-kva.org"


async def test_without_a_client_every_age_is_unknown() -> None:
    assert (await RegistryAges().age("agency.org")).outcome == "unknown"


@given(st.text(max_size=60))
def test_any_text_is_a_domain_in_ascii_or_none(text: str) -> None:
    name = registrable_name(text)
    assert name is None or (name.isascii() and "/" not in name and "." in name)
