"""Loads the rating sets of a machine; a file is read again only after it changed.

The suffix decides the format: .yaml as in corpora/domain_ratings.yaml; .json as in the snapshots of
Media Bias/Fact Check; .csv with known columns, or with those that NAME.csv.yaml describes
(corpora/README.md).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path

from factible_assets.records.tables import Rating
from factible_assets.settings import Settings
from factible_assets.stages import ports
from factible_assets.stages.reliability import institution_of
from factible_assets.stages.urls import registrable_domain
from resources.errors import SetupError
from resources.ratings import datasets
from resources.ratings.base import ListedRating
from resources.text_files import errors_naming

_DAY = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")


class CollectionRatings:
    """Rating sets, plus one rating for the pages of a collection that no set lists.

    Listed ratings and institutions by name take precedence: pages of a collection may have any
    address.
    """

    def __init__(self, listed: ports.RatingDirectory, rating: Rating) -> None:
        self._listed = listed
        self._rating = rating

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        """Return the ratings of a host, or the collection's rating for an unlisted domain."""
        ratings = self._listed.lookup(domain)
        if ratings or domain != registrable_domain(domain) or institution_of(domain):
            return ratings
        reason = "The collection has this rating."
        return (ListedRating("yours", domain, self._rating, "unknown", reason),)


def rating_files(settings: Settings) -> tuple[Path, ...]:
    """Return the files of rating sets, in order of precedence."""
    folder, project = settings.home / "ratings", settings.project_corpora
    files = sorted(file for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []
    return (
        project / "domain_ratings.yaml",
        project / "miniature_ratings.yaml",
        *files,
        project / "credibility_tiers.yaml",  # from a published method
    )


def rating_directory(files: Sequence[Path]) -> datasets.RatingSets:
    """Load rating sets, in order of precedence.

    Raises SetupError: A file is malformed; the sentence names the file and the line.
    """
    descriptions = {datasets.description_of(file) for file in files}
    return datasets.RatingSets(
        [
            _rating_set(file, _changed_at(file), _changed_at(datasets.description_of(file)))
            for file in files
            if file not in descriptions
        ]
    )


def _changed_at(file: Path) -> int | None:
    return file.stat().st_mtime_ns if file.is_file() else None


@lru_cache(maxsize=32)
def _rating_set(file: Path, changed_at: int | None, described_at: int | None) -> datasets.RatingSet:
    kind = file.suffix.lower()
    if kind not in datasets.READERS:
        with errors_naming(file):
            return datasets.load_rating_yaml(file)
    layout = None
    if described_at is not None:
        with errors_naming(datasets.description_of(file)):
            layout = datasets.load_description(datasets.description_of(file))
    if layout is not None and layout.columns and kind == ".json":
        problem = "`columns` describes tables, but this file has Media Bias/Fact Check's layout"
        raise SetupError(f"{datasets.description_of(file)}: {problem}")
    if layout is None or not layout.columns:
        described = layout.model_dump(include={"dataset", "licence", "as_of"}) if layout else {}
        known = _layout_by_header(file) if kind == ".csv" else datasets.OUTLETS
        layout = known.model_copy(update=described)
    layout = layout.model_copy(update={"as_of": layout.as_of or _day_in_name(file)})
    with errors_naming(file):
        return datasets.load_table(file, layout)


def _day_in_name(file: Path) -> date | None:
    match = _DAY.search(file.stem)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _layout_by_header(file: Path) -> datasets.TableLayout:
    """Choose a layout by the header; the reader refuses an unknown one."""
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        header = next(csv.reader(opened), [])
    if datasets.DOMAIN_QUALITY.columns["rating"] in header:
        return datasets.DOMAIN_QUALITY
    optional = [column for column in ("class", "bias", "reason") if column in header]
    columns = {column: column for column in ("domain", "rating", *optional)}
    return datasets.TableLayout(dataset=file.stem, columns=columns)
