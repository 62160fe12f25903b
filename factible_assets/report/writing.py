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
from itertools import accumulate, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from factible_assets.files import INDEX, report_name, write_whole
from factible_assets.report.data import QUESTIONS, ReportData, ask, read_report_data
from factible_assets.report.render import document, environment, render_report
from factible_assets.report.view import ID, count_outcomes
from factible_assets.wording import GLYPHS, OUTCOME_WORDS, clock, day, outcome_words

if TYPE_CHECKING:
    from warehouse.store import Warehouse

_VIDEOS_AT_ONCE = 10
"""To open the warehouse takes a third of what a video takes; while it is open, nobody writes."""

_LARGE_INDEX_BYTES = 500_000
_BYTES_PER_SECOND_OF_REST = 50_000
"""An index of 8,000 videos takes some .8 s of CPU, and rests for half a minute or more."""


class Index(NamedTuple):
    """Every video, the one that was checked last first, and their claims, by column; see data.sql.

    Claims of a video stand together, in order of time; there are too many for an object each. The
    outcome of one is a stance, `incomplete` or `unjudged`; `checked_at` is timezone-aware.
    """

    videos: Sequence[Mapping[str, Any]]
    claims: Mapping[str, Sequence[Any]]


_SHOWN_VIDEOS = 25
"""Rows of the index where no script runs; the other videos are a list of links there."""

CONFIDENCES = ("high", "medium", "low")
_ANCHOR = 5
"""Characters of a claim's id that tell it from others of its video; report.js finds the rest."""


def write_report(data: ReportData, path: Path) -> Path:
    """Render the report of one video to a file."""
    home = INDEX if path.name == report_name(data.video.video_id) else None
    return write_whole(path, render_report(data, index=home)[0].encode("utf-8"))


def write_index(index: Index, folder: Path) -> Path:
    """Render the index of all videos, with links to the reports that are in the folder."""
    there = {path.name for path in folder.glob("*.html")}
    names = {each["video_id"]: report_name(each["video_id"]) for each in index.videos}
    hrefs = {video_id: name for video_id, name in names.items() if name in there}
    return write_whole(folder / INDEX, render_index(index, hrefs).encode("utf-8"))


def publish_data(data: ReportData, index: Index | None, folder: Path) -> Path:
    """Write the report of a video, and the index where its rows were read too."""
    path = write_report(data, folder / report_name(data.video.video_id))
    if index is not None:
        write_index(index, folder)
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
        everything = None if rests else read_index_data(now)
    return publish_data(data, everything, folder)


def publish_all(warehouse: Warehouse, folder: Path) -> dict[str, Path]:
    """Write the report of every video and the index; returns the files by video."""
    written: dict[str, Path] = {}
    video_ids = [video["video_id"] for video in ask(warehouse, "indexed_videos")]
    for start in range(0, len(video_ids), _VIDEOS_AT_ONCE):
        with warehouse.snapshot() as now:
            found = [read_report_data(now, each) for each in video_ids[start:][:_VIDEOS_AT_ONCE]]
        for data in filter(None, found):
            path = folder / report_name(data.video.video_id)
            written[data.video.video_id] = write_report(data, path)
    write_index(read_index_data(warehouse), folder)
    return written


# --- The index ------------------------------------------------------------------------------------


def read_index_data(warehouse: Warehouse) -> Index:
    """Return every video that the warehouse knows and its claims, of one moment."""
    with warehouse.snapshot() as now, now.connection(read_only=True) as connection:
        found = connection.execute(QUESTIONS["indexed_claims"]).fetchall()
        names = [column[0] for column in connection.description or ()]
        columns = map(list, zip(*found, strict=True)) if found else repeat([])
        return Index(ask(now, "indexed_videos"), dict(zip(names, columns, strict=False)))


def render_index(index: Index, hrefs: Mapping[str, str]) -> str:
    """Return the index of all videos as an HTML document, encodable as UTF-8.

    Its script filters, sorts and lists all of them, and their claims, from what is packed into it.
    `hrefs` has by video the relative address of its report, if one is written.
    """
    videos, claims = index
    outcomes = list(zip(claims["outcome"], claims["basis"], strict=True))
    numbers = Counter[str](claims["video_id"])
    ends = zip(numbers.items(), accumulate(numbers.values()), strict=True)
    places = {video_id: range(end - number, end) for (video_id, number), end in ends}
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
        own = places.get(video["video_id"], range(0))
        rows.append({**video, "href": href, "under": [*filter(None, under)], "claims": own})
    for row in rows[:_SHOWN_VIDEOS]:
        row["counts"] = count_outcomes(outcomes[place] for place in row["claims"])
    values = {
        "rows": rows,
        "counts": count_outcomes(outcomes),
        "claim_count": len(outcomes),
        "is_leaning": not {"embedded", "labels"}.isdisjoint(claims["basis"]),
        "cost_usd": sum(video["cost_usd"] for video in videos),
        "checked_at": max(filter(None, (each["checked_at"] for each in videos)), default=None),
        "choices": choices(index),
    }
    return document(
        environment(),
        "index.html.jinja",
        ("shared.css", "index.css"),
        ("shared.js", "index.js"),
        index=values,
        shown=rows[:_SHOWN_VIDEOS],
        others=rows[_SHOWN_VIDEOS:],
        packed=_packed(rows, claims),
    )[0]


def choices(index: Index) -> dict[str, list[tuple[str, str, int]]]:
    """Return by filter each value, its words, and for how many claims or videos it holds."""
    orders: dict[str, Sequence[str]] = {"outcome": [*OUTCOME_WORDS], "confidence": CONFIDENCES}
    found = {}
    for name in ("outcome", "confidence", "corpus", "category", "channel"):
        values = index.claims[name] if name in orders else [each[name] for each in index.videos]
        numbers = Counter[str](each or "" for each in values)
        found[name] = [
            (value, OUTCOME_WORDS[value] if name == "outcome" else value, numbers[value])
            for value in orders.get(name) or sorted(numbers, key=str.casefold)
            if value and numbers[value]
        ]
    return found


def _packed(rows: Sequence[Mapping[str, Any]], claims: Mapping[str, Sequence[Any]]) -> str:
    """Return all rows for index.js to show page by page: JSON, compressed, in base64.

    Packed, because the texts of 6,000 claims are most of a megabyte. Nothing in it is markup, and
    base64 has no character that could become some.
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
        (name, words_of, outcome_words(name, "embedded"), GLYPHS[name])
        for name, words_of in OUTCOME_WORDS.items()
    ]
    # Of an odd id nothing: the number of the claim takes its place, as in the report.
    anchors = [each[:_ANCHOR] if ID.fullmatch(each) else "" for each in claims["claim_id"]]
    ranks = ("", *reversed(CONFIDENCES))
    columns = {**claims, "claim_id": anchors, "video_id": ()}
    packed = {"outcomes": outcomes, "confidences": ranks, "videos": videos, "claims": columns}
    # Lone surrogates, which a transcript may hold, are no UTF-8.
    text = json.dumps(packed, ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()
