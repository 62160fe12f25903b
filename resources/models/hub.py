r"""What a hub offers of a model, and its files on their way here.

What belongs here: the resolve URLs of Hugging Face and of its mirrors, what their headers mean, and
the sentence for each way in which a hub fails. What does not: HTTP and its guard (resources.http),
files (store.py).

The protocol, as the hub's own client speaks it: `{hub}/{repo}/resolve/{revision}/{path}` answers
with the file, or redirects to where it is stored. The hub's answers carry `X-Repo-Commit`; for a
large file also `X-Linked-Etag`, its SHA-256, and `X-Linked-Size`; for a small one `ETag`, its git
object id (the SHA-1 of `blob {size}\0` and the content).

Why not that client (huggingface_hub 2): it brings an HTTP library and a transfer engine of its own
(httpx2, hf-xet), of which neither connects through our guard.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import quote

import httpx

from resources.http import (
    HttpClient,
    HttpLimits,
    OutageError,
    Response,
    RetryPolicy,
    TooLargeError,
    UnavailableError,
    retry_after_seconds,
    shown,
    status_failure,
)
from resources.models.base import (
    ManifestFile,
    ManifestModel,
    ModelPullError,
    size_of,
)
from resources.network_guard import NameTable, NetworkGuard

DEFAULT_HUB = "https://huggingface.co"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_GIT_ID = re.compile(r"[0-9a-f]{40}")
_RANGE = re.compile(r"bytes (\d{1,15})-")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_ANNOUNCED = ("x-repo-commit", "x-linked-etag", "x-linked-size")
_MOST_REDIRECTS = 6
_LONGEST_SECONDS = 86_400.0
_RETRY = RetryPolicy(attempts=5, max_delay_seconds=20.0, max_retry_after_seconds=60.0)

Done = TypeVar("Done")
Progress = Callable[[str, int, int], None]
"""Told a file's name, the bytes of it that are there, and the bytes that there will be."""


class OfferedFile(ManifestFile):
    """A file as the hub announces it. At least one of the two digests is known."""

    bytes: int
    git_id: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A model as the hub announces it, at one commit."""

    model: ManifestModel
    commit: str
    files: tuple[OfferedFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.bytes for file in self.files)


class _PassingError(Exception):
    """A request failed and may be repeated. The text ends without a full stop."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Hub:
    """A hub, and where it keeps its files. Open it with `async with`.

    No private address is reached but that of the hub that the user named, and nothing without TLS
    but a hub on this machine.

    Raises:
        ModelPullError: The address is none, or neither https nor on this machine.
    """

    def __init__(
        self, base_url: str, *, retry: RetryPolicy = _RETRY, read_seconds: float = 30.0
    ) -> None:
        try:
            base = httpx.URL(base_url.rstrip("/"))
            names = NameTable.for_service(base_url)
        except (httpx.InvalidURL, ValueError) as error:
            raise ModelPullError(
                "The hub's address is not one that can be fetched from. Correct FACTIBLE_MODEL_HUB."
            ) from error
        if base.scheme != "https" and base.host not in _LOOPBACK:
            raise ModelPullError(
                f"The hub {shown(base)} is not fetched from, because it is not https. "
                "Correct FACTIBLE_MODEL_HUB."
            )
        self.host = base.host
        self._base = str(base)
        self._retry = retry
        self._http = HttpClient(
            guard=NetworkGuard(names, https_only=True),
            limits=HttpLimits(
                connect_seconds=15.0,
                read_seconds=read_seconds,
                attempt_seconds=_LONGEST_SECONDS,
                max_redirects=_MOST_REDIRECTS,
            ),
            retry=RetryPolicy(attempts=1),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask_offer(self, model: ManifestModel) -> Offer:
        """Ask what the files of a model are.

        Raises:
            ModelPullError: The hub does not answer, has no such file, or not for everybody; or it
                offers another file than the manifest names, or does not say what it offers.
        """
        commit, files = model.revision, []
        for spec in model.files:
            ask = partial(self._said, self._url(model, commit, spec), spec)
            said = await self._repeat(ask, spec.path)
            # All files are of the commit that the first one is of, though a branch may move on.
            named = said.get("x-repo-commit", "")
            if _GIT_ID.fullmatch(commit) and _GIT_ID.fullmatch(named) and named != commit:
                raise ModelPullError(
                    f"{self.host} answers with the revision {named} instead of {commit}. Nothing "
                    "is fetched; name another hub in FACTIBLE_MODEL_HUB."
                )
            commit = named if _GIT_ID.fullmatch(named) else commit
            files.append(_offered(spec, said, self.host))
        return Offer(model, commit, tuple(files))

    async def download(
        self, offer: Offer, file: OfferedFile, part: Path, progress: Progress
    ) -> None:
        """Fetch what is missing of a file, going on where it broke off.

        Raises:
            ModelPullError: It failed too often without coming further, the hub does not give it
                out, or leads to where nothing is fetched from.
            TooLargeError: It is longer than announced.
        """
        ask = partial(
            self._continue, self._url(offer.model, offer.commit, file), file, part, progress
        )
        await self._repeat(ask, file.path, reached=lambda: size_of(part))

    async def _continue(self, url: str, file: OfferedFile, part: Path, progress: Progress) -> None:
        """Ask once for a file from the byte after those that are there, as far as it goes."""
        if size_of(part) > file.bytes:
            part.unlink()  # noqa: ASYNC240 - a moment, between two requests
        have, start = size_of(part), None
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with part.open("ab") as target:

            def write(answer: Response, block: bytes) -> None:
                nonlocal start
                if start is None:
                    found = _RANGE.match(answer.headers.get("content-range", ""))
                    partial_answer = answer.status == HTTPStatus.PARTIAL_CONTENT
                    start = int(found[1]) if found and partial_answer else 0
                    if start not in {0, have}:
                        raise _PassingError("it went on in another place than asked for")
                    if start != have:
                        target.truncate(start)
                target.write(block)
                progress(file.save_as, target.tell(), file.bytes)

            try:
                response = await self._http.get(
                    url, headers=headers, max_bytes=file.bytes, sink=write
                )
            except OutageError as error:
                raise _PassingError(error.reason) from error
        if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()  # noqa: ASYNC240
            raise _PassingError("it does not go on where the download stopped")
        self._check_status(response, file.path)
        if size_of(part) < file.bytes:
            raise _PassingError("it broke off in the middle of the file")

    async def _repeat(
        self,
        ask: Callable[[], Awaitable[Done]],
        what: str,
        reached: Callable[[], int] = lambda: 0,
    ) -> Done:
        """Ask until there is an answer; whatever comes further may fail as often as at first."""
        failures, best = 0, reached()
        while True:
            try:
                return await ask()
            except TooLargeError:
                raise
            except UnavailableError as error:
                raise ModelPullError(f"{what}: {error.reason}.") from error
            except _PassingError as error:
                now = reached()
                failures, best = (1, now) if now > best else (failures + 1, best)
                pause = self._retry.delay(failures) if error.pause is None else error.pause
                if failures >= self._retry.attempts or pause > self._retry.max_retry_after_seconds:
                    raise ModelPullError(
                        f"{self.host} did not give {what}: {error}. Check the network and pull "
                        "again; it goes on where it stopped."
                    ) from error
            await asyncio.sleep(pause)

    def _url(self, model: ManifestModel, commit: str, spec: ManifestFile) -> str:
        return f"{self._base}/{model.repo}/resolve/{quote(commit)}/{quote(spec.path)}"

    async def _said(self, url: str, spec: ManifestFile) -> Mapping[str, str]:
        """Return what the answers to a file's address say of it, until a large file is announced.

        Where large files are stored, only a whole file may be asked for.
        """
        announced: dict[str, str] = {}
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                response = await self._http.head(url)
            except OutageError as error:
                raise _PassingError(error.reason) from error
            said = {name: response.headers[name] for name in _ANNOUNCED if name in response.headers}
            announced = said | announced
            target = response.redirect()
            if "x-linked-etag" in announced or target is None:
                self._check_status(response, spec.path)
                return {**response.headers, **announced}
            url = str(target)
        raise ModelPullError(
            f"{self.host} redirects more than {_MOST_REDIRECTS} times for {spec.path}."
        )

    def _check_status(self, response: Response, what: str) -> None:
        status = response.status
        if status < HTTPStatus.BAD_REQUEST:
            return
        if isinstance(status_failure(response), OutageError):
            raise _PassingError(f"it answered {status}", retry_after_seconds(response.headers))
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise ModelPullError(
                f"{self.host} gives {what} only to those who have an account, or does not have it "
                f"({status}). Fetch the model by hand, or name another hub in FACTIBLE_MODEL_HUB."
            )
        if status == HTTPStatus.NOT_FOUND:
            raise ModelPullError(
                f"{self.host} does not have {what} (404). It may have been moved or removed there; "
                "a newer factible may know where to."
            )
        raise ModelPullError(f"{self.host} refused to give {what} ({status}).")


def _offered(spec: ManifestFile, said: Mapping[str, str], host: str) -> OfferedFile:
    large = "x-linked-etag" in said
    tag = said.get("x-linked-etag" if large else "etag", "").removeprefix("W/").strip('"')
    length = said.get("x-linked-size" if large else "content-length", "")
    size = int(length[:15]) if length.isascii() and length.isdigit() else spec.bytes
    sha256 = tag if _SHA256.fullmatch(tag) else None
    git_id = tag if _GIT_ID.fullmatch(tag) else None
    if size is None or not (sha256 or git_id or spec.sha256):
        raise ModelPullError(
            f"{host} does not say how large {spec.path} is or what is in it, so that it could not "
            "be checked. It is not fetched; name another hub in FACTIBLE_MODEL_HUB."
        )
    other = sha256 not in {None, spec.sha256} and spec.sha256 is not None
    if other or spec.bytes not in {None, size}:
        raise ModelPullError(
            f"{host} offers another {spec.path} than factible knows (it has {size:,} bytes). It is "
            "not fetched. If the hub is right, a newer factible knows the new file."
        )
    known = {"bytes": size, "sha256": spec.sha256 or sha256, "git_id": git_id}
    return OfferedFile.model_validate(spec.model_dump() | known)
