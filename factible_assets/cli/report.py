"""`factible report`: the HTML reports of videos that were checked, and their index.

What belongs here: arguments of the command. What does not: the reports themselves (report/).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    from factible_assets.cli.checking import stored_data
    from factible_assets.cli.files import write_report
    from factible_assets.cli.targets import bare_id, unchecked

    video_id = bare_id(video)
    data = stored_data(video_id, settings)
    if data is None:
        raise unchecked(video_id, settings)
    path = write_report(data, settings, output)
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
