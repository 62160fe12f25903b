"""The pages of the desk that start checks and follow them."""

from __future__ import annotations

import asyncio
import logging
import re
import tempfile
import uuid
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from factible_assets.config import DEMO_VIDEO, StrategyName, demo_config
from factible_assets.errors import FactibleError
from factible_assets.runs.state import possible_strategies
from factible_assets.runs.targets import Target, enlist, resolve
from factible_assets.settings import Settings
from factible_assets.stages.urls import canonical_url
from factible_assets.web.access import DESK
from factible_assets.web.desk import lists
from factible_assets.web.desk.answers import (
    UNREADABLE,
    FormVisit,
    PageNumber,
    PageVisit,
    Visit,
    for_browser,
    redirect,
)
from factible_assets.web.models import MOST_CLAIMS, CheckOrder, service_config
from factible_assets.web.runs import ServiceRun
from factible_assets.web.state import CurrentClient, State
from factible_assets.wording import outcome_words
from resources.files import digest
from resources.storage.archive import Archive
from resources.storage.imports import ArchiveError
from resources.transcripts.base import TranscriptError
from resources.transcripts.youtube_ids import is_video_id
from warehouse.errors import WarehouseError

_VIDEOS = 25
_LONGEST_TITLE = 300
_LONGEST_NAME = 50
"""Characters of a file's name. A file system takes 255 bytes, and a character has up to four."""

_LOG = logging.getLogger("factible.serve")
routes = APIRouter(include_in_schema=False)


@routes.get(DESK)
def start(visit: PageVisit, page: PageNumber = 1) -> HTMLResponse:
    """Show the form that starts a check, and the checked videos."""
    state = visit.state
    videos, total, unread = [], 0, None
    try:
        page_of_videos = state.results.videos(limit=_VIDEOS, offset=_VIDEOS * (page - 1))
        videos, total = page_of_videos.items, page_of_videos.total
    except WarehouseError as error:
        # The form must stay, because a new check makes the list readable again.
        _LOG.error("The published copy cannot be read: %s", error)
        unread = UNREADABLE
    return visit.show(
        "start",
        videos=videos,
        unread=unread,
        runs=state.runs.all()[:5],
        strategies=possible_strategies(state.settings),
        number=page,
        pages=-(-total // _VIDEOS),
    )


@routes.post(f"{DESK}/checks")
async def check(visit: FormVisit) -> Response:
    """Start a check of a link, of an uploaded or pasted transcript, or of the demo."""
    runs, link = visit.state.runs, visit.field("link")
    transcript = await asyncio.to_thread(_sent_transcript, visit)
    if visit.field("demo"):
        order = CheckOrder(video_id=DEMO_VIDEO, config=demo_config())
        run = await runs.start(order, visit.client)
    elif transcript is not None:
        run = await _check_upload(visit, transcript)
    elif link:
        run = await runs.start(_order(visit, link), visit.client)
    else:
        raise HTTPException(422, "Give the link of a video, or a transcript.")
    return redirect(f"{DESK}/runs/{run.run_id}")


def _sent_transcript(visit: Visit) -> tuple[str, bytes] | None:
    """Return the uploaded or pasted transcript with its file's name."""
    pasted, title = visit.field("pasted"), visit.field("title")
    for upload in visit.files("transcript"):
        return upload
    return (f"{title or pasted[:_LONGEST_NAME]}.txt", pasted.encode()) if pasted else None


def _order(visit: Visit, video_id: str) -> CheckOrder:
    """Return the order of a form. Raises HTTPException (422): A field is out of range."""
    finds_only, most = bool(visit.field("find")), visit.field("max_claims") or str(MOST_CLAIMS)
    if not (most.isdecimal() and 1 <= int(most) <= MOST_CLAIMS):
        raise HTTPException(422, f"Give a number of claims from 1 to {MOST_CLAIMS}.")
    config = service_config(MOST_CLAIMS if finds_only else int(most), chosen_strategy(visit))
    return CheckOrder(video_id=video_id, config=config, finds_only=finds_only)


async def _check_upload(visit: Visit, transcript: tuple[str, bytes]) -> ServiceRun:
    """Start the check of a transcript, against the pages that came with it, if any did."""
    settings, title = visit.state.settings, visit.field("title")
    if len(title) > _LONGEST_TITLE:
        words = f"The title has {len(title)} characters. Give at most {_LONGEST_TITLE}."
        raise HTTPException(422, words)
    with tempfile.TemporaryDirectory(prefix="factible-desk-") as folder:
        pages = await asyncio.to_thread(visit.files, "pages")
        target, web = await asyncio.to_thread(
            save_uploads, transcript, pages, title, Path(folder), settings
        )
        if target.file is not None and is_video_id(visit.field("of")):
            # The transcript is that of a video on YouTube, whose own could not be read.
            target = replace(target, video_id=visit.field("of"))
        order = _order(visit, target.video_id)
        if web is not None:
            # Pages that a person brings have this rating on the command line too.
            search = order.config.search.model_copy(update={"web": web, "pages_rating": "medium"})
            config = order.config.model_copy(update={"search": search})
            order = order.model_copy(update={"config": config})
        prepare = partial(enlist, target, settings, web, "medium" if web else None)
        return await visit.state.runs.start(order, visit.client, prepare=prepare)


def save_uploads(
    transcript: tuple[str, bytes],
    pages: list[tuple[str, bytes]],
    title: str,
    folder: Path,
    settings: Settings,
) -> tuple[Target, str | None]:
    """Save a transcript and its pages. Return the video and the web of the pages, if any."""
    name, content = transcript
    settings.ensure_home()
    for each in ("pages", "transcript"):
        (folder / each).mkdir()
    # A name of dots only would be a folder.
    stem = Path(name).stem[:_LONGEST_NAME].strip(". ") or "transcript"
    file = folder / "transcript" / f"{stem}{Path(name).suffix[:8]}"
    file.write_bytes(content)
    for number, (page_name, page_content) in enumerate(pages):
        target_file = folder / "pages" / page_name[-_LONGEST_NAME:]
        if target_file.exists():
            target_file = target_file.with_stem(f"{target_file.stem}-{number:03}")
        target_file.write_bytes(page_content)
    try:
        target = resolve(str(file), title or None, settings)
        if not pages:
            return target, None
        collection = f"desk-{digest(bytes(0).join(page_content for _, page_content in pages))}"
        archive = Archive(settings.archive, canonicalise=canonical_url)
        archive.import_from(folder / "pages", collection)
    except (FactibleError, TranscriptError, ArchiveError) as error:
        # The person knows the file by its name, and nothing of the folder.
        words = re.sub(rf"{re.escape(str(folder))}/(pages|transcript)/", "", str(error))
        raise HTTPException(422, for_browser(words)) from error
    return target, f"archive:{collection}"


@routes.get(f"{DESK}/runs/{{run_id}}")
async def run_page(run_id: uuid.UUID, visit: PageVisit) -> Response:
    """Show the progress of a check, or the claims to choose from if it only finds them."""
    run = visit.state.runs.get(str(run_id))
    if run.order.finds_only and run.info.status == "success":
        return redirect(f"{lists.video_path(run.order.video_id)}/claims?run={run_id}")
    claims: dict[str, dict[str, Any]] = {}
    for data in (event.data or {} for event in run.events):
        for claim in data.get("claims", ()):
            claims.setdefault(claim["claim_id"], claim)
        if "verdict" in data:
            outcome = data["verdict"]["stance"] or "incomplete"
            words = outcome_words(outcome, data["verdict"]["basis"])
            judged = {**data["claim"], "outcome": outcome, "words": words}
            claims[judged["claim_id"]] = judged
    message = for_browser(run.events[-1].message) if run.events else "The check is starting."
    return visit.show("run", run=run, claims=[*claims.values()], message=message)


@routes.post(f"{DESK}/runs/{{run_id}}/again")
async def run_again(run_id: uuid.UUID, state: State, client: CurrentClient) -> Response:
    run = await state.runs.start(state.runs.get(str(run_id)).order, client)
    return redirect(f"{DESK}/runs/{run.run_id}")


@routes.post(f"{DESK}/runs/{{run_id}}/cancel")
async def cancel(run_id: uuid.UUID, state: State, client: CurrentClient) -> Response:
    """Cancel a check. An administrator can cancel the checks of others."""
    run = state.runs.get(str(run_id))
    if not run.is_over:
        state.runs.cancel_for(run, run.client if client.role == "admin" else client.id)
    return redirect(f"{DESK}/runs/{run_id}")


def chosen_strategy(visit: Visit) -> StrategyName:
    """Return the strategy of a form. Raises HTTPException (422): This machine cannot use it."""
    strategy = visit.field("strategy") or "standard"
    if strategy not in possible_strategies(visit.state.settings):
        raise HTTPException(422, "Choose one of the listed ways to check a claim.")
    return strategy
