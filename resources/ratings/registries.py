"""The age of a registered domain, from its registry: by RDAP, then by WHOIS.

RDAP: RFC 9224 (bootstrap file), RFC 9082, section 3.1.3 (path of a domain), RFC 9083, sections 4.5
and 5.3 (events). WHOIS: RFC 3912; python-whois knows the servers and the formats of their answers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, TypeAlias

import httpcore
from whois.exceptions import WhoisDomainNotFoundError, WhoisError
from whois.parser import WhoisEntry
from whois.whois import NICClient

from resources import http
from resources.http import HttpClient
from resources.network_guard import ForbiddenTargetError, GuardedBackend, NameTable, NetworkGuard
from resources.ratings.base import DomainAge, ascii_host
from resources.single_flight import SingleFlight

Registry: TypeAlias = Callable[[str], Awaitable[datetime | None]]
"""Returns when a registrable domain (ASCII, lower case, no closing dot) was registered, with a time
zone; None if unknown, so that the next registry may know. Raises UnavailableError if the domain is
free, OutageError if the registry failed."""
BOOTSTRAP_URL = "https://data.iana.org/rdap/dns.json"
_YEAR = timedelta(days=365.25)
_AT_ONCE = 8
# RFC 2606, RFC 6761, RFC 6762, RFC 7686, RFC 3172 and ICANN's private-use TLD: never registered.
_RESERVED = frozenset(
    {"alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion", "test"}
)


class RegistryAges:
    """Asks registries in turn, the fastest first, until one knows when a domain was registered.

    `seconds` is the time limit of each registry; ages count back from `now`.
    """

    def __init__(
        self,
        registries: Sequence[Registry],
        *,
        seconds: float = 10.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._registries = tuple(registries)
        self._seconds = seconds
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._now = now

    async def age(self, domain: str) -> DomainAge:
        """Return a registrable domain's age. A failure is an answer, no error."""
        name = registrable_name(domain)
        if not self._registries:
            return DomainAge("unknown", reason="no domain registry is configured")
        if name is None:
            return DomainAge("unknown", reason=f"nobody can register {domain[:80]!r}")
        outages = []
        for registered_at in self._registries:
            try:
                async with self._slots, asyncio.timeout(self._seconds):
                    moment = await registered_at(name)
            except http.UnavailableError as error:
                return DomainAge("unknown", reason=error.reason)
            except http.OutageError as error:
                outages.append(error.reason)
            except TimeoutError:
                outages.append(f"a registry was not done after {self._seconds:g} seconds")
            else:
                if moment is None:
                    continue
                years = (self._now() - moment) / _YEAR
                future = "the registry names a day in the future"
                return DomainAge("unknown", reason=future) if years < 0 else DomainAge("ok", years)
        nothing = f"no registry knows when {name} was registered"
        return DomainAge("outage" if outages else "unknown", reason="; ".join(outages) or nothing)


def registrable_name(domain: str) -> str | None:
    """Return a domain in the form of registries; None if nobody can register it."""
    name = ascii_host(domain.strip().rstrip(".").lower())
    return None if name is None or name.rpartition(".")[2] in _RESERVED else name


def _earliest(moments: Iterable[object]) -> datetime | None:
    known = (moment for moment in moments if isinstance(moment, datetime))
    zoned = (moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in known)
    return min(zoned, default=None)


# --- RDAP ---------------------------------------------------------------------------------------

_RDAP_BYTES = 3_000_000
_ACCEPT = {"Accept": "application/rdap+json, application/json"}


class RdapRegistry:
    """Asks each domain's own registry by RDAP, and fetches the list of registries once.

    The client's guard must allow the host of the list (`bootstrap_url`).
    """

    def __init__(self, http: HttpClient, *, bootstrap_url: str = BOOTSTRAP_URL) -> None:
        self._http = http
        self.bootstrap_url = bootstrap_url
        self._once: SingleFlight[Mapping[str, str]] = SingleFlight()

    async def registered_at(self, domain: str) -> datetime | None:
        addresses = await self._once.get(self.bootstrap_url, self._bootstrap)
        suffix = domain.partition(".")[2]
        while suffix and suffix not in addresses:
            suffix = suffix.partition(".")[2]
        if suffix not in addresses:
            return None
        url = f"{addresses[suffix].rstrip('/')}/domain/{domain}"
        with _as_outage("RDAP"):
            try:
                response = await self._http.get(url, headers=_ACCEPT, max_bytes=_RDAP_BYTES)
            except http.UnavailableError:
                return None  # the guard forbids the registry's address
            if response.status == HTTPStatus.BAD_REQUEST:
                return None  # the registry did not understand the request
            is_free = response.status == HTTPStatus.NOT_FOUND
            answer = {} if is_free else http.read_object(response)
            events = answer.get("events", [])
            if "errorCode" in answer or not isinstance(events, list):
                raise http.OutageError("the answer is an error, or has no list of events")
        if is_free:
            raise http.UnavailableError(f"the registry knows no domain {domain}")
        name = answer.get("ldhName")
        if isinstance(name, str) and name.lower().rstrip(".") != domain:
            return None
        moments = []
        for event in events:
            if isinstance(event, dict) and event.get("eventAction") == "registration":
                with suppress(ValueError, TypeError):
                    moments.append(datetime.fromisoformat(event.get("eventDate", "")))
        return _earliest(moments)

    async def _bootstrap(self) -> Mapping[str, str]:
        """Return the registry's address of each suffix, by TLS if available; OutageError."""
        with _as_outage("RDAP: the list of registries is missing"):
            response = await self._http.get(self.bootstrap_url, max_bytes=_RDAP_BYTES)
            return _services(http.read_object(response))


@contextmanager
def _as_outage(beginning: str) -> Iterator[None]:
    """Turn every HTTP failure of a block into an outage; its reason starts with `beginning`."""
    try:
        yield
    except http.HttpFailureError as failure:
        raise http.OutageError(f"{beginning}: {failure.reason}") from failure


def _services(bootstrap: Mapping[str, Any]) -> Mapping[str, str]:
    addresses: dict[str, str] = {}
    try:
        for suffixes, urls in bootstrap["services"]:
            usable = [url for url in urls if url.startswith("http")]
            usable.sort(key=lambda url: not url.startswith("https:"))
            addresses.update((name.lower(), usable[0]) for name in suffixes if usable)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise http.OutageError("the answer lists services of another shape") from error
    return addresses


# --- WHOIS --------------------------------------------------------------------------------------

_WHOIS_PORT, _WHOIS_BYTES, _BLOCK = 43, 65_536, 4_096
_NAMED_SERVER = re.compile(r"whois:[ \t]+(\S+)")
_FIELD = re.compile(r"\W*(?P<name>\w[\w /().-]{0,40}?)[\s.]*(?:[:\]]|\t)\s*(?P<value>.*)")
"""A field of a record: a name, then a colon, a closing bracket (.jp) or a tab, then a value."""
_MOST_LINE, _MOST_PARSED = 200, 4_096
"""Characters of a line and of an answer that are parsed. Patterns of python-whois take quadratic
time: a minute for 64 KB of one letter. The day of registration stands near the beginning.
"""
_BLANK_LINES = re.compile(r"\n\s*\n")
_PARSER_ERRORS = WhoisError, ValueError, TypeError, AttributeError, LookupError, OverflowError


class _KnownServers(NICClient):  # type: ignore[misc] # python-whois ships no types
    def findwhois_iana(self, tld: str) -> None:
        """Do not ask IANA for an unknown suffix: the library would do so without limits."""


class WhoisRegistry:
    """Asks the WHOIS server of a domain's suffix, at public addresses only.

    `names` maps servers, as `HOST:43`, to other addresses.
    """

    def __init__(self, *, names: NameTable | None = None) -> None:
        self._backend = GuardedBackend(NetworkGuard(names))
        self._servers: dict[str, str | None] = {}

    async def registered_at(self, domain: str) -> datetime | None:
        suffix = domain.rpartition(".")[2]
        try:
            host = _KnownServers().choose_server(domain) or self._servers.get(suffix)
            if host is None and suffix not in self._servers:
                named = _NAMED_SERVER.search(await self._ask(NICClient.IANAHOST, suffix))
                host = self._servers[suffix] = named[1] if named else None
            if host is None:
                return None
            # Japan's server answers in English on request.
            question = f"{domain}/e" if host.endswith(".jp") else domain
            answer = await self._ask(host, question)
        except ForbiddenTargetError as error:
            raise http.OutageError(f"WHOIS: the server is forbidden: {error.reason}") from error
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            raise http.OutageError("WHOIS: the registry did not answer") from error
        return await asyncio.to_thread(_created, domain, answer)

    async def _ask(self, host: str, question: str) -> str:
        stream = await self._backend.connect_tcp(host, _WHOIS_PORT)
        try:
            await stream.write(f"{question}\r\n".encode())
            answer = b""
            while block := await stream.read(_BLOCK):
                answer += block
                if len(answer) > _WHOIS_BYTES:
                    raise http.OutageError("WHOIS: the answer is larger than any registry's")
        finally:
            await stream.aclose()
        text = answer.decode("utf-8", "replace")
        if not text.strip():
            raise http.OutageError("WHOIS: the registry sent nothing")
        return text


def _created(domain: str, answer: str) -> datetime | None:
    """Return the day of registration in an answer, None for a record without one.

    Raises UnavailableError if the domain is free, and OutageError if the answer is no record of the
    domain: refusals have too many wordings to recognise, but none looks like a record.
    """
    created, is_free = None, False
    lines = "\n".join(line[:_MOST_LINE].rstrip() for line in answer.splitlines())
    record = _BLANK_LINES.sub("\n\n", lines)[:_MOST_PARSED]
    try:
        created = WhoisEntry.load(domain, record).get("creation_date")
    except WhoisDomainNotFoundError:
        is_free = "this tld has no whois server" not in answer.lower()
    except _PARSER_ERRORS:
        pass
    moment = _earliest(created if isinstance(created, list) else [created])
    if moment is None and is_free:
        raise http.UnavailableError(f"the registry knows no domain {domain}")
    if moment is None and not _is_record(domain, answer):
        raise http.OutageError(f"WHOIS: the registry gave no record of {domain}; it may refuse")
    return moment


def _is_record(domain: str, answer: str) -> bool:
    """Tell whether an answer has the domain, as a whole line or in a field, and more fields."""
    names = {domain}
    with suppress(UnicodeError):
        names.add(domain.encode("ascii").decode("idna"))
    values, fields = set[str](), 0
    for line in answer.splitlines():
        if line.startswith(("%", "#")):  # comments (RFC 2622, section 2)
            continue
        field = _FIELD.match(line[:_MOST_LINE])
        is_field = field is not None and field["name"].casefold() not in names
        fields += is_field
        values.add((field["value"] if field and is_field else line).strip(" \t.\"'").casefold())
    return fields > 1 and not names.isdisjoint(values)
