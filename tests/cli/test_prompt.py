from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.cli.sql import is_complete
from tests.cli.stored import store_sample

_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")

PROGRAM = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # whoever owns the terminal gets its Ctrl-C
from factible_assets.cli.main import main
sys.argv = ["factible", "sql"]
main()
"""


class Terminal:
    """A real terminal with `factible sql` in it."""

    def __init__(self, home: Path) -> None:
        self.master, slave = pty.openpty()
        environment = {**os.environ, "FACTIBLE_HOME": str(home), "TERM": "xterm", "COLUMNS": "100"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def until(self, words: str, again: str = "") -> str:
        """Return and drop the output before these words; repeat the keys `again` meanwhile."""
        while words not in self.shown:
            readable, _, _ = select.select([self.master], [], [], 5 if again else None)
            if not readable:
                self.type(again)
                continue
            try:
                self.shown += _SEQUENCES.sub("", os.read(self.master, 65_536).decode())
            except OSError:  # the program has gone
                assert words in self.shown, self.shown
        before, _, self.shown = self.shown.partition(words)
        return before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@contextmanager
def terminal_at(home: Path) -> Iterator[Terminal]:
    """Open a terminal in which the prompt of `factible sql` waits."""
    store_sample(home)
    terminal = Terminal(home)
    try:
        terminal.until("factible> ")
        yield terminal
    finally:
        terminal.close()


@needs_terminal
def test_the_prompt_answers_takes_lines_survives_mistakes_and_remembers(home: Path) -> None:
    with terminal_at(home) as terminal:
        terminal.type("select 'over' || ' lines'\n")
        terminal.until("...> ")
        terminal.type("as answer;\n")
        assert "over lines" in terminal.until("factible> ")
        terminal.type(".schema model_usage\n")
        assert "The provider of the model." in terminal.until("factible> ")
        terminal.type("select nothing_like_it;\n")
        assert "column 8" in terminal.until("factible> ")
        terminal.type("select 'half a question'\n")
        terminal.until("...> ")
        terminal.type("\x03")
        # One that comes just before readline waits for a key goes unheard.
        terminal.until("factible> ", again="\x03")
        terminal.type("select 'a' || chr(27) || '[31mb' as hostile;\n")
        assert "a [31mb" in terminal.until("factible> ")
        terminal.type("\x04")
        assert terminal.process.wait() == 0
    asked = (home / ".sql_history").read_text(encoding="utf-8")
    assert "select 'over' || ' lines' as answer;" in asked
    assert "half a question" not in asked


@needs_terminal
def test_an_answer_too_wide_for_the_screen_is_a_list_of_its_rows(home: Path) -> None:
    with terminal_at(home) as terminal:
        terminal.type("from source_scoreboard;\n")
        shown = terminal.until("factible> ")
        assert "── row 1 ──" in shown
        assert "without_evidence" in shown
        terminal.type("select domain, rating from source_scoreboard;\n")
        assert "── row 1 ──" not in terminal.until("factible> ")


@needs_terminal
def test_a_signal_does_not_lose_the_history(home: Path) -> None:
    with terminal_at(home) as terminal:
        terminal.type("select 1 as one;\n")
        terminal.until("factible> ")
        terminal.process.terminate()
        assert terminal.process.wait() == -signal.SIGTERM
    assert "select 1 as one;" in (home / ".sql_history").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("select 1;", True),
        ("select 1 ; ", True),
        ("select 1", False),
        ("select ';'", False),
        ("select ';';", True),
        ("select 'it''s;'", False),
        ('select ";"', False),
        ("select 1 -- ;", False),
        ("select 1; -- done", True),
        ("select 1 /* ;", False),
        ("select $$a;$$", False),
        ("select 'open;", False),
        ("", False),
    ],
)
def test_a_statement_ends_with_a_semicolon_outside_of_texts_and_comments(
    text: str, complete: bool
) -> None:
    assert is_complete(text) is complete


@given(st.text(alphabet=st.characters(exclude_characters="'\0", exclude_categories=["Cs"])))
def test_nothing_inside_of_a_text_ends_a_statement(inside: str) -> None:
    assert not is_complete(f"select '{inside}'")
    assert is_complete(f"select '{inside}';")
