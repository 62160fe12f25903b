"""What ends work with a sentence for a person, and how a command that it ends exits.

What belongs here: the base of all such errors, exit codes, and finding the error in what a group of
tasks raised. What does not: the errors of single rooms, which stand beside the code that raises
them; printing (cli/output.py).
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
"""How the names of threads begin in which runs go on."""

FULL_DISK = re.compile("database or disk is full|disk I/O error")
"""What SQLite says of a disk without room, of itself and through other libraries."""

NO_ROOM = "There is no room left"
"""How our own sentences of one begin, by which a failed step's is known."""


class ExitCode(IntEnum):
    """How something ended: what the exit code of every command means."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INCOMPLETE = 3
    BAD_INPUT = 4
    ENVIRONMENT = 5
    INTERRUPTED = 130


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """Return how several checks ended together: one that failed counts before incomplete ones."""
    gravity = (ExitCode.DONE, ExitCode.INCOMPLETE, ExitCode.FAILED, ExitCode.ENVIRONMENT)
    return max(codes, key=gravity.index, default=ExitCode.DONE)


def is_full(error: BaseException) -> bool:
    """Tell whether an error says that a disk, a quota or a limit leaves no room."""
    full = getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    return full or FULL_DISK.search(str(error)) is not None


def code_of(failures: Iterable[str]) -> ExitCode:
    """Return how a run ended whose steps failed with these sentences: a full disk is told apart."""
    full = any(NO_ROOM in each or FULL_DISK.search(each) for each in failures)
    return ExitCode.ENVIRONMENT if full else ExitCode.FAILED


def leave(code: int) -> None:
    """End this process now if a run was left: from within DuckDB it would abort a slower end."""
    if any(thread.name.startswith(RUN_THREAD) for thread in threading.enumerate()):
        sys.stdout.flush()
        os._exit(code)


class FactibleError(Exception):
    """Something that cannot be done: a sentence that names the input, and the remedy."""

    code = ExitCode.BAD_INPUT

    def __init__(self, sentence: str, remedy: str = "", code: ExitCode | None = None) -> None:
        super().__init__(f"{sentence} {remedy}".strip())
        if code is not None:
            self.code = code


class UsageError(FactibleError):
    """A command whose words contradict each other, or name what there is not."""

    code = ExitCode.USAGE


def first_of(group: ExceptionGroup[Exception]) -> Exception:
    """Return what a task raised, without the groups around it: the rest was cancelled for it."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, ExceptionGroup) else first
