"""`factible export`: results for others, as Parquet, ClaimReview, AVeriTeC's JSON and Markdown.

What belongs here: which videos are meant, where the files go, what is said of them. What does not:
the formats (exchange/).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note, print_json
from factible_assets.errors import ExitCode

if TYPE_CHECKING:
    from factible_assets.settings import Settings
    from warehouse.store import Warehouse


class ExportFormat(StrEnum):
    """What can be written."""

    PARQUET = "parquet"
    CLAIMREVIEW = "claimreview"
    AVERITEC = "averitec"
    MARKDOWN = "markdown"


_OF_ONE_CLAIM = (ExportFormat.CLAIMREVIEW, ExportFormat.MARKDOWN)


def export(
    videos: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of checked videos, or YouTube URLs; without any, all videos."),
    ] = None,
    *,
    corpus: Annotated[
        str | None, typer.Option("--corpus", help="All checked videos of this corpus.")
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            "--claim",
            metavar="CLAIM",
            help="One claim of one video, by its number in `factible review` or its id.",
        ),
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
    """Write results as Parquet, ClaimReview (JSON-LD), AVeriTeC's JSON and Markdown.

    Reviews are marked as made by software, but those of a claim on which a person signed a ruling:
    these are that person's. Incomplete verdicts are no ratings and are left out of reviews and of
    AVeriTeC's JSON; the Parquet files have them.

    Example: factible export

    Example: factible export everyday-beliefs-talk --format claimreview --to site/

    Example: factible export everyday-beliefs-talk --claim 1 --format markdown

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
    chosen = list(dict.fromkeys(formats or (_OF_ONE_CLAIM if claim else list(ExportFormat))))
    settings = load_settings()
    only = _only(videos or [], claim, chosen, settings) if claim is not None else None
    wanted = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    folder = to or settings.home / "exports"
    files: list[dict[str, Any]] = []
    remarks: list[str] = []
    with _warehouse(settings, live=live).snapshot() as now:
        video_ids = _chosen(now, wanted, corpus)
        for form in chosen:
            if form is ExportFormat.PARQUET:
                some = video_ids if wanted or corpus is not None else None
                made = _write_tables(now, folder / "parquet", some, remarks)
            elif form is ExportFormat.MARKDOWN:
                made = list(_write_markdown(now, folder / "markdown", video_ids, only))
            else:
                made = [_write_claims(now, folder, video_ids, form, base_url, only, remarks)]
            files += [{"format": form.value, "path": str(path), "rows": n} for path, n in made]
    if as_json:
        document = {"folder": str(folder), "videos": video_ids, "files": files}
        print_json({**document, "left_out": remarks})
        return
    for remark in remarks:
        note(f"  {remark}")
    for file in files:
        typer.echo(f"{file['rows']:>7,}  {file['path']}")


def _only(videos: list[str], claim: str, chosen: list[ExportFormat], settings: Settings) -> str:
    """Return the id of the one claim that is wanted.

    Raises:
        CliError: There is more than one video or none, or the format is none of one claim.
    """
    from factible_assets.running.review import open_claim

    if len(videos) != 1 or set(chosen) - set(_OF_ONE_CLAIM):
        raise CliError(
            "--claim is for one claim of one video, as claimreview or markdown.",
            "Such as: factible export VIDEO --claim 1 --format markdown",
            ExitCode.USAGE,
        )
    file = open_claim(videos[0], claim, settings)
    if file.gone is not None:
        raise CliError(
            "The claim was dropped or split, and is none of the video's any more.",
            f"factible review -- {file.video_id} lists those that are.",
        )
    return file.claim.claim_id


def _write_tables(
    warehouse: Warehouse, folder: Path, only: list[str] | None, remarks: list[str]
) -> list[tuple[Path, int]]:
    """Write one file per view; return each with its number of rows."""
    from factible_assets.exchange.tables import write_tables

    tables = write_tables(warehouse, folder, only)
    if tables.left_out:
        remarks.append(
            f"Views over all videos are left out: {', '.join(tables.left_out)}. "
            "Without a choice of videos they are written too."
        )
    return [(table.path, table.rows) for table in tables.written]


def _write_claims(
    warehouse: Warehouse,
    folder: Path,
    video_ids: list[str],
    form: ExportFormat,
    base_url: str | None,
    only: str | None,
    remarks: list[str],
) -> tuple[Path, int]:
    """Write the complete verdicts as ClaimReview or as AVeriTeC's claims."""
    from factible_assets.exchange.claim_review_writing import reviews_of_results
    from factible_assets.exchange.results import averitec_of_results
    from factible_assets.files import write_whole
    from factible_assets.report.reader import read_report_data

    known = (read_report_data(warehouse, video_id) for video_id in video_ids)
    checked = (data for data in known if data is not None)
    if form is ExportFormat.CLAIMREVIEW:
        name = f"claimreview{f'-{only}' if only else ''}.jsonld"
        made = reviews_of_results(checked, base_url=base_url, only=only)
    else:
        name, made = "averitec.json", averitec_of_results(checked)
    if made.incomplete:
        remarks.append(
            f"{form.value}: {made.incomplete} claims whose verdict is incomplete are left out, "
            "because services failed. Check their videos again."
        )
    if made.unjudged:
        remarks.append(f"{form.value}: {made.unjudged} claims without a verdict are left out.")
    return write_whole(folder / name, made.text.encode()), made.count


def _write_markdown(
    warehouse: Warehouse, folder: Path, video_ids: list[str], only: str | None
) -> Iterator[tuple[Path, int]]:
    """Write the claims of each video, or the one that is wanted, with how many there are."""
    from factible_assets.exchange.claim_markdown import claims_as_markdown
    from factible_assets.files import write_whole
    from factible_assets.report.reader import read_report_data

    for video_id in video_ids:
        data = read_report_data(warehouse, video_id)
        if data is not None and data.claims:
            name = f"{video_id}-{only}.md" if only else f"{video_id}.md"
            text = claims_as_markdown(data, only)
            yield write_whole(folder / name, text.encode()), 1 if only else len(data.claims)


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
    from resources.statements import statements

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
