"""A YouTube on loopback: the paths that the transcript library requests, for one video."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass

from tests.servers import MisbehavingServer, respond, respond_json

VIDEO = "abcDEF_-123"
WATCH = "/watch"
PLAYER = "/youtubei/v1/player"
CAPTIONS = "/api/timedtext"
API_KEY = "canary-innertube_4711"


@dataclass(frozen=True)
class Track:
    """Captions as the player lists them; `path` gives each its own answer on the server."""

    language: str
    generated: bool = False
    translatable: bool = True
    url: str | None = None

    @property
    def listed(self) -> dict[str, object]:
        kind = {"kind": "asr"} if self.generated else {}
        base = f"https://www.youtube.com{CAPTIONS}?v={VIDEO}&lang={self.language}&fmt=srv3"
        return {
            "baseUrl": self.url or base,
            "name": {"runs": [{"text": self.language.upper()}]},
            "languageCode": self.language,
            "isTranslatable": self.translatable,
            **kind,
        }


def watch_page(*, details: bool = True) -> str:
    player = {
        "videoDetails": {
            "videoId": VIDEO,
            "title": "Sugar & “children”; a talk",
            "author": "The Channel",
            "lengthSeconds": "213",
        },
        "microformat": {
            "playerMicroformatRenderer": {
                "publishDate": "2021-03-05T23:57:33-08:00",
                "uploadDate": "2021-03-04",
            }
        },
    }
    script = f"var ytInitialPlayerResponse = {json.dumps(player)};var x = 1;" if details else ""
    return (
        f'<html><script>ytcfg.set({{"INNERTUBE_API_KEY": "{API_KEY}"}});</script>'
        f"<script>{script}</script></html>"
    )


def player(*tracks: Track) -> dict[str, object]:
    return {
        "playabilityStatus": {"status": "OK"},
        "captions": {
            "playerCaptionsTracklistRenderer": {
                "captionTracks": [track.listed for track in tracks],
                "translationLanguages": [
                    {"languageCode": code, "languageName": {"runs": [{"text": code}]}}
                    for code in ("en", "de")
                ],
            }
        },
    }


def unplayable(status: str, reason: str | None, *more: str) -> dict[str, object]:
    runs = [{"text": part} for part in more]
    screen = {"playerErrorMessageRenderer": {"subreason": {"runs": runs}}}
    return {"playabilityStatus": {"status": status, "reason": reason, "errorScreen": screen}}


def timed_text(*cues: tuple[float, float, str]) -> str:
    lines = "".join(
        f'<text start="{start}" dur="{duration}">{html.escape(html.escape(words))}</text>'
        for start, duration, words in cues
    )
    return f'<?xml version="1.0" encoding="utf-8" ?><transcript>{lines}</transcript>'


TALK = timed_text((0.0, 2.5, "Sugar does\nnot"), (2.5, 2.0, "make <i>children</i> wild & loud"))
CONSENT_PAGE = (
    '<form action="https://consent.youtube.com/s"><input name="v" value="cb.20210328"></form>'
)


def open_video(server: MisbehavingServer, *tracks: Track) -> None:
    """Put a video with its captions on a server; without tracks, written English ones."""
    server.on(WATCH, respond(watch_page()))
    server.on(PLAYER, respond_json(player(*(tracks or (Track("en"),)))))
    server.on(CAPTIONS, respond(TALK, content_type="text/xml; charset=utf-8"))
