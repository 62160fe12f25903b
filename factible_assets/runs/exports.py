"""Exports results as files: tables, ClaimReview, AVeriTeC's JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from factible_assets.errors import FactibleError, UsageError
from factible_assets.exchange import ExportFormat
from factible_assets.exchange.averitec import averitec_of_results
from factible_assets.exchange.claim_review_export import reviews_of_results
from factible_assets.exchange.tables import TableFormat, write_tables
from factible_assets.report.data import read_report_data
from factible_assets.report.render import claims_as_markdown
from factible_assets.runs.claims import open_claim
from factible_assets.runs.targets import open_store, unchecked
from factible_assets.settings import Settings
from factible_assets.wording import counted
from resources.files import write_whole
from resources.statements import statements

if TYPE_CHECKING:
    from factible_assets.report.data import ReportData
    from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs", "exports.sql")

_OF_ONE_CLAIM = (ExportFormat.CLAIMREVIEW, ExportFormat.MARKDOWN)


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The selection to export: videos by id, a corpus, all, or one claim of one video."""

    videos: Sequence[str] = ()
    corpus: str | None = None
    claim: str | None = None
    formats: Sequence[ExportFormat] = ()
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """The videos, the number of rows or claims by format and file, and what was left out."""

    videos: list[str]
    files: list[tuple[ExportFormat, Path, int]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def export_results(
    asked: ExportRequest, folder: Path, settings: Settings, *, live: bool = False
) -> Exported:
    """Write the newest results below a folder.

    Raises UsageError: One claim was asked for, and not of one video in a format of single claims.
    Raises FactibleError: A named video has no check, no video of the corpus has, or the claim is
    gone.
    """
    every = ExportFormat if asked.claim is None else _OF_ONE_CLAIM
    formats = list(dict.fromkeys(asked.formats or every))
    only = None if asked.claim is None else _claim_id(asked, formats, settings)
    with open_store(settings, live=live).snapshot() as now:
        done = Exported(_videos(now, asked, settings))
        chosen = done.videos if asked.videos or asked.corpus is not None else None
        for form in formats:
            known = (read_report_data(now, video_id) for video_id in done.videos)
            checked = (data for data in known if data is not None)
            if form in {"parquet", "csv"}:
                kind: TableFormat = "csv" if form == "csv" else "parquet"
                written, left_out = write_tables(now, folder / kind, chosen, kind)
                remark = (
                    f"Left out, because they cover all videos: {', '.join(left_out)}. "
                    "An export of all videos has them."
                )
                if left_out and remark not in done.left_out:
                    done.left_out.append(remark)
            elif form == "markdown":
                written = _markdown(checked, folder / form, only)
            else:
                written = _document(checked, folder, form, asked.base_url, only, done.left_out)
            done.files.extend((form, path, count) for path, count in written.items())
    return done


def _claim_id(asked: ExportRequest, formats: list[ExportFormat], settings: Settings) -> str:
    if len(asked.videos) != 1 or set(formats) - set(_OF_ONE_CLAIM):
        raise UsageError(
            "--claim exports one claim of one video, as claimreview or markdown.",
            "For example: factible export VIDEO --claim 1 --format markdown",
        )
    file = open_claim(asked.videos[0], asked.claim or "", settings)
    if file.gone is not None:
        raise FactibleError(
            "A reviewer dropped or split the claim.",
            f"factible review -- {file.video_id} lists the current claims.",
        )
    return file.claim.claim_id


def _videos(store: Warehouse, asked: ExportRequest, settings: Settings) -> list[str]:
    checked = [row["video_id"] for row in store.rows(_SQL["checked"], {"corpus": asked.corpus})]
    for video_id in asked.videos:
        if video_id not in checked:
            raise unchecked(video_id, settings)
    if not checked:
        known = [row["corpus"] for row in store.rows(_SQL["corpora"])]
        names = f" Corpora with checked videos: {', '.join(known)}." if known else ""
        where = f"of the corpus {asked.corpus!r}" if asked.corpus is not None else "here"
        raise FactibleError(f"No video {where} has a check yet.", f"Check one first.{names}")
    return list(asked.videos) or checked


def _markdown(checked: Iterable[ReportData], folder: Path, only: str | None) -> dict[Path, int]:
    written = {}
    for data in checked:
        if data.claims:
            name = f"{data.video.video_id}{f'-{only}' if only else ''}.md"
            path = write_whole(folder / name, claims_as_markdown(data, only).encode())
            written[path] = 1 if only else len(data.claims)
    return written


def _document(
    checked: Iterable[ReportData],
    folder: Path,
    form: ExportFormat,
    base_url: str | None,
    only: str | None,
    left_out: list[str],
) -> dict[Path, int]:
    if form == "claimreview":
        name = f"claimreview{f'-{only}' if only else ''}.jsonld"
        made = reviews_of_results(checked, base_url=base_url, only=only)
    else:
        name, made = "averitec.json", averitec_of_results(checked)
    if made.incomplete:
        left_out.append(
            f"{form}: left out {counted(made.incomplete, 'claim')} with an incomplete verdict, "
            "because services failed. Check the videos again."
        )
    if made.unjudged:
        left_out.append(f"{form}: left out {counted(made.unjudged, 'claim')} without a verdict.")
    return {write_whole(folder / name, made.text.encode()): made.count}
