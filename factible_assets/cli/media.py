"""`factible media`: look at the pictures of a video that was checked.

What belongs here: arguments, the table of findings. What does not: what is asked about a picture
(stages/media.py), the run (running/check.py).
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from factible_assets.cli.completion import video_ids
from factible_assets.cli.output import note, result, table, wishes
from factible_assets.cli.progress import SilentWatcher
from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.running.result import stored_result
from factible_assets.running.targets import resolve
from factible_assets.settings import load_settings
from factible_assets.wording import plain


def media(
    target: Annotated[
        str,
        typer.Argument(
            help="The id of a video, its YouTube URL or its transcript file.",
            autocompletion=video_ids,
        ),
    ],
) -> None:
    """Look at the pictures of a checked video: where else they are, and traces of editing.

    The thumbnail of a video on YouTube, and the picture or video file that its corpus file names
    under `media`. What is found are hints for a reader, in the report; no verdict rests on them.

    Example: factible media everyday-beliefs-talk
    """
    settings = load_settings()
    video_id = resolve(target, None, settings).video_id
    if stored_result(video_id, settings=settings) is None:
        raise FactibleError(
            f"The video {plain(video_id)} has not been checked yet.",
            f"Check it first: factible check {plain(target)}",
        )
    note(f"Looking at the pictures of {plain(video_id)} …")
    from factible_assets.running.check import watched_run

    outcome = watched_run(
        video_id,
        settings=settings,
        config=FactCheckConfig(),
        watch=lambda _: nullcontext(SilentWatcher()),
        assets=["media"],
        job_name="pictures",
        remedy="The same command begins anew.",
    )
    checked = stored_result(video_id, settings=settings)
    if checked is None or not outcome.success:
        raise FactibleError(" ".join(outcome.failures), code=ExitCode.FAILED)
    found = [row.model_dump(mode="json", exclude={"video_id"}) for row in checked.data.media]
    if not found and not wishes.json:
        note(
            "There is no picture to look at: the video is not on YouTube, and its corpus file "
            "names none under media."
        )
    else:
        names = ("picture", "kind", "match_class", "status", "score", "published_on", "found")
        cells = (
            [
                plain("–" if each is None else str(each), 100)
                for each in (*(row[name] for name in names[:-1]), row["title"] or row["reason"])
            ]
            for row in found
        )
        result(
            {"video_id": video_id, "report": checked.report, "findings": found},
            table(names, cells, title=checked.data.video.title, numbers=("score",)),
            f"report: {checked.report.absolute().as_uri()}",
        )
    is_open = any(row["status"] == "infra_error" for row in found)
    raise typer.Exit(ExitCode.INCOMPLETE if is_open else ExitCode.DONE)
