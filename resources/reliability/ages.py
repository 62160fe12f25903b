"""How old a registered domain is.

What belongs here: the answer's shape and its sources. What does not: what an age is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class DomainAge:
    """An age in years, or why there is none: unknown for good, or an outage of the registry."""

    outcome: Literal["ok", "unknown", "outage"]
    years: float | None = None
    reason: str | None = None


class UnknownAges:
    """Knows no ages, because no registry may be asked."""

    async def age(self, domain: str) -> DomainAge:
        """Answer that the age is unknown; asks nobody."""
        return DomainAge("unknown", reason="no domain registry is configured to be asked")
