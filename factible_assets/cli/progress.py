"""Observers that print the progress of a check on stderr: a live display, or lines in a pipe.

An observer returns at once and never raises an error into the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from factible_assets.cli.output import note, outcome_text, output_mode, stderr
from factible_assets.records.tables import Claim, Verdict
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
"""Returns the model calls and their cost so far."""

_SILENCE = 24.0
"""Seconds without output after which PlainObserver prints the state of the check."""
STOPPING = "Stopping. Press Ctrl-C again to leave at once."


def _cost(costs: Costs | None) -> str:
    """Return the model calls and their cost so far; empty without calls."""
    spent = costs() if costs else None
    if spent is None or not spent.calls:
        return ""
    return f"{counted(spent.calls, 'model call')}, {dollars(spent.spent)}"


class PlainObserver(Observer):
    """Prints one line per event, for logs and pipes.

    If the user gave a list of claims, `listed` is their number, and no line reports the transcript
    or the claims.
    """

    def __init__(self, costs: Costs | None = None, listed: int = 0) -> None:
        self._costs, self._listed, self._claims = costs, listed, listed
        self._verdicts: dict[str, int] = {}  # by claim, as a retried step reports verdicts again
        self._done: dict[str, int] = {}
        self._last_output = monotonic()
        self._lock = threading.Lock()

    def transcript_progressed(self, words: str, share: float) -> None:
        note(plain(words))

    def claim_begun(self, claim: Claim) -> None:
        if not self._listed:
            self._say(f"checking {clock(claim.start_seconds)} {plain(claim.text)}")

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
            number = self._verdicts.setdefault(claim.claim_id, len(self._verdicts) + 1)
            confidence = f" ({sure} confidence)" if (sure := sureness(verdict)) else ""
            self._say(
                f"verdict {number}/{max(self._claims, number)}: "
                f"{verdict_words(verdict)}{confidence} – {plain(claim.text)}{self._so_far()}"
            )

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        with self._lock:
            self._done[stage] = self._done.get(stage, 0) + 1

    def remarked(self, sentence: str) -> None:
        self._say(plain(sentence))

    def waiting(self) -> None:
        self._say(WAITING)

    def transcript_stored(self, characters: int) -> None:
        if not self._listed:
            self._say("transcript stored")

    def stopping(self) -> None:
        self._say(STOPPING)

    def break_silence(self) -> None:
        """Print the state of the check if nothing was printed for a while."""
        with self._lock:
            if monotonic() - self._last_output < _SILENCE:
                return
            done = [
                f"{self._done[stage]} {pieces}"
                for stage, pieces in _PIECES.items()
                if stage in self._done
            ]
            done += [f"{len(self._verdicts)} verdicts"] if self._verdicts else []
            self._say(f"still working: {', '.join(done) or 'nothing done yet'}{self._so_far()}")

    def _say(self, words: str) -> None:
        self._last_output = monotonic()
        note(words)

    def _so_far(self) -> str:
        words = _cost(self._costs)
        return f" [{words} so far]" if words else ""


_PIECES = {"queries": "queries", "search_hits": "searches", "evidence": "pages"}
"""The stages that report each finished piece of their work, in order, and the name of a piece."""

_FRAMES_PER_SECOND = 8
_LONGEST_BAR = 40
_ON_ONE_LINE: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis", "crop": True}
_STATE_WIDTH = 18
_FIXED_ROWS = 9
"""Six bars, the footer, the shell's prompt and a spare."""


@dataclass(slots=True)
class _State:
    """The state of one claim; `progress` has the finished and all pieces by stage."""

    claim: Claim
    stage: str = "waiting"
    progress: dict[str, tuple[int, int]] = field(default_factory=dict)
    verdict: Verdict | None = None

    def share(self, stage: str) -> float:
        """Return the progress in a stage, from 0 to 1. A stage ends when a later one begins."""
        later = [*_PIECES][[*_PIECES].index(stage) + 1 :]
        if self.verdict is not None or not self.progress.keys().isdisjoint(later):
            return 1.0
        done, total = self.progress.get(stage, (0, 0))
        return min(1.0, done / total) if total else 0.0

    @property
    def state(self) -> str:
        """The stage in words, with its finished and all pieces."""
        done, total = self.progress.get(self.stage, (0, 0))
        words = _PIECES.get(self.stage, self.stage.replace("_", " "))
        return f"{words} {done}/{total}" if total else words


class LiveObserver(Observer):
    """Draws a bar for each stage and the open claims, several times a second.

    Verdicts stay as lines above it.
    """

    def __init__(
        self,
        *,
        costs: Costs | None = None,
        tell: Callable[[Text], None] = lambda line: None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        """`costs` returns the cost so far; `tell` prints a line that stays."""
        self._costs, self._tell, self._now = costs, tell, now
        self._started = now()
        self._lock = threading.Lock()
        self._lines: dict[str, _State] = {}
        self._has_transcript = self._has_claims = self._is_stopping = False
        self._transcript = ("", 0.0)

    def transcript_progressed(self, words: str, share: float) -> None:
        self._transcript = (words, share)

    def transcript_stored(self, characters: int) -> None:
        self._has_transcript = True

    def claim_begun(self, claim: Claim) -> None:
        with self._lock:
            self._line(claim)

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        with self._lock:
            self._has_transcript = self._has_claims = True
            begun = self._lines
            self._lines = {
                claim.claim_id: begun.get(claim.claim_id, _State(claim)) for claim in claims
            }
        if left_out:
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
        confidence = f" ({sure})" if (sure := sureness(verdict)) else ""
        line = Text(f"{reached:>{len(count)}}/{count}  {clock(claim.start_seconds):>5}  ")
        line.append(outcome_text(verdict))
        self._tell(line.append(f"{confidence}  {plain(claim.text)}"))

    def remarked(self, sentence: str) -> None:
        self._tell(Text(plain(sentence), style="yellow"))

    def waiting(self) -> None:
        note(WAITING)

    def stopping(self) -> None:
        self._is_stopping = True

    def _line(self, claim: Claim) -> _State:
        self._has_transcript = self._has_claims = True
        return self._lines.setdefault(claim.claim_id, _State(claim))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            lines = [replace(line, progress={**line.progress}) for line in self._lines.values()]
        width = max(8, min(_LONGEST_BAR, options.max_width - 32))
        grid = Table.grid(padding=(0, 2))
        for name, share, words in self._bars(lines):
            is_unknown = share is None
            bar = ProgressBar(total=1.0, completed=share or 0.0, width=width, pulse=is_unknown)
            grid.add_row(name, bar, words)
        yield grid
        cost = _cost(self._costs) or "no model cost"
        footer = f"{clock(self._now() - self._started)} · {cost} so far"
        footer = f"{footer} · Ctrl-C stops; the same command continues"
        if self._is_stopping:
            footer = STOPPING
        style = "yellow" if self._is_stopping else "dim"
        yield Text(footer, style=style, no_wrap=True, overflow="ellipsis")
        yield from _open_claims(lines, options.max_width, max(0, console.height - _FIXED_ROWS))

    def _bars(self, lines: Sequence[_State]) -> Iterator[tuple[str, float | None, str]]:
        """Yield the name of each bar, its share from 0 to 1 (None: unknown), and its words."""
        words, share = ("", 1.0) if self._has_transcript else self._transcript
        yield "transcript", share or None, plain(words)
        reading = 0.0 if not self._has_transcript else None
        count, has_claims = len(lines), self._has_claims
        yield "claims", 1.0 if has_claims else reading, f"{count} found" if has_claims else ""
        for stage, pieces in _PIECES.items():
            share = sum(line.share(stage) for line in lines) / max(1, count)
            done = sum(line.progress.get(stage, (0, 0))[0] for line in lines)
            yield stage.split("_")[0], share, f"{done} {pieces}"
        judged = sum(line.verdict is not None for line in lines)
        yield "verdicts", judged / max(1, count), f"{judged} of {count}"


def _open_claims(lines: Sequence[_State], width: int, rows: int) -> Iterator[RenderableType]:
    """Yield the claims without a verdict, in at most so many rows."""
    waiting = [line for line in lines if line.verdict is None]
    shown = waiting if len(waiting) <= rows else waiting[: max(0, rows - 1)]
    grid = Table.grid(padding=(0, 2))
    for line in shown:
        at = clock(line.claim.start_seconds)
        room = max(10, width - _STATE_WIDTH - len(at) - 4)
        grid.add_row(at, plain(line.claim.text, room), line.state)
    if shown:
        yield grid
    if len(waiting) > len(shown):
        yield f"… and {len(waiting) - len(shown)} more"


@contextmanager
def breaking_silence(observer: PlainObserver) -> Iterator[Observer]:
    """Make an observer print at least twice a minute."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SILENCE / 5):
            observer.break_silence()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield observer
    finally:
        done.set()
        watcher.join()


@contextmanager
def watching(costs: Costs | None = None) -> Iterator[Observer]:
    """Yield an observer: a live display on a terminal, lines elsewhere, nothing with --quiet."""
    console = stderr()
    if output_mode.quiet:
        yield Observer()
    elif console.is_terminal:
        observer = LiveObserver(costs=costs, tell=partial(console.print, **_ON_ONE_LINE))
        shown: dict[str, Any] = {"transient": True, "redirect_stdout": False}
        with Live(observer, console=console, refresh_per_second=_FRAMES_PER_SECOND, **shown):
            yield observer
    else:
        with breaking_silence(PlainObserver(costs)) as lines:
            yield lines
