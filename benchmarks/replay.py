"""Compares the duration of a check at recorded latencies with the ideal.

Run: `python -m benchmarks.replay [--talks 3] [--scale 1] [--write]` (a minute a talk). A run in
this process checks each talk against services in another process (recorded_services.py). The ideal
is the critical path of the same operations with unlimited concurrency and no work of our own. For
each claim it is

    transcript + claim extraction (with the queries)
    + the latest of its pages: the first search to find it + the longer of (fetch + reading for
      this claim) and the age of its domain

with one reading per page; the ideal of a talk is that of its slowest claim. A call for several
pages takes as long as the longest reading plus the output of the others (`--together`). Avoidable
operations are not part of the ideal. `first claim` is the time at which an observer learns of the
claims, next to transcript + claim extraction. `verdicts` is the time of the last verdict; the
results are written after it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.growth import PAGE, section
from benchmarks.recorded_services import Operation, Talk, World, reading, recorded_services
from factible_assets.config import EvidenceConfig, FactCheckConfig
from factible_assets.records.tables import Claim, Verdict
from factible_assets.runs.launch import run_video
from factible_assets.stages.ports import Observer
from factible_assets.stages.urls import domain_of

EARLIER = 79.5
"""The earlier system's mean over the published runs with five claims, in seconds."""


@dataclass
class Heard(Observer):
    """The times of events."""

    started: float
    claims: float = 0.0
    verdicts: list[float] = field(default_factory=list)

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        self.claims = time.perf_counter() - self.started

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        self.verdicts.append(time.perf_counter() - self.started)


@dataclass(frozen=True, slots=True)
class Checked:
    """The seconds of one talk."""

    video_id: str
    wall: float
    cpu: float
    first: float
    verdicts: float
    ideal: float
    first_claim: float
    first_ideal: float
    operations: int

    def row(self) -> str:
        return (
            f"| `{self.video_id}` | {self.wall:.1f} | {self.first:.1f} | {self.verdicts:.1f} | "
            f"{self.ideal:.1f} | "
            f"{self.wall / self.ideal:.2f} | {self.first_claim / self.first_ideal:.2f} | "
            f"{self.cpu:.1f} | {self.operations} |"
        )


def ideal(talk: Talk, asked: Sequence[Operation]) -> float:
    """Return the critical path of a talk's operations."""
    took: Mapping[tuple[str, str], float] = {(each.kind, each.name): each.seconds for each in asked}
    video = talk.video.video.video_id
    start = took["transcript", video] + took["claim_extraction", talk.claims[0]]
    paths = []
    for claim in talk.claims:
        found: dict[str, float] = {}
        titles = {}
        for query in talk.queries[claim]:
            search = took.get(("web_search", f"{query} 1"), 0.0)
            for hit in talk.hits[query]:
                found[hit.url] = min(found.get(hit.url, search), search)
                titles[hit.url] = hit.title
        latest = 0.0
        for url, search in found.items():
            read = took.get(("evidence_extraction", reading(claim, titles[url])))
            if read is None:
                continue
            age = took.get(("whois", domain_of(url)), 0.0)
            fetch = took.get(("page_fetch", url), 0.0)  # none of a page that an earlier talk read
            latest = max(latest, search + max(fetch + read, age))
        paths.append(start + latest)
    return max(paths)


def check(world: World, talk: Talk, home: Path, config: FactCheckConfig) -> Checked:
    settings = world.settings(home)
    video_id = talk.video.video.video_id
    heard = Heard(time.perf_counter())
    used = time.process_time()
    outcome = run_video(
        video_id, settings=settings, config=config, watch=lambda _: nullcontext(heard)
    )
    wall, cpu = time.perf_counter() - heard.started, time.process_time() - used
    if outcome.failures:
        raise SystemExit("; ".join(outcome.failures))
    asked = world.operations()
    took = {(each.kind, each.name): each.seconds for each in asked}
    return Checked(
        video_id,
        wall,
        cpu,
        min(heard.verdicts),
        max(heard.verdicts),
        ideal(talk, asked),
        heard.claims,
        took["transcript", video_id] + took["claim_extraction", talk.claims[0]],
        len(asked),
    )


def table(done: Sequence[Checked]) -> Iterator[str]:
    names = ("talk", "wall s", "first verdict s", "last verdict s", "ideal s", "wall/ideal")
    yield f"| {' | '.join((*names, 'first claim', 'CPU s', 'asked'))} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    yield from (each.row() for each in done)
    wall, best = (sum(getattr(each, name) for each in done) for name in ("wall", "ideal"))
    mean = wall / len(done)
    yield f"| mean | {mean:.1f} | | | {best / len(done):.1f} | **{wall / best:.2f}** | | | |"
    yield ""
    yield f"The earlier system took {EARLIER} s: this is {mean / EARLIER:.2f} of it."


def main() -> int:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--talks", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="Of all latencies.")
    parser.add_argument("--enough", type=int, help="Stop at so many agreeing origins.")
    parser.add_argument("--together", action="store_true", help="Read pages in one call.")
    parser.add_argument("--write", action="store_true", help=f"Write {PAGE.name}.")
    given = parser.parse_args()
    evidence = EvidenceConfig(enough_origins=given.enough, together=given.together)
    config = FactCheckConfig(evidence=evidence, reasoner="llm")
    with (
        tempfile.TemporaryDirectory() as home,
        recorded_services(given.talks, given.scale) as world,
    ):
        done = []
        for talk in world.talks:
            done.append(check(world, talk, Path(home), config))
            print(done[-1].row(), flush=True)
    lines = list(table(done))
    print("\n".join(lines))
    if given.write:
        section(PAGE, "replay", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
