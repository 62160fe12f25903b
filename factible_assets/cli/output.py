"""What every command prints, and where: results on stdout, everything else on stderr.

What belongs here: consoles, notes, JSON, tables of verdicts. What does not: progress (progress.py),
files.

The convention that every command keeps:

- `--json` (declared by the command as `as_json: AsJson`): stdout is one JSON document, by
  `print_json`, and nothing else; keys in snake_case, times in ISO 8601, null for what is unknown.
- `--quiet` (given to every command by main.py): the result and errors alone. `note` and
  `stderr` fall silent by themselves; `complain` does not.
- Errors are raised as CliError: one sentence and the remedy on stderr, an exit code, and an empty
  stdout; with `--json` a document that says the same.
- Text from outside goes through `plain` wherever a person's terminal shows it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from factible_assets.wording import clock, plain, verdict_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from factible_assets.records import Claim, Verdict

AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout; progress stays on stderr.")
]

_WIDTH = 160
"""How wide results are where nobody watches: no line is cut for a screen that is not there."""

_FULL_TABLE = 110
"""How wide a screen must be for the columns of verdicts beside the claims."""

STYLES = {
    "supports": "green",
    "refutes": "red",
    "mixed": "yellow",
    "unclear": "default",
    "incomplete": "magenta",
}


_state = {"quiet": False, "printed": False}


def be_quiet(*, wanted: bool) -> None:
    """Say nothing but results and errors from now on, or speak again."""
    _state["quiet"] = wanted


def is_quiet() -> bool:
    """Tell whether the user asked for results and errors alone."""
    return _state["quiet"]


def stdout() -> Console:
    """Return a console for results; wide where nobody watches, so that no line is cut."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return a console for progress and notes; with --quiet one that is no terminal and silent."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    silent = stderr and is_quiet()
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
    if not is_quiet():
        typer.echo(words, err=True)


def complain(words: str) -> None:
    """Say what failed though the command goes on, on stderr, also with --quiet."""
    typer.echo(f"factible: {words}", err=True)


def print_json(value: Any) -> None:
    """Print one JSON document, on stdout."""
    _state["printed"] = True
    text = json.dumps(value, ensure_ascii=False, indent=2, default=as_text)
    typer.echo(without_controls(text))


def expect_document() -> None:
    """Forget what earlier commands of this process printed."""
    _state["printed"] = False


def print_failure(error: str, code: int) -> None:
    """Print the document of a command that failed, unless it has printed its own."""
    if not _state["printed"]:
        print_json({"success": False, "error": error, "exit_code": code})


def as_text(value: Any) -> str:
    """Return what JSON has no form for as text, times as ISO 8601."""
    return value.isoformat() if isinstance(value, date) else str(value)


def without_controls(text: str) -> str:
    """Return text of several lines in which control characters are written out, as JSON does."""
    return "".join(c if c.isprintable() or c in "\n\t" else _written_out(c) for c in text)


def _written_out(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    title: str | None = None,
    numbers: Container[str] = (),
) -> None:
    """Print a table on stdout; its words are fit for a terminal already.

    Args:
        headings: One a column.
        rows: The cells, as many as there are headings.
        title: What the table shows.
        numbers: The headings whose columns are aligned to the right.
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading in numbers else "left"
        table.add_column(heading, overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*row)
    stdout().print(table)


def outcome_text(verdict: Verdict) -> Text:
    """Return a verdict in its words and its colour."""
    from rich.text import Text

    return Text(verdict_words(verdict), style=STYLES[verdict.stance or "incomplete"])


def print_verdicts(title: str, claims: list[Claim], verdicts: dict[str, Verdict]) -> None:
    """Print the claims in order of time, with their verdicts."""
    from rich.table import Table

    console = stdout()
    is_narrow = console.width < _FULL_TABLE
    table = Table(title=plain(title), title_justify="left", show_lines=is_narrow)
    table.add_column("at", justify="right", no_wrap=True)
    table.add_column("claim", ratio=3, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    if not is_narrow:
        table.add_column("confidence", no_wrap=True)
        table.add_column("for : against", justify="center", no_wrap=True)
        table.add_column("origins", justify="right", no_wrap=True)
    for claim in claims:
        cells = _verdict_cells(verdicts.get(claim.claim_id), is_narrow=is_narrow)
        table.add_row(clock(claim.start_seconds), plain(claim.text), *cells)
    console.print(table)


def _verdict_cells(verdict: Verdict | None, *, is_narrow: bool) -> list[Text | str]:
    """Return the cells behind a claim; where there is little room, all in one."""
    if verdict is None:
        return ["not judged"] if is_narrow else ["not judged", "–", "–", "–"]
    words, balance = outcome_text(verdict), f"{verdict.supporting} : {verdict.refuting}"
    if is_narrow:
        return [words.append(f"\n{_confidence(verdict)}, {balance}", style="default")]
    return [words, _confidence(verdict), balance, str(verdict.independent_origins)]


def _confidence(verdict: Verdict) -> str:
    if verdict.confidence is None:
        return "–"
    score = verdict.confidence_score
    return verdict.confidence if score is None else f"{verdict.confidence} {score:.2f}"
