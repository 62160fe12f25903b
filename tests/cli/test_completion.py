from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

LOAD = 'source <("$PROGRAM" completion bash) || exit 9'
ASK = """
COMP_WORDS=({words}); COMP_CWORD={position}
_factible_completion "$PROGRAM"
echo "${{COMPREPLY[@]}}"
"""


def completed_by_bash(home: Path, *lines: str) -> list[str]:
    """Return bash's completions of the last word of each line."""
    program, bash = Path(sys.executable).with_name("factible"), shutil.which("bash")
    if bash is None or not program.exists():
        pytest.skip("bash, or the installed program, is not here")
    asked = (ASK.format(words=line, position=len(line.split()) - 1) for line in lines)
    script = "".join((LOAD, *asked))
    done = subprocess.run(
        [bash, "--norc", "-c", script],
        env={**os.environ, "PROGRAM": str(program), "FACTIBLE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_completes_commands_options_and_videos(home: Path) -> None:
    command, option, video = completed_by_bash(
        home, "factible com", "factible check --max", "factible check every"
    )
    assert command == "completion"
    assert "--max-claims" in option.split()
    assert video == "everyday-beliefs-talk"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_the_program(factible: Run, shell: str) -> None:
    script = factible("completion", shell).stdout
    assert f"_FACTIBLE_COMPLETE=complete_{shell}" in script
