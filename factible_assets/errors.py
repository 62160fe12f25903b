"""What ends work with a sentence for a person, and how a command that it ends exits.

What belongs here: the base of all such errors, exit codes, and finding the error in what a group of
tasks raised. What does not: the errors of single rooms, which stand beside the code that raises
them; printing (cli/output.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

RUN_THREAD = "run-"
"""How the names of threads begin in which runs go on."""


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
    gravity = (ExitCode.DONE, ExitCode.INCOMPLETE, ExitCode.FAILED)
    return max(codes, key=gravity.index, default=ExitCode.DONE)


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
