r"""Fetches models from Hugging Face or a mirror, with resumed downloads and checked digests.

The protocol: `{hub}/{repo}/resolve/{revision}/{path}` returns the file or redirects to its storage.
The hub's answers have `X-Repo-Commit`; for a large file also `X-Linked-Etag`, its SHA-256, and
`X-Linked-Size`; for a small one `ETag`, its git object id (the SHA-1 of `blob {size}\0` and the
content).

The hub's own client (huggingface_hub 2) is no alternative: its HTTP library and transfer engine
(httpx2, hf-xet) do not connect through our network guard.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import httpx
from filelock import FileLock, Timeout

from resources import http
from resources.models import base
from resources.network_guard import NameTable, NetworkGuard

_SHA256 = re.compile(r"[0-9a-f]{64}")
_GIT_ID = re.compile(r"[0-9a-f]{40}")
_RANGE = re.compile(r"bytes (\d{1,15})-")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_ANNOUNCED = ("x-repo-commit", "x-linked-etag", "x-linked-size")
_MAX_REDIRECTS = 6
_MAX_SECONDS = 86_400.0
_RETRY = http.RetryPolicy(attempts=5, max_delay_seconds=20.0, max_retry_after_seconds=60.0)
_PARTIAL = ".partial"
_SPARE_BYTES = 50 * 1024 * 1024  # Space that a download must leave on the disk.
Done = TypeVar("Done")
Progress = Callable[[str, int, int], None]
"""Receives a file's name, its bytes so far, and its total bytes."""


class OfferedFile(base.ManifestFile):
    """A file and its address as the hub announces it, with at least one of the two digests."""

    bytes: int
    git_id: str | None = None
    url: str


class Hub(AbstractAsyncContextManager["Hub"]):
    """A client of one hub and its file storage. Use it with `async with`.

    It connects only by HTTPS and to public addresses. The exceptions are the hub's own address, and
    HTTP to a hub on this machine. ModelPullError for any other address.
    """

    def __init__(
        self, base_url: str, *, retry: http.RetryPolicy = _RETRY, read_seconds: float = 30.0
    ) -> None:
        try:
            address = httpx.URL(base_url.rstrip("/"))
            names = NameTable.for_service(base_url)
        except (httpx.InvalidURL, ValueError) as error:
            raise base.ModelPullError(
                "The hub's address is not valid. Correct FACTIBLE_MODEL_HUB."
            ) from error
        if address.scheme != "https" and address.host not in _LOOPBACK:
            raise base.ModelPullError(
                f"The hub {http.shown(address)} does not use https. Correct FACTIBLE_MODEL_HUB."
            )
        self.host = address.host
        self._base = str(address)
        self._retry = retry
        self._http = http.HttpClient(
            guard=NetworkGuard(names, https_only=True),
            limits=http.HttpLimits(
                connect_seconds=15.0,
                read_seconds=read_seconds,
                attempt_seconds=_MAX_SECONDS,
                max_redirects=_MAX_REDIRECTS,
            ),
            retry=http.RetryPolicy(attempts=1),
        )

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def find_files(self, model: base.ManifestModel) -> list[OfferedFile]:
        """Return the sizes, digests and addresses of a model's files.

        Raises ModelPullError if the hub does not answer, restricts access to a file, offers a
        different one from the manifest's, or announces no digest.
        """
        files = []
        for spec in model.files:
            url = f"{self._base}/{model.repo}/resolve/{model.revision}/{quote(spec.path)}"
            headers = await self._retry_until_done(
                partial(self._announced, url, spec.path), spec.path
            )
            named = headers.get("x-repo-commit", model.revision)
            if named != model.revision:
                raise base.ModelPullError(
                    f"{self.host} answers with the revision {named[:40]} instead of "
                    f"{model.revision}. Nothing was fetched; name another hub in "
                    "FACTIBLE_MODEL_HUB."
                )
            files.append(_offered(spec, url, headers, self.host))
        return files

    async def download(self, file: OfferedFile, part: Path, progress: Progress) -> None:
        """Fetch the missing rest of a file into `part`.

        Raises ModelPullError on failure, TooLargeError if the file is longer than announced.
        """
        ask = partial(self._resume, file, part, progress)
        await self._retry_until_done(ask, file.path, reached=lambda: base.size_of(part))

    async def _resume(self, file: OfferedFile, part: Path, progress: Progress) -> None:
        """Request the missing rest of a file once, and write as much of it as arrives."""
        if base.size_of(part) > file.bytes:
            part.unlink()  # noqa: ASYNC240 - fast, between two requests
        have, start = base.size_of(part), None
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with part.open("ab") as target:

            def write(answer: http.Response, block: bytes) -> None:
                nonlocal start
                if start is None:
                    found = _RANGE.match(answer.headers.get("content-range", ""))
                    partial_answer = answer.status == HTTPStatus.PARTIAL_CONTENT
                    start = int(found[1]) if found and partial_answer else 0
                    if start not in {0, have}:
                        raise http.OutageError("it sent another part of the file than requested")
                    if start != have:
                        target.truncate(start)
                target.write(block)
                progress(file.save_as, target.tell(), file.bytes)

            response = await self._http.get(
                file.url, headers=headers, max_bytes=file.bytes, sink=write
            )
        if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()  # noqa: ASYNC240
            raise http.OutageError("it cannot resume the download")
        self._check_status(response, file.path)
        if base.size_of(part) < file.bytes:
            raise http.OutageError("it broke off in the middle of the file")

    async def _retry_until_done(
        self, ask: Callable[[], Awaitable[Done]], path: str, reached: Callable[[], int] = lambda: 0
    ) -> Done:
        """Ask until there is an answer. Progress resets the number of allowed failures."""
        failures, best = 0, reached()
        while True:
            try:
                return await ask()
            except http.UnavailableError as error:
                if isinstance(error, http.TooLargeError):
                    raise
                raise base.ModelPullError(f"{path}: {error.reason}.") from error
            except http.OutageError as error:
                now = reached()
                failures, best = (1, now) if now > best else (failures + 1, best)
                pause = self._retry.delay(failures) if error.pause is None else error.pause
                if failures >= self._retry.attempts or pause > self._retry.max_retry_after_seconds:
                    raise base.ModelPullError(
                        f"{self.host} did not give {path}: {error}. Check the network and pull "
                        "again; it resumes the download."
                    ) from error
            await asyncio.sleep(pause)

    async def _announced(self, url: str, path: str) -> Mapping[str, str]:
        """Return the headers about a file, following redirects until they announce a large file.

        The storage of large files does not answer HEAD requests.
        """
        announced: dict[str, str] = {}
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._http.head(url)
            announced = {
                name: response.headers[name] for name in _ANNOUNCED if name in response.headers
            } | announced
            target = response.redirect()
            if "x-linked-etag" in announced or target is None:
                self._check_status(response, path)
                return {**response.headers, **announced}
            url = str(target)
        raise base.ModelPullError(
            f"{self.host} redirects more than {_MAX_REDIRECTS} times for {path}."
        )

    def _check_status(self, response: http.Response, path: str) -> None:
        status = response.status
        if status < HTTPStatus.BAD_REQUEST:
            return
        if http.is_passing(status):
            failure = http.OutageError(f"it answered {status}")
            failure.pause = http.retry_after_seconds(response.headers)
            raise failure
        closed = (
            f"{self.host} requires an account for {path}, or does not have it ({status}). Fetch "
            "the model by hand, or name another hub in FACTIBLE_MODEL_HUB."
        )
        missing = (
            f"{self.host} does not have {path} (404). A newer version of factible may know its new "
            "place."
        )
        refused = f"{self.host} refused to give {path} ({status})."
        raise base.ModelPullError({401: closed, 403: closed, 404: missing}.get(status, refused))


def _offered(
    spec: base.ManifestFile, url: str, headers: Mapping[str, str], host: str
) -> OfferedFile:
    large = "x-linked-etag" in headers
    tag = headers.get("x-linked-etag" if large else "etag", "").removeprefix("W/").strip('"')
    length = headers.get("x-linked-size" if large else "content-length", "")
    size = int(length[:15]) if length.isascii() and length.isdigit() else spec.bytes
    sha256 = tag if _SHA256.fullmatch(tag) else None
    git_id = tag if _GIT_ID.fullmatch(tag) else None
    if size is None or not (sha256 or git_id or spec.sha256):
        raise base.ModelPullError(
            f"{host} announces no size or no digest of {spec.path}, so factible cannot check it. "
            "Nothing was fetched; name another hub in FACTIBLE_MODEL_HUB."
        )
    other = sha256 not in {None, spec.sha256} and spec.sha256 is not None
    if other or spec.bytes not in {None, size}:
        raise base.ModelPullError(
            f"{host} offers another {spec.path} than factible knows (it has {size:,} bytes). "
            "Nothing was fetched. If the hub is right, a newer version of factible knows the file."
        )
    known = {"bytes": size, "sha256": spec.sha256 or sha256, "git_id": git_id, "url": url}
    return OfferedFile.model_validate(spec.model_dump() | known)


# --- Storing ------------------------------------------------------------------------------------


async def pull_model(
    home: Path,
    hub: Hub,
    model: base.ManifestModel,
    files: Sequence[OfferedFile],
    progress: Progress = lambda *_: None,
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
        there = sum(file.stat().st_size for file in incoming.iterdir() if file.is_file())
        needed = max(0, sum(file.bytes for file in files) - there) + _SPARE_BYTES
        free = shutil.disk_usage(incoming).free
        if free < needed:
            raise base.ModelStoreError(
                f"The disk of {incoming} has {free / 1e6:,.0f} MB left, and {model.title} "
                f"needs {needed / 1e6:,.0f} MB. Free some space, or set FACTIBLE_HOME to "
                "another disk."
            )
        fetched = [await _fetch(hub, file, incoming, progress) for file in files]
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
    wanted = {file.name for file in receipt.files}
    for other in incoming.iterdir():
        if other.name not in wanted:
            other.unlink()
    (incoming / base.RECEIPT).write_text(receipt.model_dump_json(indent=2), encoding="utf-8")
    if old.exists():
        aside = folder / _PARTIAL / f"{model.name}.old"
        shutil.rmtree(aside, ignore_errors=True)
        old.replace(aside)
        shutil.rmtree(aside, ignore_errors=True)
    incoming.replace(old)
    return receipt


def add_model(home: Path, model: base.ManifestModel, files: Sequence[Path]) -> base.Receipt:
    """Copy a model from local files, for machines without access to a hub. Blocking.

    Each file, under any name, must have a SHA-256 of the manifest.

    Raises ModelPullError if a file is wrong, missing or unreadable; ModelStoreError if the folder
    is not writable or in use.
    """
    if any(spec.sha256 is None for spec in model.files):
        raise base.ModelPullError(
            f"The manifest lacks digests for files of {model.title}, so you cannot add it by hand. "
            f"Fetch it with `factible models pull {model.name}`."
        )
    missing = {spec.sha256: spec for spec in model.files}
    folder = home / base.FOLDER
    with _locked(folder, model.name):
        incoming = folder / _PARTIAL / model.name
        incoming.mkdir(parents=True, exist_ok=True)
        added: list[base.ReceiptFile] = []
        for path in files:
            copy = incoming / "added.part"
            try:
                shutil.copyfile(path, copy)
                digest = _sha256(copy)
            except OSError as error:
                copy.unlink(missing_ok=True)
                raise base.ModelPullError(
                    f"{path} could not be copied ({error.strerror or error}). Correct its name or "
                    "permissions, or free some space."
                ) from error
            spec = missing.pop(digest, None)
            if spec is None:
                copy.unlink()
                needed = ", ".join(f"{each.path} ({each.sha256})" for each in missing.values())
                raise base.ModelPullError(
                    f"{path} is no file of {model.title}: its SHA-256 is {digest}. It needs "
                    f"{needed} of {model.repo} at {model.revision}."
                )
            size = copy.replace(incoming / spec.save_as).stat().st_size
            added.append(base.ReceiptFile(name=spec.save_as, bytes=size, sha256=digest))
        if missing:
            paths = ", ".join(each.path for each in missing.values())
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


async def _fetch(hub: Hub, file: OfferedFile, folder: Path, progress: Progress) -> base.ReceiptFile:
    done = folder / file.save_as
    part = folder / f"{done.name}.{(file.sha256 or file.git_id or '')[:16]}.part"
    if done.exists():  # from an earlier, unfinished pull
        done.replace(part)
    for other in folder.glob(f"{done.name}.*.part"):  # noqa: ASYNC240 - fast
        if other != part:  # from another revision
            other.unlink()
    try:
        if base.size_of(part) != file.bytes:
            await hub.download(file, part, progress)
        problem = await asyncio.to_thread(_problem, part, file)
    except http.TooLargeError:
        problem = f"it has more than its {file.bytes:,} bytes"
    if problem is not None:
        rejected = folder / f"{done.name}.rejected"
        part.touch()
        part.replace(rejected)
        raise base.ModelPullError(
            f"{file.path} is not the file that {hub.host} announced: {problem}. It is kept as "
            f"{rejected} and not used. Pull again; if that does not help, do not trust this hub."
        )
    part.replace(done)
    progress(done.name, file.bytes, file.bytes)
    return base.ReceiptFile(
        name=done.name, bytes=file.bytes, sha256=file.sha256, git_id=file.git_id
    )


def _problem(part: Path, file: OfferedFile) -> str | None:
    """Return the reason why a file is not the announced one; None if it is."""
    if file.sha256 is not None and (digest := _sha256(part)) != file.sha256:
        return f"its SHA-256 is {digest} instead of {file.sha256}"
    if file.git_id is not None:
        header = f"blob {file.bytes}\0".encode()
        with part.open("rb") as content:
            git_id = hashlib.file_digest(content, lambda: hashlib.sha1(header)).hexdigest()  # noqa: S324 - git's own
        if git_id != file.git_id:
            return f"its git object id is {git_id} instead of {file.git_id}"
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
