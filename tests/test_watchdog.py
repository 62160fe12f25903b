"""A test that hangs fails, alone, and on a busy machine no sooner than on an idle one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import patience
from tests.patience import Patience, eventually

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
from tests import watchdog
from tests.conftest import pytest_timeout_set_timer, pytest_xdist_make_scheduler

watchdog._GRACE_SECONDS = watchdog._LOOK_SECONDS = 0.1
"""
HANGING = """
import signal
import subprocess
import threading

def test_before():
    pass

def test_waits_for_ever():
    threading.Event().wait()

def test_hears_no_signal():
    child = subprocess.Popen(["sleep", "600"])
    print(f"the child is {child.pid}", file=open("child", "w"))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    threading.Event().wait()

def test_after():
    pass
"""


def test_a_test_past_its_limit_fails_and_the_others_of_its_file_still_run(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_hanging.py").write_text(HANGING)
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    options = ["--timeout=0.5", "-n1", "--dist=loadfile", "-pno:cacheprovider", "-pno:schemathesis"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir=.", *options, "."],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "threading.Event().wait()" in done.stdout
    assert "crashed while running 'test_hanging.py::test_hears_no_signal'" in done.stdout
    child = (tmp_path / "child").read_text().split()[-1]
    eventually(lambda: not _lives(child), "the child of the test lives on")


def _lives(process: str) -> bool:
    try:
        # A process that has ended and that nobody waited for has no command line any more.
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except FileNotFoundError:
        return False


def test_a_wait_on_a_machine_ten_times_as_slow_lasts_ten_times_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(patience._machine, "slowness", lambda: 10.0)
    waiting = Patience(60)
    for _ in range(60):
        waiting.pause(1.0, sleep)
    assert waiting.left == pytest.approx(54)


def test_a_wait_in_vain_fails_with_its_words() -> None:
    with pytest.raises(pytest.fail.Exception, match="no train came"):
        eventually(lambda: False, "no train came", seconds=0.1)


def test_the_answer_that_was_waited_for_is_returned() -> None:
    answers = iter([None, "", "there"])
    assert eventually(lambda: next(answers)) == "there"
