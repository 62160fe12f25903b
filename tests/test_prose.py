"""The prose of code and documentation stays readable; tests/prose.py counts."""

from pathlib import Path

import pytest

from tests.prose import Count, count_file

ROOT = Path(__file__).resolve().parent.parent

MOST_HEADLESS = 4.0
"""Relative clauses without a head in 1,000 words; well-known projects have 0.2 to 3.3."""
MOST_PASSIVES = 14.0
"""Passives in 1,000 words; well-known projects have 4 to 15."""

PLACES = {
    "the product": ("factible_assets/**/*.py", "resources/**/*.py", "warehouse/**/*.py"),
    "tests and benchmarks": ("tests/**/*.py", "benchmarks/**/*.py"),
    "the documentation": ("*.md", "docs/*.md", "corpora/*.md"),
}


@pytest.mark.parametrize("place", PLACES)
def test_docstrings_comments_and_pages_are_plain_english(place: str) -> None:
    files = [path for pattern in PLACES[place] for path in ROOT.glob(pattern)]
    headless, passives = sum(map(count_file, files), Count()).per_thousand()
    assert headless <= MOST_HEADLESS, f"python -m tests.prose {' '.join(PLACES[place])}"
    assert passives <= MOST_PASSIVES, f"python -m tests.prose {' '.join(PLACES[place])}"
