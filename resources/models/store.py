"""The models of a data folder: fetched, going on where an earlier pull stopped, checked, put away.

What belongs here: files: parts, digests, room on the disk, and the moves into place. What does not:
the hub (hub.py), finding a model (base.py), loading one (factible_assets/reasoners).

A model lies in a folder of its name, beside a receipt that says what it is. It gets there whole, by
a rename; what is not complete lies in `.partial`, where a file has its name only once it was
checked.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from resources.http import TooLargeError
from resources.models.base import (
    FOLDER,
    RECEIPT,
    ModelPullError,
    ModelStoreError,
    Receipt,
    ReceiptFile,
    size_of,
)
from resources.models.hub import Hub, Offer, OfferedFile, Progress

_PARTIAL = ".partial"
_KEPT = {"bytes", "sha256", "git_id"}
_BLOCK = 1024 * 1024
_SPARE_BYTES = 50 * 1024 * 1024
"""Room that a download must leave on the disk."""


class ModelStore:
    """The models of one data folder."""

    def __init__(self, home: Path) -> None:
        """Name the data folder; nothing is created yet."""
        self._folder = home / FOLDER

    async def pull(self, hub: Hub, offer: Offer, progress: Progress | None = None) -> Receipt:
        """Fetch a model and put it in place of the one of its name.

        Raises:
            ModelPullError: The hub fails (what was fetched stays for the next time), does not give
                out a file, or gives another one, which is set aside as NAME.rejected.
            ModelStoreError: The folder cannot be written, is in use, or has too little room.
        """
        name = offer.model.name
        partial = self._folder / _PARTIAL / name
        with self._alone(name), self._writable():
            _make_room(offer, partial)
            for file in offer.files:
                await _fetch(hub, offer, file, partial, progress or (lambda *_: None))
            receipt = Receipt(
                **offer.model.model_dump(include={"name", "title", "repo", "licence", "source"}),
                commit=offer.commit,
                fetched_at=datetime.now(UTC),
                files=tuple(
                    ReceiptFile(name=file.save_as, **file.model_dump(include=_KEPT))
                    for file in offer.files
                ),
            )
            wanted = {file.name for file in receipt.files}
            for other in partial.iterdir():
                if other.name not in wanted:
                    other.unlink()
            (partial / RECEIPT).write_text(receipt.model_dump_json(indent=2), encoding="utf-8")
            old = self._folder / name
            if old.exists():  # first from its place, then from the disk
                aside = self._folder / _PARTIAL / f"{name}.old"
                shutil.rmtree(aside, ignore_errors=True)
                old.replace(aside)
                shutil.rmtree(aside, ignore_errors=True)
            partial.replace(old)
        return receipt

    def remove(self, name: str) -> bool:
        """Take a model away, with what was left of pulls; return whether there was anything.

        Raises:
            ModelStoreError: It cannot be removed, or is being fetched.
        """
        places = [self._folder / name, self._folder / _PARTIAL / name]
        if not any(place.exists() for place in places):
            return False
        with self._alone(name):
            try:
                for place in places:
                    if place.exists():
                        shutil.rmtree(place)
            except OSError as error:
                raise ModelStoreError(
                    f"{error.filename or self._folder} cannot be removed ({error.strerror}). "
                    "Correct its permissions and try again."
                ) from error
        return True

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """Hold a lock that the system releases when the process ends, however it ends."""
        import fcntl  # noqa: PLC0415 - absent on Windows, where finding models still works

        with self._writable():
            (self._folder / _PARTIAL).mkdir(parents=True, exist_ok=True)
            lock = (self._folder / _PARTIAL / f"{name}.lock").open("wb")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ModelStoreError(
                    f"The model {name} is being fetched or removed by another process. Wait for it."
                ) from error
            yield

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ModelStoreError(
                f"The folder {self._folder} cannot be written ({error.strerror or error}). Free "
                "some room, correct its permissions, or set FACTIBLE_HOME to a folder that you may "
                "write to; nothing is fetched twice."
            ) from error


async def _fetch(
    hub: Hub, offer: Offer, file: OfferedFile, folder: Path, progress: Progress
) -> None:
    done, part = folder / file.save_as, _part(file, folder)
    try:
        if size_of(part) != file.bytes:
            await hub.download(offer, file, part, progress)
        problem = await asyncio.to_thread(_problem, part, file)
    except TooLargeError:
        problem = f"it has more than its {file.bytes:,} bytes"
    if problem is not None:
        rejected = folder / f"{done.name}.rejected"
        part.touch()
        part.replace(rejected)
        raise ModelPullError(
            f"{file.path} is not the file that {hub.host} announced: {problem}. It was set "
            f"aside as {rejected} and is not used. Pull again; if that does not help, do not trust "
            "this hub."
        )
    part.replace(done)
    progress(done.name, file.bytes, file.bytes)


def _part(file: OfferedFile, folder: Path) -> Path:
    """Return where a file is while it is not complete, with what there is of it already."""
    done = folder / file.save_as
    part = folder / f"{done.name}.{(file.sha256 or file.git_id or '')[:16]}.part"
    if done.exists():  # of an earlier pull that did not come to its end
        done.replace(part)
    for other in folder.glob(f"{done.name}.*.part"):
        if other != part:  # of another revision
            other.unlink()
    return part


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
    if size != file.bytes:
        return f"it has {size:,} bytes instead of {file.bytes:,}"
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
