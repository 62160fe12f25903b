"""The stages that a claim passes through, and how far and how fast they get.

What belongs here: the names of the stages, counting finished work for an observer, measuring time.
What does not: the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from factible_assets.records import Claim
from factible_assets.stages.ports import Observer

Stage = Literal["queries", "search_hits", "reliability_ratings", "evidence", "verdicts"]
"""The assets that one flow fills, named as the warehouse's assets are."""

ALL_STAGES: tuple[Stage, ...] = (
    "queries",
    "search_hits",
    "reliability_ratings",
    "evidence",
    "verdicts",
)


@dataclass(frozen=True, slots=True)
class StageTiming:
    """How long a stage took.

    Attributes:
        work_seconds: The work of all claims added up.
        span_seconds: From the first start to the last end.
        first_end_seconds: From the beginning of the flow to the first end.
    """

    work_seconds: float
    span_seconds: float
    first_end_seconds: float


class Progress:
    """Counts the finished pieces of a claim's stage for the observer."""

    def __init__(self, observer: Observer, stage: Stage, claim: Claim, total: int) -> None:
        self._observer, self._stage, self._claim, self._total = observer, stage, claim, total
        self._done = 0

    def step(self) -> None:
        """Count one more piece as finished and tell the observer."""
        self._done += 1
        self._observer.stage_progressed(self._stage, self._claim, self._done, self._total)


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
        return {
            stage: StageTiming(
                work_seconds=sum(end - start for start, end in self._spans[stage]),
                span_seconds=max(end for _, end in self._spans[stage])
                - min(start for start, _ in self._spans[stage]),
                first_end_seconds=min(end for _, end in self._spans[stage]) - self._started,
            )
            for stage in ALL_STAGES
            if stage in self._spans
        }
