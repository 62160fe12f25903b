"""`factible open`: the report of a video, the Dagster UI or the published copy, in what shows it.

What belongs here: finding what is meant, and a program that shows it. What does not: making it.
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

if TYPE_CHECKING:
    from factible_assets.settings import Settings

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
    opened = not show and not as_json and _open(place, is_data=what == _PUBLISHED)
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
        return _index(settings)
    return str(_report(what, settings))


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


def _index(settings: Settings) -> str:
    index = settings.reports / "index.html"
    if index.exists():
        return str(index)
    if settings.reports.is_dir() and any(settings.reports.glob("*.html")):
        return str(settings.reports)
    raise CliError("There are no reports yet.", "Check a video first, such as: factible demo")


def _report(video: str, settings: Settings) -> Path:
    from factible_assets.cli.checking import stored_data
    from factible_assets.cli.files import write_report
    from factible_assets.cli.targets import bare_id, unchecked

    video_id = bare_id(video)
    data = stored_data(video_id, settings)
    if data is None:
        raise unchecked(video_id, settings)
    return write_report(data, settings)


def _open(place: str, *, is_data: bool) -> bool:
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
