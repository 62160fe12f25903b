"""Measures how the cost of the same work grows with the size of the data folder.

Run: `python -m benchmarks.growth --videos 100 10000 --write` (minutes, 6 GB of disk for 10,000).
`--homes FOLDER` keeps the data folders there and reuses them. The data are copies of the demo's
checked video (homes.py). The least times of three repetitions go to docs/performance.md.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.homes import SEED, make_home, sets_of_its_own
from benchmarks.shared import PERFORMANCE, publish, timed
from factible_assets.report.data import read_report_data
from factible_assets.report.writing import read_index_data, write_index, write_report
from factible_assets.runs.state import counts_of
from factible_assets.settings import Settings
from warehouse.reading import stored_texts
from warehouse.rechecks import RecheckLimits, make_plan
from warehouse.rows import Stamp
from warehouse.store import Warehouse

REPEATED = 3

VIEWS_OF_A_VIDEO = (
    "current_claims", "current_evidence", "current_page_texts", "current_verdicts",
    "costs", "evidence_chain", "failures", "verdicts",
    "verdict_changes", "verdict_evidence",
)  # fmt: skip
QUESTIONS = {
    "verdicts by word": "SELECT verdict, count(*) FROM verdicts GROUP BY ALL",
    "sources by weight": "SELECT * FROM source_scoreboard ORDER BY sources DESC LIMIT 20",
    "what changed": "SELECT * FROM verdict_changes ORDER BY checked_at DESC LIMIT 20",
    "failures by asset": "SELECT asset, count(*) FROM failures GROUP BY ALL",
    "costs by service": "SELECT service, sum(cost_usd) FROM costs GROUP BY ALL",
    "claims of a channel": "SELECT channel, count(*) FROM verdicts GROUP BY ALL",
    "model usage": "SELECT * FROM model_usage",
    "latency by stage": "SELECT * FROM latency_by_stage",
}


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Return the least seconds and CPU seconds of a few repetitions."""
    found = []
    for _ in range(REPEATED):
        with timed() as spent:
            work()
        found.append(spent)
    return min(each.wall for each in found), min(each.cpu for each in found)


def one_more(store: Warehouse) -> Callable[[], None]:
    """Return a function that writes a video's sets again, with new texts."""
    held = store.read_video(SEED)

    def write() -> None:
        run = f"run-{time.time_ns()}"
        sets = sets_of_its_own(held, SEED, run)
        store.write_assets(SEED, sets, stamp=Stamp(run, datetime.now(UTC)))

    return write


def texts_of(store: Warehouse, hashes: set[str]) -> dict[str, str]:
    with store.connection(read_only=True) as connection:
        return stored_texts(connection, hashes)


def measure(settings: Settings) -> dict[str, tuple[float, float]]:
    store, found = Warehouse(settings.warehouse), {}
    write = one_more(store)
    found["write a video's sets"] = measured(write)
    for _ in range(2):
        store.publish(settings.published)

    def publish() -> None:
        write()
        store.publish(settings.published)

    found["write and publish"] = measured(publish)
    ((video,),) = store.query(
        "SELECT video_id FROM videos WHERE video_id <> ? ORDER BY md5(video_id) LIMIT 1", [SEED]
    ).rows()
    data = read_report_data(store, video)
    assert data is not None
    hashes = {row.content_hash for row in data.evidence if row.content_hash}
    copy = Warehouse(settings.published)
    limits, now = RecheckLimits(), datetime.now(UTC)
    works: dict[str, Callable[[], object]] = {
        "read a video": lambda: copy.read_video(video),
        "texts of a video": lambda: texts_of(copy, hashes),
        "read for a report": lambda: read_report_data(copy, video),
        "write a report": lambda: write_report(data, settings.reports / "one.html"),
        "write the index": lambda: write_index(read_index_data(copy), settings.reports),
        "status": lambda: counts_of(settings),
        "plan of re-checks": lambda: make_plan(store, limits, now, preview=True),
        "videos there are": copy.video_ids,
    }
    found |= {name: measured(work) for name, work in works.items()}
    with copy.snapshot() as reader:
        for view in VIEWS_OF_A_VIDEO:
            sql = f"SELECT * FROM {view} WHERE video_id = ?"  # noqa: S608 - a name from above
            found[f"`{view}` of a video"] = measured(partial(reader.query, sql, [video]))
        for name, sql in QUESTIONS.items():
            found[name] = measured(partial(reader.query, sql))
    return found


def table(figures: Mapping[int, Mapping[str, tuple[float, float]]]) -> Iterator[str]:
    """Print milliseconds of each work per size, with the CPU time in brackets."""
    sizes = sorted(figures)
    yield f"| ms (CPU) | {' | '.join(f'{each:,} videos' for each in sizes)} | ratio of CPU |"
    yield "|---" * (len(sizes) + 2) + "|"
    for name in figures[sizes[0]]:
        cells = [figures[each][name] for each in sizes]
        shown = " | ".join(f"{1000 * wall:,.0f} ({1000 * cpu:,.0f})" for wall, cpu in cells)
        yield f"| {name} | {shown} | {cells[-1][1] / max(cells[0][1], 0.001):.1f} |"


def main() -> int:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--write", action="store_true", help=f"Write {PERFORMANCE.name}.")
    given = parser.parse_args()
    figures = {}
    with contextlib.ExitStack() as stack:
        scratch = given.homes or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for videos in given.videos:
            home = scratch / f"h{videos}"
            is_there = (home / "warehouse.duckdb").exists()
            figures[videos] = measure(Settings(home=home) if is_there else make_home(home, videos))
    publish("growth", list(table(figures)), write=given.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
