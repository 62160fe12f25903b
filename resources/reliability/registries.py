"""What a domain registry is asked, and the ways in which it has no answer.

What belongs here: the door to a registry and its errors. What does not: any protocol (rdap.py,
whois_registry.py), and what an age is made of it (ages.py).
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class RegistryError(Exception):
    """A registry has no answer. `reason` is a sentence for a person, without its first capital."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RegistryOutageError(RegistryError):
    """The registry failed, and may answer another time."""


class NotRegisteredError(RegistryError):
    """The registry is sure that nobody registered this domain."""


class Registry(Protocol):
    """Knows when domains were registered."""

    async def registered_at(self, domain: str) -> datetime | None:
        """Return when a registrable domain was registered, with a time zone.

        None if this registry does not say: another one may.

        Args:
            domain: In ASCII, lower case, without a closing dot.

        Raises:
            NotRegisteredError: The domain is free.
            RegistryOutageError: The registry failed.
        """
        ...
