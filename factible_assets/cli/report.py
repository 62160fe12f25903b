"""`factible report`, `open` and `export`: write results as HTML and in other formats."""

from __future__ import annotations

import os
import socket
import sys
import webbrowser
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from factible_assets.cli.arguments import video_ids
from factible_assets.cli.output import note, output_mode, result
from factible_assets.corpora.writing import bare_id
from factible_assets.errors import ExitCode, FactibleError, UsageError, is_full
from factible_assets.runs.targets import open_store, unchecked
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import counted
from resources.files import INDEX, write_whole
from resources.statements import statements

if TYPE_CHECKING:  # --help and completion load no reports
    from factible_assets.report.data import ReportData
    from warehouse.store import Warehouse


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

    An id that begins with a dash follows two dashes: factible report -- -LDjqcvSbP4
    """
    if (video is None) != every:
        raise UsageError(
            "Name either a video or --all.", "For example: factible report everyday-beliefs-talk"
        )
    if video is None and output is not None:
        raise UsageError("--output needs a video.", "Leave it out, or name a video.")
    from factible_assets.report.writing import publish_all, write_report
    from factible_assets.runs.result import StoredVideo

    settings = load_settings()
    if video is not None:
        known = StoredVideo(bare_id(video), settings)
        if output is None:
            try:
                stored = known.result()
            except OSError as error:
                # An error of the warehouse's file has another sentence.
                if is_full(error) or not str(error.filename).startswith(str(settings.reports)):
                    raise
                raise FactibleError(
                    f"The folder of reports {settings.reports} is not writable ({error.strerror}).",
                    "Name another file with --output, or make the folder writable.",
                    ExitCode.ENVIRONMENT,
                ) from error
            path = stored.report if stored else None
        else:
            data = known.data()
            path = write_report(data, output) if data else None
        if path is None:
            raise unchecked(known.video_id, settings)
        result({"video_id": known.video_id, "report": path}, str(path))
        return
    written = publish_all(open_store(settings), settings.reports)
    path = settings.reports / INDEX
    note(f"Reports written: {len(written)}")
    result({"index": path, "reports": written}, str(path))


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
    show: Annotated[bool, Option("--print", "-p", help="Only print the place.")] = False,
) -> None:
    """Open a report, the Dagster UI or the published copy, and print its place.

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
    from factible_assets.runs.result import StoredVideo

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


_SQL = statements("factible_assets.cli", "export.sql")


class ExportFormat(StrEnum):
    PARQUET = "parquet"
    CSV = "csv"
    CLAIMREVIEW = "claimreview"
    AVERITEC = "averitec"
    MARKDOWN = "markdown"


_OF_ONE_CLAIM = (ExportFormat.CLAIMREVIEW, ExportFormat.MARKDOWN)


def export(
    videos: Annotated[
        list[str] | None, Argument(help="Ids or YouTube URLs of checked videos (default: all).")
    ] = None,
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
    live: Annotated[bool, Option("--live", help="Read the live warehouse.")] = False,
) -> None:
    """Write results as Parquet, CSV, ClaimReview (JSON-LD), AVeriTeC's JSON and Markdown.

    ClaimReview names software as the author, except for claims with a signed ruling: there it names
    the person. ClaimReview and AVeriTeC omit incomplete verdicts; Parquet and CSV have them.

    Example: factible export

    Example: factible export everyday-beliefs-talk --format claimreview --to site/

    Example: factible export everyday-beliefs-talk --claim 1 --format markdown

    An id that begins with a dash follows two dashes: factible export --json -- -LDjqcvSbP4
    """
    from factible_assets.exchange.tables import TableFormat, write_tables
    from factible_assets.report.data import read_report_data

    if videos and corpus is not None:
        raise UsageError("Videos and --corpus exclude each other.", "Give one of them.")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url {base_url} is no web address.", "Begin it with https://")
    chosen = list(dict.fromkeys(formats or (_OF_ONE_CLAIM if claim else ExportFormat)))
    settings = load_settings()
    only = _only(videos or [], claim, chosen, settings) if claim is not None else None
    wanted = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    folder = to or settings.home / "exports"
    remarks: list[str] = []
    with open_store(settings, live=live).snapshot() as now:
        video_ids = _chosen(now, wanted, corpus, settings)
        files = []
        for form in chosen:
            if form is ExportFormat.PARQUET or form is ExportFormat.CSV:
                some = video_ids if wanted or corpus is not None else None
                kind: TableFormat = "csv" if form is ExportFormat.CSV else "parquet"
                written, left_out = write_tables(now, folder / kind, some, kind)
                remark = (
                    f"Left out, because they cover all videos: {', '.join(left_out)}. "
                    "An export of all videos has them."
                )
                if left_out and remark not in remarks:
                    remarks.append(remark)
            else:
                known = (read_report_data(now, video_id) for video_id in video_ids)
                checked = (data for data in known if data is not None)
                written = _written(checked, folder, form, base_url, only, remarks)
            files += [{"format": form, "path": path, "rows": n} for path, n in written.items()]
    for remark in remarks:
        note(f"  {remark}")
    result(
        {"folder": folder, "videos": video_ids, "files": files, "left_out": remarks},
        *(f"{file['rows']:>7,}  {file['path']}" for file in files),
    )


def _only(videos: list[str], claim: str, chosen: list[ExportFormat], settings: Settings) -> str:
    if len(videos) != 1 or set(chosen) - set(_OF_ONE_CLAIM):
        raise UsageError(
            "--claim exports one claim of one video, as claimreview or markdown.",
            "For example: factible export VIDEO --claim 1 --format markdown",
        )
    from factible_assets.runs.review import open_claim

    file = open_claim(videos[0], claim, settings)
    if file.gone is not None:
        raise FactibleError(
            "A reviewer dropped or split the claim.",
            f"factible review -- {file.video_id} lists the current claims.",
        )
    return file.claim.claim_id


def _written(
    checked: Iterable[ReportData],
    folder: Path,
    form: ExportFormat,
    base_url: str | None,
    only: str | None,
    remarks: list[str],
) -> dict[Path, int]:
    """Write the results of videos, or of one claim; return the number of claims by file."""
    from factible_assets.exchange.averitec import averitec_of_results
    from factible_assets.exchange.claim_review import reviews_of_results
    from factible_assets.report.render import claims_as_markdown

    if form is ExportFormat.MARKDOWN:
        written = {}
        for data in checked:
            if data.claims:
                name = f"{data.video.video_id}{f'-{only}' if only else ''}.md"
                text = claims_as_markdown(data, only)
                path = write_whole(folder / "markdown" / name, text.encode())
                written[path] = 1 if only else len(data.claims)
        return written
    if form is ExportFormat.CLAIMREVIEW:
        name = f"claimreview{f'-{only}' if only else ''}.jsonld"
        made = reviews_of_results(checked, base_url=base_url, only=only)
    else:
        name, made = "averitec.json", averitec_of_results(checked)
    if made.incomplete:
        remarks.append(
            f"{form}: left out {counted(made.incomplete, 'claim')} with an incomplete verdict, "
            "because services failed. Check the videos again."
        )
    if made.unjudged:
        remarks.append(f"{form}: left out {counted(made.unjudged, 'claim')} without a verdict.")
    return {write_whole(folder / name, made.text.encode()): made.count}


def _chosen(
    store: Warehouse, wanted: list[str], corpus: str | None, settings: Settings
) -> list[str]:
    """Return the ids of the checked videos.

    Raises FactibleError: A named video has no check, or no video of the corpus has.
    """
    checked = [row["video_id"] for row in store.rows(_SQL["checked"], {"corpus": corpus})]
    for video_id in wanted:
        if video_id not in checked:
            raise unchecked(video_id, settings)
    if not checked:
        known = [row["corpus"] for row in store.rows(_SQL["corpora"])]
        names = f" Corpora with checked videos: {', '.join(known)}." if known else ""
        where = f"of the corpus {corpus!r}" if corpus is not None else "here"
        raise FactibleError(f"No video {where} has a check yet.", f"Check one first.{names}")
    return wanted or checked
