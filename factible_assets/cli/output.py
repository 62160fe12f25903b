"""What every command prints, and where: results on stdout, everything else on stderr.

What belongs here: consoles, notes, the result as a document or as it is shown, tables. What does
not: progress (progress.py), files.

The convention that every command keeps:

- `--json` (given to every command by main.py): stdout is one JSON document and nothing else; keys
  in snake_case, times in ISO 8601, null for what is unknown. `result` is handed both forms.
- `--quiet` (likewise): the result and errors alone. `note` and `stderr` fall silent by themselves;
  `complain` does not.
- Errors are raised as FactibleError: one sentence and the remedy on stderr, an exit code, and an
  empty stdout; with `--json` a document that says the same.
- Text from outside goes through `plain` wherever a person's terminal shows it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import typer

from factible_assets.wording import verdict_words

if TYPE_CHECKING:  # loaded by who prints them; help and documents need none
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from factible_assets.records import Verdict

_WIDTH = 160
"""How wide results are where nobody watches: no line is cut for a screen that is not there."""

NARROW = 110
"""Screens below this have no room for a column each; what belongs together stands in one cell."""

STYLES = {
    "supports": "green",
    "refutes": "red",
    "mixed": "yellow",
    "unclear": "default",
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
"""Of the command that runs; main.py begins anew with each."""


def stdout() -> Console:
    """Return a console for results; wide where nobody watches, so that no line is cut."""
    return _console(sys.stdout, silent=False)


def stderr() -> Console:
    """Return a console for progress and notes; with --quiet one that is no terminal and silent."""
    return _console(sys.stderr, silent=wishes.quiet)


def _console(stream: Any, *, silent: bool) -> Console:
    from rich.console import Console

    return Console(
        file=stream,
        width=None if stream.isatty() else _WIDTH,
        highlight=False,
        emoji=False,
        markup=False,
        quiet=silent,
        force_terminal=False if silent else None,
    )


def note(words: str) -> None:
    """Say something beside the result, on stderr; nothing with --quiet."""
    if not wishes.quiet:
        typer.echo(words, err=True)


def complain(words: str) -> None:
    """Say what failed though the command goes on, on stderr, also with --quiet."""
    typer.echo(f"factible: {words}", err=True)


def result(document: Any, *shown: Any) -> None:
    """Print the result: with --json the document, else what is shown to people, on stdout.

    Args:
        document: Anything of plain values, dataclasses, records and times.
        shown: Lines of text, and tables and the like, which rich draws.
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
    text = json.dumps(value, ensure_ascii=False, indent=2, default=as_json)
    typer.echo(without_controls(text))


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
    rows: Iterable[Sequence[str | Text]],
    *,
    title: str | None = None,
    numbers: Container[str] = (),
    whole: Container[str] = (),
    lines: bool = False,
) -> Table:
    """Return a table; its words are fit for a terminal already.

    Args:
        headings: One a column.
        rows: The cells, as many as there are headings.
        title: What the table shows.
        numbers: The headings whose columns are aligned to the right.
        whole: The headings whose cells are never broken.
        lines: Whether rows have lines between them.
    """
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", show_lines=lines)
    for heading in headings:
        drawn.add_column(
            heading,
            overflow="fold",
            justify="right" if heading in numbers else "left",
            no_wrap=heading in whole,
        )
    for row in rows:
        drawn.add_row(*row)
    return drawn


def outcome_text(verdict: Verdict) -> Text:
    """Return a verdict in its words and its colour."""
    from rich.text import Text

    return Text(verdict_words(verdict), style=STYLES[verdict.stance or "incomplete"])
