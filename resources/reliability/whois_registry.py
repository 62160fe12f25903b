"""Registration dates by WHOIS (RFC 3912), for registries that speak nothing newer.

What belongs here: asking through python-whois within bounds, and what its answers mean. What does
not: RDAP (rdap.py), ages (ages.py).

The library chooses the server and knows the registries' many formats. Its sockets are replaced by
its own door for that: one deadline for all that a look-up does, a bound on what is read, and only
public addresses, because one server may name the next. It blocks, so it runs in a thread.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from datetime import UTC, datetime

from whois.exceptions import WhoisDomainNotFoundError, WhoisError
from whois.parser import WhoisEntry
from whois.whois import NICClient

from resources.network_guard import ForbiddenTargetError, NameTable, check_address
from resources.reliability.base import NotRegisteredError, RegistryOutageError

_MAX_BYTES = 65_536
_BACKSTOP_SECONDS = 1.0
_REFUSED = "WHOIS: the registry refuses to be asked so often"
_NO_SERVER = "this tld has no whois server"
_REFUSAL = re.compile(
    r"(?:quota|limit|number of (?:allowed )?queries)\b.{0,40}\bexceeded"
    r"|too many (?:queries|requests)|try again later|black ?listed|access (?:is )?denied",
    re.IGNORECASE,
)
_PARSER_ERRORS = WhoisError, ValueError, TypeError, AttributeError, LookupError, OverflowError


class WhoisRegistry:
    """Asks the WHOIS server of a domain's suffix.

    Args:
        names: WHOIS servers that are served elsewhere, as `HOST:43`; public ones if None.
        server: Asked in place of every other server, IANA's included: a host and a port, such as a
            relay on an own network.
        seconds: The time that one look-up may take.
    """

    def __init__(
        self,
        *,
        names: NameTable | None = None,
        server: tuple[str, int] | None = None,
        seconds: float = 8.0,
    ) -> None:
        self._names = names or NameTable()
        self._server = server
        self._seconds = seconds
        self._servers: dict[str, str | None] = {}

    async def registered_at(self, domain: str) -> datetime | None:
        """Return when a domain was registered; see Registry.registered_at."""
        try:
            # The sockets keep the deadline; this is for a name that does not resolve in time.
            async with asyncio.timeout(self._seconds + _BACKSTOP_SECONDS):
                return await asyncio.to_thread(self._look_up, domain)
        except TimeoutError as error:
            raise RegistryOutageError("WHOIS: the registry was not done in time") from error

    def _look_up(self, domain: str) -> datetime | None:
        end = time.monotonic() + self._seconds
        client = _BoundedClient(self._names, self._servers, end, self._server)
        try:
            answer = client.whois_lookup(
                None, domain, NICClient.WHOIS_QUICK, quiet=True, ignore_socket_errors=False
            )
        except TimeoutError as error:
            raise RegistryOutageError("WHOIS: the registry was not done in time") from error
        except ForbiddenTargetError as error:
            raise RegistryOutageError(f"WHOIS: the server is not asked: {error.reason}") from error
        except (OSError, ValueError) as error:
            raise RegistryOutageError("WHOIS: the registry could not be asked") from error
        finally:
            client.close()
        if not client.was_asked:
            return None
        return _registered(domain, str(answer))


class _BoundedClient(NICClient):  # type: ignore[misc] # python-whois ships no types
    def __init__(
        self,
        names: NameTable,
        servers: dict[str, str | None],
        end: float,
        only: tuple[str, int] | None,
    ) -> None:
        super().__init__()
        self._names = names
        self._servers = servers
        self._end = end
        self._only = only
        self._sockets: list[_BoundedSocket] = []

    @property
    def was_asked(self) -> bool:
        """Whether a server was found for the suffix, beside the one that lists servers."""
        return any(sock.host != NICClient.IANAHOST for sock in self._sockets)

    def findwhois_iana(self, tld: str) -> str | None:
        """Return a suffix's server, for which IANA is asked once."""
        if tld not in self._servers:
            self._servers[tld] = super().findwhois_iana(tld)
        return self._servers[tld]

    def get_socket(self) -> socket.socket:
        """Hand the library a socket that keeps this client's bounds."""
        sock = _BoundedSocket(self._names, self._end, self._only)
        self._sockets.append(sock)
        return sock

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()


class _BoundedSocket(socket.socket):
    def __init__(self, names: NameTable, end: float, only: tuple[str, int] | None) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self._only = only
        self._names = names
        self._end = end
        self._room = _MAX_BYTES
        self.host = ""

    def connect(self, address: object) -> None:
        """Connect to a server's checked address."""
        match address:
            case (str(host), int(port)):
                self.host = host
            case _:
                raise ValueError("a WHOIS server is a host and a port")
        target = self._only or self._names.find(host, port)
        if target is None:
            found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
            addresses = [str(entry[4][0]) for entry in found]
            for each in addresses:
                check_address(each)
            target = addresses[0], port
        self._keep_deadline()
        super().connect(target)

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Receive no longer and no more than the bounds allow."""
        self._keep_deadline()
        data = super().recv(size, flags)
        self._room -= len(data)
        if self._room < 0:
            raise ValueError("the answer is larger than any registry's")
        return data

    def _keep_deadline(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)


def _registered(domain: str, answer: str) -> datetime | None:
    if not answer.strip():
        raise RegistryOutageError("WHOIS: the registry sent nothing")
    try:
        created = WhoisEntry.load(domain, answer).get("creation_date")
    except WhoisDomainNotFoundError as error:
        if _NO_SERVER in answer.lower():
            return None
        if _REFUSAL.search(answer):
            raise RegistryOutageError(_REFUSED) from error
        raise NotRegisteredError(f"the registry knows no domain {domain}") from error
    except _PARSER_ERRORS:
        created = None
    moments = [
        moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        for moment in (created if isinstance(created, list) else [created])
        if isinstance(moment, datetime)
    ]
    if not moments and _REFUSAL.search(answer):
        raise RegistryOutageError(_REFUSED)
    return min(moments, default=None)
