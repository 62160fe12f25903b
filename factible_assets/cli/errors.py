"""The one place where an error becomes a sentence and an exit code.

What belongs here: which error exits with which code, and the boundary around every command. What
does not: wording; the errors bring their own sentence.

Errors of `resources` and `warehouse` are known by name, not by import: a command that needs no
warehouse must not load one in order to catch its errors.
"""

from __future__ import annotations

import errno
import sys
import traceback
from types import TracebackType
from typing import Self

import typer

from factible_assets.errors import ExitCode, FactibleError

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done, but some verdicts are incomplete because "
    "services failed; 4 bad input (a file, an id or a query that cannot be used); 5 the data "
    "folder, the warehouse or a setting cannot be used; 130 interrupted."
)
"""The exit codes as every help text explains them."""


class CliError(FactibleError):
    """A command that cannot go on."""


KNOWN: dict[str, ExitCode] = {
    "warehouse.errors.WarehouseError": ExitCode.ENVIRONMENT,
    "warehouse.errors.NotMaterializedError": ExitCode.BAD_INPUT,
    "resources.archive.errors.ArchiveError": ExitCode.ENVIRONMENT,
    "resources.archive.errors.ArchiveImportError": ExitCode.BAD_INPUT,
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
    for kind in type(error).__mro__:
        code = KNOWN.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    return None


def sentence(error: BaseException) -> str:
    """Say an error in one line."""
    if exit_code(error) is ExitCode.INTERRUPTED and not isinstance(error, FactibleError):
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
    return " ".join(str(error).split()) or type(error).__name__


def unexpected(error: BaseException) -> str:
    """Say an error that nobody foresaw."""
    words = " ".join(str(error).split())
    return (
        f"An unexpected {type(error).__name__} stopped the command: {words} "
        "Run it again as `factible --debug …` and report the traceback."
    )


def told(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of a command that this error ended.

    An exit that the boundary made of a known error has its sentence still.
    """
    if isinstance(error, typer.Exit):
        cause = error.__cause__
        return sentence(cause) if cause is not None else "It failed.", int(error.exit_code)
    if hasattr(error, "format_message"):  # wrong usage, which the parser words
        return error.format_message(), int(ExitCode.USAGE)
    return unexpected(error), int(ExitCode.FAILED)


_state = {"debug": False}


class Boundary:
    """Turns a known error inside a `with` block into its sentence on stderr and its exit code."""

    def __init__(self, *, debug: bool) -> None:
        self._debug = debug

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise typer.Exit for a known error; let every other one pass."""
        if error is None or isinstance(error, BrokenPipeError):
            return
        code = exit_code(error)
        if code is None:
            return
        if self._debug or _state["debug"]:
            traceback.print_exception(kind, error, trace)
        typer.echo(f"factible: {sentence(error)}", err=True)
        raise typer.Exit(code) from error


def report_unexpected(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Serve as `sys.excepthook`: one sentence, and no traceback unless asked for."""
    del kind, trace
    typer.echo(f"factible: {unexpected(error)}", err=True)


def install_hook(*, debug: bool) -> None:
    """Say unexpected errors in a sentence, with `debug` in a traceback."""
    _state["debug"] = debug
    sys.excepthook = sys.__excepthook__ if debug else report_unexpected


def show_tracebacks() -> None:
    """Show tracebacks from now on: what `--debug` behind a command asks for."""
    install_hook(debug=True)
