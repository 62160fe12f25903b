"""Which video a request means: a YouTube link or id, or the id of a video of a corpus.

What belongs here: telling these apart, in the words of the service. What does not: the forms of
links (resources/transcripts), reading corpora (corpora/).

Unlike the command line's, a client's text never names a file of this machine.
"""

from __future__ import annotations

import difflib

from factible_assets.corpora import load_corpora
from factible_assets.corpora.adding import bare_id
from factible_assets.http_service.problems import NotFoundError
from factible_assets.settings import Settings
from resources.transcripts.youtube_ids import NotAVideoLinkError, is_video_id

_SHOWN_CHARACTERS = 120


def meant_video(text: str, settings: Settings) -> str:
    """Return the id of the video that is meant.

    Raises:
        NotFoundError: It is no video that can be checked.
    """
    wanted = text.strip()
    try:
        video_id = bare_id(wanted)
    except NotAVideoLinkError as error:
        raise NotFoundError(str(error)) from error
    reading = load_corpora(settings.corpus_folders)
    if reading.find(video_id) is not None or is_video_id(video_id):
        return video_id
    known = [listed.video.video_id for listed in reading.videos()]
    close = difflib.get_close_matches(video_id, known, n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    shown = repr(video_id[:_SHOWN_CHARACTERS])
    raise NotFoundError(
        f"{shown} is neither a YouTube link nor the id of a video on YouTube or in a corpus.{meant}"
        " Give a link such as https://www.youtube.com/watch?v=VIDEO_ID."
    )
