"""Shared parts of the benchmarks: data, timing, services on this machine, and the printed page.

The data lies next to the project's folder and is never copied into it. Without it a benchmark says
so and stops.
"""

from __future__ import annotations

import lzma
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorpusVideo, load_corpora
from factible_assets.evaluation.metrics.stances import Judgement
from factible_assets.exchange.importing import import_corpus
from factible_assets.records.tables import Transcript, TranscriptSegment, Video
from factible_assets.stages.transcript import stored_transcript
from resources.transcripts.base import TimedText
from resources.transcripts.file import read_transcript

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""The published data, next to the project's folder."""
PERFORMANCE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
"""The page with the tables of several benchmarks."""
PATIENCE_SECONDS = 1_800


@dataclass(frozen=True, slots=True)
class AnnotatedVideo:
    """A published video with its transcript and its checkable annotated claims."""

    video: Video
    transcript: Transcript
    segments: tuple[TranscriptSegment, ...]
    gold: tuple[ClaimEntry, ...]


def grouped(judgements: Sequence[Judgement]) -> list[list[Judgement]]:
    groups: dict[str, list[Judgement]] = {}
    for each in judgements:
        groups.setdefault(each.video_id, []).append(each)
    return list(groups.values())


def read_lines(name: str) -> list[str]:
    """Return the lines of a compressed file in this folder."""
    with lzma.open(Path(__file__).with_name(name), "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def require(*parts: str) -> Path:
    """Return a path in the data, or end the benchmark with a sentence if it is missing."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        print(f"Skipped: this benchmark reads {path}, which is not there.")
        raise SystemExit(0)
    return path


def load_annotated_videos() -> list[AnnotatedVideo]:
    """Import every published video with a transcript and annotations, in listed order."""
    with tempfile.TemporaryDirectory() as folder:
        import_corpus(require("factible"), Path(folder))
        return [
            _annotated(listed, listed.transcript, listed.claims)
            for listed in load_corpora([Path(folder)]).videos()
            if listed.transcript is not None and listed.claims is not None
        ]


def _annotated(
    listed: CorpusVideo, transcript: Path, claims: tuple[ClaimEntry, ...]
) -> AnnotatedVideo:
    words = TimedText(read_transcript(transcript).cues)
    said, segments = stored_transcript(listed.video.video_id, words, provider="published")
    gold = tuple(claim for claim in claims if claim.checkable)
    return AnnotatedVideo(listed.video, said, segments, gold)


# --- Times and pages ----------------------------------------------------------------------------


@dataclass(slots=True)
class Spent:
    """The seconds of some work, and the CPU seconds of this process."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def timed() -> Iterator[Spent]:
    """Yield the times of the block, which are known at its end."""
    spent, wall, cpu = Spent(), time.perf_counter(), time.process_time()
    try:
        yield spent
    finally:
        spent.wall, spent.cpu = time.perf_counter() - wall, time.process_time() - cpu


def publish(name: str, lines: Sequence[str], *, write: bool) -> None:
    """Print a table; with `write`, also put it between `<!-- NAME -->` marks of performance.md."""
    print("\n".join(lines))
    if write:
        between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text, page = "\n".join([*lines, ""]), PERFORMANCE.read_text(encoding="utf-8")
        page = between.sub(lambda found: found[1] + text + found[2], page)
        PERFORMANCE.write_text(page, encoding="utf-8")


# --- Services on this machine -------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds. Raises TimeoutError with its name."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"It did not come to that in time: {what}.")
        time.sleep(0.5)


@contextmanager
def started(
    command: Sequence[str], log: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in its own process group, and end the group with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
            cwd=log.parent,
        )
    try:
        yield process
    finally:
        for way in (signal.SIGINT, signal.SIGKILL):
            try:
                os.killpg(process.pid, way)
                process.wait(20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


@contextmanager
def dagster_ui(environment: Mapping[str, str], log: Path) -> Iterator[tuple[str, int]]:
    """Run `factible dev`; yield its address and its process, which leads a session of its own."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{address}/server_info", timeout=10).is_success
        except httpx.HTTPError:
            return False

    command = [sys.executable, "-m", "factible_assets", "dev", "--port", str(port)]
    with started(command, log, environment) as process:
        eventually(answers, f"factible dev answers (its log is {log})")
        yield address, process.pid
