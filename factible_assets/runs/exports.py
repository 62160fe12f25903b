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

_SINGLE_CLAIM_FORMATS = (ExportFormat.CLAIMREVIEW, ExportFormat.MARKDOWN)


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
    request: ExportRequest, folder: Path, settings: Settings, *, live: bool = False
) -> Exported:
    """Write the newest results below a folder.

    Raises UsageError: One claim was asked for, and not of one video in a format of single claims.
    Raises FactibleError: A named video has no check, no video of the corpus has, or the claim is
    gone.
    """
    every = ExportFormat if request.claim is None else _SINGLE_CLAIM_FORMATS
    formats = list(dict.fromkeys(request.formats or every))
    claim_id = None if request.claim is None else _claim_id(request, formats, settings)
    with open_store(settings, live=live).snapshot() as now:
        done = Exported(_videos(now, request, settings))
        chosen = done.videos if request.videos or request.corpus is not None else None
        for form in formats:
            read = (read_report_data(now, video_id) for video_id in done.videos)
            reports = (data for data in read if data is not None)
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
                written = _markdown(reports, folder / form, claim_id)
            else:
                written = _document(
                    reports, folder, form, request.base_url, claim_id, done.left_out
                )
            done.files.extend((form, path, count) for path, count in written.items())
    return done


def _claim_id(request: ExportRequest, formats: list[ExportFormat], settings: Settings) -> str:
    if len(request.videos) != 1 or set(formats) - set(_SINGLE_CLAIM_FORMATS):
        raise UsageError(
            "--claim exports one claim of one video, as claimreview or markdown.",
            "For example: factible export VIDEO --claim 1 --format markdown",
        )
    file = open_claim(request.videos[0], request.claim or "", settings)
    if file.gone is not None:
        raise FactibleError(
            "A reviewer dropped or split the claim.",
            f"factible review -- {file.video_id} lists the current claims.",
        )
    return file.claim.claim_id


def _videos(store: Warehouse, request: ExportRequest, settings: Settings) -> list[str]:
    checked = [row["video_id"] for row in store.rows(_SQL["checked"], {"corpus": request.corpus})]
    for video_id in request.videos:
        if video_id not in checked:
            raise unchecked(video_id, settings)
    if not checked:
        known = [row["corpus"] for row in store.rows(_SQL["corpora"])]
        names = f" Corpora with checked videos: {', '.join(known)}." if known else ""
        where = f"of the corpus {request.corpus!r}" if request.corpus is not None else "here"
        raise FactibleError(f"No video {where} has a check yet.", f"Check one first.{names}")
    return list(request.videos) or checked


def _markdown(reports: Iterable[ReportData], folder: Path, claim_id: str | None) -> dict[Path, int]:
    written = {}
    for data in reports:
        if data.claims:
            name = f"{data.video.video_id}{f'-{claim_id}' if claim_id else ''}.md"
            path = write_whole(folder / name, claims_as_markdown(data, claim_id).encode())
            written[path] = 1 if claim_id else len(data.claims)
    return written


def _document(
    reports: Iterable[ReportData],
    folder: Path,
    form: ExportFormat,
    base_url: str | None,
    claim_id: str | None,
    left_out: list[str],
) -> dict[Path, int]:
    if form == "claimreview":
        name = f"claimreview{f'-{claim_id}' if claim_id else ''}.jsonld"
        export = reviews_of_results(reports, base_url=base_url, only=claim_id)
    else:
        name, export = "averitec.json", averitec_of_results(reports)
    if export.incomplete:
        left_out.append(
            f"{form}: left out {counted(export.incomplete, 'claim')} with an incomplete verdict, "
            "because services failed. Check the videos again."
        )
    if export.unjudged:
        left_out.append(f"{form}: left out {counted(export.unjudged, 'claim')} without a verdict.")
    return {write_whole(folder / name, export.text.encode()): export.count}
