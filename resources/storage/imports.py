"""Reads pages and recorded searches for the archive: JSONL files, and folders of saved pages.

A line of JSONL is one of:

- a page: `{"url", "title", "text"}`, optionally `author`, `published_on`, `retrieved_at`,
  `final_url`;
- a search: `{"query", "searched_on", "hits": [{"rank", "title", "url", "snippet"}]}`.

Memory holds one line, or one file of a folder, at a time.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote

from resources.lines import (
    NotTextError,
    PlacedError,
    decode_text,
    legible,
    naming,
    read_json,
    shown,
)
from resources.pages.base import UNDATED, FetchedPage
from resources.search.base import FoundHit

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
"""The import skips larger pages: HTML of that size is data, not text."""

HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
TEXT_SUFFIXES: Final = frozenset({".txt", ".md", ".markdown"})
JSONL_SUFFIX: Final = ".jsonl"

LOCAL_HOST: Final = "local-files.invalid"
"""The host in the address of a page from a folder without a known address."""

_SAVED_FROM = re.compile(
    r"<!--\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s+url:\s*)(https?://[^\s<>\"]+)"
)
_NOTE_WINDOW = 2_048


class ArchiveError(Exception):
    """The archive cannot be used."""


class ArchiveImportError(ArchiveError):
    """A file cannot be imported."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"{sentence} Nothing was imported.")


@dataclass(frozen=True, slots=True)
class NewSearch:
    """A recorded query with its hits."""

    query: str
    searched_on: date | None
    hits: tuple[FoundHit, ...]
    problems: tuple[str, ...] = ()
    """A sentence for each hit without a usable address."""


Entry: TypeAlias = FetchedPage | NewSearch | str
"""A page or search to store, or a sentence on an unusable one."""


class ImportedEntry(NamedTuple):
    """One entry of a source, with the progress: `done` of `total` bytes or files."""

    entry: Entry
    done: int
    total: int
    place: str = ""
    """The file of the entry, with its line in JSONL."""


# --- JSONL --------------------------------------------------------------------------------------


def read_jsonl(path: Path) -> Iterator[ImportedEntry]:
    """Yield the entries of a JSONL file. Raises ArchiveImportError at the first bad line."""
    with naming(path, ArchiveImportError), legible(), path.open("rb") as file:
        total, done = path.stat().st_size, 0
        for number, line in enumerate(file, start=1):
            done += len(line)
            content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if content.strip():
                place = f"{path}:{number}"
                try:
                    entry = _entry(content, place)
                except PlacedError as error:
                    error.line = number
                    raise
                yield ImportedEntry(entry, done, total, place)


def _entry(content: bytes, place: str) -> Entry:
    try:
        # `_text` replaces lone surrogates later, like those in JSON escapes.
        text = content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # JSON has no zero bytes, and UTF-16 has them beside Latin letters
        raise PlacedError(None, "This line is not UTF-8. Save the file as UTF-8.")
    document = read_json(text)
    if isinstance(document, dict):
        if isinstance(document.get("hits"), list) and isinstance(document.get("query"), str):
            hits = [
                _hit(hit, position, place) for position, hit in enumerate(document["hits"], start=1)
            ]
            day = _moment(document, "searched_on")
            return NewSearch(
                query=_text(document["query"]),
                searched_on=day and day.date(),
                hits=tuple(hit for hit in hits if isinstance(hit, FoundHit)),
                problems=tuple(hit for hit in hits if isinstance(hit, str)),
            )
        if isinstance(document.get("text"), str):
            return _page(document, place)
    raise PlacedError(
        None,
        "This line is neither a page nor a search. "
        'Write {"url", "title", "text"}, or {"query", "searched_on", "hits"}.',
    )


def _page(document: dict[str, Any], place: str) -> FetchedPage | str:
    if not _is_address(document.get("url")):
        return f"{place}: the page has no web address."
    if not document["text"].strip():
        return f"{place}: the page has no text."
    published = _moment(document, "published_on")
    return FetchedPage(
        document["url"],
        "ok",
        _moment(document, "retrieved_at") or UNDATED,
        title=_text(document.get("title")),
        text=_text(document["text"]),
        final_url=document["final_url"] if _is_address(document.get("final_url")) else None,
        author=_text(document.get("author")) or None,
        published_on=published and published.date(),
    )


def _hit(hit: Any, position: int, place: str) -> FoundHit | str:
    if not isinstance(hit, dict):
        fields = '{"rank", "title", "url", "snippet"}'
        raise PlacedError(None, f"Hit {position} is not an object. Write {fields}.")
    rank = hit.get("rank", position)
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= _LAST_RANK:
        problem = f"Hit {position} has the rank {shown(rank)}."
        remedy = f"Write a number from 1 to {_LAST_RANK}, without quotes."
        raise PlacedError(None, f"{problem} {remedy}")
    if not _is_address(hit.get("url")):
        return f"{place}: hit {position} has no web address ({shown(hit.get('url'))})."
    return FoundHit(rank, _text(hit.get("title")), hit["url"], _text(hit.get("snippet")))


_LAST_RANK = 1_000_000
_YEARS = range(1000, 9999)  # a change of time zone keeps these within the range of a date
_ADDRESS = re.compile(r"(?:https?|file)://\S+", re.IGNORECASE)
_SURROGATES = re.compile("[\ud800-\udfff\u0000]")


def _is_address(value: object) -> bool:
    return (
        isinstance(value, str)
        and _ADDRESS.fullmatch(value.strip()) is not None
        and _SURROGATES.search(value) is None
    )


def _text(value: object) -> str:
    """Replace the characters that no database holds; return "" for a value that is no string."""
    return _SURROGATES.sub("\ufffd", value).strip() if isinstance(value, str) else ""


def _moment(document: dict[str, Any], key: str) -> datetime | None:
    value = document.get(key)
    if value is None or value == "":
        return None
    moment = None
    with suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(value)
    if moment is None or moment.year not in _YEARS:
        years = f"of the years {_YEARS[0]} to {_YEARS[-1]}"
        problem = f"The {key} {shown(value)} is no date {years} in quotes."
        raise PlacedError(None, f'{problem} Write it as "2026-01-31".')
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# --- Folders ------------------------------------------------------------------------------------


_DOCUMENTS = frozenset({".pdf", ".doc", ".docx", ".odt", ".rtf", ".epub", ".mhtml", ".mht"})
"""Documents that a user may expect to be read; they get a remark."""


def read_folder(folder: Path) -> Iterator[ImportedEntry]:
    """Yield the saved pages (HTML, text, Markdown, JSONL) of a folder and its subfolders.

    A page has the address that the browser noted when it saved the page ("saved from url", "Page
    saved with SingleFile url"). Without such a note, it gets an address under a host that cannot
    exist (RFC 2606, `.invalid`), because anyone can write an address into a page. Skips hidden
    files, links to folders and links out of the folder.

    Raises ArchiveImportError: The folder has no such file, or a malformed JSONL file.
    """
    wanted = HTML_SUFFIXES | TEXT_SUFFIXES | {JSONL_SUFFIX}
    files: list[Path] = []
    place = folder.resolve()
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = (Path(root, name) for name in names if not name.startswith("."))
        own = (path for path in visible if path.resolve().is_relative_to(place))
        files += (path for path in own if path.suffix.lower() in wanted | _DOCUMENTS)
    if not any(path.suffix.lower() in wanted for path in files):
        remedy = "Put .html, .txt, .md or .jsonl files into it."
        raise ArchiveImportError(f"{folder}: The folder holds no pages. {remedy}")
    # Two folders with the same name get different addresses.
    mark = hashlib.sha256(str(place).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    for done, path in enumerate(sorted(files), start=1):
        entry: Entry
        inside = path.relative_to(folder).as_posix()
        if _SURROGATES.search(inside):
            named = str(path).encode(errors="backslashreplace").decode()
            entry = f"{named}: the name is not UTF-8; rename it."
        elif path.suffix.lower() in _DOCUMENTS:
            words = "documents of this kind are not read from a folder; save it as .txt or .html."
            entry = f"{path}: {words}"
        elif not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where a right lacks
            # To open a pipe would wait for a writer.
            entry = f"{path}: this is no file that can be read; put a copy of it there."
        elif path.suffix.lower() == JSONL_SUFFIX:
            for step in read_jsonl(path):
                yield step._replace(done=done, total=len(files))
            continue
        else:
            address = quote(f"{place.name}-{mark}/{inside}", errors="replace")
            entry = _saved_page(path, f"https://{LOCAL_HOST}/{address}")
        yield ImportedEntry(entry, done, len(files), str(path))


def _saved_page(path: Path, address: str) -> FetchedPage | str:
    try:
        status = path.stat()
        size = status.st_size
        if size > MAX_FILE_BYTES:
            return f"{path}: the file has {size / 1e6:.0f} MB, which is no page to read."
        data = path.read_bytes()
        is_html = path.suffix.lower() in HTML_SUFFIXES
        text = "" if is_html else _text(decode_text(data))
    except OSError as error:
        return f"{path}: the file cannot be read ({error.strerror})."
    except NotTextError as error:
        return f"{path}: this is no text ({error})."
    first = text.split("\n", 1)[0]
    title = _text(first.lstrip("#")) if first.startswith("# ") else ""
    author = published_on = None
    if is_html:
        # Imported late: JSONL needs no HTML parser.
        from resources.pages.extract import decode, extract_html  # noqa: PLC0415

        html = decode(data)
        noted = _SAVED_FROM.search(html[:_NOTE_WINDOW])
        address = noted[1] if noted else address
        extract = extract_html(html, address)
        text, title = _text(extract.text), _text(extract.title)
        author, published_on = _text(extract.author) or None, extract.published_on
    if not text:
        return f"{path}: there is no text to read in it."
    return FetchedPage(
        address,
        "ok",
        datetime.fromtimestamp(status.st_mtime, tz=UTC),
        title=title or path.stem.replace("_", " ").replace("-", " ").strip(),
        author=author,
        published_on=published_on,
        text=text,
        byte_count=len(data),
    )
