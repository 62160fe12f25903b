"""The choice of the model that reads pages by label probabilities."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from factible_assets.services.labels import calibration_of, reading_model
from factible_assets.settings import Settings
from resources.errors import SetupError
from resources.models.base import ManifestFile, ManifestModel, known_models
from resources.models.hub import add_model


def put(home: Path, name: str, content: bytes = b"weights") -> None:
    """Install a fake model under a name of the manifest."""
    home.mkdir(exist_ok=True)
    file = home / "file"
    file.write_bytes(content)
    given = known_models()[name].model_dump() | {
        "files": (
            ManifestFile(
                path="model.gguf",
                save_as="model.gguf",
                bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
            ),
        )
    }
    add_model(home, ManifestModel.model_validate(given), [file])


def test_without_a_setting_or_a_pulled_model_there_is_none(tmp_path: Path) -> None:
    assert reading_model(Settings(home=tmp_path)) is None


def test_the_measured_model_comes_first_of_those_that_were_pulled(tmp_path: Path) -> None:
    put(tmp_path, "reader-large")
    large = reading_model(Settings(home=tmp_path))
    assert large is not None
    assert large.folder == tmp_path / "models" / "reader-large"
    put(tmp_path, "reader")
    chosen = reading_model(Settings(home=tmp_path))
    assert chosen is not None
    assert chosen.folder == tmp_path / "models" / "reader"
    named = reading_model(Settings(home=tmp_path, stage_models={"reader": "reader-large"}))
    assert named == large


def test_a_servers_model_is_taken_at_its_name(tmp_path: Path) -> None:
    put(tmp_path, "reader")
    named = reading_model(Settings(home=tmp_path, stage_models={"reader": "ollama/qwen3:4b"}))
    assert named is not None
    assert (named.name, named.folder) == ("ollama/qwen3:4b", None)


def test_a_missing_pulled_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="factible models pull reader-large"):
        reading_model(Settings(home=tmp_path, stage_models={"reader": "reader-large"}))


def test_a_model_of_other_bytes_has_no_calibration(tmp_path: Path) -> None:
    put(tmp_path, "reader")
    settings = Settings(home=tmp_path)
    model = reading_model(settings)
    assert model is not None
    assert calibration_of(settings, model) is None
