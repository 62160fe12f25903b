"""Writes the folder of reports: one file per video, and the index of all videos.

Every function raises OSError if a file cannot be written, and WarehouseError if the warehouse
cannot be read.
"""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any, NamedTuple

from factible_assets.records.stances import LEANINGS
from factible_assets.report.data import SQL, ReportData, read_report_data
from factible_assets.report.render import document, environment, render_report
from factible_assets.report.view import SAFE_ID, count_outcomes
from factible_assets.wording import OUTCOME_WORDS, OUTCOMES, clock, day
from resources.files import INDEX, report_name, write_whole
from warehouse.store import Warehouse

_VIDEOS_PER_SNAPSHOT = 10
"""Opening the warehouse costs a third of a video. While it is open, nobody else can write."""

_LARGE_INDEX_BYTES = 500_000
_BYTES_PER_SECOND_OF_REST = 50_000
"""Writing an index of 8,000 videos takes .8 s of CPU. It then stays for half a minute or more."""

_ROWS_WITHOUT_SCRIPT = 25
"""Rows of the index before its script runs. The other videos are a list of links."""

CONFIDENCES = ("high", "medium", "low")
_ANCHOR_CHARACTERS = 5
"""Enough of a claim's id to tell it from the video's others. report.js finds the whole id."""


class Index(NamedTuple):
    """All videos, the newest check first, and the columns of all their claims (data.sql).

    The claims of a video stand together, in order of time. They come as columns because there are
    too many for one object each. An outcome is a stance, `incomplete` or `unjudged`.
    """

    videos: Sequence[Mapping[str, Any]]
    claims: Mapping[str, Sequence[Any]]


def write_report(data: ReportData, path: Path) -> Path:
    index = INDEX if path.name == report_name(data.video.video_id) else None
    return write_whole(path, render_report(data, index=index)[0].encode("utf-8"))


def write_index(index: Index, folder: Path) -> Path:
    """Write the index of all videos. It links the reports that are in the folder."""
    written = {path.name for path in folder.glob("*.html")}
    names = ((video["video_id"], report_name(video["video_id"])) for video in index.videos)
    hrefs = {video_id: name for video_id, name in names if name in written}
    return write_whole(folder / INDEX, render_index(index, hrefs).encode("utf-8"))


def publish_report(warehouse: Warehouse, folder: Path, video_id: str) -> Path | None:
    """Write the report of one video and refresh the index. Unknown videos give None.

    A large index that is only seconds old is left as it is, so that writing it stays a small part
    of a batch of runs. A later report refreshes it.
    """
    index, is_recent = folder / INDEX, False
    if index.exists():
        status = index.stat()
        rest = status.st_size / _BYTES_PER_SECOND_OF_REST
        is_recent = status.st_size > _LARGE_INDEX_BYTES and time.time() < status.st_mtime + rest
    with warehouse.snapshot() as now:
        data = read_report_data(now, video_id)
        if data is None:
            return None
        index_data = None if is_recent else read_index_data(now)
    path = write_report(data, folder / report_name(video_id))
    if index_data is not None:
        write_index(index_data, folder)
    return path


def publish_all(warehouse: Warehouse, folder: Path) -> dict[str, Path]:
    """Write the report of every video, and the index. Returns the files by video."""
    written: dict[str, Path] = {}
    video_ids = [video["video_id"] for video in warehouse.rows(SQL["indexed_videos"])]
    for start in range(0, len(video_ids), _VIDEOS_PER_SNAPSHOT):
        with warehouse.snapshot() as now:
            batch = video_ids[start : start + _VIDEOS_PER_SNAPSHOT]
            reports = [read_report_data(now, video_id) for video_id in batch]
        for data in filter(None, reports):
            path = folder / report_name(data.video.video_id)
            written[data.video.video_id] = write_report(data, path)
    write_index(read_index_data(warehouse), folder)
    return written


# --- The index ------------------------------------------------------------------------------------


def read_index_data(warehouse: Warehouse) -> Index:
    """Read all videos and their claims from one snapshot."""
    with warehouse.snapshot() as now:
        names, rows = now.table(SQL["indexed_claims"])
        columns = map(list, zip(*rows, strict=True)) if rows else repeat([])
        return Index(now.rows(SQL["indexed_videos"]), dict(zip(names, columns, strict=False)))


def render_index(index: Index, hrefs: Mapping[str, str]) -> str:
    """Return the index of all videos as HTML that UTF-8 can encode.

    The page carries packed rows, which its script filters, sorts and lists. `hrefs` has the
    relative address of each written report, by video.
    """
    videos, claims = index
    outcomes = list(zip(claims["outcome"], claims["basis"], strict=True))
    counts = Counter[str](claims["video_id"])
    ends = zip(counts.items(), accumulate(counts.values()), strict=True)
    # The claims of a video stand together, so a range of rows names them.
    rows_of = {video_id: range(end - count, end) for (video_id, count), end in ends}
    rows: list[dict[str, Any]] = []
    for video in videos:
        href = hrefs.get(video["video_id"])
        published, seconds = video["published_on"], video["duration_seconds"]
        under = (
            video["channel"],
            day(published) if published else None,
            clock(seconds) if seconds is not None else None,
            video["corpus"],
            video["category"],
            None if href else "no report file yet",
        )
        of_video = rows_of.get(video["video_id"], range(0))
        rows.append({**video, "href": href, "under": [*filter(None, under)], "claims": of_video})
    for row in rows[:_ROWS_WITHOUT_SCRIPT]:
        row["counts"] = count_outcomes(outcomes[place] for place in row["claims"])
    values = {
        "rows": rows,
        "counts": count_outcomes(outcomes),
        "claim_count": len(outcomes),
        "is_leaning": not LEANINGS.isdisjoint(claims["basis"]),
        "cost_usd": sum(video["cost_usd"] for video in videos),
        "checked_at": max(filter(None, (video["checked_at"] for video in videos)), default=None),
        "choices": filter_choices(index),
    }
    return document(
        environment(),
        "index.html.jinja",
        ("shared.css", "index.css"),
        ("shared.js", "index.js"),
        index=values,
        shown=rows[:_ROWS_WITHOUT_SCRIPT],
        others=rows[_ROWS_WITHOUT_SCRIPT:],
        packed=_packed(rows, claims),
    )[0]


def filter_choices(index: Index) -> dict[str, list[tuple[str, str, int]]]:
    """Return, by filter, its values with their words and their number of claims or videos."""
    orders: dict[str, Sequence[str]] = {"outcome": [*OUTCOME_WORDS], "confidence": CONFIDENCES}
    choices = {}
    for name in ("outcome", "confidence", "corpus", "category", "channel"):
        values = index.claims[name] if name in orders else [video[name] for video in index.videos]
        numbers = Counter[str](value or "" for value in values)
        choices[name] = [
            (value, OUTCOME_WORDS[value] if name == "outcome" else value, numbers[value])
            for value in orders.get(name) or sorted(numbers, key=str.casefold)
            if value and numbers[value]
        ]
    return choices


def _packed(rows: Sequence[Mapping[str, Any]], claims: Mapping[str, Sequence[Any]]) -> str:
    """Pack all rows for index.js: JSON, compressed, in base64.

    The texts of 6,000 claims are almost a megabyte unpacked. Base64 has no character that could
    become markup.
    """
    videos = [
        (
            row["title"],
            row["href"],
            row["under"],
            *(row[name] or "" for name in ("corpus", "category", "channel")),
            row["checked_at"].date().isoformat() if row["checked_at"] else "",
            row["changes"],
            row["claims"].start,
            len(row["claims"]),
        )
        for row in rows
    ]
    outcomes = [
        (name, outcome.words, outcome.leaning, outcome.glyph) for name, outcome in OUTCOMES.items()
    ]
    # An id with odd characters is left out. The claim's number replaces it, as in the report.
    ids = claims["claim_id"]
    anchors = [
        claim_id[:_ANCHOR_CHARACTERS] if SAFE_ID.fullmatch(claim_id) else "" for claim_id in ids
    ]
    leanings = [basis in LEANINGS for basis in claims["basis"]]
    columns = {**claims, "claim_id": anchors, "leaning": leanings, "video_id": (), "basis": ()}
    ranks = ("", *reversed(CONFIDENCES))
    packed = {"outcomes": outcomes, "confidences": ranks, "videos": videos, "claims": columns}
    # A transcript may hold lone surrogates, which UTF-8 cannot encode.
    text = json.dumps(packed, ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()
