"""Compares the duration of a check at recorded latencies with the ideal, on a virtual clock.

Run: `python -m benchmarks.replay [--talks 3] [--leave-slowest] [--together] [--whole] [--write]`
(seconds a talk). Services in the same event loop answer over loopback with recorded durations
(recorded_services.py). If nothing but timers is left to do, the loop's clock jumps to the next one,
so our own work takes no time and a busy machine changes nothing. The last column has that work in
seconds of CPU, without Dagster and the warehouse.

The ideal is the critical path of the same operations with unlimited concurrency. For each claim it
is

    transcript + the time at which the model has written the claim (with its queries)
    + the latest of its pages: the first search to find it + the longer of (fetch + reading for
      this claim) and the age of its domain

with one reading per page; the ideal of a talk is that of its slowest claim. A page counts although
a verdict may be announced before it ("last verdict s"); the check ends after it ("ended s"). With
`--leave-slowest` a page that the check left out does not count, because it could not have changed
the stance. With `--whole` nothing is streamed. A call for several pages takes as long as the
longest reading plus the output of the others (`--together`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import selectors
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.recorded_services import (
    Operation,
    Services,
    Talk,
    latencies,
    reading,
    service_settings,
    spoken,
    stated_claims,
    talks,
    written_in,
)
from benchmarks.shared import PERFORMANCE, publish
from factible_assets.config import EvidenceConfig, FactCheckConfig
from factible_assets.pipeline.resources import RunContext, open_services
from factible_assets.records.tables import Claim, Verdict
from factible_assets.stages.flow import BeginChecks, check_claims, extract_claims
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import Observer
from factible_assets.stages.search import identity_of
from factible_assets.stages.urls import domain_of
from tests.servers import MisbehavingServer

EARLIER = 79.5
"""The earlier system's mean over the published runs with five claims, in seconds."""


class _SkippingSelector(selectors.DefaultSelector):
    """Waits for sockets and threads, but not for timers: it moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.busy = 0.0, 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        while not (events := super().select(0.002)):
            if not self.busy:
                self.now += timeout
                break
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps when nothing but timers is left to do."""

    def __init__(self) -> None:
        self._virtual = _SkippingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        self._virtual.busy += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._idle)
        return future

    def _idle(self, _: object) -> None:
        self._virtual.busy -= 1


@dataclass
class Heard(Observer):
    """The times of events."""

    begun: list[float] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)
    verdicts: list[tuple[str, Verdict]] = field(default_factory=list)

    def claim_begun(self, claim: Claim) -> None:
        self.begun.append(asyncio.get_running_loop().time())

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        self.begun.append(asyncio.get_running_loop().time())

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        self.reached.append(asyncio.get_running_loop().time())
        self.verdicts.append((claim.text, verdict))


@dataclass(frozen=True, slots=True)
class Checked:
    """The seconds of one talk; `unread` pages were left out."""

    video_id: str
    claim: float
    first: float
    last: float
    end: float
    first_ideal: float
    ideal: float
    unread: int
    operations: int
    cpu: float

    def row(self) -> str:
        return (
            f"| `{self.video_id}` | {self.claim:.1f} | {self.first:.1f} | {self.first_ideal:.1f} | "
            f"{self.last:.1f} | {self.end:.1f} | {self.ideal:.1f} | {self.last / self.ideal:.2f} | "
            f"{self.operations} | {self.unread} | {self.cpu:.1f} |"
        )


def ideals(
    talk: Talk, asked: Sequence[Operation], left: Collection[tuple[str, str]], *, whole: bool
) -> list[float]:
    """Return the critical path of each claim of a talk, without the readings that were `left`."""
    took: Mapping[tuple[str, str], float] = {(each.kind, each.name): each.seconds for each in asked}
    video = talk.video.video.video_id
    extraction = took["claim_extraction", talk.claims[0]]
    text = json.dumps(stated_claims(talk))
    begins = extraction - written_in(text, extraction)
    paths = []
    for claim in talk.claims:
        found: dict[str, float] = {}
        titles = {}
        for query in talk.queries[claim]:
            search = took.get(("web_search", f"{query} 1"), 0.0)
            for hit in talk.hits[query]:
                found[hit.url] = min(found.get(hit.url, search), search)
                titles[hit.url] = hit.title
        pages = [0.0]
        for url, search in found.items():
            name = reading(claim, titles[url])
            read = took.get(("evidence_extraction", name))
            if read is None or (normalise_text(claim), identity_of(url)) in left:
                continue
            age = took.get(("whois", domain_of(url)), 0.0)
            pages.append(search + max(took["page_fetch", url] + read, age))
        closes = text.index("}", text.index(json.dumps(claim))) / len(text)
        written = extraction if whole else begins + closes * (extraction - begins)
        paths.append(took["transcript", video] + written + max(pages))
    return paths


async def check(talk: Talk, config: FactCheckConfig, *, whole: bool) -> Checked:
    """Check one talk in a data folder of its own."""
    services, heard = Services([talk], latencies()), Heard()
    video = talk.video.video
    log = logging.getLogger(__name__)
    with tempfile.TemporaryDirectory() as home:
        async with MisbehavingServer() as server:
            services.answer(server)
            settings = service_settings(Path(home), server.port, [talk])
            run = RunContext("replay", video.video_id, log)
            async with open_services(settings, run=run, observer=heard, reasoners=config) as opened:
                used = time.process_time()
                await services.takes("transcript", video.video_id)

                async def find(begin: BeginChecks) -> Sequence[Claim]:
                    told = None if whole else begin
                    said = spoken(talk)
                    found = await extract_claims(video, said, (), opened, config.claims, begin=told)
                    return found.claims

                result = await check_claims(video, find, opened, config)
                used, end = time.process_time() - used, asyncio.get_running_loop().time()
    said = {verdict.claim_id: claim for claim, verdict in heard.verdicts}
    left = {
        (normalise_text(said[row.claim_id]), row.canonical_url)
        for row in result.evidence
        if row.status == "skipped" and "slowest" in (row.reason or "")
    }
    paths = ideals(talk, services.asked, left, whole=whole)
    if len(result.verdicts) != len(talk.claims):
        raise SystemExit(f"The check of {video.video_id} reached {len(result.verdicts)} verdicts.")
    return Checked(
        video.video_id,
        min(heard.begun),
        min(heard.reached),
        max(heard.reached),
        end,
        min(paths),
        max(paths),
        len(left),
        len(services.asked),
        used,
    )


def table(done: Sequence[Checked]) -> Iterator[str]:
    names = ("talk", "first claim s", "first verdict s", "its ideal s", "last verdict s")
    yield f"| {' | '.join((*names, 'ended s', 'ideal s', 'ratio', 'asked', 'left out', 'CPU s'))} |"
    yield f"|{'---|' * 11}"
    yield from (each.row() for each in done)
    figures = ["claim", "first", "first_ideal", "last", "end", "ideal", "operations", "unread"]
    claim, first, first_ideal, last, end, ideal, asked, unread, cpu = (
        statistics.mean(getattr(each, name) for each in done) for name in (*figures, "cpu")
    )
    yield (
        f"| mean | {claim:.1f} | {first:.1f} | {first_ideal:.1f} | {last:.1f} | {end:.1f} | "
        f"{ideal:.1f} | **{last / ideal:.2f}** | {asked:.0f} | {unread:.1f} | {cpu:.1f} |"
    )
    yield ""
    yield f"The earlier system took {EARLIER} s: the last verdict is at {last / EARLIER:.2f} of it."


def main() -> int:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--talks", type=int, default=5)
    parser.add_argument("--leave-slowest", action="store_true", help="As the option of a run.")
    parser.add_argument("--together", action="store_true", help="Read pages in one call.")
    parser.add_argument("--whole", action="store_true", help="Stream no claims.")
    parser.add_argument("--write", action="store_true", help=f"Write {PERFORMANCE.name}.")
    given = parser.parse_args()
    evidence = EvidenceConfig(leave_slowest=given.leave_slowest, together=given.together)
    config = FactCheckConfig(evidence=evidence, reasoner="llm")
    done = []
    for talk in talks(given.talks):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            done.append(runner.run(check(talk, config, whole=given.whole)))
        print(done[-1].row(), flush=True)
    lines = list(table(done))
    publish("replay", lines, write=given.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
