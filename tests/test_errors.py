"""The way out of a program whose threads go on."""

from __future__ import annotations

import subprocess
import sys

from factible_assets.errors import ExitCode
from tests.patience import A_DAY

PROGRAM = """
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from factible_assets.errors import leave
ThreadPoolExecutor().submit(Event().wait)
print("stopped")
leave({code})
"""


def test_an_interrupted_program_waits_for_no_thread() -> None:
    program = PROGRAM.format(code=int(ExitCode.INTERRUPTED))
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=A_DAY, check=False
    )
    assert (ended.returncode, ended.stdout) == (ExitCode.INTERRUPTED, "stopped\n")
