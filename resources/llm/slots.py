"""How many questions a server on this machine answers at once.

What belongs here: asking llama.cpp's server for its slots. What does not: handing out turns
(limits.py), asking questions (structured.py).

A request beyond the slots waits inside the server, and its waiting would count as the time that an
answer takes. So no more requests are sent than there are slots.
"""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import httpx

OWN_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts that are this machine."""

_SECONDS, _KEPT_SECONDS = 5.0, 600.0
_KNOWN: dict[str, tuple[float, int | None]] = {}


async def slots_of(base_url: str) -> int | None:
    """Return the number of slots of the server at an address; None where it does not say.

    Only servers on this machine are asked, once in ten minutes. Every failure is None: most servers
    have no such page.
    """
    address = urlsplit(base_url)
    if address.hostname not in OWN_MACHINE:
        return None
    now, known = time.monotonic(), _KNOWN.get(address.netloc)
    if known is None or now - known[0] > _KEPT_SECONDS:
        known = _KNOWN[address.netloc] = now, await _asked(f"{address.scheme}://{address.netloc}")
    return known[1]


async def _asked(address: str) -> int | None:
    try:
        async with httpx.AsyncClient(timeout=_SECONDS, follow_redirects=False) as client:
            answer = await client.get(f"{address}/props")
            told = answer.json() if answer.is_success else {}
    except (httpx.HTTPError, ValueError):
        return None
    slots = told.get("total_slots") if isinstance(told, dict) else None
    return slots if isinstance(slots, int) and slots >= 1 else None
