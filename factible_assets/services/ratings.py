"""The rating sets of a machine, read once as long as their files stay the same.

What belongs here: which reader a file needs. What does not: the readers
(resources/reliability/datasets.py), what a rating is worth (stages/reliability.py).

By a file's ending: .yaml as in corpora/domain_ratings.yaml, .json as Media Bias/Fact Check's
snapshots, .csv with the columns `domain` and `pc1` (domain quality, Lin et al. 2023) or `domain`
and `rating`, and `class`, `bias` and `reason` where it has them.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from factible_assets.services.setup import SetupError
from resources.reliability.datasets import (
    DOMAIN_QUALITY,
    RatingDirectory,
    RatingFileError,
    RatingSet,
    TableLayout,
    load_mbfc_json,
    load_rating_csv,
    load_rating_yaml,
    rating_by_name,
)


def rating_directory(files: Sequence[Path]) -> RatingDirectory:
    """Load rating sets, in order of precedence; a file is read again only when it changed.

    Raises:
        SetupError: A file is malformed; the sentence names it, and the line.
    """
    try:
        return RatingDirectory([_rating_set(file, file.stat().st_mtime_ns) for file in files])
    except RatingFileError as error:
        raise SetupError(str(error)) from error


@lru_cache(maxsize=32)
def _rating_set(file: Path, changed_at: int) -> RatingSet:
    match file.suffix.lower():
        case ".json":
            return load_mbfc_json(file)
        case ".csv":
            return load_rating_csv(file, _layout(file))
    return load_rating_yaml(file)


def _layout(file: Path) -> TableLayout:
    """Choose a layout by the header; a file without a known one is refused by its reader."""
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        header = next(csv.reader(opened), [])
    if DOMAIN_QUALITY.rating_column in header:
        return DOMAIN_QUALITY

    def optional(column: str) -> str | None:
        return column if column in header else None

    return TableLayout(
        name=file.stem,
        domain_column="domain",
        rating_column="rating",
        rating_of=rating_by_name,
        class_column=optional("class"),
        bias_column=optional("bias"),
        reason_column=optional("reason"),
    )
