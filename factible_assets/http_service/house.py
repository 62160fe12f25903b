"""What the routes work with, and how they start a check.

What belongs here: the parts of the service that its routes share. What does not: addresses (app.py,
desk.py), following runs (runs.py).
"""

from __future__ import annotations

import asyncio
import difflib
import uuid
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.corpora.writing import bare_id
from factible_assets.http_service.auth import Client, Clients
from factible_assets.http_service.models import Order
from factible_assets.http_service.problems import SHOWN_CHARACTERS
from factible_assets.http_service.results import PublishedResults
from factible_assets.http_service.runs import Run, Runs
from factible_assets.settings import Settings
from resources.transcripts.youtube_ids import NotAVideoLinkError, is_video_id


@dataclass(frozen=True)
class House:
    """What the routes work with."""

    settings: Settings
    runs: Runs
    results: PublishedResults
    clients: Clients

    def meant_video(self, text: str) -> str:
        """Return the id of the video that is meant: a link, a YouTube id, or one of a corpus.

        Unlike the command line's, a client's text never names a file of this machine.

        Raises:
            HTTPException: It is no video that can be checked (404).
        """
        try:
            video_id = bare_id(text.strip())
        except NotAVideoLinkError as error:
            raise HTTPException(404, str(error)) from error
        reading = load_corpora(self.settings.corpus_folders)
        if reading.find(video_id) is not None or is_video_id(video_id):
            return video_id
        known = [listed.video.video_id for listed in reading.videos()]
        close = difflib.get_close_matches(video_id, known, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        raise HTTPException(
            404,
            f"{video_id[:SHOWN_CHARACTERS]!r} is neither a YouTube link nor the id of a video on "
            f"YouTube or in a corpus.{meant} Give a link such as "
            "https://www.youtube.com/watch?v=VIDEO_ID.",
        )

    async def start_check(
        self,
        video: str,
        config: FactCheckConfig,
        client: Client,
        *,
        detached: bool = True,
        experiment_name: str = "default",
        claim_id: str | None = None,
    ) -> Run:
        """Launch a run, or join the one that does the same.

        Of one claim, the knobs of its last check count instead of `config`.

        Raises:
            HTTPException: It is no video, or it cannot be checked now.
        """
        order = Order(
            run_id=str(uuid.uuid4()),
            video_id=await asyncio.to_thread(self.meant_video, video),
            home=self.settings.home,
            config=config,
            experiment_name=experiment_name,
            claim_id=claim_id,
        )
        return self.runs.start(
            order,
            client=client.id,
            detached=detached,
            pay=lambda: self.clients.count_video(client.id),
        )


def _house(request: Request) -> House:
    return cast("House", request.app.state.house)


def _client(request: Request) -> Client:
    return cast("Client", request.state.client)


InHouse = Annotated[House, Depends(_house)]
ByClient = Annotated[Client, Depends(_client)]
