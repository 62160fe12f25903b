"""`factible report`, `open` and `export`: write results as HTML and in other formats."""

from __future__ import annotations

import os
import socket
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from factible_assets.cli.arguments import Live, Videos, video_ids
from factible_assets.cli.output import note, output_mode, result
from factible_assets.errors import FactibleError, UsageError
from factible_assets.exchange import ExportFormat
from factible_assets.report.writing import publish_all, write_report
from factible_assets.runs.exports import ExportRequest, export_results
from factible_assets.runs.result import StoredVideo
from factible_assets.runs.targets import open_store, unchecked
from factible_assets.settings import Settings, load_settings
from resources.files import INDEX
from resources.transcripts.youtube_ids import bare_id


def report(
    video: Annotated[str | None, Argument(help="A checked video's id or YouTube URL.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="The file (default: in the folder of reports).")
    ] = None,
    every: Annotated[bool, Option("--all", help="Write all reports, and their index.")] = False,
) -> None:
    """Write the HTML report of a checked video, or of all videos, and print its path.

    A report is one file. It loads nothing from the web until the reader plays the video. The index
    beside it lists every video and claim, with filters.

    Example: factible report everyday-beliefs-talk

    Example: factible report --all
    """
    if (video is None) != every:
        raise UsageError(
            "Name either a video or --all.", "For example: factible report everyday-beliefs-talk"
        )
    if video is None and output is not None:
        raise UsageError("--output needs a video.", "Leave it out, or name a video.")
    settings = load_settings()
    if video is None:
        written = publish_all(open_store(settings), settings.reports)
        index = settings.reports / INDEX
        note(f"Reports written: {len(written)}")
        result({"index": index, "reports": written}, str(index))
        return
    stored_video = StoredVideo(bare_id(video), settings)
    if output is None:
        stored = stored_video.result()
        path = stored.report if stored else None
    else:
        data = stored_video.data()
        path = write_report(data, output) if data else None
    if path is None:
        raise unchecked(stored_video.video_id, settings)
    result({"video_id": stored_video.video_id, "report": path}, str(path))


def open_(
    what: Annotated[
        str,
        Argument(
            help="A checked video (id or YouTube URL), ui, published, or index (all reports).",
            autocompletion=video_ids,
        ),
    ] = "index",
    *,
    port: Annotated[int, Option(min=1, max=65535, help="The port of the Dagster UI.")] = 3000,
    show: Annotated[bool, Option("--print", "-p", help="Only print the path or address.")] = False,
) -> None:
    """Open a report, the Dagster UI or the published copy, and print its path or address.

    The command renews an outdated report first.

    Example: factible open everyday-beliefs-talk

    Example: duckdb "$(factible open published --print --quiet)"
    """
    place = _place(what, load_settings(), port)
    result({"what": what, "place": place}, place)
    if not (show or output_mode.json or _opened(place)):
        note("No program here can open it. Open it elsewhere.")


def _place(what: str, settings: Settings, port: int) -> str:
    if what == "ui":
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}"
        raise FactibleError(
            f"Nothing answers on port {port}.",
            "Start the Dagster UI with factible dev, or name its port with --port.",
        )
    if what == "published":
        if settings.published.exists():
            return str(settings.published)
        raise FactibleError(
            f"There is no published copy at {settings.published} yet.",
            "Every check writes it, such as: factible demo",
        )
    if what == "index":
        index = settings.reports / INDEX
        if index.exists():
            return str(index)
        raise FactibleError(
            "There are no reports yet.", "Check a video first, such as: factible demo"
        )
    stored = StoredVideo(bare_id(what), settings).result()
    if stored is None:
        raise unchecked(bare_id(what), settings)
    return str(stored.report)


def _opened(place: str) -> bool:
    """Open a page or file with the desktop's program, and tell whether that worked.

    Without a desktop it does nothing, because a text browser would take over the terminal.
    """
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if not has_screen and sys.platform not in {"darwin", "win32"}:
        return False
    address = place if place.startswith("http") else Path(place).absolute().as_uri()
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def export(
    videos: Videos = None,
    *,
    corpus: Annotated[str | None, Option(help="All checked videos of this corpus.")] = None,
    claim: Annotated[
        str | None,
        Option(
            metavar="CLAIM",
            help="Only this claim of one video: its number in `factible review`, or its id.",
        ),
    ] = None,
    formats: Annotated[
        list[ExportFormat] | None,
        Option("--format", "-f", help="The format; repeatable (default: all)."),
    ] = None,
    to: Annotated[
        Path | None, Option(help="The folder (default: exports/ in the data folder).")
    ] = None,
    base_url: Annotated[
        str | None,
        Option(
            metavar="URL", help="The public address of the HTML reports, for links in ClaimReview."
        ),
    ] = None,
    live: Live = False,
) -> None:
    """Write results as Parquet, CSV, ClaimReview (JSON-LD), AVeriTeC's JSON and Markdown.

    ClaimReview names software as the author, except for claims with a signed ruling: there it names
    the person. ClaimReview and AVeriTeC omit incomplete verdicts; Parquet and CSV have them.

    Example: factible export

    Example: factible export everyday-beliefs-talk --format claimreview --to site/

    Example: factible export everyday-beliefs-talk --claim 1 --format markdown
    """
    if videos and corpus is not None:
        raise UsageError("Videos and --corpus exclude each other.", "Give one of them.")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url {base_url} is no web address.", "Begin it with https://")
    settings = load_settings()
    video_ids = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    folder = to or settings.home / "exports"
    request = ExportRequest(video_ids, corpus, claim, formats or (), base_url)
    done = export_results(request, folder, settings, live=live)
    for remark in done.left_out:
        note(f"  {remark}")
    files = [dict(zip(("format", "path", "rows"), file, strict=True)) for file in done.files]
    result(
        {"folder": folder, "videos": done.videos, "files": files, "left_out": done.left_out},
        *(f"{rows:>7,}  {path}" for _, path, rows in done.files),
    )
