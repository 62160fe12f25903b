"""What the routes work with, and how they start a check.

What belongs here: the parts of the service that its routes share. What does not: addresses (app.py,
desk.py), following runs (runs.py).
"""

from __future__ import annotations

import asyncio
import difflib
import uuid
from dataclasses import dataclass

from factible_assets.config import FactCheckConfig
from factible_assets.corpora import load_corpora
from factible_assets.corpora.adding import bare_id
from factible_assets.http_service.auth import Quotas, Tokens
from factible_assets.http_service.events import Order
from factible_assets.http_service.problems import NotFoundError
from factible_assets.http_service.results import PublishedResults
from factible_assets.http_service.runs import Run, Runs
from factible_assets.settings import Settings
from resources.transcripts.youtube_ids import NotAVideoLinkError, is_video_id

_SHOWN_CHARACTERS = 120


@dataclass(frozen=True)
class House:
    """What the routes work with."""

    settings: Settings
    runs: Runs
    results: PublishedResults
    quotas: Quotas
    tokens: Tokens


def meant_video(text: str, settings: Settings) -> str:
    """Return the id of the video that is meant: a link, a YouTube id, or one of a corpus.

    Unlike the command line's, a client's text never names a file of this machine.

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


async def start_check(
    video: str,
    config: FactCheckConfig,
    house: House,
    client: str,
    *,
    detached: bool,
    experiment_name: str = "default",
    claim_id: str | None = None,
) -> Run:
    """Launch a run, or join the one that does the same.

    Args:
        video: A link, a YouTube id, or the id of a video of a corpus.
        config: The knobs; of one claim those of its last check count instead.
        house: What the routes work with.
        client: Who asks.
        detached: Whether it goes on when nobody follows it.
        experiment_name: What the run is tagged with.
        claim_id: The one claim that is checked again.

    Raises:
        ProblemError: It is no video, or it cannot be checked now.
    """
    video_id = await asyncio.to_thread(meant_video, video, house.settings)
    order = Order(
        run_id=str(uuid.uuid4()),
        video_id=video_id,
        home=house.settings.home,
        config=config,
        experiment_name=experiment_name,
        claim_id=claim_id,
    )
    return house.runs.start(
        order, client=client, detached=detached, pay=lambda: house.quotas.count_video(client)
    )
