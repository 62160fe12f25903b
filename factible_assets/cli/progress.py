"""Who watches a check in a terminal: its stages, claims as they are found, verdicts as reached.

What belongs here: observers that print. What does not: results (output.py).
An observer must never raise into the run and returns at once; all print on stderr.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from factible_assets.cli.output import is_quiet, note, outcome_text, stderr
from factible_assets.wording import WAITING, clock, counted, dollars, plain, verdict_words

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.live import Live
    from rich.text import Text

    from factible_assets.records import Claim, Verdict
    from factible_assets.running.supervision import Watcher
    from factible_assets.services.reasoning import Spent

Costs: TypeAlias = "Callable[[], Spent]"

STOPPING = "Stopping: closing what is open. Ctrl-C again leaves at once."


def spent_words(spent: Spent | None) -> str:
    """Say what models took so far; nothing where none was asked."""
    if spent is None or not spent.calls:
        return ""
    return f"{counted(spent.calls, 'model call')}, {dollars(spent.usd)}"


class SilentWatcher:
    """Says nothing."""

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """Say nothing."""

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Say nothing."""

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Say nothing."""

    def waiting(self) -> None:
        """Say nothing."""

    def asset_stored(self, asset: str) -> None:
        """Say nothing."""

    def stopping(self) -> None:
        """Say nothing."""


class PlainObserver(SilentWatcher):
    """Writes one line per event, for logs and pipes: results and no ticks."""

    def __init__(self, costs: Costs | None = None) -> None:
        self._costs = costs
        self._lock = threading.Lock()
        self._claims = 0
        self._reached = 0

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """List the claims."""
        with self._lock:
            self._claims = len(claims)
            note(f"claims found: {len(claims)}{self._cost()}")
            for claim in claims:
                note(f"  {claim.rank}. {clock(claim.start_seconds)} {plain(claim.text)}")

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Write the verdict."""
        with self._lock:
            self._reached += 1
            confidence = f" ({verdict.confidence} confidence)" if verdict.confidence else ""
            note(
                f"verdict {self._reached}/{max(self._claims, self._reached)}: "
                f"{verdict_words(verdict)}{confidence} – {plain(claim.text)}{self._cost()}"
            )

    def waiting(self) -> None:
        """Say that somebody else is at it."""
        note(WAITING)

    def asset_stored(self, asset: str) -> None:
        """Say that the transcript is there; what comes later is said otherwise."""
        if asset == "transcripts":
            note("transcript stored")

    def stopping(self) -> None:
        """Say that the run is being stopped."""
        note(STOPPING)

    def _cost(self) -> str:
        words = spent_words(self._costs() if self._costs else None)
        return f" [{words} so far]" if words else ""


@dataclass(slots=True)
class _Line:
    claim: Claim
    stage: str = "waiting"
    progress: dict[str, tuple[int, int]] = field(default_factory=dict)
    verdict: Verdict | None = None


_BARS = (("queries", "queries"), ("search_hits", "searches"), ("evidence", "pages"))
"""Stages that tell of every finished piece, with the name of the pieces."""

_NEXT = {"queries": "searching", "search_hits": "reading pages", "evidence": "judging"}

_FRAMES_PER_SECOND = 8
_LONGEST_BAR = 40
_STATE_WIDTH = 18


class LiveObserver(SilentWatcher):
    """Holds stages, claims and costs; rich draws them several times a second.

    A verdict becomes a line that stays, above the part that is drawn anew. That part shows a bar
    for each stage and the claims that are still open, as many as there is room for.
    """

    def __init__(
        self,
        *,
        costs: Costs | None = None,
        tell: Callable[[Text], None] | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        """Watch; `costs` is asked what was spent, `tell` prints a line that stays."""
        self._costs, self._tell, self._now = costs, tell, now
        self._started = now()
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}
        self._has_transcript = False
        self._has_claims = False
        self._is_stopping = False

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """Take the claims in."""
        with self._lock:
            self._has_transcript = self._has_claims = True
            self._lines = {claim.claim_id: _Line(claim) for claim in claims}

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Remember how far a claim has come."""
        with self._lock:
            line = self._line(claim)
            line.stage, line.progress[stage] = stage, (done, total)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Remember the verdict, and print it."""
        with self._lock:
            self._line(claim).verdict = verdict
            reached = sum(line.verdict is not None for line in self._lines.values())
            words = _verdict_line(claim, verdict, reached, len(self._lines))
        if self._tell is not None:
            self._tell(words)

    def waiting(self) -> None:
        """Say that somebody else is at it."""
        note(WAITING)

    def asset_stored(self, asset: str) -> None:
        """Remember that the transcript is there."""
        self._has_transcript = self._has_transcript or asset == "transcripts"

    def stopping(self) -> None:
        """Remember that the run is being stopped."""
        self._is_stopping = True

    def _line(self, claim: Claim) -> _Line:
        self._has_claims = True
        return self._lines.setdefault(claim.claim_id, _Line(claim))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            lines = [
                _Line(line.claim, line.stage, {**line.progress}, line.verdict)
                for line in self._lines.values()
            ]
        yield self._bars(lines, options.max_width)
        yield self._footer()
        # The bars and the footer take seven rows, the prompt of a shell one.
        yield from _open_claims(lines, options.max_width, max(0, console.height - 9))

    def _bars(self, lines: Sequence[_Line], width: int) -> RenderableType:
        from rich.table import Table

        room = max(8, min(_LONGEST_BAR, width - 32))
        count = len(lines)
        judged = sum(line.verdict is not None for line in lines)
        table = Table.grid(padding=(0, 2))
        begun, found = self._has_transcript, self._has_claims
        table.add_row("transcript", _bar(room, float(begun), pulse=not begun), "")
        table.add_row(
            "claims",
            _bar(room, float(found), pulse=begun and not found),
            f"{count} found" if found else "",
        )
        for stage, pieces in _BARS:
            share = sum(_share(line, stage) for line in lines) / count if count else 0.0
            done = sum(line.progress.get(stage, (0, 0))[0] for line in lines)
            table.add_row(stage.split("_")[0], _bar(room, share), f"{done} {pieces}")
        share = judged / count if count else 0.0
        table.add_row("verdicts", _bar(room, share), f"{judged} of {count}")
        return table

    def _footer(self) -> Text:
        from rich.text import Text

        elapsed = clock(self._now() - self._started)
        spent = self._costs() if self._costs else None
        cost = spent_words(spent) or "no model cost"
        words = f"{elapsed} · {cost} so far"
        # One row on a narrow screen too: the rows below are counted on it.
        if self._is_stopping:
            return Text(STOPPING, style="yellow", no_wrap=True, overflow="ellipsis")
        words = f"{words} · Ctrl-C stops; the same command goes on"
        return Text(words, style="dim", no_wrap=True, overflow="ellipsis")


def _bar(width: int, share: float = 0.0, *, pulse: bool = False) -> RenderableType:
    """Draw a bar; what is being worked on with no telling how far it is pulses."""
    from rich.progress_bar import ProgressBar

    return ProgressBar(total=1.0, completed=min(1.0, share), width=width, pulse=pulse)


def _share(line: _Line, stage: str) -> float:
    """Return how much of a stage a claim has behind it, from 0 to 1."""
    order = [name for name, _ in _BARS]
    if line.verdict is not None or any(
        later in line.progress for later in order[order.index(stage) + 1 :]
    ):
        return 1.0
    done, total = line.progress.get(stage, (0, 0))
    return done / total if total else 0.0


def _open_claims(lines: Sequence[_Line], width: int, rows: int) -> Iterator[RenderableType]:
    from rich.table import Table

    waiting = [line for line in lines if line.verdict is None]
    shown = waiting if len(waiting) <= rows else waiting[: max(0, rows - 1)]
    if shown:
        table = Table.grid(padding=(0, 2))
        for line in shown:
            at = clock(line.claim.start_seconds)
            room = max(10, width - _STATE_WIDTH - len(at) - 4)
            table.add_row(at, plain(line.claim.text, room), _state(line))
        yield table
    if len(waiting) > len(shown):
        yield f"… and {len(waiting) - len(shown)} more"


def _state(line: _Line) -> str:
    done, total = line.progress.get(line.stage, (0, 0))
    pieces = dict(_BARS).get(line.stage, line.stage.replace("_", " "))
    if total and done >= total:
        # A stage tells of finished pieces alone: the first of the next one is on its way.
        return _NEXT.get(line.stage, pieces)
    return f"{pieces} {done}/{total}" if total else pieces


def _verdict_line(claim: Claim, verdict: Verdict, reached: int, count: int) -> Text:
    from rich.text import Text

    confidence = f" ({verdict.confidence})" if verdict.confidence else ""
    line = Text(f"{reached:>{len(str(count))}}/{count}  {clock(claim.start_seconds):>5}  ")
    line.append(outcome_text(verdict))
    return line.append(f"{confidence}  {plain(claim.text)}")


@contextmanager
def watching(costs: Costs | None = None) -> Iterator[Watcher]:
    """Give an observer that suits stderr: a live display on a terminal, lines elsewhere."""
    if is_quiet():
        yield SilentWatcher()
        return
    console = stderr()
    if not console.is_terminal:
        yield PlainObserver(costs)
        return
    from rich.live import Live

    told: SimpleQueue[Text] = SimpleQueue()
    observer = LiveObserver(costs=costs, tell=told.put)
    # What others print meanwhile is left alone: stdout is the result's.
    live = Live(
        observer, console=console, auto_refresh=False, transient=True, redirect_stdout=False
    )
    done = threading.Event()
    painter = threading.Thread(target=_paint, args=(live, told, done), daemon=True)
    with live:
        painter.start()
        try:
            yield observer
        finally:
            done.set()
            painter.join()


def _paint(live: Live, told: SimpleQueue[Text], done: threading.Event) -> None:
    """Draw until all is done: one thread alone, for two would write over each other's lines."""
    while True:
        is_last = done.wait(1 / _FRAMES_PER_SECOND)
        while not told.empty():
            live.console.print(told.get(), no_wrap=True, overflow="ellipsis", crop=True)
        live.refresh()
        if is_last:
            return
