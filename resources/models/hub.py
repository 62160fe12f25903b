r"""What a hub offers of a model: its files, their sizes and digests, without fetching them.

What belongs here: the resolve URLs of Hugging Face and of its mirrors, and what their headers mean.
What does not: requests (transfer.py), fetching (download.py).

The protocol, as the hub's own client (huggingface_hub) speaks it: `{hub}/{repo}/resolve/{revision}/
{path}` answers with the file, or redirects to where it is stored. The hub's answers carry
`X-Repo-Commit`; for a large file also `X-Linked-Etag`, its SHA-256, and `X-Linked-Size`; for a
small one `ETag`, its git object id (the SHA-1 of `blob {size}\0` and the content).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from resources.models.errors import UnverifiedFileError
from resources.models.manifest import ManifestFile, ManifestModel
from resources.models.transfer import HubLine

DEFAULT_HUB = "https://huggingface.co"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_GIT_ID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file as the hub announces it. At least one of the two digests is known."""

    spec: ManifestFile
    size: int
    sha256: str | None = None
    git_id: str | None = None

    @property
    def fingerprint(self) -> str:
        """What tells this content from any other."""
        return self.sha256 or self.git_id or ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A model as the hub announces it, at one commit."""

    model: ManifestModel
    commit: str
    files: tuple[OfferedFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


def file_url(line: HubLine, model: ManifestModel, commit: str, spec: ManifestFile) -> httpx.URL:
    """Return where a file of a model is asked for."""
    return line.url(f"{model.repo}/resolve/{quote(commit)}/{quote(spec.path)}")


async def ask_offer(line: HubLine, model: ManifestModel) -> Offer:
    """Ask what the files of a model are.

    Raises:
        HubUnreachableError: The hub does not answer.
        NotOnHubError: It has no such file, or not for everybody.
        UnverifiedFileError: It offers another file than the manifest names, or does not say what
            it offers.
    """
    commit, files = model.revision, []
    for spec in model.files:
        announced = await _announcement(line, model, commit, spec)
        # All files are of the commit that the first one is of, though a branch may move on.
        commit = _commit(commit, announced.get("x-repo-commit", ""), line.host)
        files.append(_offered(spec, announced, line.host))
    return Offer(model, commit, tuple(files))


def _commit(asked: str, named: str, host: str) -> str:
    """Return the commit that an answer is of: the one that was asked for, if it was a commit."""
    if not _GIT_ID.fullmatch(named):
        return asked
    if _GIT_ID.fullmatch(asked) and named != asked:
        raise UnverifiedFileError(
            f"{host} answers with the revision {named} instead of {asked}. Nothing is fetched; "
            "name another hub in FACTIBLE_MODEL_HUB."
        )
    return named


async def _announcement(
    line: HubLine, model: ManifestModel, commit: str, spec: ManifestFile
) -> Mapping[str, str]:
    async def ask() -> Mapping[str, str]:
        async with line.follow("HEAD", file_url(line, model, commit, spec), spec.path) as answer:
            return {**answer.headers, **answer.announced}

    return await line.repeat(ask, spec.path)


def _offered(spec: ManifestFile, announced: Mapping[str, str], host: str) -> OfferedFile:
    large = "x-linked-etag" in announced
    tag = announced.get("x-linked-etag" if large else "etag", "").removeprefix("W/").strip('"')
    length = announced.get("x-linked-size" if large else "content-length", "")
    size = int(length[:15]) if length.isascii() and length.isdigit() else spec.bytes
    sha256 = tag if _SHA256.fullmatch(tag) else None
    git_id = tag if _GIT_ID.fullmatch(tag) else None
    if size is None or not (sha256 or git_id or spec.sha256):
        raise UnverifiedFileError(
            f"{host} does not say how large {spec.path} is or what is in it, so that it could not "
            "be checked. It is not fetched; name another hub in FACTIBLE_MODEL_HUB."
        )
    other = sha256 not in {None, spec.sha256} and spec.sha256 is not None
    if other or spec.bytes not in {None, size}:
        raise UnverifiedFileError(
            f"{host} offers another {spec.path} than factible knows (it has {size:,} bytes). It is "
            "not fetched. If the hub is right, a newer factible knows the new file."
        )
    return OfferedFile(spec, size, spec.sha256 or sha256, git_id)
