"""The worker: one process that runs one fact-check and says on its stdout how it gets on.

What belongs here: the order from stdin, the events as JSON lines on stdout, cancellation. What does
not: the fact-check (runs/launch.py), the events' vocabulary (models.py), who listens (runs.py).

A run has a process of its own so that the service never waits for one, none disturbs another, and
ending it is how it is cancelled. Stdin stays open as long as the run is wanted: when it closes, by
the wish of a client or because the service is gone, the worker interrupts itself as Ctrl-C would.
A run that someone ends in the Dagster UI ends here too (runs/launch.py).

Run as: python -m factible_assets.web.worker
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from factible_assets.errors import NO_ROOM, ExitCode, FactibleError, is_full, leave
from factible_assets.records import Claim, Transcript, Verdict
from factible_assets.settings import Settings, load_settings
from factible_assets.stages.ports import Observer
from factible_assets.web.models import Order, ProgressKind, ProgressUpdate, error_update, update
from factible_assets.wording import counted, verdict_words
from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from factible_assets.runs.launch import Watch
    from factible_assets.runs.result import Checked


class Teller(Observer):
    """Tells what is heard of a run as lines of JSON, from any thread, once, though steps repeat."""

    def __init__(self, stream: TextIO, transcript_length: Callable[[], int | None]) -> None:
        self._stream = stream
        self._transcript_length = transcript_length
        self._lock = threading.RLock()
        self._has_transcript = False
        self._claims: int | None = None
        self._reached: set[str] = set()

    def send(self, event: ProgressUpdate) -> None:
        """Send an event; nobody listening is no reason to fail, for stdin says that better."""
        with self._lock, contextlib.suppress(OSError):
            self._stream.write(f"{event.model_dump_json()}\n")
            self._stream.flush()

    def tell(self, step: ProgressKind, words: str, **data: Any) -> None:
        """Send the event of a step."""
        self.send(update(step, words, **data))

    def waiting(self) -> None:
        """Tell that somebody else is at it."""
        words = "Another check of this video goes on; this one begins when that has ended."
        self.tell("transcript_extraction", words)

    def asset_stored(self, asset: str) -> None:
        """Tell of the transcript, as soon as Dagster has recorded it."""
        with self._lock:
            if asset != "transcripts" or self._has_transcript:
                return
            self._has_transcript = True
            length = self._transcript_length()
            has = "is stored" if length is None else f"has {length} characters"
            self.tell("transcript_complete", f"The transcript {has}.", transcript_length=length)
            self.tell("claim_extraction", "Looking for claims that can be checked.")

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        """Tell of the claims, for which the transcript must have been there."""
        with self._lock:
            self.asset_stored("transcripts")
            if self._claims is None:
                self._claims = len(claims)
                told = [claim.model_dump(mode="json") for claim in claims]
                more = f", {left_out:,} more were left out" if left_out else ""
                words = f"{counted(len(claims), 'claim')}{more}."
                self.tell("claims_extracted", words, claims=told, total_claims=len(claims))

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Tell of a verdict."""
        with self._lock:
            if claim.claim_id in self._reached:
                return
            self._reached.add(claim.claim_id)
            self.tell(
                "verdict_reached",
                f"{verdict_words(verdict).capitalize()}: {claim.text}",
                claim=claim.model_dump(mode="json"),
                verdict=verdict.model_dump(mode="json"),
                reached=len(self._reached),
                total_claims=max(self._claims or 0, len(self._reached)),
            )


@contextlib.contextmanager
def _interrupted_when_unwanted() -> Iterator[threading.Event]:
    """Interrupt this process when its stdin closes, once: twice would leave its run as it is.

    Whoever knows that the run is over sets the event: then there is nothing left to cancel.
    """
    over = threading.Event()

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, name="cancellation", daemon=True).start()
    try:
        yield over
    finally:
        over.set()


@contextlib.contextmanager
def _until_the_end(teller: Teller, over: threading.Event) -> Iterator[Teller]:
    """Lend a run who tells of it, and note its end: its report is written after that."""
    try:
        yield teller
    finally:
        over.set()


def carry_out(order: Order, stream: TextIO) -> bool:
    """Run a fact-check and send its events, the last `complete` or `error`; tell if it succeeds."""
    teller = Teller(stream, partial(_transcript_length, order))
    words = f"Reading the transcript of {order.video_id}."
    teller.tell("transcript_extraction", words, run_id=order.run_id, video_id=order.video_id)
    failures: tuple[str, ...] | None = None
    checked: Checked | None = None
    try:
        settings = load_settings(order.home)
        with _interrupted_when_unwanted() as over:
            checked = _check(order, settings, lambda _: _until_the_end(teller, over))
        failures = checked.failures
    except KeyboardInterrupt:
        pass  # before it started, or as it ended
    except FactibleError as error:
        failures = None if error.code is ExitCode.INTERRUPTED else (str(error),)
    except WarehouseError as error:
        failures = (str(error),)
    except Exception as error:
        if not is_full(error):
            raise
        failures = (f"{NO_ROOM} for the data folder. Make room, then check again.",)
    if failures is None:
        words = "The run was cancelled. What was complete by then is stored."
        teller.send(error_update(words, order.run_id, cancelled=True))
        return False

    from factible_assets.web.results import result_of  # noqa: PLC0415

    if checked is None or failures:
        teller.send(error_update(" ".join(failures), order.run_id, failures=failures))
        return False
    teller.tell("generating_report", "Writing the report.")
    result = result_of(checked.data)
    words = f"{order.video_id} is checked: {counted(result.total_claims, 'claim')}."
    teller.tell("complete", words, result=result.model_dump(mode="json"))
    return True


def _check(order: Order, settings: Settings, watch: Watch) -> Checked:
    # Loading Dagster takes seconds, in which the client has already heard of the run.
    from factible_assets.runs import launch, review  # noqa: PLC0415

    if order.claim_id is None:
        return launch.run_video(
            order.video_id,
            settings=settings,
            config=order.config,
            watch=watch,
            run_id=order.run_id,
            tags=order.tags,
        )
    return review.carry_out(
        review.open_claim(order.video_id, order.claim_id, settings),
        (),
        rerun=True,
        watch=watch,
        say=lambda _: None,
        run_id=order.run_id,
    ).checked


def _transcript_length(order: Order) -> int | None:
    """Return the length of the stored transcript in characters; None if it cannot be read now."""
    from warehouse.store import Warehouse  # noqa: PLC0415

    with contextlib.suppress(WarehouseError):
        store = Warehouse(load_settings(order.home).warehouse)
        return sum(len(each.text) for each in store.read_current(Transcript, order.video_id))
    return None


def main() -> int:
    """Carry out the order on stdin."""
    # Stdout is for events alone; what else is printed goes to stderr.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        line = b""
        while not line.endswith(b"\n"):
            # Not sys.stdin, which would read on into its buffer.
            part = os.read(sys.stdin.fileno(), 65536)
            if not part:
                return 2
            line += part
        warnings.filterwarnings("ignore")
        return 0 if carry_out(Order.model_validate_json(line), events) else 1
    finally:
        # What nobody read any more is left in the buffer.
        with contextlib.suppress(OSError):
            events.close()


if __name__ == "__main__":
    ended = main()
    leave(ended)
    sys.exit(ended)
