"""Every command of the tree keeps the conventions of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from factible_assets.cli.main import COMMANDS, app
from factible_assets.cli.output import OutputMode, output_mode
from tests.cli.conftest import Run

WITHOUT_JSON = {
    # They print the output of Dagster, messages of a protocol, or a script for a shell.
    ("dev",),
    ("mcp",),
    ("completion",),
}


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        loaded = child if path else command.load(name)
        yield from leaves(loaded, (*path, name))


TREE = dict(leaves(get_command(app)))


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_every_command_can_be_quiet_can_be_debugged_and_speaks_json(path: tuple[str, ...]) -> None:
    assert {"--quiet", "-q", "--debug"} <= options(TREE[path])
    assert ("--json" in options(TREE[path])) is (path not in WITHOUT_JSON)


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_every_command_explains_itself_with_an_example_and_its_exit_codes(
    factible: Run, path: tuple[str, ...]
) -> None:
    result = factible(*path, "--help")
    assert result.exit_code == 0
    assert f"Example: factible {' '.join(path)}" in result.stdout
    assert "Exit codes: 0 done" in result.stdout


GROUPS = {path[:depth] for path in TREE for depth in range(len(path))}


@pytest.mark.parametrize("path", sorted({*TREE, *GROUPS}), ids=" ".join)
def test_help_fits_eighty_columns_and_cuts_no_sentence(
    factible: Run, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = factible(*path, "--help").stdout.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines[1:] if line.endswith("...")] == []


def test_help_lists_every_command_once_under_its_heading(factible: Run) -> None:
    shown = factible("--help").stdout
    headings = [line.rstrip(":") for line in shown.splitlines() if line.rstrip(":") in COMMANDS]
    assert headings == list(COMMANDS)
    for name in {path[0] for path in TREE}:
        assert sum(line.startswith(f"  {name} ") for line in shown.splitlines()) == 1


def test_quiet_silences_remarks_and_never_outlives_its_command(factible: Run) -> None:
    quiet = factible("archive", "info", "--quiet")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")
    assert output_mode == OutputMode()
    assert "is empty" in factible("archive", "info").stderr


def test_quiet_does_not_silence_errors(factible: Run) -> None:
    result = factible("report", "nothing-like-it", "-q")
    assert result.exit_code == 4
    assert "nothing-like-it" in result.stderr


def test_debug_adds_the_traceback_before_or_behind_the_command(factible: Run) -> None:
    plain = factible("sql", "select 1")
    for debug in (factible("sql", "select 1", "--debug"), factible("--debug", "sql", "select 1")):
        assert debug.exit_code == plain.exit_code == 4
        assert "Traceback" in debug.stderr
    assert "Traceback" not in plain.stderr
    assert "there is no warehouse" in plain.stderr
