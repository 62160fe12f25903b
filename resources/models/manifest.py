"""Which models can be fetched, from where, under which licence, and how their files are known.

What belongs here: reading manifest.yaml. What does not: fetching (hub.py) and keeping (store.py).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator


class ManifestFile(BaseModel):
    """One file of a model: its path in the repository, and its name on this machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(pattern=r"^[\w.-]+(/[\w.-]+)*$")
    save_as: str = Field(pattern=r"^[\w-][\w.-]*$")
    bytes: int | None = Field(default=None, gt=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, value: str) -> str:
        if ".." in PurePosixPath(value).parts:
            raise ValueError("a path stays inside its repository")
        return value


class ManifestModel(BaseModel):
    """One model as the project knows it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    purpose: str
    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str = Field(pattern=r"^[\w.-]+$")
    licence: str
    source: str
    files: tuple[ManifestFile, ...] = Field(min_length=1)


def read_manifest(text: str) -> dict[str, ManifestModel]:
    """Read a manifest's YAML, by the models' names.

    Raises:
        ValueError: It is no YAML, or has another shape.
    """
    try:
        written = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"the manifest is no YAML: {error}") from error
    if not isinstance(written, dict):
        raise ValueError("the manifest names no models")
    return {
        name: ManifestModel.model_validate({"name": name, **entry})
        for name, entry in written.items()
    }


@cache
def known_models() -> dict[str, ManifestModel]:
    """Return the models that come with the project's manifest."""
    manifest = files("resources.models").joinpath("manifest.yaml")
    return read_manifest(manifest.read_text(encoding="utf-8"))
