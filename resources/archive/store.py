"""The archive itself: pages and recorded searches in one SQLite file, ranked by BM25.

What belongs here: what is stored, what is found, and how the file is opened. What does not:
reading files (sources.py), SQL (statements.py), the protocols of the pipeline (doors.py).

Full-text search is SQLite's own FTS5: its index lives in the file and its `bm25()` ranks from
disk, so nothing is rebuilt when a process starts and memory does not grow with the archive. The
file is in WAL mode: several processes read while one writes, and writers wait for each other (WAL
needs a local disk, not a network share). A connection lives for one call, so an `Archive` may be
shared by threads.

BM25 is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
2009, section 3, with FTS5's constants k1 = 1.2 and b = 0.75. Word frequencies are counted over all
collections of the file; which documents are found is not.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from importlib import resources as package_files
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from resources.archive import statements
from resources.archive.errors import ArchiveError
from resources.archive.records import (
    ArchiveHit,
    ImportReport,
    NewHit,
    NewPage,
    NewSearch,
    StoredPage,
    Unusable,
)
from resources.archive.sources import Step, read_folder, read_jsonl
from resources.archive.words import match_expression, query_key

Progress = Callable[[int, int], None]
"""Told (done, total) while an import runs; the unit is the source's own."""

_SCHEMA_VERSION: Final = 1
_BUSY_SECONDS: Final = 60.0
_MAX_REMARKS: Final = 20
_COLLECTION_NAME = re.compile(r"[\w.-]{1,80}")
_SNIPPET_WORDS: Final = 48

_WEIGHTS: Final = {
    # How much a word counts in the title, in the recorded snippet and in the text.
    "title_weight": 2.0,
    "snippet_weight": 1.5,
    "text_weight": 1.0,
    # By how much a page that can be read goes before an equally good hit that cannot.
    "text_factor": 1.5,
}


def is_fictional(url: str) -> bool:
    """Tell whether a URL's host is under `.example`, where no real page can be (RFC 2606)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host.rstrip(".").rpartition(".")[2] == "example"


def _any(_url: str) -> bool:
    return True


def unchanged(url: str) -> str:
    """Return a URL as it is: for archives whose URLs are canonical already."""
    return url


@dataclass
class _Tally:
    """What an import has done so far."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    searches: int = 0
    hits: int = 0
    unusable: int = 0
    remarks: list[str] = field(default_factory=list)

    def set_aside(self, reason: str) -> None:
        self.unusable += 1
        if len(self.remarks) < _MAX_REMARKS:
            self.remarks.append(reason)

    def report(self) -> ImportReport:
        return ImportReport(
            added=self.added,
            updated=self.updated,
            unchanged=self.unchanged,
            searches=self.searches,
            hits=self.hits,
            unusable=self.unusable,
            remarks=tuple(self.remarks),
        )


@dataclass(frozen=True, slots=True)
class _Question:
    """A search, as its statements need it."""

    query: str
    expression: str
    collections: str | None
    before: str | None
    after: str | None
    admits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Candidate:
    document_id: int
    recorded: bool
    snippet: str = ""


class Archive:
    """Pages and recorded searches, in named collections that keep worlds apart.

    A search or a look-up names its collections. Without names it sees all of them, except pages
    that are set apart (fictional ones): those are found only in a collection that is named.
    """

    def __init__(
        self,
        path: Path,
        *,
        canonicalise: Callable[[str], str] = unchanged,
        set_apart: Callable[[str], bool] = is_fictional,
    ) -> None:
        """Open an archive, and create it if it is not there.

        Args:
            path: The SQLite file.
            canonicalise: Gives every URL the form under which it is stored and looked up; raises
                ValueError for what is no address of a page.
            set_apart: Tells URLs that a search of everything must not find.

        Raises:
            ArchiveError: if the file cannot be created, is no archive, or is a newer one's.
        """
        self.path = path
        self._canonicalise = canonicalise
        self._set_apart = set_apart
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArchiveError(
                f"{path}: the archive's folder cannot be made ({error.strerror}). "
                "Choose a place that can be written."
            ) from error
        self._prepare()

    # --- Storing --------------------------------------------------------------------------------

    def add_page(self, page: NewPage, collection: str) -> bool:
        """Store a page; return whether that changed anything.

        A dated text replaces an older one, an undated text only a shorter undated one.
        """
        report = self._store_all([page], collection)
        return bool(report.added or report.updated)

    def add_search(self, search: NewSearch, collection: str) -> None:
        """Store a search and its hits."""
        self._store_all([search], collection)

    def import_jsonl(
        self,
        paths: Path | Sequence[Path],
        collection: str,
        *,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import JSONL files of pages and searches, all or nothing (see sources.py).

        Raises:
            ArchiveImportError: naming file and line; nothing was imported.
        """
        files = [paths] if isinstance(paths, Path) else list(paths)
        steps = (step for path in files for step in read_jsonl(path))
        return self._store_all(_told(steps, progress), collection)

    def import_folder(
        self, folder: Path, collection: str, *, progress: Progress | None = None
    ) -> ImportReport:
        """Import a folder of saved pages, all or nothing (see sources.py).

        Raises:
            ArchiveImportError: if the folder holds no pages or malformed JSONL.
        """
        return self._store_all(_told(read_folder(folder), progress), collection)

    def _store_all(
        self, entries: Iterable[NewPage | NewSearch | Unusable], collection: str
    ) -> ImportReport:
        if _COLLECTION_NAME.fullmatch(collection) is None:
            raise ArchiveError(
                f"{collection[:80]!r} cannot name a collection. Use letters, digits, dots, "
                "hyphens and underscores."
            )
        tally = _Tally()
        with self._writing() as connection:
            for entry in entries:
                match entry:
                    case NewPage():
                        self._store_page(connection, entry, collection, tally)
                    case NewSearch():
                        self._store_search(connection, entry, collection, tally)
                    case Unusable():
                        tally.set_aside(entry.reason)
        return tally.report()

    def _store_page(
        self, connection: sqlite3.Connection, page: NewPage, collection: str, tally: _Tally
    ) -> None:
        canonical = self._key(page.url)
        if canonical is None or not page.text.strip():
            tally.set_aside(f"{page.url[:200]!r} is no address, or its page has no text.")
            return
        values = {"collection": collection, "canonical_url": canonical}
        known = connection.execute(statements.FIND_PAGE_TO_REPLACE, values).fetchone()
        if known is not None and not _replaces(page, known):
            tally.unchanged += 1
            return
        connection.execute(statements.UPSERT_PAGE, values | self._page_values(page))
        if known is not None and known["has_text"]:
            tally.updated += 1
        else:
            tally.added += 1

    def _page_values(self, page: NewPage) -> dict[str, str | int | None]:
        return {
            "canonical_final_url": self._key(page.final_url) if page.final_url else None,
            "url": page.url,
            "final_url": page.final_url,
            "set_apart": self._set_apart(page.url) or self._set_apart(page.final_url or ""),
            "author": page.author,
            "published_on": page.published_on.isoformat() if page.published_on else None,
            "retrieved_at": _stamp(page.retrieved_at) if page.retrieved_at else None,
            "stored_at": _stamp(datetime.now(UTC)),
            "http_status": page.http_status,
            "byte_count": page.byte_count,
            "etag": page.etag,
            "last_modified": page.last_modified,
            "title": page.title,
            "text": page.text,
        }

    def _store_search(
        self, connection: sqlite3.Connection, search: NewSearch, collection: str, tally: _Tally
    ) -> None:
        tally.searches += 1
        for hit in search.hits:
            canonical = self._key(hit.url)
            if canonical is None:
                tally.set_aside(f"{hit.url[:200]!r} is no address.")
                continue
            values = self._hit_values(search, hit) | {
                "collection": collection,
                "canonical_url": canonical,
            }
            connection.execute(statements.UPSERT_HIT_DOCUMENT, values)
            connection.execute(statements.UPSERT_RECORDED_HIT, values)
            tally.hits += 1

    def _hit_values(self, search: NewSearch, hit: NewHit) -> dict[str, str | int]:
        return {
            "url": hit.url,
            "set_apart": self._set_apart(hit.url),
            "stored_at": _stamp(datetime.now(UTC)),
            "title": hit.title,
            "snippet": hit.snippet,
            "query_key": query_key(search.query),
            "searched_on": search.searched_on.isoformat() if search.searched_on else "",
            "rank": hit.rank,
        }

    # --- Finding --------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        page: int = 1,
        collections: Sequence[str] | None = None,
        before: date | None = None,
        after: date | None = None,
        admits: Callable[[str], bool] | None = None,
    ) -> tuple[ArchiveHit, ...]:
        """Return one page of results, counted from 1.

        If this very query was recorded, its hits come first: newest recording first, in recorded
        order. Then everything that shares words with the query, by BM25. A page is listed once.

        Args:
            query: Any text; none of it is read as query syntax.
            limit: Results per page, at least 1.
            page: Which page of results, from 1.
            collections: Where to look; None: everywhere but in what is set apart.
            before: Leaves out pages known to be published on or after this day.
            after: Leaves out pages known to be published before this day.
            admits: Told a URL; false for pages that are to be left out.

        Raises:
            ArchiveError: if the file cannot be read.
        """
        if limit < 1 or page < 1:
            raise ValueError("limit and page count from 1")
        question = _Question(
            query_key(query),
            match_expression(query),
            _names(collections),
            before.isoformat() if before else None,
            after.isoformat() if after else None,
            admits or _any,
        )
        skipped = (page - 1) * limit
        with self._reading() as connection:
            wanted = _candidates(connection, question, skipped + limit)[skipped:]
            rows = _documents(connection, wanted)
            snippets = _snippets(connection, question, rows)
        return tuple(
            _hit(rank, candidate, rows[candidate.document_id], snippets)
            for rank, candidate in enumerate(wanted, start=skipped + 1)
        )

    def page(self, url: str, collections: Sequence[str] | None = None) -> StoredPage | None:
        """Return the page of a URL, or the page that was found at this URL after a redirect.

        Among collections, a page with text goes before one without, then the newest. Collections
        are named as in `search`.

        Raises:
            ArchiveError: if the file cannot be read.
        """
        canonical = self._key(url)
        if canonical is None:
            return None
        values = {"canonical_url": canonical, "collections": _names(collections)}
        with self._reading() as connection:
            row = connection.execute(statements.FIND_PAGE, values).fetchone()
        return _stored_page(row) if row is not None else None

    def collections(self) -> dict[str, int]:
        """Return every collection with the number of its pages that have text."""
        with self._reading() as connection:
            rows = connection.execute(statements.COUNT_PAGES).fetchall()
        return {str(name): int(count) for name, count in rows}

    # --- The file -------------------------------------------------------------------------------

    def _key(self, url: str) -> str | None:
        try:
            return self._canonicalise(url.strip())
        except ValueError:
            return None

    def _prepare(self) -> None:
        with self._connected() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > _SCHEMA_VERSION:
                raise ArchiveError(
                    f"{self.path}: the archive was written by a newer version of this program "
                    f"(layout {version}, this one knows {_SCHEMA_VERSION}). Update the program."
                )
            if version == _SCHEMA_VERSION:
                return
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                # Version 0 with tables: an archive gets both in one transaction.
                if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                    raise ArchiveError(
                        f"{self.path}: this SQLite file belongs to something else. "
                        "Choose another file for the archive."
                    )
                return
            _switch_to_wal(connection)
            schema = package_files.files(__package__).joinpath("schema.sql").read_text("utf-8")
            connection.executescript(f"BEGIN IMMEDIATE;\n{schema}\nCOMMIT;")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: what is written in it is stored whole, or not at all."""
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One transaction, so that all statements see the same state of the archive."""
        with self._connected() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = None
        try:
            connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection
        except sqlite3.Error as error:
            raise ArchiveError(
                f"{self.path}: the archive cannot be used ({error}). Check that the file is an "
                "archive, that it can be written, and that the disk is not full."
            ) from error
        finally:
            if connection is not None:
                connection.close()


# --- Steps of a search --------------------------------------------------------------------------


def _candidates(
    connection: sqlite3.Connection, question: _Question, count: int
) -> list[_Candidate]:
    """Return the first `count` distinct results: recorded ones, then by BM25."""
    values = {
        "query_key": question.query,
        "expression": question.expression,
        "collections": question.collections,
        "before": question.before,
        "after": question.after,
        **_WEIGHTS,
    }
    found: dict[str, _Candidate] = {}
    for row in connection.execute(statements.FIND_RECORDED, values):
        if question.admits(row["url"]):
            found.setdefault(
                row["canonical_url"], _Candidate(row["id"], recorded=True, snippet=row["snippet"])
            )
    if question.expression and len(found) < count:
        for row in connection.execute(statements.FIND_RANKED, values):
            if question.admits(row["url"]):
                found.setdefault(row["canonical_url"], _Candidate(row["id"], recorded=False))
            if len(found) >= count:
                break
    return list(found.values())[:count]


def _documents(
    connection: sqlite3.Connection, candidates: Sequence[_Candidate]
) -> dict[int, sqlite3.Row]:
    ids = json.dumps([candidate.document_id for candidate in candidates])
    return {row["id"]: row for row in connection.execute(statements.SHOW_DOCUMENTS, {"ids": ids})}


def _snippets(
    connection: sqlite3.Connection, question: _Question, rows: dict[int, sqlite3.Row]
) -> dict[int, str]:
    """Return the words around the matches, for pages with text."""
    readable = [identifier for identifier, row in rows.items() if row["has_text"]]
    if not question.expression or not readable:
        return {}
    values = {
        "expression": question.expression,
        "ids": json.dumps(readable),
        "words": _SNIPPET_WORDS,
    }
    found = connection.execute(statements.SHOW_SNIPPETS, values)
    return {row["rowid"]: " ".join(row["around"].split()) for row in found}


# --- Rows ---------------------------------------------------------------------------------------


def _hit(
    rank: int, candidate: _Candidate, row: sqlite3.Row, snippets: dict[int, str]
) -> ArchiveHit:
    return ArchiveHit(
        rank=rank,
        title=row["title"],
        url=row["url"],
        snippet=candidate.snippet or snippets.get(row["id"]) or row["snippet"],
        published_on=_day(row["published_on"]),
        has_text=bool(row["has_text"]),
        recorded=candidate.recorded,
    )


def _stored_page(row: sqlite3.Row) -> StoredPage:
    return StoredPage(
        collection=row["collection"],
        url=row["url"],
        canonical_url=row["canonical_url"],
        final_url=row["final_url"],
        title=row["title"],
        text=row["text"],
        author=row["author"],
        published_on=_day(row["published_on"]),
        retrieved_at=datetime.fromisoformat(row["retrieved_at"] or row["stored_at"]),
        http_status=row["http_status"],
        byte_count=row["byte_count"],
        etag=row["etag"],
        last_modified=row["last_modified"],
    )


def _replaces(page: NewPage, known: sqlite3.Row) -> bool:
    if not known["has_text"]:
        return True
    if known["text"] == page.text:
        return False
    if page.retrieved_at is not None:
        return known["retrieved_at"] is None or _stamp(page.retrieved_at) > known["retrieved_at"]
    # Two undated copies of one page: one was cut off, so the longer one is the page.
    return known["retrieved_at"] is None and len(page.text) > len(known["text"])


def _stamp(moment: datetime) -> str:
    # One fixed form in UTC, so that the texts sort as the times do.
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _day(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None


def _names(collections: Sequence[str] | None) -> str | None:
    return None if collections is None else json.dumps(list(collections))


def _told(
    steps: Iterable[Step], progress: Progress | None
) -> Iterator[NewPage | NewSearch | Unusable]:
    for step in steps:
        yield step.entry
        if progress is not None:
            progress(step.done, step.total)


_WAL_ATTEMPTS: Final = 50
_WAL_PAUSE_SECONDS: Final = 0.05


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch the journal. SQLite does not wait for other openers here, so we do."""
    for attempt in range(_WAL_ATTEMPTS):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if attempt + 1 == _WAL_ATTEMPTS:
                raise
            time.sleep(_WAL_PAUSE_SECONDS)
        else:
            return
