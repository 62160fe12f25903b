"""The folder of reports: one file per video, and the index of all of them.

What belongs here: names and places of the files, writing one, several or the index; rows and
filters of the index, packed for its script. What does not: which folder that is (settings),
filtering itself (index.js), what is in a report (view.py, render.py).

Everything raises OSError where a file cannot be written, WarehouseError where a warehouse cannot be
read.
"""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from factible_assets.files import file_stem, write_whole
from factible_assets.report.data import ReportData, ask, read_report_data
from factible_assets.report.render import document, environment, render_report
from factible_assets.report.view import claim_anchor, count_outcomes
from factible_assets.wording import GLYPHS, OUTCOME_WORDS, clock, day, outcome_words

if TYPE_CHECKING:
    from warehouse.store import Warehouse

INDEX = "index.html"
"""The index of all videos in a folder of reports."""

_VIDEOS_AT_ONCE = 10
"""To open the warehouse takes a third of what a video takes; while it is open, nobody writes."""

_LARGE_INDEX_BYTES = 500_000
_BYTES_PER_SECOND_OF_REST = 50_000
"""An index of 2,000 videos takes some .6 s of CPU, and rests for twelve seconds or more."""

Indexed: TypeAlias = dict[str, Any]
"""A video with its `claims` in order of time, `checked_at` (timezone-aware), `changes` and
`cost_usd`; see data.sql. The outcome of a claim is a stance, `incomplete` or `unjudged`."""

_SHOWN_VIDEOS = 25
"""Rows of the index where no script runs; the other videos are a list of links there."""

CONFIDENCES = ("high", "medium", "low")
_OUTCOMES = tuple(OUTCOME_WORDS)
_RANKS = ("", *reversed(CONFIDENCES))
_ANCHOR = 5
"""Characters of a claim's id that tell it from others of its video; report.js finds the rest."""


def report_path(folder: Path, video_id: str) -> Path:
    """Return where the report of a video is written in a folder of reports."""
    stem = file_stem(video_id)
    # A video may be called index; the index of all videos is.
    name = f"{stem}-video.html" if f"{stem}.html".casefold() == INDEX else f"{stem}.html"
    return folder / name


def write_report(data: ReportData, path: Path) -> Path:
    """Render the report of one video to a file."""
    home = INDEX if path == report_path(path.parent, data.video.video_id) else None
    return write_whole(path, render_report(data, index=home)[0].encode("utf-8"))


def write_index(videos: Sequence[Indexed], folder: Path) -> Path:
    """Render the index of all videos, with links to the reports that are in the folder."""
    paths = {each["video_id"]: report_path(folder, each["video_id"]) for each in videos}
    hrefs = {video_id: path.name for video_id, path in paths.items() if path.is_file()}
    return write_whole(folder / INDEX, render_index(videos, hrefs).encode("utf-8"))


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
    index = folder / INDEX
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


# --- The index ------------------------------------------------------------------------------------


def read_index_data(warehouse: Warehouse) -> list[Indexed]:
    """Return every video that the warehouse knows, the one that was checked last first."""
    return ask(warehouse, "index")


def render_index(videos: Sequence[Indexed], hrefs: Mapping[str, str]) -> str:
    """Return the index of all videos as an HTML document, encodable as UTF-8.

    Its script filters, sorts and lists all of them, and their claims, from what is packed into it.
    `hrefs` has by video the relative address of its report, if one is written.
    """
    rows = []
    for video in videos:
        href = hrefs.get(video["video_id"])
        under = (
            video["channel"],
            day(video["published_on"]) if video["published_on"] else None,
            clock(video["duration_seconds"]) if video["duration_seconds"] is not None else None,
            video["corpus"],
            video["category"],
            None if href else f"no report is written: factible report -- {video['video_id']}",
        )
        rows.append(video | {"href": href, "under": [*filter(None, under)]})
    for row in rows[:_SHOWN_VIDEOS]:
        row["counts"] = count_outcomes((each["outcome"], each["basis"]) for each in row["claims"])
    claims = [claim for video in videos for claim in video["claims"]]
    index = {
        "rows": rows,
        "counts": count_outcomes((claim["outcome"], claim["basis"]) for claim in claims),
        "claim_count": len(claims),
        "is_leaning": any(claim["basis"] == "embedded" for claim in claims),
        "cost_usd": sum(video["cost_usd"] for video in videos),
        "checked_at": max(filter(None, (each["checked_at"] for each in videos)), default=None),
        "choices": choices(videos),
    }
    return document(
        environment(),
        "index.html.jinja",
        ("shared.css", "index.css"),
        ("shared.js", "index.js"),
        index=index,
        shown=rows[:_SHOWN_VIDEOS],
        others=rows[_SHOWN_VIDEOS:],
        packed=_packed(rows),
    )[0]


def choices(videos: Sequence[Indexed]) -> dict[str, list[tuple[str, str, int]]]:
    """Return by filter each value, its words, and for how many claims or videos it holds."""
    claims = [claim for video in videos for claim in video["claims"]]
    orders: dict[str, Sequence[str]] = {"outcome": _OUTCOMES, "confidence": CONFIDENCES}
    found = {}
    for name in ("outcome", "confidence", "corpus", "category", "channel"):
        numbers = Counter[str](each[name] or "" for each in (claims if name in orders else videos))
        found[name] = [
            (value, OUTCOME_WORDS[value] if name == "outcome" else value, numbers[value])
            for value in orders.get(name) or sorted(numbers, key=str.casefold)
            if value and numbers[value]
        ]
    return found


def _packed(rows: Sequence[Indexed]) -> str:
    """Return all rows for index.js to show page by page: JSON, compressed, in base64.

    Packed, because the texts of 6,000 claims are most of a megabyte. Nothing in it is markup, and
    base64 has no character that could become some.
    """
    videos = [
        (
            row["title"],
            row["href"],
            row["under"],
            row["corpus"] or "",
            row["category"] or "",
            row["channel"] or "",
            row["checked_at"].date().isoformat() if row["checked_at"] else "",
            row["changes"],
            [
                (
                    None if claim["start_seconds"] is None else int(claim["start_seconds"]),
                    claim_anchor(claim["claim_id"], number)[:_ANCHOR],
                    " ".join(claim["text"].split()),
                    _OUTCOMES.index(claim["outcome"]),
                    int(claim["basis"] == "embedded"),
                    _RANKS.index(claim["confidence"] or ""),
                    claim["supporting"],
                    claim["refuting"],
                )
                for number, claim in enumerate(row["claims"], 1)
            ],
        )
        for row in rows
    ]
    outcomes = [
        (name, words_of, outcome_words(name, "embedded"), GLYPHS[name])
        for name, words_of in OUTCOME_WORDS.items()
    ]
    packed = {"outcomes": outcomes, "confidences": _RANKS, "videos": videos}
    # Lone surrogates, which a transcript may hold, are no UTF-8.
    text = json.dumps(packed, ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()
