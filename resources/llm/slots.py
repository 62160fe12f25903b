"""How many questions a server on this machine answers at once.

What belongs here: asking llama.cpp's server for its slots. What does not: handing out turns
(limits.py), asking questions (structured.py).

A request beyond the slots waits inside the server, and its waiting would count as the time that an
answer takes. So no more requests are sent than there are slots.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

OWN_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts that are this machine."""

_SECONDS = 5.0


async def slots_of(base_url: str) -> int | None:
    """Return the number of slots of the server at an address; None where it does not say.

    Only servers on this machine are asked. Every failure is None: most servers have no such page.
    """
    address = urlsplit(base_url)
    if address.hostname not in OWN_MACHINE:
        return None
    try:
        async with httpx.AsyncClient(timeout=_SECONDS, follow_redirects=False) as client:
            answer = await client.get(f"{address.scheme}://{address.netloc}/props")
            told = answer.json() if answer.is_success else {}
    except (httpx.HTTPError, ValueError):
        return None
    slots = told.get("total_slots") if isinstance(told, dict) else None
    return slots if isinstance(slots, int) and slots >= 1 else None
