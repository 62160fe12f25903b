"""What can go wrong with the archive, as errors whose sentences name the file and the remedy.

What belongs here: the archive's errors. What does not: pages that it does not hold (doors.py).
"""

from __future__ import annotations

from pathlib import Path


class ArchiveError(Exception):
    """The archive cannot be used. The message names the file and the remedy."""


class ArchiveImportError(ArchiveError):
    """A file cannot be imported. The message names it, the line and the remedy."""

    def __init__(self, path: Path, problem: str, remedy: str, line: int | None = None) -> None:
        place = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {problem} {remedy} Nothing was imported.")
        self.path = path
        self.line = line
