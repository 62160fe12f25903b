"""What can go wrong at YouTube, in sentences that say what to do about it.

What belongs here: the sentence for each error of the transcript library and of the session, and
which kind of outcome it is. What does not: asking YouTube.

Sentences repeat nothing that YouTube or the library said, but for YouTube's own word on why a video
is not shown, cut short: other texts may hold addresses with keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree.ElementTree import ParseError

import requests
import youtube_transcript_api as library

from resources.transcripts.base import NoTranscript, Outage, UnknownVideo, Withheld
from resources.transcripts.captions import one_line
from resources.transcripts.youtube_session import (
    BlockPageError,
    LedAwayError,
    TooLargeError,
    TooSlowError,
)

Failure: TypeAlias = NoTranscript | UnknownVideo | Withheld | Outage

_OTHER_WAY = "Give a transcript file instead."
_MAX_REASON = 160
_ROBOT = re.compile(r"not a bot", re.IGNORECASE)
_AGE = re.compile(r"confirm your age|age.restricted|inappropriate for some", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Blocked(Outage):
    """YouTube refuses this address, as a robot's or for too many requests: a proxy may help."""


READING_ERRORS = (
    library.CouldNotRetrieveTranscript,
    requests.RequestException,
    ParseError,
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
)
"""What asking the library raises. The builtin ones are its answer to JSON of another shape."""


def failure_of(error: BaseException, video_id: str) -> Failure:
    """Return the outcome that one of READING_ERRORS stands for."""
    for kind, outcome in _OUTCOMES:
        if isinstance(error, kind):
            return outcome(error, video_id)
    return Outage(
        f"YouTube's answer for the video {video_id} has another shape than expected. Try again "
        "later; if it stays so, youtube-transcript-api needs an update."
    )


def _unplayable(error: BaseException, video_id: str) -> Failure:
    given = error.reason if isinstance(error, library.VideoUnplayable) else None
    more = error.sub_reasons if isinstance(error, library.VideoUnplayable) else []
    why = one_line(" ".join(str(part) for part in (given, *more) if part))[:_MAX_REASON]
    # The library knows two wordings exactly; YouTube uses more.
    if _ROBOT.search(why):
        return _blocked(error, video_id)
    if _AGE.search(why):
        return _age_limited(error, video_id)
    return Withheld(
        f"YouTube does not show the video {video_id} to everyone (its reason: "
        f"{why or 'none given'}). {_OTHER_WAY}"
    )


def _age_limited(_: BaseException, video_id: str) -> Failure:
    return Withheld(f"YouTube shows the video {video_id} to signed-in adults only. {_OTHER_WAY}")


def _blocked(_: BaseException, video_id: str) -> Failure:
    return Blocked(
        f"YouTube refused the request for the video {video_id}: it takes this address for a "
        "robot's, or had too many requests from it. Try again later, or set a proxy."
    )


def _refused(error: BaseException, video_id: str) -> Failure:
    cause = error.__context__
    answered = cause.response if isinstance(cause, requests.HTTPError) else None
    status = "with a failure" if answered is None else f"{answered.status_code}"
    return Outage(
        f"YouTube answered {status} to a request for the video {video_id}. Try again later."
    )


def _network(error: BaseException, video_id: str) -> Failure:
    what = next(said for kind, said in _NETWORK if isinstance(error, kind))
    return Outage(f"For the video {video_id}, {what}. Check the network, and try again.")


_NETWORK: tuple[tuple[type[Exception], str], ...] = (
    (requests.exceptions.ProxyError, "the proxy could not be reached or refused"),
    (requests.exceptions.SSLError, "the secure connection to YouTube failed"),
    (TooSlowError, "YouTube was not done in time"),
    (requests.Timeout, "YouTube fell silent"),
    (LedAwayError, "YouTube led to another site, which was not followed"),
    (TooLargeError, "YouTube sent more than any transcript has"),
    (requests.TooManyRedirects, "YouTube redirected in a circle"),
    (requests.RequestException, "YouTube could not be reached, or broke off in its answer"),
)


def _says(kind: Callable[[str], Failure], sentence: str) -> Callable[[BaseException, str], Failure]:
    return lambda _, video_id: kind(sentence.format(video=f"the video {video_id}"))


_OUTCOMES: tuple[tuple[type[Exception], Callable[[BaseException, str], Failure]], ...] = (
    (
        library.TranscriptsDisabled,
        _says(
            NoTranscript,
            f"There are no captions for {{video}}: none were made, or they are switched off. "
            f"{_OTHER_WAY}",
        ),
    ),
    (
        library.NoTranscriptFound,
        _says(NoTranscript, "There are no captions for {video} in the wanted languages."),
    ),
    (
        library.NotTranslatable,
        _says(NoTranscript, f"YouTube does not translate the captions of {{video}}. {_OTHER_WAY}"),
    ),
    (
        library.TranslationLanguageNotAvailable,
        _says(
            NoTranscript,
            f"YouTube does not translate the captions of {{video}} into the wanted languages. "
            f"{_OTHER_WAY}",
        ),
    ),
    (
        library.VideoUnavailable,
        _says(UnknownVideo, "YouTube has no such video as {video}, or no longer. Check the link."),
    ),
    (library.InvalidVideoId, _says(UnknownVideo, "There is no such YouTube id as in {video}.")),
    (library.AgeRestricted, _age_limited),
    (library.VideoUnplayable, _unplayable),
    (library.RequestBlocked, _blocked),
    (BlockPageError, _blocked),
    (
        library.PoTokenRequired,
        _says(
            Outage,
            "YouTube hands the captions of {video} to its own players only at the moment (it asks "
            f"for a proof-of-origin token). Try again later. {_OTHER_WAY}",
        ),
    ),
    (
        library.FailedToCreateConsentCookie,
        _says(
            Outage,
            "YouTube asks for consent to cookies before it shows {video}, and did not accept it. "
            "Try again later, or set a proxy in another country.",
        ),
    ),
    (library.YouTubeRequestFailed, _refused),
    # The body of an answer, not the way to it: a subclass of RequestException.
    (
        requests.exceptions.InvalidJSONError,
        _says(Outage, "YouTube's answer for {video} is not JSON. Try again later."),
    ),
    (
        ParseError,
        _says(
            Outage,
            "The captions that YouTube sent for {video} are damaged or empty. Try again later.",
        ),
    ),
    (requests.RequestException, _network),
)
