"""Checks the video that a person names, unless the warehouse has a finished check of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from factible_assets.config import FactCheckConfig
from factible_assets.runs.result import Checked, finished_check
from factible_assets.runs.targets import Target, enlist
from factible_assets.services.search import default_remarks
from factible_assets.settings import Settings
from factible_assets.wording import plain

if TYPE_CHECKING:
    from factible_assets.runs.launch import Watch
    from factible_assets.runs.reusable import Reuse

Say: TypeAlias = Callable[[str], None]
"""Shows a sentence to the user, apart from the result."""


def fact_check(
    video: Target,
    *,
    settings: Settings,
    config: FactCheckConfig,
    reuse: Reuse,
    watch: Watch,
    say: Say,
) -> Checked:
    """Fact-check a video, list it first if it is a new file, and return the stored result.

    Raises FactibleError: See `run_video`.
    """
    if video.remark:
        say(video.remark)
    if reuse == "verdicts" and (stored := finished_check(video.video_id, settings)):
        when = f"{stored.data.checked_at:%Y-%m-%d %H:%M} UTC"
        say(f"Checked before, on {when}; --force checks it again.")
        return stored
    web = None if config.search.web == "auto" else config.search.web
    file = enlist(video, settings, web, config.search.pages_rating)
    if file is not None:
        say(f"{video.file} is listed as the video {video.video_id} in {file}")
    if remarks := default_remarks(video.video_id, settings=settings, config=config):
        say(remarks)
    settings.ensure_home()
    say(f"Checking {plain(video.video_id)} …")
    # It loads Dagster, which takes seconds: after the sentence.
    from factible_assets.runs.launch import run_video  # noqa: PLC0415

    return run_video(video.video_id, settings=settings, config=config, watch=watch, reuse=reuse)
