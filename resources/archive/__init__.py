"""The local archive: stored pages and recorded searches, searchable without a network."""

from resources.archive.doors import ArchiveFetcher, ArchiveSearcher, ArchivingFetcher
from resources.archive.errors import ArchiveError, ArchiveImportError
from resources.archive.records import (
    ArchiveHit,
    ImportReport,
    NewHit,
    NewPage,
    NewSearch,
    StoredPage,
)
from resources.archive.store import Archive

__all__ = [
    "Archive",
    "ArchiveError",
    "ArchiveFetcher",
    "ArchiveHit",
    "ArchiveImportError",
    "ArchiveSearcher",
    "ArchivingFetcher",
    "ImportReport",
    "NewHit",
    "NewPage",
    "NewSearch",
    "StoredPage",
]
