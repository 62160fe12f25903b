"""The models that lie on this machine: what they are, and where.

What belongs here: receipts, and finding a model. What does not: fetching and removing (store.py);
nothing here loads an HTTP client.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

FOLDER = "models"
"""Where a data folder has its models."""
RECEIPT = "receipt.json"


class ReceiptFile(BaseModel):
    """One file that was fetched and checked."""

    model_config = ConfigDict(frozen=True)

    name: str
    bytes: int
    sha256: str | None = None
    git_id: str | None = None


class Receipt(BaseModel):
    """What a model on this machine is, and where it came from."""

    model_config = ConfigDict(frozen=True)

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
