"""Keeps every request out of private networks.

`NetworkGuard.check_url` checks a URL before anything is sent. `GuardedBackend.connect_tcp` resolves
the name, checks every address, and connects to a checked address, so a name server gains nothing by
changing its answer (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import httpcore
import httpx

ALLOWED_PORTS = frozenset({80, 443, 8080, 8443})
"""The ports of web pages. Some services on other ports obey text that looks like HTTP."""

_DEFAULT_PORTS = {"http": 80, "https": 443}

# IANA's special-purpose address registries (RFC 6890) without their globally reachable entries,
# multicast (RFC 5771), and a public address at which a cloud serves its hosts' secrets
# (168.63.129.16). Python's `is_global` differs between patch releases. In IPv6, only 2000::/3 is
# global unicast (RFC 4291, section 2.4), except the networks listed here.
_CLOSED_TEXT = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12
192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 3fff::/20
"""
_CLOSED = tuple(map(ipaddress.ip_network, _CLOSED_TEXT.split()))
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_IPV4_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# RFC 5214, section 6.1: an interface identifier that carries an IPv4 address.
_ISATAP_MARKS = frozenset({0x00005EFE, 0x02005EFE})

# RFC 6761, RFC 6762, RFC 7686, RFC 8375 and the private-use TLD of ICANN (SAC113).
_PRIVATE_SUFFIXES = ("localhost", "local", "internal", "onion", "home.arpa")

_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_LONGEST_NAME = 253  # RFC 1035, section 2.3.4
_NUMBER_LABEL = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host name and a port to addresses. Raises OSError if that fails."""


class ForbiddenTargetError(Exception):
    """The guard refuses a URL, name or address. `reason` is a sentence without secrets."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NameTable:
    """Names with a fixed address, which the guard allows instead of asking DNS.

    Used for tests, the demo's miniature web, and services that a user has configured on a private
    network. Keys are a host (`search.example`), a host with the URL's port (`127.0.0.1:8888`), or
    all names under a suffix (`*.example`, without `example` itself); the most exact key wins.
    Values are the address and port to connect to.
    """

    def __init__(self, entries: Mapping[str, tuple[str, int]] | None = None) -> None:
        self._entries = {name.lower(): target for name, target in (entries or {}).items()}

    @classmethod
    def for_service(cls, base_url: str) -> NameTable:
        """Allow the host and port of a service, such as `http://127.0.0.1:8888/search`."""
        url = httpx.URL(base_url)
        port = url.port or _DEFAULT_PORTS[url.scheme]
        return cls({f"{host_of(url)}:{port}": (host_of(url), port)})

    def __or__(self, other: NameTable) -> NameTable:
        """Merge two tables; the right one's entries win."""
        return NameTable({**self._entries, **other._entries})

    def find(self, host: str, port: int) -> tuple[str, int] | None:
        """Return the fixed address and port of a name, or None if it has none."""
        labels = host.split(".")
        parents = (".".join(labels[first:]) for first in range(1, len(labels)))
        keys = (f"{host}:{port}", host, *(f"*.{parent}" for parent in parents))
        return next((self._entries[key] for key in keys if key in self._entries), None)


async def resolve_with_system(host: str, port: int) -> Sequence[str]:
    """Return all addresses of a name from the operating system's resolver, in its order."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


class NetworkGuard:
    """Decides which targets are allowed, and resolves their addresses."""

    def __init__(
        self,
        names: NameTable | None = None,
        *,
        resolver: Resolver = resolve_with_system,
        allowed_ports: frozenset[int] = ALLOWED_PORTS,
        https_only: bool = False,
    ) -> None:
        """With `https_only`, plain http is allowed only for names in the table."""
        self._names = names or NameTable()
        self._resolver = resolver
        self._allowed_ports = allowed_ports
        self._https_only = https_only

    def check_url(self, url: httpx.URL) -> None:
        """Raise ForbiddenTargetError for a URL with a forbidden form. Resolves nothing."""
        if url.scheme not in _DEFAULT_PORTS:
            raise ForbiddenTargetError(
                f"only http and https are fetched, not {url.scheme[:20] or 'a relative address'}"
            )
        if url.userinfo:
            raise ForbiddenTargetError("a URL that carries a user name or password is not fetched")
        host = host_of(url)
        port = url.port or _DEFAULT_PORTS[url.scheme]
        if self._names.find(host, port) is not None:
            return
        if self._https_only and url.scheme != "https":
            raise ForbiddenTargetError("only https is fetched here")
        _check_host(host)
        if port not in self._allowed_ports:
            allowed = ", ".join(str(number) for number in sorted(self._allowed_ports))
            raise ForbiddenTargetError(
                f"port {port} is not fetched from, only the ports of the web ({allowed})"
            )

    async def targets(self, host: str, port: int) -> Sequence[tuple[str, int]]:
        """Resolve a name and return its checked addresses and ports, best first.

        Raises ForbiddenTargetError: One of the addresses is not public; an honest site has no such
        address. Raises OSError: The name could not be resolved.
        """
        host = _normal(host)
        fixed = self._names.find(host, port)
        if fixed is not None:
            return (fixed,)
        _check_host(host)
        addresses = await self._resolver(host, port)
        for address in addresses:
            check_address(address)
        return tuple((address, port) for address in addresses)


class GuardedBackend(httpcore.AnyIOBackend):
    """Connects to checked addresses only; httpcore keeps the name for Host and SNI."""

    def __init__(self, guard: NetworkGuard) -> None:
        self._guard = guard

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first checked address that answers in time.

        Raises ForbiddenTargetError, and httpcore's own errors.
        """
        failure = httpcore.ConnectError(f"{host} has no address")
        try:
            async with asyncio.timeout(timeout):
                for address, target_port in await self._guard.targets(host, port):
                    try:
                        return await super().connect_tcp(
                            address,
                            target_port,
                            local_address=local_address,
                            socket_options=socket_options,
                        )
                    except httpcore.ConnectError as error:
                        failure = error
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from error
        raise failure


def host_of(url: httpx.URL) -> str:
    """Return the host as DNS gets it: ASCII, lower case, no closing dot."""
    return _normal(url.raw_host.decode("ascii", "replace"))


def check_address(address: str) -> None:
    """Raise ForbiddenTargetError unless the address is of a public unicast host."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError as error:
        raise ForbiddenTargetError(f"{address[:60]} is not an internet address") from error
    if not _is_public(parsed):
        raise ForbiddenTargetError(f"{parsed} is not a public address")


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        number = int(address)
        if address in _IPV4_MAPPED or address in _NAT64:
            return _is_public(ipaddress.IPv4Address(number & 0xFFFFFFFF))
        is_tunnel = (number >> 32) & 0xFFFFFFFF in _ISATAP_MARKS
        if is_tunnel or address not in _GLOBAL_UNICAST:
            return False
    return not any(address in network for network in _CLOSED)


def _normal(host: str) -> str:
    return host.lower().removesuffix(".")


def _check_host(host: str) -> None:
    if not host:
        raise ForbiddenTargetError("the URL names no host")
    if ":" in host:
        check_address(host)
        return
    if _HOST_NAME.fullmatch(host) is None or len(host) > _LONGEST_NAME:
        raise ForbiddenTargetError("the URL's host is not a host name")
    labels = host.split(".")
    # WHATWG URL, section 3.5: a host whose last label is a number is an IPv4 address. Only the
    # dotted form is accepted, because 0177.1, 0x7f000001 and 2130706433 serve as disguises.
    if _NUMBER_LABEL.fullmatch(labels[-1]):
        check_address(host)
    if any(host == suffix or host.endswith(f".{suffix}") for suffix in _PRIVATE_SUFFIXES):
        raise ForbiddenTargetError(f"{host[:80]} is a name of private networks")
    if len(labels) == 1:
        raise ForbiddenTargetError(f"{host[:80]} is a name without a domain")
