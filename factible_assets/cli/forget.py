"""`factible forget`: remove a video, or all videos of a corpus, with every result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from factible_assets.cli.arguments import read_corpora
from factible_assets.cli.output import note, result, table
from factible_assets.corpora.writing import bare_id
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.settings import load_settings
from factible_assets.wording import counted, plain


def forget(
    videos: Annotated[list[str] | None, Argument(help="Ids of videos, or YouTube URLs.")] = None,
    *,
    corpus: Annotated[str | None, Option(help="All videos of this corpus, and its file.")] = None,
    yes: Annotated[bool, Option("--yes", help="Remove; without it the command counts.")] = False,
) -> None:
    """Remove a video with all its results and its history.

    That includes the rows of all tables, pages that no other video uses, cached answers of searches
    and models, prompts, reports, exports, Dagster's runs and partition, and entries in the data
    folder's corpora. The command rewrites the warehouse and its published copy, so that their free
    space holds nothing of it. Without --yes it only counts. There is no undo.

    Example: factible forget my-talk

    Example: factible forget --yes -- -LDjqcvSbP4
    """
    from factible_assets.runs.forget import forget as forget_videos

    settings = load_settings()
    if bool(videos) == (corpus is not None):
        raise UsageError("Name either videos or --corpus.")
    wanted = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    file: Path | None = None
    if corpus is not None:
        listed = read_corpora(settings).corpus(corpus)
        if listed is None:
            raise FactibleError(f"There is no corpus {plain(corpus)!r}.", "factible corpus list")
        wanted = [each.video.video_id for each in listed.videos]
        file = listed.file if settings.home_corpora in listed.file.parents else None
    done = forget_videos(wanted, settings, dry_run=not yes)
    if yes and file is not None:
        file.unlink(missing_ok=True)
    rows = [(each.video_id, place, n) for each in done for place, n in each.counts.items()]
    headings = ("video", "what", "removed" if yes else "would be removed")
    result(done, table(headings, rows, numbers=headings[2:], whole=headings[:1]))
    for remark in dict.fromkeys(remark for each in done for remark in each.remarks):
        note(plain(remark))
    if not yes:
        many = counted(len(done), "video")
        note(f"Nothing was removed. To remove {many} for good, add --yes.")
        return
    named = dict.fromkeys(str(path) for each in done for path in each.still_named_in)
    if named:
        note(
            f"Still named in {plain(', '.join(named))}: in rows of other videos that found it as a "
            "page, or in files that a person added."
        )
        raise Exit(ExitCode.FAILED)
