"""The worker process: runs one fact-check and writes its events to stdout as JSON lines.

A run has its own process so that the service never waits for it and can end it. The order comes on
stdin, which stays open as long as the run is wanted. When stdin closes, because a client cancelled
the run or the service is gone, the worker interrupts itself as Ctrl-C would.

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
from factible_assets.records.tables import Claim, Transcript, Verdict
from factible_assets.settings import Settings, load_settings
from factible_assets.stages.ports import Observer
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.web import models
from factible_assets.wording import counted, verdict_words
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from factible_assets.runs.launch import Watch
    from factible_assets.runs.result import Checked


class EventWriter(Observer):
    """Writes the progress of a run as JSON lines, from any thread. Repeated steps count once."""

    def __init__(self, stream: TextIO, transcript_length: Callable[[], int | None]) -> None:
        self._stream = stream
        self._transcript_length = transcript_length
        self._lock = threading.RLock()
        self._has_transcript = False
        self._claims: int | None = None
        self._reached: set[str] = set()

    def write(self, event: models.ProgressUpdate) -> None:
        # A reader that is gone also closes stdin, which ends the run.
        with self._lock, contextlib.suppress(OSError):
            self._stream.write(f"{event.model_dump_json()}\n")
            self._stream.flush()

    def tell(self, step: models.ProgressKind, words: str, **data: Any) -> None:
        self.write(models.progress_update(step, words, **data))

    def waiting(self) -> None:
        words = "Another check of this video is running. This one starts when that has ended."
        self.tell("transcript_extraction", words)

    def asset_stored(self, asset: str) -> None:
        with self._lock:
            if asset != "transcripts" or self._has_transcript:
                return
            self._has_transcript = True
            length = self._transcript_length()
            has = "is stored" if length is None else f"has {length} characters"
            self.tell("transcript_complete", f"The transcript {has}.", transcript_length=length)
            self.tell("claim_extraction", "Looking for claims that can be checked.")

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        with self._lock:
            self.asset_stored("transcripts")  # The claims come from it.
            if self._claims is None:
                self._claims = len(claims)
                rows = [claim.model_dump(mode="json") for claim in claims]
                more = f"; {left_out:,} more were left out" if left_out else ""
                words = f"{counted(len(claims), 'claim')}{more}."
                self.tell("claims_extracted", words, claims=rows, total_claims=len(claims))

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
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
def _interrupted_when_stdin_closes() -> Iterator[threading.Event]:
    """Interrupt this process when stdin closes, unless the event says that the run is over."""
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
def _until_over(writer: EventWriter, over: threading.Event) -> Iterator[EventWriter]:
    """Lend the writer to a run. The report that follows needs no listener."""
    try:
        yield writer
    finally:
        over.set()


def carry_out(order: models.CheckOrder, stream: TextIO) -> bool:
    """Run a fact-check and write its events, the last `complete` or `error`. Tell if it succeeds.

    Unforeseen errors pass. The service then reports that the worker ended unexpectedly.
    """
    writer = EventWriter(stream, partial(_transcript_length, order))
    words = f"Reading the transcript of {order.video_id}."
    writer.tell("transcript_extraction", words, run_id=order.run_id, video_id=order.video_id)
    checked: Checked | None = None
    failures: tuple[str, ...] = ()
    is_cancelled = False
    try:
        with _interrupted_when_stdin_closes() as over:
            checked = _check(order, load_settings(order.home), lambda _: _until_over(writer, over))
        failures = checked.failures
    except KeyboardInterrupt:
        is_cancelled = True
    except Exception as error:
        if isinstance(error, FactibleError | WarehouseError):
            is_cancelled = getattr(error, "code", None) is ExitCode.INTERRUPTED
            failures = (str(error),)
        elif is_full(error):
            failures = (f"{NO_ROOM} for the data folder. Make room, then check again.",)
        else:
            raise
    if is_cancelled:
        words = "The run was cancelled. Its complete results are stored."
        writer.write(models.error_update(words, order.run_id, cancelled=True))
        return False
    if checked is None or failures:
        writer.write(models.error_update(" ".join(failures), order.run_id, failures=failures))
        return False

    from factible_assets.web.results import video_result  # noqa: PLC0415

    writer.tell("generating_report", "Writing the report.")
    result = video_result(checked.data)
    done = "The claims are found" if order.finds_only else f"{order.video_id} is checked"
    words = f"{done}: {counted(result.total_claims, 'claim')}."
    writer.tell("complete", words, result=result.model_dump(mode="json"))
    return True


def _check(order: models.CheckOrder, settings: Settings, watch: Watch) -> Checked:
    # Loading Dagster takes seconds. The client has already received the first event.
    from factible_assets.runs import launch, review  # noqa: PLC0415

    config, claims = order.config, tuple[Claim, ...]()
    assets: tuple[str, ...] | None = None
    if order.finds_only:
        assets = ("transcripts", "claims")
    elif order.claims:
        files = review.open_video(order.video_id, settings)
        claims = tuple(file.claim for file in files if file.gone is None)
        assets = ("claims", *ALL_STAGES)
        only = tuple(claim.claim_id for claim in claims)
        config = config.model_copy(update={"only_claims": only})
    if order.claim_id is None:
        return launch.run_video(
            order.video_id,
            settings=settings,
            config=config,
            watch=watch,
            claims=claims,
            assets=assets,
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


def _transcript_length(order: models.CheckOrder) -> int | None:
    """Return the length of the stored transcript, or None if it cannot be read now."""
    with contextlib.suppress(WarehouseError):
        store = Warehouse(load_settings(order.home).warehouse)
        return sum(len(each.text) for each in store.read_current(Transcript, order.video_id))
    return None


def main() -> int:
    # Stdout carries events only. All other output goes to stderr.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        line = b""
        while not line.endswith(b"\n"):
            # Not from sys.stdin, which would buffer more than the line.
            part = os.read(sys.stdin.fileno(), 65536)
            if not part:
                return 2
            line += part
        warnings.filterwarnings("ignore")
        return 0 if carry_out(models.CheckOrder.model_validate_json(line), events) else 1
    finally:
        # If the reader is gone, the buffer cannot be flushed.
        with contextlib.suppress(OSError):
            events.close()


if __name__ == "__main__":
    ended = main()
    leave(ended)
    sys.exit(ended)
