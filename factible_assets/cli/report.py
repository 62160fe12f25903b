"""`factible report` and `factible open`: write the HTML reports, and show them or where they are.

What belongs here: which reports, where to, and a program that shows one, the Dagster UI or the
published copy. What does not: what a report looks like (report/).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.completion import video_ids
from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note, print_json
from factible_assets.errors import ExitCode

if TYPE_CHECKING:
    from factible_assets.settings import Settings


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
    as_json: AsJson = False,
) -> None:
    """Write the HTML report of a checked video, or of all of them, and print its path.

    A report is one file, readable from disk; nothing is loaded from anywhere until its reader
    plays the video. The index beside it lists every video and claim, with filters.

    Example: factible report everyday-beliefs-talk

    Example: factible report --all

    An id that begins with a dash follows two dashes: factible report -- -LDjqcvSbP4
    """
    from factible_assets.settings import load_settings

    if [video is not None, every, index].count(True) != 1:
        raise CliError(
            "The command needs one of three: a video, --all or --index.",
            "For example: factible report everyday-beliefs-talk",
            ExitCode.USAGE,
        )
    if video is None and output is not None:
        raise CliError(
            "--output names the file of one report.",
            "Leave it out, or name a video.",
            ExitCode.USAGE,
        )
    settings = load_settings()
    if video is not None:
        _write_one(video, output, settings, as_json=as_json)
    else:
        _write_several(settings, with_reports=every, as_json=as_json)


def _write_one(video: str, output: Path | None, settings: Settings, *, as_json: bool) -> None:
    from factible_assets.corpora.adding import bare_id
    from factible_assets.report.writing import publish_data, write_report
    from factible_assets.running.result import stored_data
    from factible_assets.running.targets import unchecked
    from warehouse.store import Warehouse

    video_id = bare_id(video)
    data = stored_data(video_id, settings)
    if data is None:
        raise unchecked(video_id, settings)
    if output is None:
        path = publish_data(data, Warehouse(settings.warehouse), settings.reports)
    else:
        path = write_report(data, output)
    if as_json:
        print_json({"video_id": video_id, "report": str(path)})
    else:
        typer.echo(path)


def _write_several(settings: Settings, *, with_reports: bool, as_json: bool) -> None:
    from factible_assets.report.writing import index_path, publish_all, write_index
    from warehouse.store import Warehouse

    if not settings.warehouse.exists():
        raise CliError(
            f"No video has been checked in {settings.home}.",
            "Check one first: factible check everyday-beliefs-talk",
        )
    warehouse = Warehouse(settings.warehouse)
    written = publish_all(warehouse, settings.reports) if with_reports else {}
    path = (
        index_path(settings.reports) if with_reports else write_index(warehouse, settings.reports)
    )
    if as_json:
        reports = {video_id: str(each) for video_id, each in written.items()}
        print_json({"index": str(path), "reports": reports})
        return
    if with_reports:
        note(f"Reports written: {len(written)}")
    typer.echo(path)


_UI, _PUBLISHED, _INDEX = "ui", "published", "index"


def open_(
    what: Annotated[
        str,
        typer.Argument(
            help="A checked video (id or YouTube URL), ui, published, or index: all reports.",
            autocompletion=video_ids,
        ),
    ] = _INDEX,
    *,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of the Dagster UI.")] = 3000,
    show: Annotated[
        bool, typer.Option("--print", "-p", help="Print where it is; open nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Open a report, the Dagster UI or the published copy; where nothing can, print its place.

    The place is always printed. A report is written again if its video was checked since.

    Example: factible open everyday-beliefs-talk

    Example: duckdb "$(factible open published --print --quiet)"
    """
    from factible_assets.settings import load_settings

    place = _place(what, load_settings(), port)
    opened = not show and not as_json and _opened(place, is_data=what == _PUBLISHED)
    if as_json:
        print_json({"what": what, "place": place})
        return
    typer.echo(place)
    if not opened and not show:
        note("Nothing here can show it; open it elsewhere.")


def _place(what: str, settings: Settings, port: int) -> str:
    if what == _UI:
        return _ui(port)
    if what == _PUBLISHED:
        if not settings.published.exists():
            raise CliError(
                f"There is no published copy at {settings.published} yet.",
                "It is written after every check, such as: factible demo",
            )
        return str(settings.published)
    if what == _INDEX:
        return _index_place(settings)
    return str(_written(what, settings))


def _ui(port: int) -> str:
    import socket

    with socket.socket() as probe:
        probe.settimeout(1.0)
        if probe.connect_ex(("127.0.0.1", port)) != 0:
            raise CliError(
                f"Nothing answers on port {port}.",
                "Start the Dagster UI first: factible dev. If it has another port, give --port.",
            )
    return f"http://127.0.0.1:{port}"


def _index_place(settings: Settings) -> str:
    index = settings.reports / "index.html"
    if index.exists():
        return str(index)
    if settings.reports.is_dir() and any(settings.reports.glob("*.html")):
        return str(settings.reports)
    raise CliError("There are no reports yet.", "Check a video first, such as: factible demo")


def _written(video: str, settings: Settings) -> Path:
    from factible_assets.corpora.adding import bare_id
    from factible_assets.running.result import stored_result
    from factible_assets.running.targets import unchecked

    video_id = bare_id(video)
    stored = stored_result(video_id, settings=settings)
    if stored is None:
        raise unchecked(video_id, settings)
    return stored.report


def _opened(place: str, *, is_data: bool) -> bool:
    """Open a page in a browser, or data in what the desktop has for it; tell whether that worked.

    A browser in the terminal would take the screen over, so only one with a window counts.
    """
    if not _has_a_screen():
        return False
    if is_data:
        return _open_with_desktop(place)
    address = place if place.startswith("http") else Path(place).absolute().as_uri()
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def _has_a_screen() -> bool:
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _open_with_desktop(place: str) -> bool:
    opener = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if opener is None:
        return False
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # The path is an argument, never part of a shell's line.
    return subprocess.run([opener, place], check=False, **quiet).returncode == 0  # noqa: S603
