"""The root of errors with a sentence for the user, and the exit codes of commands.

    FactibleError                 a sentence that names the input, and a remedy; exit code 4
    ├─ UsageError                 contradictory or unknown arguments; 2
    ├─ SettingsError              a setting or the data folder (settings.py); 5
    ├─ CorpusError                a corpus file (corpora/format.py)
    ├─ ExperimentError            an experiment file (runs/experiments/plan.py)
    └─ UnknownCorpusError         no video of the corpus has results (evaluation/outcomes.py)

    ReasonerError                 a reasoner gave no judgement (stages/ports.py)
    ├─ ReasonerOutageError        its service failed: the verdict is incomplete
    ├─ ReasonerRefusalError       the model declined: asking again does not help
    └─ BudgetSpentError           the claim's budget is spent

    WarehouseError                one class per remedy (warehouse/errors.py); 5

    In resources/, which does not import this module:
    SetupError                    a service or model that is set up wrongly (resources/errors.py); 5
    └─ RegistryError              a models.yaml
    HttpFailureError              a request without an answer (resources/http.py)
    ├─ OutageError                try again later
    └─ UnavailableError           the page does not exist, or is too large or unreadable
    ModelError                    a call of a language model (resources/llm/base.py); 1
    ModelPullError                fetching a model (resources/models/base.py); 1
    TranscriptError               a transcript (resources/transcripts/base.py); 4
    ArchiveError                  the archive of pages (resources/storage/imports.py); 5
    PlacedError                   a problem at a line of a file (resources/text_files.py)

`explained` returns the sentence and the exit code of each.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
from collections.abc import Iterable
from enum import IntEnum

RUN_THREAD = "run-"
"""The prefix of threads that execute a run."""

FULL_DISK = re.compile("database or disk is full|disk I/O error")
"""SQLite's messages about a full disk."""

NO_ROOM = "There is no room left"
"""The beginning of our own sentences about a full disk."""


class ExitCode(IntEnum):
    """The exit code of a command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INCOMPLETE = 3
    BAD_INPUT = 4
    ENVIRONMENT = 5
    INTERRUPTED = 130


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the exit code for several checks: a failed one outweighs incomplete ones."""
    gravity = (ExitCode.DONE, ExitCode.INCOMPLETE, ExitCode.FAILED, ExitCode.ENVIRONMENT)
    return max(codes, key=gravity.index, default=ExitCode.DONE)


def is_full(error: BaseException) -> bool:
    """Tell whether an error means that a disk, a quota or a limit is full."""
    full = getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    return full or FULL_DISK.search(str(error)) is not None


def code_of(failures: Iterable[str]) -> ExitCode:
    """Return the exit code of a run from the sentences of its failed steps."""
    full = any(NO_ROOM in failure or FULL_DISK.search(failure) for failure in failures)
    return ExitCode.ENVIRONMENT if full else ExitCode.FAILED


def leave(code: int) -> None:
    """Exit at once if a run is still executing, or if threads remain after an interruption.

    DuckDB would abort a slower exit, and Python would wait for a model until it has computed.
    """
    threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    is_running = any(thread.name.startswith(RUN_THREAD) for thread in threads)
    if is_running or (code == ExitCode.INTERRUPTED and threads):
        sys.stdout.flush()
        os._exit(code)


class FactibleError(Exception):
    """An error with a sentence that names the input, and a remedy.

    An interface with other remedies, such as the desk, shows the `sentence` alone.
    """

    code = ExitCode.BAD_INPUT

    def __init__(self, sentence: str, remedy: str = "", code: ExitCode | None = None) -> None:
        super().__init__(f"{sentence} {remedy}".strip())
        self.sentence = sentence
        if code is not None:
            self.code = code


class UsageError(FactibleError):
    """Contradictory or unknown arguments of a command."""

    code = ExitCode.USAGE


EXIT_CODES: dict[str, ExitCode] = {
    "resources.errors.SetupError": ExitCode.ENVIRONMENT,
    "warehouse.errors.WarehouseError": ExitCode.ENVIRONMENT,
    "resources.storage.imports.ArchiveError": ExitCode.ENVIRONMENT,
    "resources.storage.imports.ArchiveImportError": ExitCode.BAD_INPUT,
    "resources.llm.base.ModelError": ExitCode.FAILED,
    "resources.models.base.ModelPullError": ExitCode.FAILED,
    "resources.models.base.ModelStoreError": ExitCode.ENVIRONMENT,
    "resources.transcripts.base.TranscriptError": ExitCode.BAD_INPUT,
    "resources.transcripts.youtube_ids.NotAVideoLinkError": ExitCode.BAD_INPUT,
    "builtins.KeyboardInterrupt": ExitCode.INTERRUPTED,
    "dagster._core.errors.DagsterExecutionInterruptedError": ExitCode.INTERRUPTED,
    "builtins.OSError": ExitCode.ENVIRONMENT,
    "builtins.UnicodeEncodeError": ExitCode.BAD_INPUT,
}
"""Exit codes of errors whose message is a sentence for the user. Names of classes, because an
import would load the warehouse."""


def explained(error: BaseException) -> tuple[str, ExitCode] | None:
    """Return an error as one line with its exit code; None for an unforeseen error."""
    words = " ".join(str(error).split())
    if isinstance(error, FactibleError):
        return words, error.code
    filename = getattr(error, "filename", None)
    if is_full(error):
        database_message = FULL_DISK.search(words)
        place = f" for {filename}" if filename is not None else ""
        if database_message:
            place = f", or the disk fails ({database_message[0]})"
        return f"{NO_ROOM}{place}. Make room, then do the same again.", ExitCode.ENVIRONMENT
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    code = next((EXIT_CODES[name] for name in names if name in EXIT_CODES), None)
    if code is None:
        return None
    if code is ExitCode.INTERRUPTED:
        words = "Interrupted. factible stored the complete parts; the same command continues."
    elif isinstance(error, UnicodeEncodeError):
        shown = error.object[max(0, error.start - 20) : error.end]
        words = f"{shown!r} contains half of a surrogate pair, which is no text. Correct it."
    elif isinstance(error, OSError) and filename is not None:
        words = f"{filename} cannot be used: {error.strerror}. Check the path and its permissions."
    return words or type(error).__name__, code


def first_of(group: ExceptionGroup[Exception]) -> Exception:
    """Return the first error in a group; the group's other tasks were cancelled because of it."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, ExceptionGroup) else first
