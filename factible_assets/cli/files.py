"""Files that the command line writes.

What belongs here: where results go and what they are called. What does not: atomic writing
(factible_assets/files.py), what is in the files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from factible_assets.files import digest, file_stem, write_whole

if TYPE_CHECKING:
    from factible_assets.report.data import ReportData
    from factible_assets.settings import Settings

__all__ = ["digest", "file_stem", "slug", "write_report", "write_whole"]

_SLUG_CHARACTERS = 40


def slug(text: str) -> str:
    """Return a text as a short lower-case name of ASCII letters, digits and dashes, never empty."""
    words = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:_SLUG_CHARACTERS].strip("-")
    return words or "untitled"


def write_report(data: ReportData, settings: Settings, path: Path | None = None) -> Path:
    """Write the report of a video to `path`, else among the others, whose index is refreshed."""
    from factible_assets.report import writing
    from warehouse.store import Warehouse

    if path is not None:
        return writing.write_report(data, path)
    target = writing.write_report(data, writing.report_path(settings.reports, data.video.video_id))
    writing.write_index(Warehouse(settings.warehouse), settings.reports)
    return target
