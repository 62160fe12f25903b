"""Checks the video that a person names, unless the warehouse has a finished check of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from factible_assets.config import FactCheckConfig
from factible_assets.runs.result import Checked, StoredVideo
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
    target: Target,
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
    if target.remark:
        say(target.remark)
    stored = StoredVideo(target.video_id, settings)
    if reuse == "verdicts" and (checked := stored.finished_check()):
        when = f"{checked.data.checked_at:%Y-%m-%d %H:%M} UTC"
        say(f"Checked before, on {when}; --force checks it again.")
        return checked
    web = None if config.search.web == "auto" else config.search.web
    file = enlist(target, settings, web, config.search.pages_rating)
    if file is not None:
        say(f"{target.file} is listed as the video {target.video_id} in {file}")
    listed = stored.listed()
    if remarks := default_remarks(settings, config, listed.web if listed else None):
        say(remarks)
    settings.ensure_home()
    say(f"Checking {plain(target.video_id)} …")
    # It loads Dagster, which takes seconds: after the sentence.
    from factible_assets.runs.launch import run_video  # noqa: PLC0415

    return run_video(stored, config=config, watch=watch, reuse=reuse)
