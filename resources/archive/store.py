"""The archive: pages and recorded searches in one SQLite file, ranked by BM25.

What belongs here: what is stored, what is found, when two queries are the same, how the file is
opened, and the archive as a web to search, to read and to feed. What does not: reading files
(sources.py), SQL (statements.sql).

Full-text search is SQLite's own FTS5, whose index lives in the file and ranks from disk. The file
is in WAL mode: several processes read while one writes, and writers wait for each other (WAL needs
a local disk, not a network share). A connection lives for one call, so an `Archive` may be shared
by threads.

BM25 is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
2009, section 3, with FTS5's constants k1 = 1.2 and b = 0.75. Word frequencies are counted over all
collections of the file; which documents are found is not.
"""

from __future__ import annotations

import asyncio
import json
import logging
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
from typing import Final, Protocol, TypeAlias
from urllib.parse import urlsplit

from resources.archive import sources
from resources.http import elapsed_since
from resources.lines import shown
from resources.pages.base import UNDATED, FetchedPage
from resources.promises import Promise
from resources.search.base import FoundHit, SearchAnswer, SearchRequest
from resources.statements import connect, statements, switch_to_wal

_log = logging.getLogger(__name__)


class Fetch(Protocol):
    """A function that fetches a page."""

    async def __call__(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        """Fetch a page and hold it to the promise of the search that found it, if there is one."""


Progress: TypeAlias = Callable[[int, int], None]
"""Told (done, total) while an import runs; the unit is the source's own."""
_Met: TypeAlias = tuple[str, int]
"""Where an import met a page, and the hash of its text."""

_SQL = statements("resources.archive", "statements.sql")
_SCHEMA_VERSION: Final = 1
_BUSY_SECONDS: Final = 60.0
_MAX_REMARKS: Final = 20
_COLLECTION_NAME = re.compile(r"[\w.-]{1,80}")
_KEPT_AS_THEY_ARE: Final = (
    *("url", "final_url", "author", "http_status", "byte_count", "etag", "last_modified", "text"),
)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. A second import finds `unchanged` what the files hold in one copy."""

    added: int = 0
    """Pages whose text is new."""
    updated: int = 0
    """Pages whose text was replaced by a newer, longer or corrected one."""
    unchanged: int = 0
    searches: int = 0
    hits: int = 0
    unusable: int = 0
    """Entries without a usable address, files without text, second texts of one page."""
    remarks: tuple[str, ...] = ()
    """A sentence for each of the first unusable ones."""


def is_fictional(url: str) -> bool:
    """Tell whether a URL's host is under `.example`, where no real page can be (RFC 2606)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host.rstrip(".").rpartition(".")[2] == "example"


class Archive:
    """Pages and recorded searches, in named collections that keep worlds apart.

    A search or a look-up names its collections. Without names it sees all of them, except pages
    that are set apart (fictional ones): those are found only in a collection that is named.
    """

    def __init__(self, path: Path, *, canonicalise: Callable[[str], str] = str) -> None:
        """Open an archive, and create it if it is not there.

        `canonicalise` gives every URL the form under which it is stored and looked up, and raises
        ValueError for what is no address of a page. Raises ArchiveError if the file cannot be
        created, is no archive, or is a newer one's.
        """
        self.path = path
        self._canonicalise = canonicalise
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise sources.ArchiveError(
                f"{path}: the archive's folder cannot be made ({error.strerror}). "
                "Choose a place that can be written."
            ) from error
        self._prepare()

    # --- Storing --------------------------------------------------------------------------------

    def add_page(self, page: FetchedPage, collection: str) -> bool:
        """Store a page if it is newer, or undated and longer; return whether anything changed."""
        report = self.store([sources.ImportedEntry(page, 1, 1)], collection)
        return bool(report.added or report.updated)

    def import_from(
        self, source: Path, collection: str, *, progress: Progress | None = None
    ) -> ImportReport:
        """Import a folder or JSONL, all or nothing; ArchiveImportError: a bad line, or no pages."""
        steps = sources.read_folder(source) if source.is_dir() else sources.read_jsonl(source)
        return self.store(steps, collection, progress, met={})

    def store(
        self,
        steps: Iterable[sources.ImportedEntry],
        collection: str,
        progress: Progress | None = None,
        *,
        met: dict[str, _Met] | None = None,
    ) -> ImportReport:
        """Store entries, all or nothing; of an import `met` holds the pages that it has met."""
        if _COLLECTION_NAME.fullmatch(collection) is None:
            raise sources.ArchiveError(
                f"{collection[:80]!r} cannot name a collection. Use letters, digits, dots, "
                "hyphens and underscores."
            )
        tally: Counter[str] = Counter()
        remarks: list[str] = []
        with self._transaction("BEGIN IMMEDIATE") as connection:
            for entry, done, total, place in steps:
                match entry:
                    case FetchedPage():
                        problems = self._store_page(
                            connection, entry, collection, tally, met, place
                        )
                    case sources.NewSearch():
                        problems = self._store_search(connection, entry, collection)
                        tally["searches"] += 1
                        tally["hits"] += len(entry.hits) - len(problems)
                        problems += entry.problems
                    case str():
                        problems = [entry]
                tally["unusable"] += len(problems)
                remarks += problems[: _MAX_REMARKS - len(remarks)]
                if progress is not None:
                    progress(done, total)
        return ImportReport(**tally, remarks=tuple(remarks))

    def _store_page(
        self,
        connection: sqlite3.Connection,
        page: FetchedPage,
        collection: str,
        tally: Counter[str],
        met: dict[str, _Met] | None,
        place: str,
    ) -> list[str]:
        """Store a page and count it; return which text is left out and why, if one is."""
        canonical = self._key(page.url)
        if canonical is None or not page.text.strip():
            return [f"{page.url[:200]!r} is no address, or its page has no text."]
        other = (met or {}).get(canonical)
        is_anew = met is not None and other is None
        values = {"collection": collection, "canonical_url": canonical}
        known = connection.execute(_SQL["find_page_to_replace"], values).fetchone()
        replaces = known is None or _replaces(page, known, is_anew=is_anew)
        is_kept = replaces or known["text"] == page.text
        this = place, hash(page.text)
        if met is not None and (is_anew or is_kept):
            met[canonical] = this
        problems = []
        if other is not None and other[1] != this[1]:
            kept, lost = (place, other[0]) if is_kept else (other[0], place)
            reason = f"{kept} has another text for its address, {shown(page.url)}."
            problems = [f"{lost}: {reason}"]
        if not replaces:
            tally["unchanged"] += not problems
            return problems
        more = {
            "canonical_final_url": self._key(page.final_url) if page.final_url else None,
            "set_apart": is_fictional(page.url) or is_fictional(page.final_url or ""),
            "published_on": page.published_on.isoformat() if page.published_on else None,
            "retrieved_at": _stamp(page.retrieved_at),
            "stored_at": _stamp(datetime.now(UTC)),
            "title": page.title or "",
        }
        same = {name: getattr(page, name) for name in _KEPT_AS_THEY_ARE}
        connection.execute(_SQL["upsert_page"], values | same | more)
        if not problems:
            tally["updated" if known is not None and known["has_text"] else "added"] += 1
        return problems

    def _store_search(
        self, connection: sqlite3.Connection, search: sources.NewSearch, collection: str
    ) -> list[str]:
        """Store a search; return what is wrong with the hits that have no address."""
        problems = []
        for hit in search.hits:
            canonical = self._key(hit.url)
            if canonical is None:
                problems.append(f"{hit.url[:200]!r} is no address.")
                continue
            values = {
                "collection": collection,
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
            connection.execute(_SQL["upsert_hit_document"], values)
            connection.execute(_SQL["upsert_recorded_hit"], values)
        return problems

    # --- Finding --------------------------------------------------------------------------------

    def search(
        self, request: SearchRequest, collections: Sequence[str] | None = None
    ) -> tuple[FoundHit, ...]:
        """Return one page of results.

        If this very query was recorded, its hits come first: newest recording first, in recorded
        order. Then everything that shares words with the query, by BM25. A page is listed once.
        None of the query is read as query syntax; language and country are ignored, because stored
        pages do not say theirs. Without collections: everywhere but in what is set apart. Raises
        ArchiveError if the file cannot be read.
        """
        values = {
            "query_key": query_key(request.query),
            "expression": match_expression(request.query),
            "collections": None if collections is None else json.dumps(list(collections)),
            "before": request.before and request.before.isoformat(),
            "after": request.after and request.after.isoformat(),
        }
        wanted = request.offset + request.limit
        found: dict[str, tuple[int, str]] = {}
        with self._transaction("BEGIN") as connection:
            # The ids of distinct results, with the snippets of recorded ones, which come first.
            for row in connection.execute(_SQL["find_recorded"], values):
                if request.admits_url(row["url"]):
                    found.setdefault(row["canonical_url"], (row["id"], row["snippet"]))
            ranked = values["expression"] and len(found) < wanted
            for row in connection.execute(_SQL["find_ranked"], values) if ranked else ():
                if request.admits_url(row["url"]):
                    found.setdefault(row["canonical_url"], (row["id"], row["snippet"]))
                if len(found) >= wanted:
                    break
            shown = list(found.values())[request.offset : wanted]
            ids = {"ids": json.dumps([identifier for identifier, _ in shown])}
            rows = {row["id"]: row for row in connection.execute(_SQL["show_documents"], ids)}
            around: dict[int, str] = {}
            if values["expression"]:
                ids["ids"] = json.dumps([each for each, row in rows.items() if row["has_excerpt"]])
                snippets = connection.execute(_SQL["show_snippets"], {**values, **ids})
                around = {row["rowid"]: " ".join(row["around"].split()) for row in snippets}
        return tuple(
            FoundHit(
                rank,
                rows[identifier]["title"],
                rows[identifier]["url"],
                recorded or around.get(identifier) or rows[identifier]["snippet"],
                _day(rows[identifier]["published_on"]),
            )
            for rank, (identifier, recorded) in enumerate(shown, request.offset + 1)
        )

    def page(self, url: str, collections: Sequence[str] | None = None) -> FetchedPage | None:
        """Return the page of a URL, or the page that was found at this URL after a redirect.

        None if it is not held; absent if only a search hit of it is. Its time is that of its
        retrieval or, where that is unknown, of its storing.

        Among collections, a page with text goes before one without, then the newest. Collections
        are named, and errors raised, as in `search`.
        """
        canonical = self._key(url)
        if canonical is None:
            return None
        values = {
            "canonical_url": canonical,
            "collections": None if collections is None else json.dumps(list(collections)),
        }
        with self._transaction("BEGIN") as connection:
            row = connection.execute(_SQL["find_page"], values).fetchone()
        if row is None:
            return None
        has_text = bool(row["text"])
        same = {name: row[name] for name in _KEPT_AS_THEY_ARE}
        return FetchedPage(
            **same,
            outcome="ok" if has_text else "absent",
            retrieved_at=datetime.fromisoformat(row["retrieved_at"] or row["stored_at"]),
            reason=None
            if has_text
            else "The archive holds a search hit for this page, and not its text.",
            via="archive" if has_text else None,
            title=row["title"] or None,
            published_on=_day(row["published_on"]),
        )

    def collections(self) -> dict[str, int]:
        """Return every collection with the number of its pages that have text."""
        with self._transaction("BEGIN") as connection:
            rows = connection.execute(_SQL["count_pages"]).fetchall()
        return {str(name): int(count) for name, count in rows}

    def remove(self, urls: Iterable[str], collection: str, *, dry_run: bool = False) -> int:
        """Remove pages from a collection, their room included; return how many there were.

        With `dry_run` they are counted and stay.
        """
        asked = {"urls": json.dumps(sorted(set(urls))), "collection": collection}
        with self._connected() as connection:
            connection.execute("BEGIN" if dry_run else "BEGIN IMMEDIATE")
            connection.execute(_SQL["mark_removed"], asked)
            (count,) = connection.execute(_SQL["count_removed"]).fetchone()
            if dry_run or not count:
                connection.rollback()
                return int(count)
            for step in ("remove_hits", "remove_documents", "forget_words"):
                connection.execute(_SQL[step])
            connection.commit()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return int(count)

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
                raise sources.ArchiveError(
                    f"{self.path}: the archive was written by a newer version of this program "
                    f"(layout {version}, this one knows {_SCHEMA_VERSION}). Update the program."
                )
            if version == _SCHEMA_VERSION:
                return
            is_empty = connection.execute(_SQL["count_tables"]).fetchone()[0] == 0
            if is_empty:
                switch_to_wal(connection)
                schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
                connection.executescript(f"BEGIN IMMEDIATE;\n{schema}\nCOMMIT;")
            # Version 0 with tables: an archive gets both in one transaction.
            elif connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                raise sources.ArchiveError(
                    f"{self.path}: this SQLite file belongs to something else. "
                    "Choose another file for the archive."
                )

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """What is written is stored whole or not at all; what is read is of one moment."""
        with self._connected() as connection, connection:
            connection.execute(begin)
            yield connection

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = None
        try:
            connection = connect(self.path, wait_seconds=_BUSY_SECONDS)
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection
        except sqlite3.Error as error:
            raise sources.ArchiveError(
                f"{self.path}: the archive cannot be used ({error}). Check that it can be written "
                "and the disk is not full. A damaged one: move it away, and a new one begins; what "
                "--pages or `factible archive import` put there, give again."
            ) from error
        finally:
            if connection is not None:
                connection.close()


# --- Rows ---------------------------------------------------------------------------------------


def _replaces(page: FetchedPage, known: sqlite3.Row, *, is_anew: bool) -> bool:
    if not known["has_text"]:
        return True
    if known["text"] == page.text:
        return False
    if page.retrieved_at != UNDATED:
        return known["retrieved_at"] is None or _stamp(page.retrieved_at) > known["retrieved_at"]
    # What somebody imports anew corrects what was there. Of two undated copies of one import one
    # was cut off, so the longer one is the page.
    return known["retrieved_at"] is None and (is_anew or len(page.text) > len(known["text"]))


def _stamp(moment: datetime) -> str | None:
    # One fixed form in UTC, so that the texts sort as the times do.
    written = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return None if moment == UNDATED else written


def _day(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None


# --- Queries -----------------------------------------------------------------------------------

_MAX_QUERY_WORDS: Final = 64  # A longer query is cut: its first words say what is asked.

_FUNCTION_WORDS: Final = """
a about above after again against all also am an and any are as at be because been before being
below between both but by can could did do does doing down during each few for from further had
has have having he her here hers him his how i if in into is it its itself just me more most my
no nor not of off on once only or other our out over own s same she should so some such t than
that the their them then there these they this those through to too under until up very was we
were what when where which while who whom why will with would you your
"""
_STOP_WORDS: Final = frozenset(_FUNCTION_WORDS.split())

_QUOTES = re.compile("[\"'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]")


def query_key(query: str) -> str:
    """Fold a query to what makes it the same query: Unicode form, case, white space, quotes."""
    folded = unicodedata.normalize("NFKC", query).casefold()
    folded = _QUOTES.sub("", folded)
    return re.sub(r"\s+", " ", folded).strip().rstrip(".?!").rstrip()


def match_expression(query: str) -> str:
    """Return an FTS5 expression that matches any word of a query; empty if it has none.

    Every word becomes a quoted string, in which FTS5 knows no syntax. A word with inner marks
    ("U.S.", "COVID-19", "1.5") becomes a phrase of its parts. Words that stand in every text are
    left out, unless there are no others.
    """
    words: dict[str, None] = {}
    for chunk in unicodedata.normalize("NFKC", query).casefold().split():
        parts = re.findall(r"[^\W_]+", chunk)
        if parts:
            words.setdefault(" ".join(parts))
    telling = [word for word in words if word not in _STOP_WORDS] or list(words)
    return " OR ".join(f'"{word}"' for word in telling[:_MAX_QUERY_WORDS])


# --- As a web to search and to read -------------------------------------------------------------
#
# SQLite blocks, so every call runs in a thread, off the event loop.

PROVIDER: Final = "archive"


@dataclass(frozen=True, slots=True)
class ArchivedWeb:
    """Searches an archive and hands out its pages. `collections` as in `Archive.search`."""

    archive: Archive
    collections: Sequence[str] | None = None

    async def search(self, request: SearchRequest) -> tuple[SearchAnswer, ...]:
        """Return one page of results; an archive that cannot be read is an outage."""
        began = time.perf_counter()
        try:
            hits = await asyncio.to_thread(self.archive.search, request, self.collections)
        except sources.ArchiveError as error:
            return (SearchAnswer(PROVIDER, "outage", reason=str(error)),)
        return (SearchAnswer(PROVIDER, "ok", hits, latency_seconds=elapsed_since(began)),)

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        """Return a stored page as it is; one that is not held is absent."""
        del promise
        began, now = time.perf_counter(), datetime.now(UTC)
        try:
            page = await asyncio.to_thread(self.archive.page, url, self.collections)
        except sources.ArchiveError as error:
            return FetchedPage(url=url, outcome="outage", retrieved_at=now, reason=str(error))
        if page is None:
            reason = "The archive does not hold this page."
            return FetchedPage(url, "absent", now, reason=reason)
        return replace(page, url=url, latency_seconds=elapsed_since(began))


@dataclass(frozen=True, slots=True)
class ArchivingFetcher:
    """Stores in an archive what another fetcher fetches, so that it can be read again without.

    `leave_out` is told a URL; true for pages that must not be kept, such as fictional ones.
    """

    inner: Fetch
    archive: Archive
    collection: str
    leave_out: Callable[[str], bool]

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        """Fetch a page and store its text; one that cannot be stored is handed over too."""
        page = await self.inner(url, promise=promise)
        is_left_out = any(map(self.leave_out, (page.url, page.final_url or page.url)))
        if page.outcome == "ok" and page.via not in {"archive", "snippet"} and not is_left_out:
            try:
                await asyncio.to_thread(self.archive.add_page, page, self.collection)
            except sources.ArchiveError as error:
                _log.warning("A page was fetched and not archived: %s", error)
        return page
