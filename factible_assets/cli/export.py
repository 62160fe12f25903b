"""`factible export`: results for other programs, as Parquet, ClaimReview and AVeriTeC's JSON.

What belongs here: which videos are meant, where the files go, what is said of them. What does not:
the formats (exchange/).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note, print_json
from factible_assets.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from factible_assets.report.data import ReportData
    from factible_assets.settings import Settings
    from warehouse.store import Warehouse


class ExportFormat(StrEnum):
    """What can be written."""

    PARQUET = "parquet"
    CLAIMREVIEW = "claimreview"
    AVERITEC = "averitec"


def export(
    videos: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of checked videos, or YouTube URLs; without any, all videos."),
    ] = None,
    *,
    corpus: Annotated[
        str | None, typer.Option("--corpus", help="All checked videos of this corpus.")
    ] = None,
    formats: Annotated[
        list[ExportFormat] | None,
        typer.Option("--format", "-f", help="What to write; may be repeated. All, if not given."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="The folder to write into; else exports in the data folder."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="Where the HTML reports are published, for the links of reviews.",
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Read the live warehouse, not the published copy.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write results as Parquet, ClaimReview (JSON-LD) and AVeriTeC's JSON.

    Reviews are marked as made by software. Incomplete verdicts are no ratings and are left out of
    reviews and of AVeriTeC's JSON; the Parquet files have them.

    Example: factible export

    Example: factible export everyday-beliefs-talk --format claimreview --to site/

    An id that begins with a dash follows two dashes: factible export --json -- -LDjqcvSbP4
    """
    from factible_assets.corpora.adding import bare_id
    from factible_assets.settings import load_settings

    if videos and corpus is not None:
        raise CliError(
            "Videos and --corpus both say what to export.", "Give one of them.", ExitCode.USAGE
        )
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise CliError(
            f"--base-url {base_url} is no web address.", "Begin it with https://", ExitCode.USAGE
        )
    settings = load_settings()
    wanted = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    folder = to or settings.home / "exports"
    everything = not wanted and corpus is None
    with _warehouse(settings, live=live).snapshot() as now:
        written = _Written(now, folder, _chosen(now, wanted, corpus))
        for form in dict.fromkeys(formats or list(ExportFormat)):
            match form:
                case ExportFormat.PARQUET:
                    written.parquet(everything=everything)
                case ExportFormat.CLAIMREVIEW:
                    written.claim_reviews(base_url)
                case ExportFormat.AVERITEC:
                    written.averitec()
    written.tell(as_json=as_json)


class _Written:
    """Writes the files of one export, and says what was written and what was not."""

    def __init__(self, warehouse: Warehouse, folder: Path, video_ids: Collection[str]) -> None:
        self._warehouse = warehouse
        self._folder = folder
        self._video_ids = video_ids
        self._files: list[dict[str, Any]] = []
        self._remarks: list[str] = []

    def parquet(self, *, everything: bool) -> None:
        """Write one file per view."""
        from factible_assets.exchange.tables import write_tables

        only = None if everything else self._video_ids
        tables = write_tables(self._warehouse, self._folder / "parquet", only)
        for table in tables.written:
            self._add(ExportFormat.PARQUET, table.path, table.rows)
        if tables.left_out:
            self._remarks.append(
                f"Views over all videos are left out: {', '.join(tables.left_out)}. "
                "Without a choice of videos they are written too."
            )

    def claim_reviews(self, base_url: str | None) -> None:
        """Write the complete verdicts as ClaimReview."""
        from factible_assets.exchange.claim_review_writing import reviews_of_results

        reviews = reviews_of_results(self._data(), base_url=base_url)
        self._text(ExportFormat.CLAIMREVIEW, "claimreview.jsonld", reviews.text, reviews.count)
        self._left_out(ExportFormat.CLAIMREVIEW, reviews.incomplete, reviews.unjudged)

    def averitec(self) -> None:
        """Write the complete verdicts as AVeriTeC's claims."""
        from factible_assets.exchange.results import averitec_of_results

        results = averitec_of_results(self._data())
        self._text(ExportFormat.AVERITEC, "averitec.json", results.text, results.count)
        self._left_out(ExportFormat.AVERITEC, results.incomplete, results.unjudged)

    def tell(self, *, as_json: bool) -> None:
        """Print what was written."""
        if as_json:
            print_json(
                {
                    "folder": str(self._folder),
                    "videos": list(self._video_ids),
                    "files": self._files,
                    "left_out": self._remarks,
                }
            )
            return
        for remark in self._remarks:
            note(f"  {remark}")
        for file in self._files:
            typer.echo(f"{file['rows']:>7,}  {file['path']}")

    def _data(self) -> Iterator[ReportData]:
        from factible_assets.report.reader import read_report_data

        for video_id in self._video_ids:
            data = read_report_data(self._warehouse, video_id)
            if data is not None:
                yield data

    def _text(self, form: ExportFormat, name: str, text: str, count: int) -> None:
        from factible_assets.files import write_whole

        self._add(form, write_whole(self._folder / name, text.encode()), count)

    def _add(self, form: ExportFormat, path: Path, rows: int) -> None:
        self._files.append({"format": form.value, "path": str(path), "rows": rows})

    def _left_out(self, form: ExportFormat, incomplete: int, unjudged: int) -> None:
        if incomplete:
            self._remarks.append(
                f"{form.value}: {incomplete} claims whose verdict is incomplete are left out, "
                "because services failed. Check their videos again."
            )
        if unjudged:
            self._remarks.append(f"{form.value}: {unjudged} claims without a verdict are left out.")


def _warehouse(settings: Settings, *, live: bool) -> Warehouse:
    from warehouse.store import Warehouse

    path = settings.published if settings.published.exists() and not live else settings.warehouse
    if not path.exists():
        raise CliError(
            f"There is no warehouse at {path} yet.", "Check a video first, such as: factible demo"
        )
    return Warehouse(path)


def _chosen(warehouse: Warehouse, wanted: list[str], corpus: str | None) -> list[str]:
    """Return the ids of the checked videos that are meant.

    Raises:
        CliError: A video was never checked, or no video of the corpus was.
    """
    from warehouse.statements import statements

    ask = statements("factible_assets.cli", "export.sql")
    checked = warehouse.query(ask["checked"], {"corpus": corpus})["video_id"].to_list()
    missing = [video_id for video_id in wanted if video_id not in checked]
    if missing:
        raise CliError(
            f"Nothing is stored about the video {missing[0]}.",
            f"Check it first: factible check -- {missing[0]}",
        )
    if not checked:
        known = warehouse.query(ask["corpora"])["corpus"].to_list()
        names = f" Corpora with checked videos: {', '.join(known)}." if known else ""
        where = f"of the corpus {corpus!r}" if corpus is not None else "here"
        raise CliError(f"No video {where} was checked yet.", f"Check one first.{names}")
    return wanted or checked
