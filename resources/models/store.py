"""Putting a model into a data folder, and taking it away.

What belongs here: the moves in a data folder's models. What does not: finding one (installed.py),
fetching (download.py), loading (factible_assets/reasoners).

A model lies in a folder of its name, beside a receipt that says what it is. It gets there whole, by
a rename; what is not complete lies in `.partial`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from resources.models.download import Progress, fetch_files
from resources.models.errors import ModelStoreError
from resources.models.hub import Offer
from resources.models.installed import FOLDER, RECEIPT, Receipt, ReceiptFile
from resources.models.transfer import HubLine

_PARTIAL = ".partial"


class ModelStore:
    """The models of one data folder."""

    def __init__(self, home: Path) -> None:
        """Name the data folder; nothing is created yet."""
        self._folder = home / FOLDER

    async def pull(self, line: HubLine, offer: Offer, progress: Progress | None = None) -> Receipt:
        """Fetch a model and put it in place of the one of its name.

        Raises:
            ModelPullError: It was not fetched; the model that was there before still is.
        """
        name = offer.model.name
        partial = self._folder / _PARTIAL / name
        with self._alone(name):
            await fetch_files(line, offer, partial, progress)
            return self._put(partial, _receipt(offer))

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

    def _put(self, partial: Path, receipt: Receipt) -> Receipt:
        """Rename a complete folder into place, with its receipt."""
        wanted = {file.name for file in receipt.files}
        try:
            for file in partial.iterdir():
                if file.name not in wanted:
                    file.unlink()
            (partial / RECEIPT).write_text(receipt.model_dump_json(indent=2), encoding="utf-8")
            self._discard(receipt.name)
            partial.replace(self._folder / receipt.name)
        except OSError as error:
            raise ModelStoreError(
                f"The folder {self._folder} cannot be written ({error.strerror or error}). "
                "Correct its permissions and pull again; nothing is fetched twice."
            ) from error
        return receipt

    def _discard(self, name: str) -> None:
        """Remove a model that a newer one replaces: first from its place, then from the disk."""
        old = self._folder / name
        if old.exists():
            aside = self._folder / _PARTIAL / f"{name}.old"
            shutil.rmtree(aside, ignore_errors=True)
            old.replace(aside)
            shutil.rmtree(aside, ignore_errors=True)

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """Hold a lock that the system releases when the process ends, however it ends."""
        import fcntl  # noqa: PLC0415 - absent on Windows, where finding models still works

        try:
            (self._folder / _PARTIAL).mkdir(parents=True, exist_ok=True)
            lock = (self._folder / _PARTIAL / f"{name}.lock").open("wb")
        except OSError as error:
            raise ModelStoreError(
                f"The folder {self._folder} cannot be written ({error.strerror or error}). Correct "
                "its permissions, or set FACTIBLE_HOME to a folder that you may write to."
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ModelStoreError(
                    f"The model {name} is being fetched or removed by another process. Wait for it."
                ) from error
            yield


def _receipt(offer: Offer) -> Receipt:
    model = offer.model
    return Receipt(
        name=model.name,
        title=model.title,
        repo=model.repo,
        commit=offer.commit,
        licence=model.licence,
        source=model.source,
        fetched_at=datetime.now(UTC),
        files=tuple(
            ReceiptFile(
                name=file.spec.save_as, bytes=file.size, sha256=file.sha256, git_id=file.git_id
            )
            for file in offer.files
        ),
    )
