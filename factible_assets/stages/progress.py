"""The stages that a claim passes through, how fast they get, and who hears of it.

What belongs here: the names of the stages, measuring time, the observer that writes to a run's log.
What does not: the work; terminal output (cli/).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, get_args

from factible_assets.records import Claim, Verdict
from factible_assets.stages.ports import Observer, SilentObserver
from factible_assets.wording import clock, verdict_words

Stage = Literal["queries", "search_hits", "reliability_ratings", "evidence", "verdicts"]
"""The assets that one flow fills, named as the warehouse's assets are."""

ALL_STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True)
class StageTiming:
    """How long a stage took: its work, from first start to last end, and up to its first end."""

    work_seconds: float
    span_seconds: float
    first_end_seconds: float


class Stopwatch:
    """Measures stages that overlap, from its making on."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._spans: dict[Stage, list[tuple[float, float]]] = {}

    @contextmanager
    def time(self, stage: Stage) -> Iterator[None]:
        """Measure the body as work on a stage."""
        started = perf_counter()
        try:
            yield
        finally:
            self._spans.setdefault(stage, []).append((started, perf_counter()))

    def timings(self) -> dict[Stage, StageTiming]:
        """Return what was measured, in the order of the stages, without those never worked on."""
        found = {}
        for stage in ALL_STAGES:
            if spans := self._spans.get(stage):
                starts, ends = zip(*spans, strict=True)
                work = sum(ends) - sum(starts)
                found[stage] = StageTiming(work, max(ends) - min(starts), min(ends) - self._started)
        return found


class LogObserver(SilentObserver):
    """Writes claims and verdicts to a log as they come, and passes everything on."""

    def __init__(self, log: logging.Logger, then: Observer | None = None) -> None:
        self._log, self._then = log, then or SilentObserver()

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """Log how many claims there are, and each with its time."""
        self._log.info("%d claims found", len(claims))
        for claim in claims:
            self._log.info("claim %d at %s: %s", claim.rank, clock(claim.start_seconds), claim.text)
        self._then.claims_found(claims)

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Log nothing: every line is a row in Dagster's event log, and progress comes often."""
        self._then.stage_progressed(stage, claim, done, total)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Log a verdict as soon as it is reached."""
        self._log.info("claim %d is %s: %s", claim.rank, verdict_words(verdict), claim.text)
        self._then.verdict_reached(claim, verdict)
