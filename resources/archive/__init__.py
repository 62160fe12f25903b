"""The local archive: stored pages and recorded searches, searchable without a network."""

from resources.archive.doors import ArchiveFetcher, ArchiveSearcher, ArchivingFetcher
from resources.archive.sources import ArchiveError, ArchiveImportError, NewSearch
from resources.archive.store import Archive, ImportReport

__all__ = [
    "Archive",
    "ArchiveError",
    "ArchiveFetcher",
    "ArchiveImportError",
    "ArchiveSearcher",
    "ArchivingFetcher",
    "ImportReport",
    "NewSearch",
]
