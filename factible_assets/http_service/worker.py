"""The worker: one process that runs one fact-check and says on its stdout how it gets on.

What belongs here: the order from stdin, the events as JSON lines on stdout, cancellation. What does
not: the fact-check (launch.py), the words of the events (events.py), who listens (workers.py).

A run has a process of its own so that the service never waits for one, none disturbs another, and
ending it is how it is cancelled. Stdin stays open as long as the run is wanted: when it closes, by
the wish of a client or because the service is gone, the worker interrupts itself as Ctrl-C would.
A run that someone ends in the Dagster UI ends here too (supervision.py).

Run as: python -m factible_assets.http_service.worker
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, TextIO

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.http_service.events import (
    Order,
    ProgressUpdate,
    error_update,
    update,
    verdict_update,
)
from factible_assets.records import Claim, Transcript, Verdict
from factible_assets.settings import Settings, SettingsError, load_settings
from factible_assets.wording import verdict_words

if TYPE_CHECKING:
    from factible_assets.running.launch import CheckOutcome

CANCELLED = "The run was cancelled. What was complete by then is stored."

_LOOK_AROUND_SECONDS = 0.5
"""How often the thread that waits for stdin looks whether it is still needed."""


class Wire:
    """Where events go: one JSON object per line. Safe to use from several threads."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, event: ProgressUpdate) -> None:
        """Send an event; nobody listening is no reason to fail, for stdin says that better."""
        with self._lock:
            try:
                self._stream.write(f"{event.model_dump_json()}\n")
                self._stream.flush()
            except OSError:
                return


class Teller:
    """Turns what is heard of a run into events: in their order, each claim's verdict once.

    It is the observer of the pipeline and the listener of the run. A step that fails and is
    repeated tells everything again; clients hear it once.
    """

    def __init__(self, wire: Wire, transcript_length: Callable[[], int | None]) -> None:
        self._wire = wire
        self._transcript_length = transcript_length
        self._lock = threading.RLock()
        self._has_transcript = False
        self._claims: int | None = None
        self._reached: set[str] = set()

    def waiting(self) -> None:
        """Tell that somebody else is at it."""
        words = "Another check of this video goes on; this one begins when that has ended."
        self._wire.send(update("transcript_extraction", words))

    def asset_stored(self, asset: str) -> None:
        """Tell of the transcript, as soon as Dagster has recorded it."""
        if asset == "transcripts":
            self._transcript_stored()

    def stopping(self) -> None:
        """Say nothing: the last event will."""

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """Tell of the claims, for which the transcript must have been there."""
        with self._lock:
            self._transcript_stored()
            if self._claims is not None:
                return
            self._claims = len(claims)
            self._wire.send(
                update(
                    "claims_extracted",
                    _counted(len(claims)),
                    claims=[claim.model_dump(mode="json") for claim in claims],
                    total_claims=len(claims),
                )
            )

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Say nothing: clients hear of verdicts."""

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Tell of a verdict."""
        with self._lock:
            if claim.claim_id in self._reached:
                return
            self._reached.add(claim.claim_id)
            self._wire.send(
                verdict_update(
                    f"{verdict_words(verdict).capitalize()}: {claim.text}",
                    reached=len(self._reached),
                    total=max(self._claims or 0, len(self._reached)),
                    claim=claim.model_dump(mode="json"),
                    verdict=verdict.model_dump(mode="json"),
                )
            )

    def _transcript_stored(self) -> None:
        with self._lock:
            if self._has_transcript:
                return
            self._has_transcript = True
            length = self._transcript_length()
            words = "The transcript is stored."
            if length is not None:
                words = f"The transcript has {length} characters."
            self._wire.send(update("transcript_complete", words, transcript_length=length))
            self._wire.send(update("claim_extraction", "Looking for claims that can be checked."))


class Cancellation:
    """Waits in a thread of its own until stdin closes, and then interrupts this process, once.

    Once, because whoever is interrupted twice leaves its run as it is.
    """

    def __init__(self) -> None:
        self._over = threading.Event()
        self.wanted = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cancellation", daemon=True)

    def start(self) -> None:
        """Begin to wait."""
        self._thread.start()

    def finish(self) -> None:
        """Stop waiting: from here on nothing is interrupted."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            if _is_closed(sys.stdin.fileno(), _LOOK_AROUND_SECONDS):
                if not self._over.is_set():
                    self.wanted.set()
                    os.kill(os.getpid(), signal.SIGINT)
                return


def _is_closed(descriptor: int, seconds: float) -> bool:
    """Wait for the other side of a pipe to close it, for so long at most."""
    ready, _, _ = select.select([descriptor], [], [], seconds)
    return bool(ready) and os.read(descriptor, 1) == b""


def carry_out(order: Order, wire: Wire) -> bool:
    """Run a fact-check and send its events, the last of which is `complete` or `error`.

    Returns:
        Whether there is a result.
    """
    wire.send(
        update(
            "transcript_extraction",
            f"Reading the transcript of {order.video_id}.",
            run_id=order.run_id,
            video_id=order.video_id,
        )
    )
    try:
        settings = load_settings(order.home)
    except SettingsError as error:
        wire.send(error_update(str(error), order.run_id))
        return False
    cancellation = Cancellation()
    outcome: CheckOutcome | None = None
    try:
        cancellation.start()
        outcome = _check(order, settings, wire)
        cancellation.finish()
    except KeyboardInterrupt:
        from factible_assets.http_service.instance import end_run  # noqa: PLC0415

        # It was interrupted before it started, or as it ended: see to it that it is over.
        end_run(settings, order.run_id, cancelled=True)
    if outcome is not None and outcome.success:
        return _hand_over(order, settings, wire)
    if outcome is None or outcome.canceled:
        wire.send(error_update(CANCELLED, order.run_id, cancelled=True))
    else:
        failures = outcome.failures or ("The run failed without saying why.",)
        wire.send(error_update(" ".join(failures), order.run_id, failures=failures))
    return False


def _check(order: Order, settings: Settings, wire: Wire) -> CheckOutcome:
    # Loading Dagster takes seconds, in which the client has already heard of the run.
    from factible_assets.running.launch import CheckOutcome, check_video  # noqa: PLC0415

    teller = Teller(wire, lambda: _transcript_length(order.video_id, settings))
    try:
        if order.claim_id is not None:
            return _check_claim(order, order.claim_id, settings, teller)
        return check_video(
            order.video_id,
            settings=settings,
            config=order.config,
            observer=teller,
            listener=teller,
            run_id=order.run_id,
            tags=order.tags,
        )
    except FactibleError as error:
        is_stopped = error.code is ExitCode.INTERRUPTED
        return CheckOutcome(order.run_id, False, (str(error),), canceled=is_stopped)


def _check_claim(order: Order, claim_id: str, settings: Settings, teller: Teller) -> CheckOutcome:
    from factible_assets.running.launch import CheckOutcome  # noqa: PLC0415
    from factible_assets.running.review import carry_out, open_claim  # noqa: PLC0415

    done = carry_out(
        open_claim(order.video_id, claim_id, settings),
        (),
        settings,
        rerun=True,
        watch=lambda _: nullcontext(teller),
        say=lambda _: None,
        run_id=order.run_id,
    )
    return CheckOutcome(order.run_id, success=not done.failures, failures=done.failures)


def _transcript_length(video_id: str, settings: Settings) -> int | None:
    """Return the length of the stored transcript in characters; None if it cannot be read now."""
    from warehouse.errors import WarehouseError  # noqa: PLC0415
    from warehouse.store import Warehouse  # noqa: PLC0415

    try:
        stored = Warehouse(settings.warehouse).read_current(Transcript, video_id)
    except WarehouseError:
        return None
    return sum(len(transcript.text) for transcript in stored)


def _hand_over(order: Order, settings: Settings, wire: Wire) -> bool:
    from factible_assets.http_service.results import result_of  # noqa: PLC0415
    from factible_assets.report import writing  # noqa: PLC0415
    from factible_assets.report.reader import read_report_data  # noqa: PLC0415
    from warehouse.store import Warehouse  # noqa: PLC0415

    wire.send(update("generating_report", "Writing the report."))
    data = read_report_data(Warehouse(settings.warehouse), order.video_id)
    if data is None:
        wire.send(error_update("The run stored nothing; launch it again.", order.run_id))
        return False
    writing.write_report(data, writing.report_path(settings.reports, order.video_id))
    writing.write_index(Warehouse(settings.warehouse), settings.reports)
    result = result_of(data)
    words = f"{order.video_id} is checked: {_counted(result.total_claims)}"
    wire.send(update("complete", words, result=result.model_dump(mode="json")))
    return True


def _counted(claims: int) -> str:
    return "1 claim." if claims == 1 else f"{claims} claims."


def main() -> int:
    """Carry out the order on stdin."""
    # Stdout is for events alone; what else is printed goes to stderr.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        line = b""
        while not line.endswith(b"\n"):
            # Not sys.stdin, whose buffer would hide from select that there is nothing more.
            part = os.read(sys.stdin.fileno(), 65536)
            if not part:
                return 2
            line += part
        warnings.filterwarnings("ignore")
        return 0 if carry_out(Order.model_validate_json(line), Wire(events)) else 1
    finally:
        # What nobody read any more is left in the buffer.
        with contextlib.suppress(OSError):
            events.close()


if __name__ == "__main__":
    sys.exit(main())
