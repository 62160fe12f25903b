"""`factible export`: results for others, as Parquet, ClaimReview, AVeriTeC's JSON and Markdown.

What belongs here: which videos are meant, where the files go, what is said of them. What does not:
the formats (exchange/).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from factible_assets.cli.output import note, result, wishes
from factible_assets.corpora.adding import bare_id
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.exchange.averitec import averitec_of_results
from factible_assets.exchange.claim_markdown import claims_as_markdown
from factible_assets.exchange.claim_review import reviews_of_results
from factible_assets.exchange.tables import write_tables
from factible_assets.files import write_whole
from factible_assets.report.data import read_report_data
from factible_assets.running.review import open_claim
from factible_assets.running.targets import open_store
from factible_assets.settings import Settings, load_settings
from resources.statements import statements
from warehouse.store import Warehouse

_SQL = statements("factible_assets.cli", "export.sql")


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
    corpus: Annotated[str | None, typer.Option(help="All checked videos of this corpus.")] = None,
    claim: Annotated[
        str | None,
        typer.Option(
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
        typer.Option(help="The folder to write into; else exports in the data folder."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where the HTML reports are published, for the links of reviews.",
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Read the live warehouse, not the published copy.")
    ] = False,
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
    if videos and corpus is not None:
        raise FactibleError(
            "Videos and --corpus both say what to export.", "Give one of them.", ExitCode.USAGE
        )
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise FactibleError(
            f"--base-url {base_url} is no web address.", "Begin it with https://", ExitCode.USAGE
        )
    chosen = list(dict.fromkeys(formats or (_OF_ONE_CLAIM if claim else list(ExportFormat))))
    settings = load_settings()
    only = _only(videos or [], claim, chosen, settings) if claim is not None else None
    wanted = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    folder = to or settings.home / "exports"
    remarks: list[str] = []
    with open_store(settings, live=live).snapshot() as now:
        video_ids = _chosen(now, wanted, corpus)
        files = []
        for form in chosen:
            if form is ExportFormat.PARQUET:
                some = video_ids if wanted or corpus is not None else None
                written, left_out = write_tables(now, folder / "parquet", some)
                made = list(written.items())
                if left_out:
                    remarks.append(
                        f"Views over all videos are left out: {', '.join(left_out)}. "
                        "Without a choice of videos they are written too."
                    )
            elif form is ExportFormat.MARKDOWN:
                made = _write_markdown(now, folder / "markdown", video_ids, only)
            else:
                made = [_write_claims(now, folder, video_ids, form, base_url, only, remarks)]
            files += [{"format": form, "path": path, "rows": rows} for path, rows in made]
    if not wishes.json:
        for remark in remarks:
            note(f"  {remark}")
    result(
        {"folder": folder, "videos": video_ids, "files": files, "left_out": remarks},
        *(f"{file['rows']:>7,}  {file['path']}" for file in files),
    )


def _only(videos: list[str], claim: str, chosen: list[ExportFormat], settings: Settings) -> str:
    """Return the id of the one claim that is wanted."""
    if len(videos) != 1 or set(chosen) - set(_OF_ONE_CLAIM):
        raise FactibleError(
            "--claim is for one claim of one video, as claimreview or markdown.",
            "Such as: factible export VIDEO --claim 1 --format markdown",
            ExitCode.USAGE,
        )
    file = open_claim(videos[0], claim, settings)
    if file.gone is not None:
        raise FactibleError(
            "The claim was dropped or split, and is none of the video's any more.",
            f"factible review -- {file.video_id} lists those that are.",
        )
    return file.claim.claim_id


def _write_claims(
    store: Warehouse,
    folder: Path,
    video_ids: list[str],
    form: ExportFormat,
    base_url: str | None,
    only: str | None,
    remarks: list[str],
) -> tuple[Path, int]:
    """Write the complete verdicts as ClaimReview or as AVeriTeC's claims."""
    known = (read_report_data(store, video_id) for video_id in video_ids)
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
    store: Warehouse, folder: Path, video_ids: list[str], only: str | None
) -> list[tuple[Path, int]]:
    """Write the claims of each video, or the one that is wanted, with how many there are."""
    made = []
    for video_id in video_ids:
        data = read_report_data(store, video_id)
        if data is not None and data.claims:
            name = f"{video_id}-{only}.md" if only else f"{video_id}.md"
            path = write_whole(folder / name, claims_as_markdown(data, only).encode())
            made.append((path, 1 if only else len(data.claims)))
    return made


def _chosen(store: Warehouse, wanted: list[str], corpus: str | None) -> list[str]:
    """Return the ids of the checked videos that are meant.

    Raises:
        FactibleError: A video was never checked, or no video of the corpus was.
    """
    checked: list[str] = store.query(_SQL["checked"], {"corpus": corpus})["video_id"].to_list()
    missing = [video_id for video_id in wanted if video_id not in checked]
    if missing:
        raise FactibleError(
            f"Nothing is stored about the video {missing[0]}.",
            f"Check it first: factible check -- {missing[0]}",
        )
    if not checked:
        known = store.query(_SQL["corpora"])["corpus"].to_list()
        names = f" Corpora with checked videos: {', '.join(known)}." if known else ""
        where = f"of the corpus {corpus!r}" if corpus is not None else "here"
        raise FactibleError(f"No video {where} was checked yet.", f"Check one first.{names}")
    return wanted or checked
