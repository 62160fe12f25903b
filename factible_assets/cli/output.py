"""What every command prints, and where: results on stdout, everything else on stderr.

What belongs here: consoles, notes, JSON, tables of verdicts. What does not: progress (progress.py),
files.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from factible_assets.records import Claim, Verdict

AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout; progress stays on stderr.")
]

STYLES = {
    "supports": "green",
    "refutes": "red",
    "mixed": "yellow",
    "unclear": "default",
    "incomplete": "magenta",
}


def stdout() -> Console:
    """Return a console for results; wide where nobody watches, so that no line is cut."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return a console for progress and notes."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 160
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


def note(words: str) -> None:
    """Say something beside the result, on stderr."""
    typer.echo(words, err=True)


def print_json(value: Any) -> None:
    """Print one JSON document, on stdout."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=as_text))


def as_text(value: Any) -> str:
    """Return what JSON has no form for as text, times as ISO 8601."""
    return value.isoformat() if isinstance(value, date) else str(value)


def plain(text: str, limit: int | None = None) -> str:
    """Return hostile text fit for one line of a terminal: control characters become spaces.

    A title could otherwise carry escape sequences that move the cursor or set the window title.
    """
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if limit is None or len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def outcome_text(verdict: Verdict) -> Text:
    """Return a verdict in its words and its colour."""
    from rich.text import Text

    from factible_assets.presentation import verdict_words

    return Text(verdict_words(verdict), style=STYLES[verdict.stance or "incomplete"])


def print_verdicts(title: str, claims: list[Claim], verdicts: dict[str, Verdict]) -> None:
    """Print the claims in order of time, with their verdicts."""
    from rich.table import Table

    from factible_assets.presentation import clock

    table = Table(title=plain(title), title_justify="left", show_lines=False, expand=False)
    table.add_column("at", justify="right", no_wrap=True)
    table.add_column("claim", ratio=3, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("confidence", no_wrap=True)
    table.add_column("for : against", justify="center", no_wrap=True)
    table.add_column("origins", justify="right", no_wrap=True)
    for claim in claims:
        verdict = verdicts.get(claim.claim_id)
        at = clock(claim.start_seconds)
        if verdict is None:
            table.add_row(at, plain(claim.text), "not judged", "–", "–", "–")
            continue
        table.add_row(
            at,
            plain(claim.text),
            outcome_text(verdict),
            _confidence(verdict),
            f"{verdict.supporting} : {verdict.refuting}",
            str(verdict.independent_origins),
        )
    stdout().print(table)


def _confidence(verdict: Verdict) -> str:
    if verdict.confidence is None:
        return "–"
    score = verdict.confidence_score
    return verdict.confidence if score is None else f"{verdict.confidence} {score:.2f}"
