"""The forms of YouTube links, and the id of the video in them."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

_VIDEO_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_HOSTS = frozenset({"youtube.com", "youtube-nocookie.com", "youtubekids.com"})
_SUBDOMAINS = ("www.", "m.", "music.")
_SHORT_HOST = "youtu.be"
_PAGES = frozenset({"shorts", "live", "embed", "v", "e", "watch", "watch_popup", ""})
# Pages under /embed/ with the length of an id.
_EMBEDDED_PAGES = frozenset({"videoseries", "live_stream"})
_MAX_SHOWN = 120
_LINK = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|(?:www\.|m\.|music\.)?(?:youtube(?:-nocookie)?\.com|youtu\.be)/)",
    re.IGNORECASE,
)
_AROUND = " \t\r\n<>()[]{}\"'\u2018\u2019\u201c\u201d\u00ab\u00bb.,;:!?"
"""Punctuation around a pasted link."""


class NotAVideoLinkError(ValueError):
    """The text names no YouTube video. The message says what to give instead."""

    def __init__(self, link: str, problem: str) -> None:
        shown = link if len(link) <= _MAX_SHOWN else link[:_MAX_SHOWN] + "…"
        super().__init__(
            f"{shown!r} {problem}. Give the link of one video, such as "
            "https://www.youtube.com/watch?v=VIDEO_ID, or its id of 11 characters. For a talk "
            "from anywhere else, give a file: its transcript or its recording. For a podcast, list "
            "its feed with `factible corpus add FEED`."
        )


def is_video_id(text: str) -> bool:
    return _VIDEO_ID.fullmatch(text) is not None


def is_on_youtube(link: str) -> bool:
    try:
        host = (urlsplit(link.strip()).hostname or "").rstrip(".")
    except ValueError:
        return False
    return any(f".{host}".endswith(f".{known}") for known in (_SHORT_HOST, *_HOSTS))


def watch_url(video_id: str) -> str:
    return f"https://www.youtube.com/watch?v={video_id}"


def video_id_of(link: str) -> str:
    """Return the video id in a link; a bare id is valid too.

    Links may be watch, youtu.be, shorts, live, embed, v and attribution links on the desktop,
    mobile, music and no-cookie hosts, with or without a scheme and with any other parameters (list,
    t, si, …). NotAVideoLinkError for anything else, including playlists and channels.
    """
    text = link.strip()
    if is_video_id(text):
        return text
    try:
        parts = urlsplit(text if "://" in text or text.startswith("//") else f"//{text}")
        host = (parts.hostname or "").rstrip(".")
        target = parts._replace(netloc="")
        if "attribution_link" in parts.path:
            target = urlsplit(parse_qs(parts.query).get("u", [""])[0])
    except ValueError as error:
        raise NotAVideoLinkError(text, "is not a web address") from error
    for prefix in _SUBDOMAINS:
        host = host.removeprefix(prefix)
    if parts.scheme.lower() not in {"", "http", "https"} or host not in {_SHORT_HOST, *_HOSTS}:
        raise NotAVideoLinkError(text, "is not a YouTube link")
    if target.netloc:
        raise NotAVideoLinkError(text, "leads away from YouTube")
    parameters = parse_qs(target.query)
    short = ["e"] if host == _SHORT_HOST else []
    first, second, *_ = [*short, *filter(None, target.path.split("/")), "", ""]
    candidate = second or parameters.get("v", [""])[0]
    if is_video_id(candidate) and candidate not in _EMBEDDED_PAGES and first.lower() in _PAGES:
        return candidate
    if first.startswith("@") or first.lower() in {"channel", "c", "user"}:
        raise NotAVideoLinkError(text, "names a channel, not a video")
    if first.lower() == "playlist" or ("list" in parameters and "v" not in parameters):
        raise NotAVideoLinkError(text, "names a playlist, not a video")
    raise NotAVideoLinkError(text, "contains no video id of 11 characters")


def bare_id(target: str) -> str:
    """Return the id in a YouTube link; return any other text unchanged.

    Raises NotAVideoLinkError if it is a link, but not to a YouTube video.
    """
    # People paste a link with surrounding punctuation and invisible characters.
    visible = (letter for letter in target if letter.isprintable() or letter.isspace())
    link = "".join(visible).strip(_AROUND)
    if not _LINK.match(link):
        return target
    before, mark, parameters = link.partition("?")
    try:
        return video_id_of(f"{before}{mark}{parameters.replace('?', '&')}")
    except NotAVideoLinkError as error:
        if len(link.split()) > 1 or link.count("://") > 1:
            raise NotAVideoLinkError(target, "holds more than one link or word") from error
        raise
