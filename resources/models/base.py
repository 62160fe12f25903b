"""Which models can be fetched, which lie on this machine, and what may go wrong between.

What belongs here: the manifest (from where, under which licence, how files are known), the receipts
of what was fetched, finding a model, and the errors. What does not: fetching and keeping
(hub.py), loading (factible_assets/reasoners). Nothing here loads an HTTP client.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

FOLDER = "models"
"""Where a data folder has its models."""
RECEIPT = "receipt.json"


class ModelPullError(Exception):
    """A model could not be fetched or put away. The message is a sentence with the remedy."""


class ModelStoreError(ModelPullError):
    """The models' folder cannot be used: it is full, closed, or in use by another pull."""


class ManifestFile(BaseModel, frozen=True, extra="forbid"):
    """One file of a model: its path in the repository, and its name on this machine."""

    path: str = Field(pattern=r"^[\w-][\w.-]*(/[\w-][\w.-]*)*$")
    save_as: str = Field(pattern=r"^[\w-][\w.-]*$")
    bytes: int | None = Field(default=None, gt=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


class ManifestModel(BaseModel, frozen=True, extra="forbid"):
    """One model as the project knows it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    purpose: str
    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """A commit, which nobody can move."""
    licence: str
    source: str
    files: tuple[ManifestFile, ...] = Field(min_length=1)


def read_manifest(text: str) -> dict[str, ManifestModel]:
    """Read a manifest's YAML, by the models' names; ValidationError if it has another shape."""
    entries = TypeAdapter(dict[str, dict[str, Any]]).validate_python(yaml.safe_load(text))
    return {name: ManifestModel(name=name, **entry) for name, entry in entries.items()}


@cache
def known_models() -> dict[str, ManifestModel]:
    """Return the models that come with the project's manifest."""
    return read_manifest(Path(__file__).with_name("manifest.yaml").read_text("utf-8"))


class ReceiptFile(BaseModel, frozen=True):
    """One file that was fetched and checked."""

    name: str
    bytes: int
    sha256: str | None = None
    git_id: str | None = None


class Receipt(BaseModel, frozen=True):
    """What a model on this machine is, and where it came from."""

    name: str
    title: str
    repo: str
    commit: str
    licence: str
    source: str
    fetched_at: datetime
    files: tuple[ReceiptFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.bytes for file in self.files)


def read_receipt(home: Path, name: str) -> Receipt | None:
    """Return what a model in a data folder is, None if it is not there whole."""
    place = home / FOLDER / name
    try:
        receipt = Receipt.model_validate_json((place / RECEIPT).read_bytes())
    except (OSError, ValidationError):
        return None
    whole = all(size_of(place / file.name) == file.bytes for file in receipt.files)
    return receipt if whole else None


def model_path(home: Path, name: str) -> Path | None:
    """Return the folder of a model's files in a data folder, None if it is not there whole.

    The files are named as in the manifest: model.onnx, tokenizer.json, and config.json for `nli`.
    """
    return home / FOLDER / name if read_receipt(home, name) is not None else None


def size_of(path: Path) -> int:
    """Return a file's size, 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
