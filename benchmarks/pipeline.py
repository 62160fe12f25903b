"""The whole pipeline over the annotated transcripts and the recorded web.

Imports the published corpus and the recorded web into a fresh data folder, materializes every
partition as a Dagster run in this process, and prints how many are complete, the processor's
seconds per video and the peak memory. Needs the recorded data beside the project; says so where it
is absent.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shared import require
from factible_assets.config import FactCheckConfig
from factible_assets.corpora.published import import_published
from factible_assets.corpora.reading import load_corpora
from factible_assets.records import Verdict
from factible_assets.running.launch import check_video
from factible_assets.settings import Settings
from factible_assets.stages.urls import canonical_url
from resources.archive.store import Archive
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class Checked:
    """One video's run; `seconds` are the processor's."""

    video_id: str
    success: bool
    seconds: float
    verdicts: list[Verdict]


def prepare(home: Path) -> tuple[Settings, list[str]]:
    """Import corpus and recorded web into a data folder; return the videos."""
    settings = Settings(home=home)
    import_published(require("factible"), settings.home_corpora)
    archive = Archive(settings.archive, canonicalise=canonical_url)
    for name in ("pages.jsonl", "hits.jsonl"):
        archive.import_from(require("recorded_web", name), "recorded")
    videos = [video.video.video_id for video in load_corpora([settings.home_corpora]).videos()]
    return settings, videos


def check(settings: Settings, video_id: str) -> Checked:
    """Run one partition."""
    started = time.process_time()
    outcome = check_video(video_id, settings=settings, config=FactCheckConfig(reasoner="embedded"))
    for failure in outcome.failures:
        print(f"  {failure}")
    seconds = time.process_time() - started
    verdicts = Warehouse(settings.warehouse).read_current(Verdict, video_id)
    return Checked(video_id, outcome.success, seconds, verdicts)


def main() -> int:
    """Print the figures; return 1 if a partition failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="Keep the data folder here.")
    home = parser.parse_args().home
    with tempfile.TemporaryDirectory() as scratch:
        settings, videos = prepare(home or Path(scratch))
        runs = []
        for video_id in videos:
            run = check(settings, video_id)
            stances = [verdict.stance or verdict.status for verdict in run.verdicts]
            print(f"{run.video_id:12} {run.seconds:6.1f} s  {', '.join(stances)}", flush=True)
            runs.append(run)
    complete = [run for run in runs if run.success and run.verdicts]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = [run.seconds for run in runs]
    print(f"complete partitions: {len(complete)} of {len(runs)}")
    print(
        f"processor's seconds per video: median {statistics.median(seconds):.1f}, "
        f"mean {statistics.mean(seconds):.1f}, most {max(seconds):.1f}"
    )
    print(f"peak memory: {peak:.0f} MB")
    return 0 if len(complete) == len(runs) else 1


if __name__ == "__main__":
    sys.exit(main())
