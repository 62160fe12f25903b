"""One grammar of times: clocks such as 1:02:03.5 or 0:03, and amounts such as 3.5 s or PT1M3S."""

from __future__ import annotations

import re
from typing import Final

CLOCK: Final = r"(?:\d{1,3}:)?\d{1,3}:[0-5]\d(?:[.,]\d{1,3}|[:;]\d\d(?!\d))?(?!\d|:\d)"
"""A clock inside a line, with a fraction or the number of a frame."""
AMOUNT: Final = (
    r"(?=\d{1,5}(?:\.\d{1,3})?[hms])(?:\d{1,3}h)?(?:\d{1,3}m(?:in)?)?"
    r"(?:\d{1,5}(?:\.\d{1,3})?s(?:ec)?)?(?<!\d)(?!\w)"
)
"""An amount of time inside a line, such as 1h2m3s or 12.5s, without spaces."""
_CLOCK = re.compile(r"(-?)(?:(?:(\d{1,4}):)?(\d{1,3}):)?(\d{1,3})(?:[.,](\d{0,9})|[:;]\d\d?)?:?")
_AMOUNT = re.compile(
    r"(?=.*\d)(?:PT)?(?:(\d+)\s*h[a-z]*\.?[\s,]*)?(?:(\d+)\s*m(?:in[a-z]*\.?)?[\s,]*)?"
    r"(?:(\d+(?:[.,]\d+)?)\s*s(?:ec[a-z]*\.?)?)?",
    re.IGNORECASE,
)
_LONGEST, _MINUTE = 40, 60


def seconds_of(text: str) -> float | None:
    """Return the seconds of a time such as 1:02:03.500, 2:03, 3,5 or 1m 3s; None for other text.

    A negative time, from a tool that shifted captions too far, is zero. A frame does not count.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if match := _CLOCK.fullmatch(text):
        sign, hours, minutes, seconds, fraction = match.groups()
        if minutes is None and fraction is None:
            return None  # a whole number
        if (minutes and int(seconds) >= _MINUTE) or (hours and int(minutes) >= _MINUTE):
            return None
        whole = (int(hours or 0) * _MINUTE + int(minutes or 0)) * _MINUTE + int(seconds)
        return 0.0 if sign else (whole * 1000 + int((fraction or "0").ljust(3, "0")[:3])) / 1000
    if match := _AMOUNT.fullmatch(text):
        hours, minutes, seconds = (
            float((number or "0").replace(",", ".")) for number in match.groups()
        )
        return (hours * _MINUTE + minutes) * _MINUTE + seconds
    return None
