"""What the README says that the demo prints, it prints."""

from __future__ import annotations

from pathlib import Path

from benchmarks.readme import README, Fresh, untrue


def test_the_outputs_in_the_readme_are_what_a_fresh_install_prints(tmp_path: Path) -> None:
    document = README.read_text(encoding="utf-8")
    assert document.count("\nverdict ") == 4
    assert document.count("```\nfactible sql ") == 3
    fresh = Fresh(tmp_path / "home")
    assert untrue(document, fresh) == [], "write them anew: python -m benchmarks.readme --write"
    assert untrue(document.replace("leaning supported", "leaning refuted", 1), fresh) != []
