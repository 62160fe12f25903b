"""`factible report`: the HTML report of a video that was checked.

What belongs here: arguments of the command. What does not: the report itself (report/).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, print_json


def report(
    video: Annotated[str, typer.Argument(help="The id of a checked video, or its YouTube URL.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it; else to the folder of reports."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the HTML report of a checked video and print its path.

    The report is one file: no script, no request to anywhere, readable from disk.

    Example: factible report everyday-beliefs-talk

    An id that begins with a dash follows two dashes: factible report -- -LDjqcvSbP4
    """
    from factible_assets.cli.checking import stored_data
    from factible_assets.cli.files import write_report
    from factible_assets.cli.targets import bare_id
    from factible_assets.settings import load_settings

    settings = load_settings()
    video_id = bare_id(video)
    data = stored_data(video_id, settings)
    if data is None:
        raise CliError(
            f"Nothing is stored about the video {video_id}.",
            f"Check it first: factible check -- {video_id}",
        )
    path = write_report(data, settings, output)
    if as_json:
        print_json({"video_id": video_id, "report": str(path)})
    else:
        typer.echo(path)
