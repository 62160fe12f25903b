"""Replaces files atomically, and derives file names from ids."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_HASH_DIGITS = 10
_SLUG_CHARACTERS = 40


def digest(data: bytes) -> str:
    """Return a short hash of the content."""
    return hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]


def digest_of(file: Path) -> str:
    """Return the short hash of a file of any size."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:_HASH_DIGITS]


def slug(text: str) -> str:
    """Return a short lower-case name of ASCII letters, digits and dashes, never empty."""
    words = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:_SLUG_CHARACTERS].strip("-")
    return words or "untitled"


def file_stem(video_id: str) -> str:
    """Return a safe file name for a video id. Different ids get different names."""
    safe = _UNSAFE.sub("-", video_id)
    return video_id if safe == video_id else f"{safe}-{digest(video_id.encode())}"


INDEX = "index.html"
"""The index of all videos in a folder of reports."""


def report_name(video_id: str) -> str:
    """Return the file name of a video's report, never that of the index."""
    stem = file_stem(video_id)
    return f"{stem}-video.html" if f"{stem}.html".casefold() == INDEX else f"{stem}.html"


def write_whole(path: Path, content: bytes | BinaryIO, *, mode: int | None = None) -> Path:
    """Replace a file atomically: readers see the old content or the new.

    `mode` sets its permissions; the default follows the umask.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    permissions = 0o666 if mode is None else mode
    try:
        with open(
            temporary, "xb", opener=lambda name, how: os.open(name, how, permissions)
        ) as file:
            shutil.copyfileobj(BytesIO(content) if isinstance(content, bytes) else content, file)
        if mode is not None:
            temporary.chmod(mode)  # the umask does not count
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None  # not the temporary file's name
        raise
    return path
