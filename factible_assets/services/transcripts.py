"""Where the words of a video come from when no file holds them.

What belongs here: the YouTube client as the settings want it. What does not: the client
(resources/transcripts), corpora, what is stored of a transcript (assets/transcripts.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from factible_assets.settings import Settings

if TYPE_CHECKING:
    from youtube_transcript_api.proxies import ProxyConfig

    from resources.transcripts.youtube import YouTubeTranscripts


def youtube_transcripts(settings: Settings) -> YouTubeTranscripts:
    """Return a YouTube client for the running event loop; it holds nothing open."""
    # Imported late: few runs ask YouTube, and its library takes a while to load.
    from resources.transcripts.youtube import YouTubeTranscripts  # noqa: PLC0415
    from resources.transcripts.youtube_session import ORIGIN  # noqa: PLC0415

    return YouTubeTranscripts(
        languages=settings.languages,
        translate=settings.translate,
        proxy=_proxy(settings),
        origin=settings.endpoints.get("youtube", ORIGIN),
    )


def _proxy(settings: Settings) -> ProxyConfig | None:
    """Return the proxy for when YouTube refuses this address; a plain one before Webshare's."""
    from resources.transcripts.youtube_session import (  # noqa: PLC0415 - as above
        http_proxy,
        webshare_proxy,
    )

    name, password = settings.webshare_proxy_username, settings.webshare_proxy_password
    if settings.youtube_proxy is not None:
        return http_proxy(settings.youtube_proxy.get_secret_value())
    if name is not None and password is not None:
        return webshare_proxy(name.get_secret_value(), password.get_secret_value())
    return None
