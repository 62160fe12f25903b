"""Where reports are written: one file per video and an index in one folder.

What belongs here: names and places of the files, writing one, several or the index. What does not:
which folder that is (settings), what is in the files (render.py).

Everything raises OSError where a file cannot be written, WarehouseError where a warehouse cannot be
read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from factible_assets.files import file_stem, write_whole
from factible_assets.report.data import ReportData, read_report_data
from factible_assets.report.index import Indexed, page_count, read_index_data, render_index
from factible_assets.report.render import render_report

if TYPE_CHECKING:
    from warehouse.store import Warehouse

INDEX = "index.html"

_VIDEOS_AT_ONCE = 10
"""To open the warehouse takes a third of what a video takes; while it is open, nobody writes."""

_LARGE_INDEX_BYTES = 500_000
_BYTES_PER_SECOND_OF_REST = 50_000
"""An index of 2,000 videos takes a second of CPU to write, and rests for some twelve."""


def report_path(folder: Path, video_id: str) -> Path:
    """Return where the report of a video is written in a folder of reports."""
    stem = file_stem(video_id)
    # A video may be called index; the index of all videos is.
    name = f"{stem}-video.html" if f"{stem}.html".casefold() == INDEX else f"{stem}.html"
    return folder / name


def index_path(folder: Path) -> Path:
    """Return where the index of all videos is written in a folder of reports."""
    return folder / INDEX


def write_report(data: ReportData, path: Path) -> Path:
    """Render the report of one video to a file."""
    home = INDEX if path == report_path(path.parent, data.video.video_id) else None
    return write_whole(path, render_report(data, index=home)[0].encode("utf-8"))


def write_index(videos: Sequence[Indexed], folder: Path) -> Path:
    """Render the index of all videos, with links to the reports that are in the folder."""
    paths = {each["video_id"]: report_path(folder, each["video_id"]) for each in videos}
    hrefs = {video_id: path.name for video_id, path in paths.items() if path.is_file()}
    # No report is called so: a video's id leaves no dot in the name of its file.
    names = [INDEX, *(f"index.{number}.html" for number in range(2, page_count(len(videos)) + 1))]
    for old in set(folder.glob("index.*.html")) - {folder / name for name in names}:
        old.unlink(missing_ok=True)
    # The first page last, so that no page is linked that is not there.
    for name, page in reversed(list(zip(names, render_index(videos, hrefs, names), strict=True))):
        write_whole(folder / name, page.encode("utf-8"))
    return index_path(folder)


def publish_data(data: ReportData, videos: Sequence[Indexed], folder: Path) -> Path:
    """Write the report of a video and the index, of rows that were read already."""
    path = write_report(data, report_path(folder, data.video.video_id))
    write_index(videos, folder)
    return path


def publish_report(warehouse: Warehouse, folder: Path, video_id: str) -> Path | None:
    """Write the report of one video and refresh the index; None if nothing is stored of it.

    A large index that was written just before is left to the next report, so that in a batch of
    many runs its writing stays a small part of the work. `factible report` refreshes it at once.
    """
    rests = False
    index = index_path(folder)
    if index.exists():
        found = index.stat()
        rest = found.st_size / _BYTES_PER_SECOND_OF_REST
        rests = found.st_size > _LARGE_INDEX_BYTES and time.time() < found.st_mtime + rest
    with warehouse.snapshot() as now:
        data = read_report_data(now, video_id)
        if data is None:
            return None
        videos = [] if rests else read_index_data(now)
    if rests:
        return write_report(data, report_path(folder, video_id))
    return publish_data(data, videos, folder)


def publish_all(warehouse: Warehouse, folder: Path) -> dict[str, Path]:
    """Write the report of every video and the index; returns the files by video."""
    written: dict[str, Path] = {}
    video_ids = [video["video_id"] for video in read_index_data(warehouse)]
    for start in range(0, len(video_ids), _VIDEOS_AT_ONCE):
        with warehouse.snapshot() as now:
            found = [read_report_data(now, each) for each in video_ids[start:][:_VIDEOS_AT_ONCE]]
        for data in filter(None, found):
            path = report_path(folder, data.video.video_id)
            written[data.video.video_id] = write_report(data, path)
    write_index(read_index_data(warehouse), folder)
    return written
