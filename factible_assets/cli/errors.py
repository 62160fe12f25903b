"""The one place where an error becomes a sentence and an exit code.

What belongs here: which error exits with which code, and its words. What does not: the sentences of
single errors, which bring their own; catching them (main.py).

Errors of other rooms are known by name, not by import: a command that needs no warehouse must not
load one in order to catch its errors.
"""

from __future__ import annotations

import errno

import typer

from factible_assets.errors import ExitCode, FactibleError

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done, but some verdicts are incomplete because "
    "services failed; 4 bad input (a file, an id or a query that cannot be used); 5 the data "
    "folder, the warehouse or a setting cannot be used; 130 interrupted."
)
"""The exit codes as every help text explains them."""

KNOWN: dict[str, ExitCode] = {
    "factible_assets.settings.SetupError": ExitCode.ENVIRONMENT,
    "factible_assets.evaluation.judging.criteria.UnknownCriterionError": ExitCode.USAGE,
    "warehouse.errors.WarehouseError": ExitCode.ENVIRONMENT,
    "warehouse.errors.NotMaterializedError": ExitCode.BAD_INPUT,
    "resources.archive.sources.ArchiveError": ExitCode.ENVIRONMENT,
    "resources.archive.sources.ArchiveImportError": ExitCode.BAD_INPUT,
    "resources.models.base.ModelPullError": ExitCode.FAILED,
    "resources.models.base.ModelStoreError": ExitCode.ENVIRONMENT,
    "resources.transcripts.base.TranscriptError": ExitCode.BAD_INPUT,
    "resources.transcripts.youtube_ids.NotAVideoLinkError": ExitCode.BAD_INPUT,
    "builtins.KeyboardInterrupt": ExitCode.INTERRUPTED,
    "dagster._core.errors.DagsterExecutionInterruptedError": ExitCode.INTERRUPTED,
    "builtins.OSError": ExitCode.ENVIRONMENT,
    "builtins.UnicodeEncodeError": ExitCode.BAD_INPUT,
}
"""Errors that bring a sentence of their own; the nearest class of an error decides."""


def exit_code(error: BaseException) -> ExitCode | None:
    """Return the exit code of an error that has a sentence for a person, else None."""
    if isinstance(error, FactibleError):
        return error.code
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((KNOWN[name] for name in names if name in KNOWN), None)


def sentence(error: BaseException) -> str:
    """Say an error in one line."""
    words = " ".join(str(error).split())
    code = exit_code(error)
    if code is None:
        return (
            f"An unexpected {type(error).__name__} stopped the command: {words} "
            "Run it again as `factible --debug …` and report the traceback."
        )
    if code is ExitCode.INTERRUPTED and not isinstance(error, FactibleError):
        return "Interrupted. What was complete is stored; run the same command to go on."
    if isinstance(error, UnicodeEncodeError):
        shown = error.object[max(0, error.start - 20) : error.end]
        return f"{shown!r} has a character that is no text (half of a pair). Correct it."
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        place = f" for {error.filename}" if error.filename is not None else ""
        return f"There is no room left{place}. Make room, then run the same command again."
    if isinstance(error, OSError) and error.filename is not None:
        return (
            f"{error.filename} cannot be used: {error.strerror}. "
            "Check the path and its permissions."
        )
    return words or type(error).__name__


def told(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of a command that this error ended."""
    if isinstance(error, typer.Exit):
        return "It failed.", int(error.exit_code)
    if hasattr(error, "format_message"):  # wrong usage, which the parser words
        return error.format_message(), int(ExitCode.USAGE)
    return sentence(error), int(exit_code(error) or ExitCode.FAILED)
