"""Who watches a check in a terminal: its stages, claims as they are found, verdicts as reached.

What belongs here: observers that print. What does not: results (output.py).
An observer must never raise into the run and returns at once; all print on stderr.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from factible_assets.cli.output import note, outcome_text, output_mode, stderr
from factible_assets.records import Claim, Verdict
from factible_assets.stages.ports import Observer
from factible_assets.wording import (
    WAITING,
    claims_words,
    clock,
    counted,
    dollars,
    plain,
    sureness,
    verdict_words,
)

if TYPE_CHECKING:
    from resources.llm.limits import Budget

Costs: TypeAlias = "Callable[[], Budget]"

_SILENCE = 24.0
"""Seconds without a line after which one says how far a check is; looked at every fifth of that."""
STOPPING = "Stopping: closing what is open. Ctrl-C again leaves at once."


def _cost(costs: Costs | None) -> str:
    """Say what models took so far; nothing where none was asked."""
    spent = costs() if costs else None
    if spent is None or not spent.calls:
        return ""
    return f"{counted(spent.calls, 'model call')}, {dollars(spent.spent)}"


class PlainObserver(Observer):
    """Writes one line per event, for logs and pipes: results, and ticks of slow transcripts alone.

    Of a list of claims, so many as are `listed`, it says the verdicts alone.
    """

    def __init__(self, costs: Costs | None = None, listed: int = 0) -> None:
        self._costs, self._listed, self._claims = costs, listed, listed
        self._reached: dict[str, int] = {}  # a step that is tried again reaches them anew
        self._pieces: dict[str, int] = {}
        self._spoke = monotonic()
        self._lock = threading.Lock()

    def transcript_progressed(self, words: str, share: float) -> None:
        note(plain(words))

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        with self._lock:
            if self._listed:
                return
            self._claims = len(claims)
            self._say(f"{claims_words(len(claims), left_out)}{self._so_far()}")
            for claim in claims:
                note(f"  {claim.rank}. {clock(claim.start_seconds)} {plain(claim.text)}")

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        with self._lock:
            place = self._reached.setdefault(claim.claim_id, len(self._reached) + 1)
            confidence = f" ({sure} confidence)" if (sure := sureness(verdict)) else ""
            self._say(
                f"verdict {place}/{max(self._claims, place)}: "
                f"{verdict_words(verdict)}{confidence} – {plain(claim.text)}{self._so_far()}"
            )

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        with self._lock:
            self._pieces[stage] = self._pieces.get(stage, 0) + 1

    def remarked(self, sentence: str) -> None:
        self._say(plain(sentence))

    def waiting(self) -> None:
        self._say(WAITING)

    def asset_stored(self, asset: str) -> None:
        if asset == "transcripts" and not self._listed:  # later assets are told of otherwise
            self._say("transcript stored")

    def stopping(self) -> None:
        self._say(STOPPING)

    def speak_up(self) -> None:
        """Say how far the check is if nothing was said for a while."""
        with self._lock:
            if monotonic() - self._spoke < _SILENCE:
                return
            done = [
                f"{self._pieces[stage]} {pieces}"
                for stage, pieces in _PIECES.items()
                if stage in self._pieces
            ]
            done += [f"{len(self._reached)} verdicts"] if self._reached else []
            self._say(f"still working: {', '.join(done) or 'nothing done yet'}{self._so_far()}")

    def _say(self, words: str) -> None:
        self._spoke = monotonic()
        note(words)

    def _so_far(self) -> str:
        words = _cost(self._costs)
        return f" [{words} so far]" if words else ""


@dataclass(slots=True)
class _Line:
    claim: Claim
    stage: str = "waiting"
    progress: dict[str, tuple[int, int]] = field(default_factory=dict)
    verdict: Verdict | None = None


_PIECES = {"queries": "queries", "search_hits": "searches", "evidence": "pages"}
"""Stages that tell of every finished piece, in their order, with the name of the pieces."""

_NEXT = {"queries": "searching", "search_hits": "reading pages", "evidence": "judging"}

_FRAMES_PER_SECOND = 8
_LONGEST_BAR = 40
_STATE_WIDTH = 18


class LiveObserver(Observer):
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
        self._transcript = ("", 0.0)
        self._has_claims = False
        self._is_stopping = False

    def transcript_progressed(self, words: str, share: float) -> None:
        self._transcript = (words, share)

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        with self._lock:
            self._has_transcript = self._has_claims = True
            self._lines = {claim.claim_id: _Line(claim) for claim in claims}
        if left_out and self._tell is not None:
            self._tell(Text(claims_words(len(claims), left_out)))

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        with self._lock:
            line = self._line(claim)
            line.stage, line.progress[stage] = stage, (done, total)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        with self._lock:
            self._line(claim).verdict = verdict
            reached = sum(line.verdict is not None for line in self._lines.values())
            count = str(len(self._lines))
        if self._tell is not None:
            confidence = f" ({sure})" if (sure := sureness(verdict)) else ""
            line = Text(f"{reached:>{len(count)}}/{count}  {clock(claim.start_seconds):>5}  ")
            line.append(outcome_text(verdict))
            self._tell(line.append(f"{confidence}  {plain(claim.text)}"))

    def remarked(self, sentence: str) -> None:
        if self._tell is not None:
            self._tell(Text(plain(sentence), style="yellow"))

    def waiting(self) -> None:
        note(WAITING)

    def asset_stored(self, asset: str) -> None:
        self._has_transcript = self._has_transcript or asset == "transcripts"

    def stopping(self) -> None:
        self._is_stopping = True

    def _line(self, claim: Claim) -> _Line:
        self._has_claims = True
        return self._lines.setdefault(claim.claim_id, _Line(claim))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            lines = [replace(line, progress={**line.progress}) for line in self._lines.values()]
        judged = sum(line.verdict is not None for line in lines)
        begun, found, count = self._has_transcript, self._has_claims, len(lines)
        room = max(8, min(_LONGEST_BAR, options.max_width - 32))

        def bar(share: float, *, pulse: bool = False) -> ProgressBar:
            """Draw a bar; what is being worked on with no telling how far it is pulses."""
            return ProgressBar(total=1.0, completed=min(1.0, share), width=room, pulse=pulse)

        grid = Table.grid(padding=(0, 2))
        said, share = ("", 1.0) if begun else self._transcript
        grid.add_row("transcript", bar(share, pulse=not share), plain(said))
        told = f"{count} found" if found else ""
        grid.add_row("claims", bar(found, pulse=begun and not found), told)
        for stage, pieces in _PIECES.items():
            share = sum(_share(line, stage) for line in lines) / max(1, count)
            done = sum(line.progress.get(stage, (0, 0))[0] for line in lines)
            grid.add_row(stage.split("_")[0], bar(share), f"{done} {pieces}")
        grid.add_row("verdicts", bar(judged / max(1, count)), f"{judged} of {count}")
        yield grid
        cost = _cost(self._costs) or "no model cost"
        words = f"{clock(self._now() - self._started)} · {cost} so far"
        words = f"{words} · Ctrl-C stops; the same command goes on"
        footer, style = (STOPPING, "yellow") if self._is_stopping else (words, "dim")
        # One row on a narrow screen too: the rows below are counted on it.
        yield Text(footer, style=style, no_wrap=True, overflow="ellipsis")
        # The bars and the footer take seven rows, the prompt of a shell one.
        yield from _open_claims(lines, options.max_width, max(0, console.height - 9))


def _share(line: _Line, stage: str) -> float:
    """Return how much of a stage a claim has behind it, from 0 to 1."""
    order = [*_PIECES]
    later = order[order.index(stage) + 1 :]
    if line.verdict is not None or any(each in line.progress for each in later):
        return 1.0
    done, total = line.progress.get(stage, (0, 0))
    return done / total if total else 0.0


def _open_claims(lines: Sequence[_Line], width: int, rows: int) -> Iterator[RenderableType]:
    waiting = [line for line in lines if line.verdict is None]
    shown = waiting if len(waiting) <= rows else waiting[: max(0, rows - 1)]
    grid = Table.grid(padding=(0, 2))
    for line in shown:
        at = clock(line.claim.start_seconds)
        room = max(10, width - _STATE_WIDTH - len(at) - 4)
        done, total = line.progress.get(line.stage, (0, 0))
        state = _PIECES.get(line.stage, line.stage.replace("_", " "))
        if total and done >= total:
            # A stage tells of finished pieces alone: the first of the next one is on its way.
            state = _NEXT.get(line.stage, state)
        elif total:
            state = f"{state} {done}/{total}"
        grid.add_row(at, plain(line.claim.text, room), state)
    if shown:
        yield grid
    if len(waiting) > len(shown):
        yield f"… and {len(waiting) - len(shown)} more"


@contextmanager
def speaking_up(observer: PlainObserver) -> Iterator[Observer]:
    """Have an observer speak at least every half a minute, so that a pipe shows a check at work."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SILENCE / 5):
            observer.speak_up()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield observer
    finally:
        done.set()
        watcher.join()


@contextmanager
def watching(costs: Costs | None = None) -> Iterator[Observer]:
    """Give an observer that suits stderr: a live display on a terminal, lines elsewhere."""
    console = stderr()
    if output_mode.quiet or not console.is_terminal:
        if output_mode.quiet:
            yield Observer()
            return
        with speaking_up(PlainObserver(costs)) as observer:
            yield observer
        return
    told: SimpleQueue[Text] = SimpleQueue()
    observer = LiveObserver(costs=costs, tell=told.put)
    # What others print meanwhile is left alone: stdout is the result's.
    live = Live(
        observer, console=console, auto_refresh=False, transient=True, redirect_stdout=False
    )
    done = threading.Event()

    def paint() -> None:
        """Draw until all is done: one thread alone, for two would write over each other's lines."""
        is_last = False
        while not is_last:
            is_last = done.wait(1 / _FRAMES_PER_SECOND)
            while not told.empty():
                live.console.print(told.get(), no_wrap=True, overflow="ellipsis", crop=True)
            live.refresh()

    painter = threading.Thread(target=paint, daemon=True)
    with live:
        painter.start()
        try:
            yield observer
        finally:
            done.set()
            painter.join()
