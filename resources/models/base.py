"""The manifest of models, the receipts of fetched models, and finding a model on this machine.

Nothing here loads an HTTP client.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

FOLDER = "models"
"""The folder of models in a data folder."""
RECEIPT = "receipt.json"


class ModelPullError(Exception):
    """A model could not be fetched or stored. The message is a sentence with the remedy."""


class ModelStoreError(ModelPullError):
    """The models' folder is full, not writable, or in use by another pull."""


class ManifestFile(BaseModel, frozen=True, extra="forbid"):
    """One file of a model: its path in the repository, and its local name."""

    path: str = Field(pattern=r"^[\w-][\w.-]*(/[\w-][\w.-]*)*$")
    save_as: str = Field(pattern=r"^[\w-][\w.-]*$")
    bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class ManifestModel(BaseModel, frozen=True, extra="forbid"):
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    purpose: str
    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """A commit, because a tag or branch can move."""
    licence: str
    source: str
    files: tuple[ManifestFile, ...] = Field(min_length=1)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.bytes for file in self.files)


def read_manifest(text: str) -> dict[str, ManifestModel]:
    """Read a manifest's YAML into models by name; ValidationError if it has another shape."""
    entries = TypeAdapter(dict[str, dict[str, Any]]).validate_python(yaml.safe_load(text))
    return {name: ManifestModel(name=name, **entry) for name, entry in entries.items()}


@cache
def known_models() -> dict[str, ManifestModel]:
    return read_manifest(Path(__file__).with_name("manifest.yaml").read_text("utf-8"))


class ReceiptFile(BaseModel, frozen=True):
    name: str
    bytes: int
    sha256: str


class Receipt(BaseModel, frozen=True):
    """The record of a fetched model and its origin."""

    name: str
    title: str
    repo: str
    commit: str
    licence: str
    source: str
    fetched_at: datetime
    files: tuple[ReceiptFile, ...]


def read_receipt(home: Path, name: str) -> Receipt | None:
    """Return the receipt of a model in a data folder, None if the model is not complete."""
    place = home / FOLDER / name
    try:
        receipt = Receipt.model_validate_json((place / RECEIPT).read_bytes())
    except (OSError, ValidationError):
        return None
    whole = all(size_of(place / file.name) == file.bytes for file in receipt.files)
    return receipt if whole else None


def model_path(home: Path, name: str) -> Path | None:
    """Return the folder of a model's files in a data folder, None if the model is not complete.

    The files have the names of the manifest: model.onnx, tokenizer.json, and config.json for `nli`.
    """
    return home / FOLDER / name if read_receipt(home, name) is not None else None


def size_of(path: Path) -> int:
    """Return a file's size in bytes, 0 if there is no file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
