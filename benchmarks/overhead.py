"""Measures the CPU time of a check in a warm process, and its share without reading pages.

Run: `python -m benchmarks.overhead [--videos 12]`. It checks the demo's talk under several ids in
sequence against the miniature web with the embedded engine. It prints the median CPU seconds
without the first two checks: of everything, and without the threads that serve, read and rank
pages. The requests, which the run's own thread makes, are included.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from unittest.mock import patch

from factible_assets.config import FactCheckConfig
from factible_assets.runs.launch import run_video
from factible_assets.runs.result import StoredVideo
from factible_assets.settings import Settings

_READING: list[float] = []
_run = threading.Thread.run


def _timed(thread: threading.Thread) -> None:
    """Run a thread, and record its CPU seconds if it serves or reads pages."""
    began = time.thread_time()
    _run(thread)
    if thread.name.startswith(("asyncio_", "miniature-web")):
        _READING.append(time.thread_time() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=12)
    names = [f"video-{at:03}" for at in range(parser.parse_args().videos)]
    every, beyond = [], []
    timed = patch.object(threading.Thread, "run", _timed)
    with timed, tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home))
        settings.home_corpora.mkdir(parents=True)
        talk = settings.project_corpora / "everyday_beliefs" / "talk.vtt"
        shutil.copy(talk, settings.home_corpora)
        entries = [f"  - {{id: {name}, title: A talk, transcript: talk.vtt}}\n" for name in names]
        head = "corpus: many\nweb: miniature\nvideos:\n"
        (settings.home_corpora / "many.yaml").write_text(head + "".join(entries), encoding="utf-8")
        for name in names:
            _READING.clear()
            began = time.process_time()
            run_video(StoredVideo(name, settings), config=FactCheckConfig(reasoner="embedded"))
            every.append(time.process_time() - began)
            beyond.append(every[-1] - sum(_READING))
    print(f"| {statistics.median(every[2:]):.2f} | {statistics.median(beyond[2:]):.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
