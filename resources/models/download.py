"""Fetching the files of an offer into a folder, going on where an earlier pull stopped, checked.

What belongs here: parts, resuming, digests, room on the disk. What does not: requests
(transfer.py), and where models finally lie (store.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

from resources.models.errors import ModelStoreError, UnverifiedFileError
from resources.models.hub import Offer, OfferedFile, file_url
from resources.models.installed import size_of
from resources.models.transfer import HubAnswer, HubLine, PassingError

Progress = Callable[[str, int, int], None]
"""Told a file's name, the bytes of it that are there, and the bytes that there will be."""

_RANGE = re.compile(r"bytes (\d{1,15})-")
_BLOCK = 1024 * 1024
_SPARE_BYTES = 50 * 1024 * 1024
"""Room that a download must leave on the disk."""


async def fetch_files(
    line: HubLine, offer: Offer, folder: Path, progress: Progress | None = None
) -> None:
    """Fetch all files of an offer. A file has its name only once it was checked.

    Raises:
        HubUnreachableError: The hub fails; what was fetched stays for the next time.
        NotOnHubError: The hub does not give out a file.
        UnverifiedFileError: A file is not the announced one; it is set aside as NAME.rejected.
        ModelStoreError: The folder cannot be written, or the disk has too little room.
    """
    try:
        _make_room(offer, folder)
        for file in offer.files:
            await _fetch(line, offer, file, folder, progress or (lambda name, done, total: None))
    except OSError as error:
        raise ModelStoreError(
            f"The folder {folder} cannot be written ({error.strerror or error}). Free some room or "
            "correct its permissions; the next pull goes on where this one stopped."
        ) from error


async def _fetch(
    line: HubLine, offer: Offer, file: OfferedFile, folder: Path, progress: Progress
) -> None:
    done = folder / file.spec.save_as
    part = _part(file, folder)

    async def ask() -> None:
        await _continue(line, offer, file, part, progress)

    if size_of(part) != file.size:
        await line.repeat(ask, file.spec.path, reached=lambda: size_of(part))
    problem = await asyncio.to_thread(_problem, part, file)
    if problem is not None:
        rejected = folder / f"{done.name}.rejected"
        part.replace(rejected)
        raise UnverifiedFileError(
            f"{file.spec.path} is not the file that {line.host} announced: {problem}. It was set "
            f"aside as {rejected} and is not used. Pull again; if that does not help, do not trust "
            "this hub."
        )
    part.replace(done)
    progress(done.name, file.size, file.size)


async def _continue(
    line: HubLine, offer: Offer, file: OfferedFile, part: Path, progress: Progress
) -> None:
    """Fetch what is missing of a file, as far as one request goes.

    Raises:
        PassingError: It is not complete yet.
    """
    if size_of(part) > file.size:
        _begin_anew(part)
    have = size_of(part)
    headers = {"Range": f"bytes={have}-"} if have else {}
    url = file_url(line, offer.model, offer.commit, file.spec)
    async with line.follow("GET", url, file.spec.path, headers) as answer:
        if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            _begin_anew(part)
            raise PassingError("it does not go on where the download stopped")
        start = _start(answer)
        if start not in {0, have}:
            _begin_anew(part)
            raise PassingError("it went on in another place than asked for")
        await _write(answer, part, start, file, progress)
    if size_of(part) < file.size:
        raise PassingError("it broke off in the middle of the file")


def _start(answer: HubAnswer) -> int:
    """Return the place in the file at which an answer begins."""
    if answer.status != HTTPStatus.PARTIAL_CONTENT:
        return 0
    found = _RANGE.match(answer.headers.get("content-range", ""))
    return int(found.group(1)) if found else 0


async def _write(
    answer: HubAnswer, part: Path, start: int, file: OfferedFile, progress: Progress
) -> None:
    done = start
    with part.open("r+b" if start else "wb") as target:
        if start:
            target.seek(start)
            target.truncate()
        async for block in answer.body:
            target.write(block)
            done += len(block)
            progress(file.spec.save_as, min(done, file.size), file.size)
            if done > file.size:  # it will be rejected; more of it says nothing new
                return


def _part(file: OfferedFile, folder: Path) -> Path:
    """Return where a file is while it is not complete, with what there is of it already."""
    done = folder / file.spec.save_as
    part = folder / f"{done.name}.{file.fingerprint[:16]}.part"
    if done.exists():  # of an earlier pull that did not come to its end
        done.replace(part)
    for other in folder.glob(f"{done.name}.*.part"):
        if other != part:  # of another revision
            other.unlink()
    return part


def _begin_anew(part: Path) -> None:
    part.unlink(missing_ok=True)


def _make_room(offer: Offer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    there = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    needed = max(0, offer.size - there) + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelStoreError(
            f"The disk of {folder} has {free / 1e6:,.0f} MB left, and {offer.model.title} needs "
            f"{needed / 1e6:,.0f} MB. Free some room, or set FACTIBLE_HOME to another disk."
        )


def _problem(part: Path, file: OfferedFile) -> str | None:
    """Say what is wrong with a file; None if it is the announced one."""
    size = size_of(part)
    if size != file.size:
        return f"it has {size:,} bytes or more instead of {file.size:,}"
    sha256 = hashlib.sha256()
    git = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    with part.open("rb") as content:
        while block := content.read(_BLOCK):
            sha256.update(block)
            git.update(block)
    if file.sha256 is not None and sha256.hexdigest() != file.sha256:
        return f"its SHA-256 is {sha256.hexdigest()} instead of {file.sha256}"
    if file.git_id is not None and git.hexdigest() != file.git_id:
        return f"its git object id is {git.hexdigest()} instead of {file.git_id}"
    return None
