"""Transcripts and details of YouTube videos, through youtube-transcript-api.

What belongs here: asking for them, the choice of language, the retry through a proxy, and keeping
blocking work off the event loop. What does not: HTTP (youtube_session.py), the names of failures
(youtube_outcomes.py), reading details (youtube_details.py), links (youtube_ids.py).

The library's client is not thread-safe, because of the session in it. So every call makes its own
client and its own session, in the worker thread that uses them, and closes them there; nothing of
it is shared between calls.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlencode

import requests
from youtube_transcript_api import (
    FetchedTranscript,
    Transcript,
    TranscriptList,
    YouTubeTranscriptApi,
)
from youtube_transcript_api.proxies import ProxyConfig

from resources.transcripts.base import (
    Cue,
    Found,
    NoTranscript,
    Outage,
    TimedText,
    TranscriptAnswer,
    UnknownVideo,
    Unreadable,
    VideoDetails,
)
from resources.transcripts.captions import one_line
from resources.transcripts.youtube_details import (
    details_from_oembed,
    details_from_watch_page,
    joined,
)
from resources.transcripts.youtube_ids import is_video_id, watch_url
from resources.transcripts.youtube_outcomes import READING_ERRORS, Blocked, failure_of
from resources.transcripts.youtube_session import ORIGIN, YouTubeSession

DEFAULT_LANGUAGES = ("en", "en-US")

_BACKSTOP_SECONDS = 2.0
_MAX_LISTED = 12
_Value = TypeVar("_Value")


class YouTubeTranscripts:
    """The provider of YouTube's captions. It belongs to the event loop that uses it first.

    A language stands for all its variants: with en, captions in en-GB are welcome. Among the
    captions of a language, those that a person wrote come before a recogniser's, then the exact
    languages in the order that is given, then their variants.

    Args:
        languages: In order of preference (BCP 47).
        translate: Accept captions that YouTube translates by machine, if none are in one of the
            languages. They are recorded as generated, and as translated from their language.
        proxy: Asked once more through it when YouTube refuses this address (see http_proxy and
            webshare_proxy in youtube_session.py).
        seconds: The time that one attempt may take, with all its requests.
        concurrency: Videos asked for at once.
        origin: Where https://www.youtube.com is really asked.
    """

    def __init__(
        self,
        *,
        languages: Sequence[str] = DEFAULT_LANGUAGES,
        translate: bool = False,
        proxy: ProxyConfig | None = None,
        seconds: float = 40.0,
        concurrency: int = 4,
        origin: str = ORIGIN,
    ) -> None:
        self._languages = tuple(languages)
        self._translate = translate
        self._proxy = proxy
        self._seconds = seconds
        self._origin = origin
        self._slots = asyncio.Semaphore(concurrency)

    @property
    def name(self) -> str:
        """What the warehouse records as the transcript's provider."""
        return "youtube"

    async def transcript(self, video_id: str) -> TranscriptAnswer:
        """Obtain one video's captions and details. Never raises for a video: it answers so.

        `Found.provider` is "youtube", and says so if a proxy or a machine translation stood in
        between.
        """
        if not is_video_id(video_id):
            return _no_id(video_id)
        try:
            return await self._in_thread(lambda: self._ask(video_id))
        except TimeoutError:
            return Outage(_too_slow(video_id))

    async def details(self, video_id: str) -> VideoDetails:
        """Obtain one video's details alone. Never raises: what failed is in their `problems`."""
        if not is_video_id(video_id):
            return VideoDetails(problems=(_no_id(video_id).reason,))
        try:
            return await self._in_thread(lambda: self._ask_details(video_id))
        except TimeoutError:
            return VideoDetails(problems=(_too_slow(video_id),))

    async def _in_thread(self, work: Callable[[], _Value]) -> _Value:
        attempts = 1 if self._proxy is None else 2
        async with self._slots:
            # The session keeps its own deadline; this is for a server that stalls it unseen.
            async with asyncio.timeout(attempts * self._seconds + _BACKSTOP_SECONDS):
                return await asyncio.to_thread(work)

    # --- In the worker thread -------------------------------------------------------------------

    def _session(self, proxy: ProxyConfig | None = None) -> YouTubeSession:
        return YouTubeSession(seconds=self._seconds, proxy=proxy, origin=self._origin)

    def _ask(self, video_id: str) -> TranscriptAnswer:
        with self._session() as session:
            answer = self._attempt(session, video_id)
        if self._proxy is None or not isinstance(answer, Blocked):
            return answer
        with self._session(self._proxy) as session:
            again = self._attempt(session, video_id)
        if isinstance(again, Found):
            return replace(again, provider=f"{again.provider} via proxy")
        return replace(
            again, reason=f"{again.reason} (This was through the proxy, after {_REFUSED}.)"
        )

    def _attempt(self, session: YouTubeSession, video_id: str) -> TranscriptAnswer:
        try:
            available = YouTubeTranscriptApi(http_client=session).list(video_id)
            selected = self._select(video_id, available)
            if isinstance(selected, NoTranscript):
                return selected
            captions, spoken = selected
            fetched = captions.fetch()
        except READING_ERRORS as error:
            return failure_of(error, video_id)
        return self._found(session, video_id, fetched, spoken)

    def _select(
        self, video_id: str, available: TranscriptList
    ) -> tuple[Transcript, str | None] | NoTranscript:
        """Return the captions to fetch, and the language that they are translated from, if any."""
        chosen = choose(available, self._languages)
        if chosen is not None:
            return chosen, None
        if not self._translate:
            return NoTranscript(
                f"The video {video_id} has captions in {_listed(available) or 'no language'}, none "
                f"in {', '.join(self._languages)}. Add one of its languages, or allow translation."
            )
        source = choose_to_translate(available, self._languages)
        if source is None:
            return NoTranscript(
                f"The video {video_id} has captions in {_listed(available) or 'no language'}, and "
                f"YouTube translates none of them into {', '.join(self._languages)}. Add one of "
                "its languages."
            )
        captions, target = source
        return captions.translate(target), captions.language_code

    def _found(
        self,
        session: YouTubeSession,
        video_id: str,
        fetched: FetchedTranscript,
        spoken: str | None,
    ) -> TranscriptAnswer:
        if not all(math.isfinite(each.start + each.duration) for each in fetched):
            return Unreadable(
                f"The captions of the video {video_id} have times that are no numbers. "
                "Give a transcript file instead."
            )
        cues = tuple(_cues(fetched))
        if not cues:
            return NoTranscript(f"Nothing is said in the captions of the video {video_id}.")
        details = _details(session, video_id)
        return Found(
            TimedText(
                cues=cues,
                language=fetched.language_code,
                kind="generated" if fetched.is_generated else "manual",
                title=details.title,
                translated_from=spoken,
            ),
            provider=self.name if spoken is None else f"{self.name}, translated from {spoken}",
            details=details,
        )

    def _ask_details(self, video_id: str) -> VideoDetails:
        with self._session() as session:
            try:
                session.get(watch_url(video_id)).raise_for_status()
            except requests.RequestException:
                session.watch_page = None
            return _details(session, video_id)


# --- Choosing captions --------------------------------------------------------------------------


def choose(available: TranscriptList, languages: Sequence[str]) -> Transcript | None:
    """Choose the best captions in one of the languages or its variants; None if there are none."""
    wanted = [language.lower() for language in languages]
    bases = list(dict.fromkeys(_base(language) for language in wanted))

    def preference(captions: Transcript) -> tuple[int, bool, int, str]:
        code = captions.language_code.lower()
        exact = wanted.index(code) if code in wanted else len(wanted)
        return bases.index(_base(code)), captions.is_generated, exact, code

    fitting = [captions for captions in available if _base(captions.language_code) in bases]
    return min(fitting, key=preference, default=None)


def choose_to_translate(
    available: TranscriptList, languages: Sequence[str]
) -> tuple[Transcript, str] | None:
    """Choose captions that YouTube translates, and the best language that it translates them into.

    Captions that a person wrote come before a recogniser's.
    """
    for captions in sorted(available, key=lambda captions: captions.is_generated):
        codes = [language.language_code for language in captions.translation_languages]
        for language in languages:
            fitting = [code for code in codes if _base(code) == _base(language)]
            if fitting:
                exact = language.lower()
                return captions, min(fitting, key=lambda code: (code.lower() != exact, code))
    return None


def _base(language: str) -> str:
    return language.lower().partition("-")[0]


# --- Reading ------------------------------------------------------------------------------------


def _cues(fetched: FetchedTranscript) -> Iterable[Cue]:
    for snippet in sorted(fetched, key=lambda snippet: snippet.start):
        words = one_line(snippet.text)
        if words:
            # Captions that an editor shifted too far to the left begin with the video.
            yield Cue(words, max(0.0, snippet.start), max(0.0, snippet.duration))


def _details(session: YouTubeSession, video_id: str) -> VideoDetails:
    """Ask oEmbed, and read the watch page that came already. Never raises."""
    page = session.watch_page
    watched = (
        VideoDetails(problems=("YouTube's page of the video could not be read.",))
        if page is None
        else details_from_watch_page(page)
    )
    details = joined(_from_oembed(session, video_id), watched)
    if page is None or (details.duration_seconds and details.published_on):
        return details
    silent = "YouTube's page of the video does not say its length and its day of publication."
    return replace(details, problems=(*details.problems, silent))


def _from_oembed(session: YouTubeSession, video_id: str) -> VideoDetails:
    query = urlencode({"url": watch_url(video_id), "format": "json"})
    try:
        response = session.get(f"{ORIGIN}/oembed?{query}")
        if not response.ok:
            return VideoDetails(problems=(f"YouTube's oEmbed answered {response.status_code}.",))
        return details_from_oembed(response.content)
    except requests.RequestException:
        return VideoDetails(problems=("YouTube's oEmbed could not be reached.",))
    except ValueError:
        return VideoDetails(problems=("YouTube's oEmbed sent no readable answer.",))


# --- Sentences ----------------------------------------------------------------------------------

_REFUSED = "YouTube had refused this address"


def _no_id(video_id: str) -> UnknownVideo:
    return UnknownVideo(
        f"{video_id[:40]!r} is no YouTube video id, which has 11 letters, digits, - or _. "
        "Check the corpus entry."
    )


def _too_slow(video_id: str) -> str:
    return f"For the video {video_id}, YouTube was not done in time. Try again later."


def _listed(available: TranscriptList) -> str:
    codes = sorted({one_line(captions.language_code)[:20] for captions in available})
    more = f" and {len(codes) - _MAX_LISTED} more" if len(codes) > _MAX_LISTED else ""
    return ", ".join(codes[:_MAX_LISTED]) + more
