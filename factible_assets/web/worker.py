"""The worker process: runs one fact-check and writes its events to stdout as JSON lines.

A run has its own process so that the service never waits for it and can end it. Its stdin stays
open as long as the run is wanted. When stdin closes, because a client cancelled the run or the
service is gone, the worker interrupts itself as Ctrl-C would.

Run as: python -m factible_assets.web.worker ORDER, a CheckOrder as JSON
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from factible_assets.errors import ExitCode, explained, leave
from factible_assets.records.tables import Claim, Verdict
from factible_assets.settings import load_settings
from factible_assets.stages.ports import Observer
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.web import models
from factible_assets.wording import counted, verdict_words

if TYPE_CHECKING:
    from factible_assets.runs.result import Checked


class EventWriter(Observer):
    """Writes the progress of a run as JSON lines, from any thread, and each step once."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._done: set[str] = set()
        """The steps that can come only once, and the claims with a verdict."""
        self._claims = 0

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

    def transcript_stored(self, characters: int | None) -> None:
        with self._lock:
            if not self._is_new("transcript"):
                return
            has = "is stored" if characters is None else f"has {characters} characters"
            self.tell("transcript_complete", f"The transcript {has}.", transcript_length=characters)
            self.tell("claim_extraction", "Looking for claims that can be checked.")

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        with self._lock:
            self.transcript_stored(None)  # The claims come from it.
            if not self._is_new("claims"):
                return
            self._claims = len(claims)
            rows = [claim.model_dump(mode="json") for claim in claims]
            rest = f"; {left_out:,} more were left out" if left_out else ""
            words = f"{counted(len(claims), 'claim')}{rest}."
            self.tell("claims_extracted", words, claims=rows, total_claims=len(claims))

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        with self._lock:
            if not self._is_new(f"verdict {claim.claim_id}"):
                return
            reached = sum(line.startswith("verdict ") for line in self._done)
            self.tell(
                "verdict_reached",
                f"{verdict_words(verdict).capitalize()}: {claim.text}",
                claim=claim.model_dump(mode="json"),
                verdict=verdict.model_dump(mode="json"),
                reached=reached,
                total_claims=max(self._claims, reached),
            )

    def _is_new(self, step: str) -> bool:
        """Note a step, and tell whether it was new."""
        is_new = step not in self._done
        self._done.add(step)
        return is_new


@contextlib.contextmanager
def _interrupted_when_stdin_closes() -> Iterator[None]:
    """Interrupt this process if stdin closes during the block."""
    over = threading.Event()

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, name="cancellation", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def carry_out(order: models.CheckOrder, writer: EventWriter) -> models.ProgressUpdate:
    """Run a fact-check, write its events, and return the last one, `complete` or `error`.

    Unforeseen errors pass. The service then reports that the worker ended unexpectedly.
    """
    words = f"Reading the transcript of {order.video_id}."
    writer.tell("transcript_extraction", words, run_id=order.run_id, video_id=order.video_id)
    try:
        with _interrupted_when_stdin_closes():
            checked = _check(order, writer)
    except (Exception, KeyboardInterrupt) as error:
        if (explanation := explained(error)) is None:
            raise
        words, is_stopped = explanation[0], explanation[1] is ExitCode.INTERRUPTED
        words = "The run was cancelled. Its complete results are stored." if is_stopped else words
        return models.error_update(words, order.run_id, cancelled=is_stopped)
    if checked.failures:
        words = " ".join(checked.failures)
        return models.error_update(words, order.run_id, failures=checked.failures)

    from factible_assets.web.results import video_result  # noqa: PLC0415

    writer.tell("generating_report", "Writing the report.")
    result = video_result(checked.data)
    done = "The claims are found" if order.finds_only else f"{order.video_id} is checked"
    words = f"{done}: {counted(result.total_claims, 'claim')}."
    return models.progress_update("complete", words, result=result.model_dump(mode="json"))


def _check(order: models.CheckOrder, writer: EventWriter) -> Checked:
    # Loading Dagster takes seconds. The client has already received the first event.
    from factible_assets.runs import claims as reviewed  # noqa: PLC0415
    from factible_assets.runs import launch, review  # noqa: PLC0415
    from factible_assets.runs.result import StoredVideo  # noqa: PLC0415

    settings, config = load_settings(order.home), order.config

    def watch(_: object) -> contextlib.AbstractContextManager[Observer]:
        return contextlib.nullcontext(writer)

    if order.claim_id is not None:
        file = reviewed.open_claim(order.video_id, order.claim_id, settings)
        return review.check_again(file, [], watch=watch, run_id=order.run_id, tags=order.tags)
    assets: Sequence[str] | None = None
    if order.finds_only:
        assets = ("transcripts", "claims")
    elif order.claims:
        files = reviewed.open_video(order.video_id, settings)
        assets = ("claims", *ALL_STAGES)
        only = tuple(file.claim.claim_id for file in files if file.gone is None)
        config = config.model_copy(update={"only_claims": only})
    return launch.run_video(
        StoredVideo(order.video_id, settings),
        config=config,
        watch=watch,
        assets=assets,
        run_id=order.run_id,
        tags=order.tags,
    )


def main() -> int:
    # Stdout carries events only. All other output goes to stderr.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.filterwarnings("ignore")
    order = models.CheckOrder.model_validate_json(sys.argv[1])
    writer = EventWriter(events)
    last = carry_out(order, writer)
    writer.write(last)
    return 0 if last.step == "complete" else 1


if __name__ == "__main__":
    ended = main()
    leave(ended)
    sys.exit(ended)
