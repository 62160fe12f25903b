"""Measures the option `enough_origins` on a model's published readings.

Run: `python -m benchmarks.early_stop [--write]` (seconds). The published runs have the stances of
each claim's sources. The script rates the sources like a check, and compares the vote over all of
them with the vote over those that had arrived when N independent, reliable sources agreed. It draws
arrival times from the recorded seconds of fetching and reading, so the order is not that of one
run. It skips claims without a stance; in these runs they mostly mean that the model was
unreachable.

It prints for each N: claims that stop early, verdicts with another stance (of those with one, and
of all), unread pages, and the seconds saved for the claim and for its video. The option's default
was decided on these figures.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.shared import PERFORMANCE, publish, require
from factible_assets.config import VerdictsConfig
from factible_assets.records.stances import DEFINITE
from factible_assets.records.tables import Evidence, Stance
from factible_assets.services.ratings import rating_directory, rating_files
from factible_assets.settings import Settings
from factible_assets.stages.origins import StoryIndex, label_origins
from factible_assets.stages.ports import RatingDirectory
from factible_assets.stages.reliability import rate
from factible_assets.stages.urls import canonical_url, domain_of
from factible_assets.stages.verdict import agreeing_origins, decide, tally

DRAWS = 50
_STORIES = StoryIndex({})


@dataclass
class Count:
    """The totals for one N over all claims and draws."""

    stopped: int = 0
    changed: int = 0
    turned: int = 0
    decided: int = 0
    claims: int = 0
    unread: int = 0
    pages: int = 0
    sooner: list[float] = field(default_factory=list)
    videos: list[float] = field(default_factory=list)

    def row(self, enough: int) -> str:
        return (
            f"| {enough} | {self.stopped / self.claims:.0%} | "
            f"{self.turned / max(self.decided, 1):.1%} | {self.changed / self.claims:.1%} | "
            f"{self.unread / self.pages:.0%} | {statistics.mean(self.sooner):.1f} | "
            f"{statistics.mean(self.videos):.1f} |"
        )


def claims_of(report: Mapping[str, Any], directory: RatingDirectory) -> list[list[Evidence]]:
    """Return the readings of each claim of a run."""
    found = []
    for at, claim in enumerate(report["final_output"]["claim_reports"]):
        given = {
            source["url"]: source
            for sources in claim["evidence_by_stance"].values()
            for source in sources
        }
        rows = [_evidence(f"{at}", source, directory) for source in given.values()]
        if any(row.stance in DEFINITE for row in rows):
            found.append(list(label_origins(rows, _STORIES)))
    return found


def _evidence(claim: str, source: Mapping[str, Any], directory: RatingDirectory) -> Evidence:
    url, domain = canonical_url(source["url"]), domain_of(source["url"])
    rated = rate("v", domain, directory)
    return Evidence(
        evidence_id=url, claim_id=claim, video_id="v", hit_id=url, query_id="q",
        canonical_url=url, domain=domain, title=source["title"], status="ok",
        stance=source["stance"], stance_confidence=0.8, relevance=0.8,
        summary=source["evidence_summary"] or "None.", rating=rated.rating,
        rating_score=rated.score, source_class=rated.source_class, origin=domain, basis="llm",
    )  # fmt: skip


def stance_of(rows: Sequence[Evidence]) -> Stance:
    return decide(tally(rows, _STORIES), VerdictsConfig(), "llm").stance


def stop(count: Count, rows: Sequence[Evidence], comes: Sequence[float], enough: int) -> float:
    """Simulate one claim; return the saved seconds."""
    ordered = [row for _, row in sorted(zip(comes, rows, strict=True), key=lambda each: each[0])]
    moments = sorted(comes)
    read = next(
        (
            at
            for at in range(enough, len(rows))
            if agreeing_origins(ordered[:at], _STORIES) >= enough
        ),
        len(rows),
    )
    whole = stance_of(rows)
    sooner = moments[-1] - moments[read - 1]
    count.claims += 1
    count.stopped += read < len(rows)
    count.decided += whole in DEFINITE
    changed = stance_of(ordered[:read]) != whole
    count.changed += changed
    count.turned += changed and whole in DEFINITE
    count.pages += len(rows)
    count.unread += len(rows) - read
    count.sooner.append(sooner)
    return moments[read - 1]


def table(runs: Sequence[Sequence[Sequence[Evidence]]]) -> Iterator[str]:
    recorded = json.loads(require("recorded_web", "latencies.json").read_text(encoding="utf-8"))
    took = recorded["operations"]
    chance = random.Random(1)  # noqa: S311
    counts: dict[int, Count] = defaultdict(Count)
    for run in runs:
        for _ in range(DRAWS):
            comes = [
                [
                    chance.choice(took["page_fetch"]) + chance.choice(took["evidence_extraction"])
                    for _ in rows
                ]
                for rows in run
            ]
            whole = max(max(each) for each in comes)
            for enough in (2, 3, 4, 5):
                count = counts[enough]
                ends = [
                    stop(count, rows, each, enough) for rows, each in zip(run, comes, strict=True)
                ]
                count.videos.append(whole - max(ends))
    yield (
        "| agreeing origins | claims that stop | verdicts changed, of decided | of all | "
        "pages unread | claim ends sooner, s | video ends sooner, s |"
    )
    yield "|---|---|---|---|---|---|---|"
    yield from (count.row(enough) for enough, count in sorted(counts.items()))


def main() -> int:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"Write {PERFORMANCE.name}.")
    given = parser.parse_args()
    directory = rating_directory(rating_files(Settings()))
    runs = []
    for path in sorted(require("factible", "runs").glob("*/*/outputs.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if "final_output" in report and (found := claims_of(report, directory)):
            runs.append(found)
    lines = list(table(runs))
    claims = sum(map(len, runs))
    pages = sum(len(rows) for run in runs for rows in run)
    lines += ["", f"{len(runs)} runs, {claims} claims, {pages} sources, {DRAWS} orders of each."]
    publish("early stop", lines, write=given.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
