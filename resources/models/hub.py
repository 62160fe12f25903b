"""Fetches models from Hugging Face or a mirror, with resumed downloads and checked digests.

The manifest knows the size and the SHA-256 of every file, so factible trusts no hub. The hub's own
client (huggingface_hub 2) does not connect through our network guard.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import httpx
from filelock import FileLock, Timeout

from resources import http
from resources.models import base
from resources.network_guard import NameTable, NetworkGuard

HUGGING_FACE = "https://huggingface.co"

_RANGE = re.compile(r"bytes (\d{1,15})-")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_MAX_SECONDS = 86_400.0
_RETRY = http.RetryPolicy(attempts=5, max_delay_seconds=20.0, max_retry_after_seconds=60.0)
_PARTIAL = ".partial"
Progress = Callable[[str, int, int], None]
"""Receives a file's name, its bytes so far, and its total bytes."""


class Hub(AbstractAsyncContextManager["Hub"]):
    """A client of one hub and its file storage. Use it with `async with`.

    It connects only by HTTPS and to public addresses. The exceptions are the hub's own address, and
    HTTP to a hub on this machine. ModelPullError for any other address.
    """

    def __init__(
        self, base_url: str, *, retry: http.RetryPolicy = _RETRY, read_seconds: float = 30.0
    ) -> None:
        address = httpx.URL(base_url.rstrip("/"))
        if address.scheme != "https" and address.host not in _LOOPBACK:
            raise base.ModelPullError(
                f"The hub {http.shown_url(address)} does not use https. Correct hugging_face "
                "in FACTIBLE_ENDPOINTS."
            )
        self.host = address.host
        self._base = str(address)
        self._retry = retry
        self._http = http.HttpClient(
            guard=NetworkGuard(NameTable.for_service(base_url), https_only=True),
            limits=http.HttpLimits(read_seconds=read_seconds, attempt_seconds=_MAX_SECONDS),
            retry=http.RetryPolicy(attempts=1),
        )

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def download(
        self, model: base.ManifestModel, file: base.ManifestFile, part: Path, progress: Progress
    ) -> None:
        """Fetch the missing rest of a file into `part`. Progress allows further failures.

        Raises ModelPullError on failure, TooLargeError if the file is longer than it should be.
        """
        url = f"{self._base}/{model.repo}/resolve/{model.revision}/{quote(file.path)}"
        failures, best = 0, base.size_of(part)
        while True:
            try:
                return await self._resume(url, file, part, progress)
            except http.TooLargeError:
                raise
            except http.UnavailableError as error:
                raise base.ModelPullError(
                    f"{file.path} cannot be fetched: {error.reason}. Fetch the model by hand, or "
                    "name another hub in FACTIBLE_ENDPOINTS."
                ) from error
            except http.OutageError as error:
                size = base.size_of(part)
                failures, best = (1, size) if size > best else (failures + 1, best)
                pause = self._retry.delay(failures) if error.pause is None else error.pause
                if failures >= self._retry.attempts or pause > self._retry.max_retry_after_seconds:
                    raise base.ModelPullError(
                        f"{self.host} did not give {file.path}: {error}. Check the network and "
                        "pull again; it resumes the download."
                    ) from error
            await asyncio.sleep(pause)

    async def _resume(
        self, url: str, file: base.ManifestFile, part: Path, progress: Progress
    ) -> None:
        """Request the missing rest of a file once, and write as much of it as arrives."""
        if base.size_of(part) > file.bytes:
            part.unlink()  # noqa: ASYNC240 - fast, between two requests
        have = base.size_of(part)
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        is_begun = False
        with part.open("ab") as target:

            def write(answer: http.Response, block: bytes) -> None:
                nonlocal is_begun
                if not is_begun and (start := _first_byte(answer, have)) != have:
                    target.truncate(start)
                is_begun = True
                target.write(block)
                progress(file.save_as, target.tell(), file.bytes)

            response = await self._http.get(url, headers=headers, max_bytes=file.bytes, sink=write)
        if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()  # noqa: ASYNC240
            raise http.OutageError("it cannot resume the download")
        try:
            response.raise_for_status()
        except http.OutageError as failure:
            failure.pause = http.retry_after_seconds(response.headers)
            raise
        if base.size_of(part) < file.bytes:
            raise http.OutageError("it broke off in the middle of the file")


def _first_byte(answer: http.Response, have: int) -> int:
    """Return where an answer begins in its file: at the rest, or again at the file's beginning."""
    part = _RANGE.match(answer.headers.get("content-range", ""))
    start = int(part[1]) if part and answer.status == HTTPStatus.PARTIAL_CONTENT else 0
    if start not in {0, have}:
        raise http.OutageError("it sent another part of the file than requested")
    return start


# --- Storing ------------------------------------------------------------------------------------


async def pull_model(
    home: Path, hub: Hub, model: base.ManifestModel, progress: Progress = lambda *_: None
) -> base.Receipt:
    """Fetch a model's files into a data folder, and replace an earlier model of that name.

    The complete model moves into place by a rename, with a receipt. Incomplete models stay in
    `.partial`, where a file gets its final name only after its check.

    Raises ModelPullError if the hub fails (the next pull resumes) or sends a wrong file, which is
    kept as NAME.rejected; ModelStoreError if the folder is not writable, in use, or too full.
    """
    folder, name = home / base.FOLDER, model.name
    incoming = folder / _PARTIAL / name
    with _locked(folder, name):
        incoming.mkdir(parents=True, exist_ok=True)
        fetched = [await _fetch(hub, model, file, incoming, progress) for file in model.files]
        return _put_in_place(folder, model, fetched)


def _put_in_place(
    folder: Path, model: base.ManifestModel, files: Sequence[base.ReceiptFile]
) -> base.Receipt:
    """Move a model's checked files from `.partial` to their place, with a receipt."""
    incoming, old = folder / _PARTIAL / model.name, folder / model.name
    receipt = base.Receipt(
        **model.model_dump(include={"name", "title", "repo", "licence", "source"}),
        commit=model.revision,
        fetched_at=datetime.now(UTC),
        files=tuple(files),
    )
    names = {file.name for file in receipt.files}
    for other in incoming.iterdir():
        if other.name not in names:
            other.unlink()
    (incoming / base.RECEIPT).write_text(receipt.model_dump_json(indent=2), encoding="utf-8")
    if old.exists():
        shutil.rmtree(old)
    incoming.replace(old)
    return receipt


def add_model(home: Path, model: base.ManifestModel, files: Sequence[Path]) -> base.Receipt:
    """Copy a model from local files, for machines without access to a hub. Blocking.

    Each file, under any name, must have a SHA-256 of the manifest.

    Raises ModelPullError if a file is wrong, missing or unreadable; ModelStoreError if the folder
    is not writable or in use.
    """
    missing = {spec.sha256: spec for spec in model.files}
    folder = home / base.FOLDER
    with _locked(folder, model.name):
        incoming = folder / _PARTIAL / model.name
        incoming.mkdir(parents=True, exist_ok=True)
        added: list[base.ReceiptFile] = []
        for path in files:
            try:
                digest = _sha256(path)
                spec = missing.pop(digest, None)
                if spec is not None:
                    shutil.copyfile(path, incoming / spec.save_as)
            except FileNotFoundError as error:
                raise base.ModelPullError(
                    f"There is no file {path}. {model.title} needs "
                    f"{', '.join(file.path for file in model.files)}."
                ) from error
            except OSError as error:
                raise base.ModelPullError(
                    f"{path} could not be copied ({error.strerror or error}). Correct its name or "
                    "permissions, or free some space."
                ) from error
            if spec is None:
                needed = ", ".join(f"{file.path} ({file.sha256})" for file in missing.values())
                raise base.ModelPullError(
                    f"{path} is no file of {model.title}: its SHA-256 is {digest}. It needs "
                    f"{needed} of {model.repo} at {model.revision}."
                )
            added.append(base.ReceiptFile(name=spec.save_as, bytes=spec.bytes, sha256=digest))
        if missing:
            paths = ", ".join(file.path for file in missing.values())
            raise base.ModelPullError(
                f"{model.title} also needs {paths}. Name all of its files in one command."
            )
        return _put_in_place(folder, model, added)


def remove_model(home: Path, name: str) -> bool:
    """Delete a model and its partial downloads; return whether there were any.

    Raises ModelStoreError if it cannot be deleted, or a pull is in progress.
    """
    folder = home / base.FOLDER
    places = [place for place in (folder / name, folder / _PARTIAL / name) if place.exists()]
    if not places:
        return False
    with _locked(folder, name):
        try:
            for place in places:
                shutil.rmtree(place)
        except OSError as error:
            raise base.ModelStoreError(
                f"{error.filename or folder} cannot be removed ({error.strerror}). "
                "Correct its permissions and try again."
            ) from error
    return True


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a model; the system releases it however the process ends."""
    try:
        (folder / _PARTIAL).mkdir(parents=True, exist_ok=True)
        with FileLock(folder / _PARTIAL / f"{name}.lock", timeout=0):
            yield
    except Timeout as error:
        raise base.ModelStoreError(
            f"Another process is fetching or removing the model {name}. Wait for it."
        ) from error
    except OSError as error:
        raise base.ModelStoreError(
            f"The folder {folder} is not writable ({error.strerror or error}). Free some space, "
            "correct its permissions, or set FACTIBLE_HOME to a writable folder. The next pull "
            "resumes."
        ) from error


async def _fetch(
    hub: Hub, model: base.ManifestModel, file: base.ManifestFile, folder: Path, progress: Progress
) -> base.ReceiptFile:
    done = folder / file.save_as
    part = folder / f"{done.name}.{file.sha256[:16]}.part"
    if done.exists():  # from an earlier, unfinished pull
        done.replace(part)
    try:
        if base.size_of(part) != file.bytes:
            await hub.download(model, file, part, progress)
        digest = await asyncio.to_thread(_sha256, part)
        problem = f"its SHA-256 is {digest} instead of {file.sha256}"
    except http.TooLargeError:
        digest, problem = "", f"it has more than its {file.bytes:,} bytes"
    if digest != file.sha256:
        rejected = folder / f"{done.name}.rejected"
        part.touch()
        part.replace(rejected)
        raise base.ModelPullError(
            f"{file.path} of {hub.host} is not the file that factible knows: {problem}. It is kept "
            f"as {rejected} and not used. Pull again; if that does not help, do not trust this hub."
        )
    part.replace(done)
    progress(done.name, file.bytes, file.bytes)
    return base.ReceiptFile(name=done.name, bytes=file.bytes, sha256=file.sha256)


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
