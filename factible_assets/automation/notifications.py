"""Telling somebody: a webhook that hears of flipped verdicts and of runs that failed.

What belongs here: what is told, and sending it. What does not: when (nightly.py).

A message is JSON with a `text` that chat services show as it is, and the facts beside it for
programs. Its address is a secret, for whoever knows a webhook can write to it: it stands in no log
and in no error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from resources.http import HttpClient, HttpFailureError
from resources.network_guard import NameTable, NetworkGuard

if TYPE_CHECKING:
    from factible_assets.rows import VerdictChange

_SHOWN = 10
_REFUSED = 300

Message = Mapping[str, Any]


def flips_message(
    video_id: str, title: str | None, run_id: str, flips: Sequence[VerdictChange]
) -> Message:
    """Return what is told of the verdicts that a run turned."""
    name = title or video_id
    count = f"{len(flips)} verdict{'' if len(flips) == 1 else 's'}"
    lines = [f"{each.words}: {each.claim}" for each in flips[:_SHOWN]]
    if len(flips) > _SHOWN:
        lines.append(f"and {len(flips) - _SHOWN} more")
    return {
        "event": "verdict_flips",
        "text": "\n".join([f"{count} of {name} turned.", *lines]),
        "video_id": video_id,
        "title": title,
        "run_id": run_id,
        "flips": [
            {
                "claim_id": each.claim_id,
                "claim": each.claim,
                "previous_stance": each.previous_stance,
                "stance": each.stance,
                "confidence": each.confidence,
            }
            for each in flips
        ],
    }


def failure_message(video_id: str | None, job: str, run_id: str, reason: str) -> Message:
    """Return what is told of a run that failed."""
    of = f" of {video_id}" if video_id else ""
    return {
        "event": "run_failed",
        "text": f"The run {run_id[:8]} ({job}){of} failed: {reason}",
        "video_id": video_id,
        "job": job,
        "run_id": run_id,
        "reason": reason,
    }


async def send(url: str, message: Message) -> str | None:
    """Send a message; return why it could not be delivered, None if it was.

    The webhook may be on an own network: its address, and no other, is exempt from the guard.
    """
    try:
        guard = NetworkGuard(names=NameTable.for_service(url))
    except ValueError:
        return "FACTIBLE_NOTIFY_URL is no address of a webhook; write it as https://HOST/PATH."
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    try:
        async with HttpClient(guard=guard) as http:
            answer = await http.post(
                url, content=body, headers={"Content-Type": "application/json"}
            )
    except HttpFailureError as failure:
        return f"The webhook in FACTIBLE_NOTIFY_URL was not reached: {failure.reason}."
    if answer.status >= _REFUSED:
        return f"The webhook in FACTIBLE_NOTIFY_URL answered with HTTP status {answer.status}."
    return None
