"""Who watches a check in a terminal: claims as they are found, verdicts as they are reached.

What belongs here: observers that print. What does not: results (output.py).
An observer must never raise into the run and returns at once; both print on stderr.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from factible_assets.cli.output import note, outcome_text, plain, stderr
from factible_assets.presentation import clock, verdict_words

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from factible_assets.records import Claim, Verdict
    from factible_assets.stages.ports import Observer


class PlainObserver:
    """Writes one line per event, for logs and pipes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims = 0
        self._reached = 0

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """List the claims."""
        with self._lock:
            self._claims = len(claims)
            note(f"claims found: {len(claims)}")
            for claim in claims:
                note(f"  {claim.rank}. {clock(claim.start_seconds)} {plain(claim.text)}")

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Say nothing: a log wants results, not ticks."""

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Write the verdict."""
        with self._lock:
            self._reached += 1
            confidence = f" ({verdict.confidence} confidence)" if verdict.confidence else ""
            note(
                f"verdict {self._reached}/{max(self._claims, self._reached)}: "
                f"{verdict_words(verdict)}{confidence} – {plain(claim.text)}"
            )


@dataclass(slots=True)
class _Line:
    claim: Claim
    stage: str = "waiting"
    done: int = 0
    total: int = 0
    verdict: Verdict | None = None


@dataclass
class LiveObserver:
    """Holds the claims and their state; rich draws it several times a second."""

    _lines: dict[str, _Line] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """Take the claims in."""
        with self._lock:
            self._lines = {claim.claim_id: _Line(claim) for claim in claims}

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Remember how far a claim has come."""
        with self._lock:
            line = self._lines.setdefault(claim.claim_id, _Line(claim))
            line.stage, line.done, line.total = stage, done, total

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Remember the verdict."""
        with self._lock:
            self._lines.setdefault(claim.claim_id, _Line(claim)).verdict = verdict

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.spinner import Spinner
        from rich.table import Table

        with self._lock:
            lines = list(self._lines.values())
        if not lines:
            yield Spinner("dots", "reading the transcript")
            return
        table = Table.grid(padding=(0, 2))
        for line in lines:
            state = outcome_text(line.verdict) if line.verdict else _state(line)
            table.add_row(
                clock(line.claim.start_seconds),
                plain(line.claim.text, options.max_width - 36),
                state,
            )
        yield table


def _state(line: _Line) -> str:
    words = line.stage.replace("_", " ")
    return f"{words} {line.done}/{line.total}" if line.total else words


@contextmanager
def watching() -> Iterator[Observer]:
    """Give an observer that suits stderr: a live display on a terminal, lines elsewhere."""
    console = stderr()
    if not console.is_terminal:
        yield PlainObserver()
        return
    from rich.live import Live

    observer = LiveObserver()
    with Live(observer, console=console, refresh_per_second=8, transient=True):
        yield observer
