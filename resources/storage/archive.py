"""The archive: pages and recorded searches in one SQLite file, shared by all checks.

Full-text search is SQLite's FTS5, which ranks by BM25 with k1 = 1.2 and b = 0.75 (Robertson and
Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3). It counts word
frequencies over all collections of the file, but finds only documents of the requested ones.

Checks without a network read it, and the cache of pages keeps its texts here.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from resources.http import elapsed_since
from resources.pages.base import UNDATED, FetchedPage
from resources.promises import Promise
from resources.search.base import FoundHit, SearchAnswer, SearchRequest
from resources.statements import statements
from resources.storage import imports
from resources.storage.sqlite import OtherFileError, SharedFile
from resources.text_files import quoted
from resources.words import SILENT_WORDS

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) during an import, in bytes or files."""

_SQL = statements("resources.storage", "archive.sql")
_VERSION: Final = 1
_BUSY_SECONDS: Final = 60.0
_MAX_REMARKS: Final = 20
_COLLECTION_NAME = re.compile(r"[\w.-]{1,80}")
_SAME_COLUMNS: Final = (
    "url", "final_url", "author", "http_status", "byte_count", "etag", "last_modified", "text"
)  # fmt: skip
"""Fields of a page that are columns without conversion."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import, in numbers of pages, searches and hits."""

    added: int = 0
    updated: int = 0
    """Pages with a newer, longer or corrected text, or another title, author or day."""
    unchanged: int = 0
    searches: int = 0
    hits: int = 0
    unusable: int = 0
    """Entries without a usable address, files without text, further texts of one page."""
    remarks: tuple[str, ...] = ()
    """A sentence on each of the first unusable entries."""


def is_fictional(url: str) -> bool:
    """Tell whether a URL's host is under `.example`, which has no real pages (RFC 2606)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host.rstrip(".").rpartition(".")[2] == "example"


class Archive:
    """Pages and recorded searches in named collections.

    Searches and look-ups name their collections. Without names they see all of them, but no
    fictional pages: those need the name of their collection.
    """

    def __init__(self, path: Path, *, canonicalise: Callable[[str], str] = str) -> None:
        """Open an archive, or create it.

        `canonicalise` returns the stored form of a URL, for storing and look-ups, and raises
        ValueError if the URL is not the address of a page.

        Raises ArchiveError: The file cannot be created, is no archive, or a newer version made it.
        """
        self.path = path
        self._canonicalise = canonicalise
        self._file = SharedFile(path, _SQL["schema"], _VERSION, wait_seconds=_BUSY_SECONDS)
        with self._opened("BEGIN"):
            pass

    # --- Storing --------------------------------------------------------------------------------

    def add_page(self, page: FetchedPage, collection: str) -> bool:
        """Store a page if it is newer than the stored one; return true if so."""
        report = self.store([imports.ImportedEntry(page, 1, 1)], collection)
        return bool(report.added or report.updated)

    def import_from(
        self, source: Path, collection: str, *, progress: Progress | None = None
    ) -> ImportReport:
        """Import a folder or a JSONL file, all or nothing.

        Raises ArchiveImportError: A line is malformed, or the folder has no pages.
        """
        steps = imports.read_folder(source) if source.is_dir() else imports.read_jsonl(source)
        return self.store(steps, collection, progress)

    def store(
        self,
        steps: Iterable[imports.ImportedEntry],
        collection: str,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Store entries, all or nothing.

        Raises ArchiveImportError: The text cannot name a collection.
        """
        if _COLLECTION_NAME.fullmatch(collection) is None:
            raise imports.ArchiveImportError(
                f"{collection[:80]!r} cannot name a collection. Use letters, digits, dots, "
                "hyphens and underscores."
            )
        with self._opened("BEGIN IMMEDIATE") as connection:
            importing = _Import(connection, collection, self._key)
            for entry, done, total, place in steps:
                match entry:
                    case FetchedPage():
                        importing.page(entry, place)
                    case imports.NewSearch():
                        importing.search(entry, place)
                    case str():
                        importing.remark(entry)
                if progress is not None:
                    progress(done, total)
        return ImportReport(**importing.tally, remarks=tuple(importing.remarks[:_MAX_REMARKS]))

    # --- Finding --------------------------------------------------------------------------------

    def search(
        self, request: SearchRequest, collections: Sequence[str] | None = None
    ) -> tuple[FoundHit, ...]:
        """Return one page of results, without duplicates.

        Recorded hits of this very query come first: newest recording first, in recorded order. Then
        all documents that share words with the query, by BM25. The query has no syntax. The
        language does not count, because stored pages do not state theirs.

        Raises ArchiveError: The file cannot be read.
        """
        values = {
            "query_key": query_key(request.query),
            "expression": match_expression(request.query),
            "collections": None if collections is None else json.dumps(list(collections)),
            "before": request.before and request.before.isoformat(),
            "after": request.after and request.after.isoformat(),
        }
        needed = request.offset + request.limit
        found: dict[str, tuple[int, str]] = {}  # a document's id and recorded snippet
        with self._opened("BEGIN") as connection:
            for step in ("find_recorded", *(["find_ranked"] if values["expression"] else [])):
                if len(found) < needed:
                    for row in connection.execute(_SQL[step], values):
                        if request.admits_url(row["url"]):
                            found.setdefault(row["canonical_url"], (row["id"], row["snippet"]))
                        if len(found) >= needed:
                            break
            hits = list(found.values())[request.offset : needed]
            ids = {"ids": json.dumps([identifier for identifier, _ in hits])}
            rows = {row["id"]: row for row in connection.execute(_SQL["show_documents"], ids)}
            excerpts: dict[int, str] = {}
            if values["expression"]:
                ids["ids"] = json.dumps([key for key, row in rows.items() if row["has_excerpt"]])
                snippets = connection.execute(_SQL["show_snippets"], {**values, **ids})
                excerpts = {row["rowid"]: " ".join(row["around"].split()) for row in snippets}
        return tuple(
            FoundHit(
                rank,
                rows[identifier]["title"],
                rows[identifier]["url"],
                recorded or excerpts.get(identifier) or rows[identifier]["snippet"],
                _day(rows[identifier]["published_on"]),
            )
            for rank, (identifier, recorded) in enumerate(hits, request.offset + 1)
        )

    def page(self, url: str, collections: Sequence[str] | None = None) -> FetchedPage | None:
        """Return the page of a URL, also if it was fetched through a redirect to that URL.

        None if the archive has neither; absent if it has only a search hit. Among collections, a
        page with text precedes one without, then the newest precedes. Its time is that of its
        retrieval, else of its storing. Raises like `search`.
        """
        canonical = self._key(url)
        if canonical is None:
            return None
        values = {
            "canonical_url": canonical,
            "collections": None if collections is None else json.dumps(list(collections)),
        }
        with self._opened("BEGIN") as connection:
            row = connection.execute(_SQL["find_page"], values).fetchone()
        if row is None:
            return None
        has_text = bool(row["text"])
        no_text = "The archive has a search hit for this page, but not its text."
        same = {name: row[name] for name in _SAME_COLUMNS}
        return FetchedPage(
            **same,
            outcome="ok" if has_text else "absent",
            retrieved_at=datetime.fromisoformat(row["retrieved_at"] or row["stored_at"]),
            reason=None if has_text else no_text,
            via="archive" if has_text else None,
            title=row["title"] or None,
            published_on=_day(row["published_on"]),
        )

    def collections(self) -> dict[str, int]:
        """Return the number of pages with text, by collection."""
        with self._opened("BEGIN") as connection:
            rows = connection.execute(_SQL["count_pages"]).fetchall()
        return {str(name): int(count) for name, count in rows}

    def versions(self) -> dict[str, str]:
        """Return a version of each collection, which changes whenever a page of it is stored."""
        with self._opened("BEGIN") as connection:
            return dict(connection.execute(_SQL["versions"]).fetchall())

    def remove(self, urls: Iterable[str], collection: str, *, dry_run: bool = False) -> int:
        """Delete pages from a collection and compact the file; return the number of pages.

        `urls` are canonical: another URL of a page may belong to one video, and the page to
        several. With `dry_run`, only count.
        """
        values = {"urls": json.dumps(sorted(set(urls))), "collection": collection}
        with self._opened("BEGIN IMMEDIATE") as connection:
            ids = [row["id"] for row in connection.execute(_SQL["find_removed"], values)]
            if ids and not dry_run:
                for step in ("remove_hits", "remove_documents"):
                    connection.execute(_SQL[step], {"ids": json.dumps(ids)})
                connection.execute(_SQL["forget_words"])
        if ids and not dry_run:
            with self._explained():
                self._file.compact()
        return len(ids)

    # --- The file -------------------------------------------------------------------------------

    def _key(self, url: str) -> str | None:
        try:
            return self._canonicalise(url.strip())
        except ValueError:
            return None

    @contextmanager
    def _opened(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._explained(), self._file.opened(begin) as connection:
            yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the errors of a block into ArchiveError."""
        try:
            yield
        except OtherFileError as error:
            sentence = (
                "a newer version of this program made this archive. Update it."
                if error.version > _VERSION
                else "this SQLite file belongs to something else. Choose another file for the "
                "archive."
            )
        except (sqlite3.Error, OSError, UnicodeEncodeError) as error:
            sentence = (
                f"the archive cannot be used ({error}). Check that it can be written and the disk "
                "is not full. If it is damaged, move it away, and import its pages again with "
                "--pages or `factible archive import`."
            )
        else:
            return
        raise imports.ArchiveError(f"{self.path}: {sentence}")


# --- Rows ---------------------------------------------------------------------------------------


class _Import:
    """Stores entries in a collection within one transaction, and counts them for the report.

    `key` returns the canonical form of a URL, or None if it is no address of a page.
    """

    def __init__(
        self, connection: sqlite3.Connection, collection: str, key: Callable[[str], str | None]
    ) -> None:
        self._connection = connection
        self._collection = collection
        self._key = key
        self._places: dict[str, str] = {}
        """By canonical URL: the file and line from which this import took the text of a page."""
        self.tally: Counter[str] = Counter()
        self.remarks: list[str] = []

    def remark(self, sentence: str) -> None:
        """Report an unusable entry."""
        self.tally["unusable"] += 1
        self.remarks.append(sentence)

    def page(self, page: FetchedPage, place: str) -> None:
        """Store a page unless a stored text of its address is newer; report the loser of two."""
        canonical = self._key(page.url)
        if canonical is None or not page.text.strip():
            self.remark(f"{place}: {quoted(page.url)} is no address, or its page has no text.")
            return
        values = {"collection": self._collection, "canonical_url": canonical}
        stored = self._connection.execute(_SQL["find_page_to_replace"], values).fetchone()
        earlier = self._places.get(canonical)
        replaces = stored is None or _replaces(page, stored, is_first=earlier is None)
        is_same = stored is not None and stored["text"] == page.text
        if replaces or is_same:
            self._places[canonical] = place
        if earlier is not None and not is_same:
            kept, lost = (place, earlier) if replaces else (earlier, place)
            self.remark(f"{lost}: {kept} has another text for its address, {quoted(page.url)}.")
        elif not replaces:
            self.tally["unchanged"] += 1
        else:
            self.tally["updated" if stored is not None and stored["has_text"] else "added"] += 1
        if not replaces:
            return
        converted = {
            "canonical_final_url": self._key(page.final_url) if page.final_url else None,
            "set_apart": is_fictional(page.url) or is_fictional(page.final_url or ""),
            "published_on": page.published_on.isoformat() if page.published_on else None,
            "retrieved_at": _stamp(page.retrieved_at),
            "stored_at": _stamp(datetime.now(UTC)),
            "title": page.title or "",
        }
        same = {name: getattr(page, name) for name in _SAME_COLUMNS}
        self._connection.execute(_SQL["upsert_page"], values | same | converted)

    def search(self, search: imports.NewSearch, place: str) -> None:
        """Store a search and its hits with an address."""
        self.tally["searches"] += 1
        for hit in search.hits:
            canonical = self._key(hit.url)
            if canonical is None:
                self.remark(f"{place}: hit {hit.rank} has no web address ({quoted(hit.url)}).")
                continue
            self.tally["hits"] += 1
            values = {
                "collection": self._collection,
                "canonical_url": canonical,
                "url": hit.url,
                "set_apart": is_fictional(hit.url),
                "stored_at": _stamp(datetime.now(UTC)),
                "title": hit.title,
                "snippet": hit.snippet,
                "query_key": query_key(search.query),
                "searched_on": search.searched_on.isoformat() if search.searched_on else "",
                "rank": hit.rank,
            }
            self._connection.execute(_SQL["upsert_hit_document"], values)
            self._connection.execute(_SQL["upsert_recorded_hit"], values)


def _replaces(page: FetchedPage, stored: sqlite3.Row, *, is_first: bool) -> bool:
    """Tell whether a page replaces a stored one; `is_first`: it is the import's first copy."""
    if not stored["has_text"]:
        return True
    is_same = stored["text"] == page.text
    details = (page.title or stored["title"], page.author, page.published_on)
    if is_same and details == (stored["title"], stored["author"], _day(stored["published_on"])):
        return False
    known = stored["retrieved_at"]
    if (retrieved := _stamp(page.retrieved_at)) is not None:
        corrects = is_same and is_first and retrieved == known
        return known is None or retrieved > known or corrects
    # A new import corrects stored pages. If one import has two undated copies of a page, the
    # shorter one was cut off.
    return known is None and (is_first or len(page.text) > len(stored["text"]))


def _stamp(moment: datetime) -> str | None:
    # One form in UTC, so that the strings sort like the times.
    stamp = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return None if moment == UNDATED else stamp


def _day(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None


# --- Queries -----------------------------------------------------------------------------------

_MAX_QUERY_WORDS: Final = 64
_QUOTES = re.compile("[\"'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]")


def query_key(query: str) -> str:
    """Normalise a query: Unicode form, case, white space, quotes and its last mark."""
    folded = unicodedata.normalize("NFKC", query).casefold()
    folded = _QUOTES.sub("", folded)
    return re.sub(r"\s+", " ", folded).strip().rstrip(".?!").rstrip()


def match_expression(query: str) -> str:
    """Return an FTS5 expression that matches any word of a query; empty if it has none.

    Each word becomes a quoted string, which has no syntax in FTS5. A word with inner marks ("U.S.",
    "COVID-19", "1.5") becomes a phrase of its parts. Stop words count only if there are no
    others. FTS5 folds the case of both sides, but keeps "ß" and "₂": such a word is sought as it is
    written and as "ss" and "2".
    """
    words: dict[str, str] = {}
    for chunk in unicodedata.normalize("NFC", query).split():
        for spelling in (chunk, unicodedata.normalize("NFKC", chunk).casefold()):
            if word := " ".join(re.findall(r"[^\W_]+", spelling)):
                words.setdefault(word.lower(), word)
    content_words = [word for key, word in words.items() if key not in SILENT_WORDS]
    content_words = content_words or list(words.values())
    return " OR ".join(f'"{word}"' for word in content_words[:_MAX_QUERY_WORDS])


# --- Search and fetch in the archive -------------------------------------------------------------
#
# SQLite blocks, so every call runs in a thread.

PROVIDER: Final = "archive"
FETCHED: Final = "fetched"
"""The collection of all pages from the live web."""


@dataclass(frozen=True, slots=True)
class ArchivedWeb:
    """Searches an archive and fetches its pages. `collections` as in `Archive.search`."""

    archive: Archive
    collections: Sequence[str] | None = None

    async def search(self, request: SearchRequest) -> tuple[SearchAnswer, ...]:
        """Return one page of results; an unreadable archive is an outage."""
        began = time.perf_counter()
        try:
            hits = await asyncio.to_thread(self.archive.search, request, self.collections)
        except imports.ArchiveError as error:
            return (SearchAnswer(PROVIDER, "outage", reason=str(error)),)
        return (SearchAnswer(PROVIDER, "ok", hits, latency_seconds=elapsed_since(began)),)

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        """Return a stored page; a missing page is absent."""
        del promise
        began, now = time.perf_counter(), datetime.now(UTC)
        try:
            page = await asyncio.to_thread(self.archive.page, url, self.collections)
        except imports.ArchiveError as error:
            return FetchedPage(url=url, outcome="outage", retrieved_at=now, reason=str(error))
        if page is None:
            reason = "The archive does not have this page."
            return FetchedPage(url, "absent", now, reason=reason)
        return replace(page, url=url, latency_seconds=elapsed_since(began))
