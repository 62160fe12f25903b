"""`factible report` and `factible open`: write the HTML reports, and show them or where they are.

What belongs here: which reports, where to, and a program that shows one, the Dagster UI or the
published copy. What does not: what a report looks like (report/).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from factible_assets.cli.completion import video_ids
from factible_assets.cli.output import note, result, wishes
from factible_assets.corpora.adding import bare_id
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.report.writing import (
    index_path,
    publish_all,
    publish_data,
    write_index,
    write_report,
)
from factible_assets.running.result import stored_data, stored_result
from factible_assets.running.targets import open_store, unchecked
from factible_assets.settings import Settings, load_settings
from warehouse.store import Warehouse

_SILENT: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def report(
    video: Annotated[
        str | None, typer.Argument(help="The id of a checked video, or its YouTube URL.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it; else to the folder of reports."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Write the reports of all videos, and their index.")
    ] = False,
    index: Annotated[
        bool, typer.Option("--index", help="Write the index of all videos alone.")
    ] = False,
) -> None:
    """Write the HTML report of a checked video, or of all of them, and print its path.

    A report is one file, readable from disk; nothing is loaded from anywhere until its reader
    plays the video. The index beside it lists every video and claim, with filters.

    Example: factible report everyday-beliefs-talk

    Example: factible report --all

    An id that begins with a dash follows two dashes: factible report -- -LDjqcvSbP4
    """
    if [video is not None, every, index].count(True) != 1:
        raise FactibleError(
            "The command needs one of three: a video, --all or --index.",
            "For example: factible report everyday-beliefs-talk",
            ExitCode.USAGE,
        )
    if video is None and output is not None:
        raise FactibleError(
            "--output names the file of one report.",
            "Leave it out, or name a video.",
            ExitCode.USAGE,
        )
    settings = load_settings()
    if video is not None:
        video_id = bare_id(video)
        data = stored_data(video_id, settings)
        if data is None:
            raise unchecked(video_id, settings)
        if output is None:
            path = publish_data(data, Warehouse(settings.warehouse), settings.reports)
        else:
            path = write_report(data, output)
        result({"video_id": video_id, "report": path}, str(path))
        return
    store = open_store(settings)
    written = publish_all(store, settings.reports) if every else {}
    path = index_path(settings.reports) if every else write_index(store, settings.reports)
    if every and not wishes.json:
        note(f"Reports written: {len(written)}")
    result({"index": path, "reports": written}, str(path))


def open_(
    what: Annotated[
        str,
        typer.Argument(
            help="A checked video (id or YouTube URL), ui, published, or index: all reports.",
            autocompletion=video_ids,
        ),
    ] = "index",
    *,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of the Dagster UI.")] = 3000,
    show: Annotated[
        bool, typer.Option("--print", "-p", help="Print where it is; open nothing.")
    ] = False,
) -> None:
    """Open a report, the Dagster UI or the published copy; where nothing can, print its place.

    The place is always printed. A report is written again if its video was checked since.

    Example: factible open everyday-beliefs-talk

    Example: duckdb "$(factible open published --print --quiet)"
    """
    place = _place(what, load_settings(), port)
    opened = not (show or wishes.json) and _opened(place, is_data=what == "published")
    result({"what": what, "place": place}, place)
    if not (opened or show or wishes.json):
        note("Nothing here can show it; open it elsewhere.")


def _place(what: str, settings: Settings, port: int) -> str:
    if what == "ui":
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}"
        raise FactibleError(
            f"Nothing answers on port {port}.",
            "Start the Dagster UI first: factible dev. If it has another port, give --port.",
        )
    if what == "published":
        if settings.published.exists():
            return str(settings.published)
        raise FactibleError(
            f"There is no published copy at {settings.published} yet.",
            "It is written after every check, such as: factible demo",
        )
    if what == "index":
        reports = settings.reports
        if (reports / "index.html").exists():
            return str(reports / "index.html")
        if reports.is_dir() and any(reports.glob("*.html")):
            return str(reports)
        raise FactibleError(
            "There are no reports yet.", "Check a video first, such as: factible demo"
        )
    video_id = bare_id(what)
    stored = stored_result(video_id, settings=settings)
    if stored is None:
        raise unchecked(video_id, settings)
    return str(stored.report)


def _opened(place: str, *, is_data: bool) -> bool:
    """Open a page in a browser, or data in what the desktop has for it; tell whether that worked.

    A browser in the terminal would take the screen over, so only one with a window counts.
    """
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if not has_screen and sys.platform not in {"darwin", "win32"}:
        return False
    if is_data:
        opener = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
        if opener is None:
            return False
        # The path is an argument, never part of a shell's line.
        return subprocess.run([opener, place], check=False, **_SILENT).returncode == 0  # noqa: S603
    address = place if place.startswith("http") else Path(place).absolute().as_uri()
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
