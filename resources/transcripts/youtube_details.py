"""What YouTube says about a video: its title, channel, length and day of publication.

What belongs here: reading them from oEmbed's answer and from a watch page. What does not: asking
for either (youtube.py), and the words of the video.

Sources: the oEmbed specification (https://oembed.com, section 2.3.4: title, author_name), and the
watch page's player response and its schema.org VideoObject (name, duration, datePublished).
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from resources.transcripts.base import VideoDetails
from resources.transcripts.captions import one_line

_PLAYER_RESPONSE = re.compile(r"ytInitialPlayerResponse\s*=\s*(?=\{)")
_ITEM = re.compile(
    r'<(?:meta|link)\s+itemprop="(name|duration|datePublished|uploadDate)"\s+content="([^"]*)"'
)
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")
_UNIT_SECONDS = (86_400, 3_600, 60, 1)


def details_from_oembed(body: bytes) -> VideoDetails:
    """Read title and channel from oEmbed's answer.

    Raises:
        ValueError: It is no JSON object.
    """
    try:
        answer = json.loads(body)
    except RecursionError as error:
        raise ValueError("the answer is nested too deeply") from error
    if not isinstance(answer, dict):
        raise ValueError("the answer is no JSON object")
    return VideoDetails(
        title=_words(answer.get("title")), channel=_words(answer.get("author_name"))
    )


def details_from_watch_page(page: str) -> VideoDetails:
    """Read what a watch page says. What it does not say, or says damaged, is None."""
    player = _player_response(page)
    video = _part(player, "videoDetails")
    micro = _part(_part(player, "microformat"), "playerMicroformatRenderer")
    items = {name: html.unescape(value) for name, value in reversed(_ITEM.findall(page))}
    return VideoDetails(
        title=_words(video.get("title")) or _words(items.get("name")),
        channel=_words(video.get("author")) or _words(micro.get("ownerChannelName")),
        duration_seconds=(
            _seconds(video.get("lengthSeconds"))
            or _seconds(micro.get("lengthSeconds"))
            or _iso_duration(items.get("duration", ""))
        ),
        published_on=(
            _day(micro.get("publishDate"))
            or _day(items.get("datePublished"))
            or _day(micro.get("uploadDate"))
            or _day(items.get("uploadDate"))
        ),
    )


def joined(first: VideoDetails, second: VideoDetails) -> VideoDetails:
    """Return the first details, with the second's in its gaps, and the problems of both."""
    return replace(
        first,
        title=first.title or second.title,
        channel=first.channel or second.channel,
        duration_seconds=first.duration_seconds or second.duration_seconds,
        published_on=first.published_on or second.published_on,
        problems=first.problems + second.problems,
    )


def _player_response(page: str) -> Mapping[str, object]:
    start = _PLAYER_RESPONSE.search(page)
    if start is None:
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(page, start.end())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _part(whole: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _words(value: object) -> str | None:
    return (one_line(value) or None) if isinstance(value, str) else None


def _seconds(value: object) -> float | None:
    """Read a length; live streams have the length 0, which is no length."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _iso_duration(value: str) -> float | None:
    """Read a duration such as PT3M33S (ISO 8601, without years and months)."""
    match = _ISO_DURATION.fullmatch(value.strip())
    if match is None:
        return None
    parts = zip(match.groups(), _UNIT_SECONDS, strict=True)
    return _seconds(sum(float(amount) * unit for amount, unit in parts if amount))


def _day(value: object) -> date | None:
    """Read the day of a date or a time as it is written, in the time zone that it names."""
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value.strip()[:10])
    except ValueError:
        return None
