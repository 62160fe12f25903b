"""The scale on which a desk rules is ours, a published one, or a corpus's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from factible_assets.errors import FactibleError
from factible_assets.runs.scales import scale_named

CORPUS = """\
corpus: house
videos:
  - id: dQw4w9WgXcQ
    title: A talk
    url: https://www.youtube.com/watch?v=dQw4w9WgXcQ
    claims:
      - {text: Honey keeps., stance: supports, label: Holds up}
      - {text: Bees sleep., stance: mixed, label: Needs context}
      - {text: Rain is dry., stance: refutes}
"""


def test_labels_ignore_case_and_keep_the_spelling_of_the_scale() -> None:
    assert scale_named("factible").label("REFUTED") == ("Refuted", "refutes")
    assert scale_named("averitec").label("not enough evidence") == (
        "Not Enough Evidence",
        "unclear",
    )
    assert scale_named("veracity").label("half true") == ("half-true", "mixed")


def test_a_corpus_is_a_scale_of_its_annotated_labels(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(CORPUS, encoding="utf-8")
    scale = scale_named("house", [tmp_path])
    assert scale.labels == {"Holds up": "supports", "Needs context": "mixed"}
    with pytest.raises(FactibleError, match="'True' is no ruling on the scale house") as refusal:
        scale.label("True")
    assert "Holds up, Needs context" in str(refusal.value)
    with pytest.raises(FactibleError, match="no scale 'moon'"):
        scale_named("moon", [tmp_path])
