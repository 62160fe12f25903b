"""The prompt of `factible sql`: questions typed one after another.

What belongs here: reading statements, the commands that begin with a dot, history, completion of
names. What does not: asking and drawing (sql.py).
"""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from factible_assets.cli.errors import sentence
from factible_assets.cli.output import note
from factible_assets.errors import FactibleError

HELP = """\
A question ends with a semicolon and may take several lines.
  .tables         the views and tables, with what they hold
  .schema NAME    the columns of one, with what they mean
  .help           this text
  .quit           leave; so does Ctrl-D
Ctrl-C drops what was typed, or stops the question that is being answered."""

_FIRST, _NEXT = "factible> ", "     ...> "
_HISTORY_LENGTH = 1_000
_HEARING_SECONDS = 0.1
_SCHEMA = re.compile(r"\.schema\s+(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*;?\s*$")
_QUOTED = re.compile(
    r"'(?:[^']|'')*'"  # text
    r'|"(?:[^"]|"")*"'  # a name
    r"|--[^\n]*(?:\n|$)"  # a comment to the end of the line
    r"|/\*.*?\*/"  # a comment
    r"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$",  # text between dollars
    re.DOTALL,
)
_OPEN = re.compile(r"['\"]|/\*|\$\w*\$")

Answer = Callable[[str], None]
"""Answers a question, or a command that begins with a dot, on stdout."""


def is_complete(text: str) -> bool:
    """Tell whether a statement ends here: with a semicolon that is in no text and no comment."""
    bare = _QUOTED.sub(" ", text)
    return bare.rstrip().endswith(";") and _OPEN.search(bare) is None


def schema_name(text: str) -> str | None:
    """Return which name `.schema NAME` asks for, None if that is not what is asked.

    Raises:
        FactibleError: A `.schema` without a name.
    """
    if not text.startswith(".schema"):
        return None
    found = _SCHEMA.match(text)
    if found is None:
        raise FactibleError("Of which view or table?", "Write .schema NAME; .tables lists them.")
    return found["name"]


def run_prompt(answer: Answer, *, names: Sequence[str], history: Path) -> None:
    """Answer what is typed until the user leaves.

    `answer` is given one question or dot command and may raise FactibleError and KeyboardInterrupt;
    `names` are completed by the Tab key; the file `history` keeps what was asked.
    """
    with _line_editing(names, history) as remember:
        for text in _statements():
            remember(text)
            if text.rstrip("; ") in {".quit", ".exit", ".q"}:
                return
            try:
                answer(text)
            except FactibleError as error:
                note(sentence(error))
            except KeyboardInterrupt:
                note("Stopped.")


def _statements() -> Iterator[str]:
    """Yield what is typed, statement by statement, until Ctrl-D."""
    lines: list[str] = []
    while True:
        try:
            with _hearing_signals():
                line = input(_NEXT if lines else _FIRST)
        except KeyboardInterrupt:
            lines = []
            note("")
            continue
        except EOFError:
            note("")
            return
        lines.append(line)
        text = "\n".join(lines).strip()
        if not text:
            lines = []
        elif text.startswith(".") or is_complete(text):
            lines = []
            yield text


@contextmanager
def _hearing_signals() -> Iterator[None]:
    """Let Ctrl-C drop a line, and SIGTERM and SIGHUP end the prompt, whenever they come.

    readline looks for signals only when one interrupts its wait for a key. One that comes just
    before the wait, or that another thread of this process is given, would go unheard until the
    next key is pressed; so a timer interrupts the wait, again and again.
    """
    if sys.platform == "win32":  # no readline there, and none of these signals
        yield
        return

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        del frame
        raise SystemExit(128 + number)

    handlers = {signal.SIGTERM: leave, signal.SIGHUP: leave, signal.SIGALRM: lambda *_: None}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    signal.setitimer(signal.ITIMER_REAL, _HEARING_SECONDS, _HEARING_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _line_editing(names: Sequence[str], history: Path) -> Iterator[Callable[[str], None]]:
    """Edit lines with history and names; without the library for it, just read them."""
    try:
        import readline
    except ImportError:  # Python on Windows has none
        yield lambda text: None
        return
    # What is typed at other prompts of this process is not a question in SQL.
    readline.set_auto_history(False)
    readline.set_history_length(_HISTORY_LENGTH)
    with contextlib.suppress(OSError):
        readline.read_history_file(history)

    def complete(text: str, state: int) -> str | None:
        matching = [name for name in names if name.startswith(text.casefold())]
        return matching[state] if state < len(matching) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,;()=<>'\"")
    readline.parse_and_bind("tab: complete")
    try:
        # One entry per statement, whatever lines it was typed on.
        yield lambda text: readline.add_history(" ".join(text.split()))
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(history)
        readline.set_completer(None)
        readline.clear_history()
        readline.set_auto_history(True)
