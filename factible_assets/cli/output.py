"""What every command prints, and where: results on stdout, everything else on stderr.

What belongs here: consoles, notes, the result as a document or as it is shown, tables, the one
place where an error becomes a sentence and an exit code. What does not: progress (progress.py),
files, the sentences of single errors, which bring their own.

The convention that every command keeps:

- `--json` (given to every command by main.py): stdout is one JSON document and nothing else; keys
  in snake_case, times in ISO 8601, null for what is unknown. `result` is handed both forms.
- `--quiet` (likewise): the result and errors alone. `note` and `stderr` fall silent by themselves;
  `complain` does not.
- Errors are raised as FactibleError: one sentence and the remedy on stderr, an exit code, and an
  empty stdout; with `--json` a document that says the same.
- Text from outside goes through `plain` wherever a person's terminal shows it; in the cells of a
  table it does so by itself.

Errors of other rooms are known by name, not by import: a command that needs no warehouse must not
load one in order to catch its errors.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import typer

from factible_assets.errors import FULL_DISK, NO_ROOM, ExitCode, FactibleError, is_full
from factible_assets.stances import STANCES
from factible_assets.wording import number, plain, verdict_words

if TYPE_CHECKING:  # loaded by who prints them; help and documents need none
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from factible_assets.records import Verdict

_NONE = "–"
"""What stands where nothing is known."""

_WIDTH = 160
"""How wide results are where nobody watches: no line is cut for a screen that is not there."""

NARROW = 110
"""Screens below this have no room for a column each; what belongs together stands in one cell."""

STYLES: dict[str, str] = {
    **{name: each.style for name, each in STANCES.items()},
    "incomplete": "magenta",
}


@dataclass
class Wishes:
    """What the user asked for beside the command itself, and whether its document is printed."""

    json: bool = False
    quiet: bool = False
    debug: bool = False
    printed: bool = False


wishes = Wishes()
"""Of the command that runs; main.py begins anew with each, and ends with none."""


def stdout(stream: Any = None, *, silent: bool = False) -> Console:
    """Return a console for results; wide where nobody watches, so that no line is cut."""
    from rich.console import Console

    stream = stream or sys.stdout
    return Console(
        file=stream,
        width=None if stream.isatty() else _WIDTH,
        highlight=False,
        emoji=False,
        markup=False,
        quiet=silent,
        force_terminal=False if silent else None,
    )


def stderr() -> Console:
    """Return a console for progress and notes; with --quiet one that is no terminal and silent."""
    return stdout(sys.stderr, silent=wishes.quiet)


def note(words: str) -> None:
    """Say something beside the result, on stderr; nothing with --quiet."""
    if not wishes.quiet:
        _say(words)


def complain(words: str) -> None:
    """Say what failed though the command goes on, on stderr, also with --quiet."""
    _say(f"factible: {words}")


def _say(words: str) -> None:
    try:
        typer.echo(words, err=True)
    except BrokenPipeError:
        # Whoever read along has gone, from stdout too where both are one pipe; the work goes on.
        out, err, nowhere = sys.stdout.fileno(), sys.stderr.fileno(), os.open(os.devnull, os.O_RDWR)
        for each in (out, err) if os.path.sameopenfile(out, err) else (err,):
            os.dup2(nowhere, each)


def result(document: Any, *shown: Any) -> None:
    """Print the result: with --json the document, else what is shown to people, on stdout.

    A document has plain values, dataclasses, records and times; `shown` are lines of text, and
    tables and the like, which rich draws.
    """
    if wishes.json:
        print_json(document)
        return
    for each in shown:
        if isinstance(each, str):
            typer.echo(each)
        else:
            stdout().print(each)


def print_json(value: Any) -> None:
    """Print one JSON document, on stdout."""
    wishes.printed = True
    text = json.dumps(value, ensure_ascii=not is_utf(sys.stdout), indent=2, default=as_json)
    typer.echo(without_controls(text))


def is_utf(stream: Any) -> bool:
    """Tell whether a stream takes every character."""
    return str(getattr(stream, "encoding", None) or "utf").casefold().startswith("utf")


def as_json(value: Any) -> Any:
    """Return what JSON has no form for as what it has: records as objects, times as ISO 8601.

    What a class keeps out of its repr, such as a password, stays out of documents too.
    """
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value) if each.repr}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return value.isoformat() if isinstance(value, date) else str(value)


def without_controls(text: str) -> str:
    """Return text of several lines in which control characters are written out, as JSON does."""

    def written_out(character: str) -> str:
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    return "".join(c if c.isprintable() or c in "\n\t" else written_out(c) for c in text)


def table(
    headings: Iterable[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    numbers: Container[str] = (),
    whole: Container[str] = (),
    lines: bool = False,
    bare: bool = False,
) -> Table:
    """Return a table of text, numbers and times, None where nothing is known.

    Hostile text loses its controls here; a rich Text stays as it is. Below the headings `numbers`
    cells are aligned to the right, below `whole` never broken. Rows may have `lines` between them;
    a `bare` table has no frame, for what is copied and compared.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    frame = box.SIMPLE_HEAD if bare else box.HEAVY_HEAD
    drawn = Table(title=title, title_justify="left", show_lines=lines, box=frame)
    for heading in headings:
        drawn.add_column(
            heading,
            overflow="fold",
            justify="right" if heading in numbers else "left",
            no_wrap=heading in whole,
        )
    for row in rows:
        drawn.add_row(*(each if isinstance(each, Text) else in_cell(each) for each in row))
    return drawn


def grid(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names and what they stand for, below each other; both fit for a terminal already."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 2))
    drawn.add_column(no_wrap=True, style="bold")
    drawn.add_column(overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def in_cell(value: object) -> str:
    """Say a value in a line fit for a terminal: a time to the minute, large numbers in groups."""
    if value is None:
        return _NONE
    if isinstance(value, float):
        return number(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return f"{value:,}" if isinstance(value, int) else plain(str(value))


def between(low: float | None, high: float | None) -> str | None:
    """Say an interval; None where there is none."""
    return None if low is None or high is None else f"{in_cell(low)} to {in_cell(high)}"


def outcome_text(verdict: Verdict) -> Text:
    """Return a verdict in its words and its colour."""
    from rich.text import Text

    return Text(verdict_words(verdict), style=STYLES[verdict.stance or "incomplete"])


# --- Errors --------------------------------------------------------------------------------------

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done, but some verdicts are incomplete because "
    "services failed; 4 bad input (a file, an id or a query that cannot be used); 5 the data "
    "folder, the warehouse or a setting cannot be used; 130 interrupted."
)
"""The exit codes as every help text explains them."""

KNOWN: dict[str, ExitCode] = {
    "resources.errors.SetupError": ExitCode.ENVIRONMENT,
    "warehouse.errors.WarehouseError": ExitCode.ENVIRONMENT,
    "warehouse.errors.NotMaterializedError": ExitCode.BAD_INPUT,
    "resources.archive.sources.ArchiveError": ExitCode.ENVIRONMENT,
    "resources.archive.sources.ArchiveImportError": ExitCode.BAD_INPUT,
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
"""Errors that bring a sentence of their own; the nearest class of an error decides."""


def exit_code(error: BaseException) -> ExitCode | None:
    """Return the exit code of an error that has a sentence for a person, else None."""
    if isinstance(error, FactibleError):
        return error.code
    if is_full(error):
        return ExitCode.ENVIRONMENT
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
    if is_full(error):
        full, filename = FULL_DISK.search(words), getattr(error, "filename", None)
        place = f" for {filename}" if filename is not None else ""
        place = f", or the disk fails ({full[0]})" if full else place
        return f"{NO_ROOM}{place}. Make room, then run the same command again."
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
